"""CPU time of other processes, from the clock that the kernel keeps for each (Linux): to the nanosecond, all threads.

`/proc/<pid>/stat` counts in hundredths of a second, which is a block's whole answer, and `/proc/<pid>/schedstat`
knows the first thread only.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

# clock_getcpuclockid(3) of a process: its number inverted, and the kind CPUCLOCK_SCHED in the lowest bits.
_SCHED = 2


def cpu_seconds(pid: int) -> float | None:
    """What a process has computed so far, with the threads that ended; None where there is no such process or clock."""
    try:
        return time.clock_gettime_ns((~pid << 3) | _SCHED) / 1e9
    except (OSError, OverflowError):
        return None


def family(pid: int) -> tuple[int, ...]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return tuple(found)


def _parents() -> Iterable[tuple[int, int]]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name in parentheses may hold spaces and parentheses of its own.
            told = (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            yield int(folder.name), int(told[1])
        except (OSError, IndexError):
            continue
