"""CPU time of a server's processes and of its database's, from the kernel's clocks; on this machine only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from load.probes.facts import Fact, NotMeasured
from load.probes.kernel import cpu_seconds, family
from load.probes.reading import Reader

_WHAT = "CPU time"


class Cpu(Fact):
    """Seconds computed between two looks; what `ended` backends did since the first is not in it."""

    server_seconds: float | None
    database_seconds: float | None
    ended: int


class Look(Fact):
    """What each process has computed so far, by its number; None where it cannot be seen."""

    server: dict[int, float] | None
    database: dict[int, float] | None


def look(server: int | None, reader: Reader | None, database: str) -> Look | NotMeasured:
    """What a server, by its process, and the backends of its database have computed so far."""
    ours = None if server is None else _clocks(family(server))
    theirs = None if reader is None else _backends(reader, database)
    if not ours and isinstance(theirs, NotMeasured | None):
        return theirs or NotMeasured(not_measured=_WHAT, reason="neither server nor database runs on this machine")
    return Look(server=ours, database=None if isinstance(theirs, NotMeasured) else theirs)


def between(before: Look | NotMeasured, after: Look | NotMeasured) -> Cpu | NotMeasured:
    """What was computed between two looks."""
    if isinstance(before, NotMeasured):
        return before
    if isinstance(after, NotMeasured):
        return after
    ended = 0 if before.database is None else len(before.database.keys() - (after.database or {}).keys())
    return Cpu(
        server_seconds=_more(before.server, after.server),
        database_seconds=_more(before.database, after.database),
        ended=ended,
    )


def _more(before: dict[int, float] | None, after: dict[int, float] | None) -> float | None:
    if before is None or after is None:
        return None
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def _backends(reader: Reader, database: str) -> dict[int, float] | NotMeasured:
    rows = reader.ask(_WHAT, "backends", database=database)
    if isinstance(rows, NotMeasured):
        return rows
    pids = [row["pid"] for row in rows]
    # The numbers of another machine, or another container, are other processes here.
    if any(database not in _title(pid) for pid in pids):
        return NotMeasured(not_measured=_WHAT, reason="the database does not run among this machine's processes")
    return _clocks(pids)


def _clocks(pids: Sequence[int]) -> dict[int, float]:
    read = {pid: cpu_seconds(pid) for pid in pids}
    return {pid: seconds for pid, seconds in read.items() if seconds is not None}


def _title(pid: int) -> str:
    """What a process calls itself: of a backend, its user and database."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace")
    except OSError:
        return ""


def pressure_seconds() -> float | None:
    """For how long, since the machine started, something waited for a processor; None where the kernel does not say."""
    try:
        some = Path("/proc/pressure/cpu").read_text("utf-8").splitlines()[0]
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError, IndexError):
        return None
