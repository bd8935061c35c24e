"""The sampler's process: `python -P -m load.probes.sampler`, told `{"database_url", "file", "interval"}` in a line.

It is a process of its own because the driver waits for the database in C, where nothing else of an interpreter runs:
a generator that waited there would make its load late. It writes one JSON object a line; a look that fails is a line
too. The end of standard input, by close or by the owner's death, ends it, and so does another parent.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import IO, Any

import psycopg2

from load.probes.reading import Reader, Row, reason


def sample(reader: Reader, deadlocks_before: int) -> dict[str, Any]:
    """One look at a database, as a sample's fields."""
    activity, locks, blocked = reader.rows("activity"), reader.rows("locks"), reader.rows("blocked")
    return {
        "states": _summed(activity, lambda row: row["state"]),
        "waits": _summed(
            [row for row in activity if row["state"] != "idle" and row["event"]],
            lambda row: f"{row['kind']}: {row['event']}",
        ),
        "hidden": sum(row["sessions"] for row in activity if row["state"] is None),
        "locks_granted": sum(row["locks"] for row in locks if row["granted"]),
        "locks_awaited": {row["mode"]: row["locks"] for row in locks if not row["granted"]},
        "blocked": blocked,
        "longest_chain": longest_chain({row["pid"]: row["by"] for row in blocked}),
        "deadlocks": reader.rows("deadlocks")[0]["deadlocks"] - deadlocks_before,
    }


def longest_chain(waiting: dict[int, list[int]]) -> int:
    """How many sessions wait one behind the other at most; those that wait in a circle are counted once."""
    lengths: dict[int, int] = {}

    def length(pid: int) -> int:
        if pid not in waiting:
            return 0
        if pid not in lengths:
            lengths[pid] = 0
            lengths[pid] = 1 + max(map(length, waiting[pid]), default=0)
        return lengths[pid]

    return max(map(length, waiting), default=0)


def _summed(rows: list[Row], name: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if name(row) is not None:
            found[name(row)] = found.get(name(row), 0) + row["sessions"]
    return found


def _write(file: IO[str], began: float, fields: dict[str, Any]) -> None:
    line = {"at": began, "took_seconds": time.monotonic() - began, **fields}
    file.write(json.dumps(line) + "\n")
    file.flush()


def _looked(reader: Reader, state: dict[str, int]) -> dict[str, Any]:
    try:
        if "deadlocks" not in state:
            state["deadlocks"] = reader.rows("deadlocks")[0]["deadlocks"]
        return sample(reader, state["deadlocks"])
    except psycopg2.Error as error:
        return {"failed": reason(error)}


def _wait(until: float, owner: int) -> bool:
    """Whether there is still somebody to sample for, once it is time."""
    while os.getppid() == owner:
        # The parent is looked at as well: a child that it forked may hold the pipe open.
        left = until - time.monotonic()
        if left <= 0:
            return True
        if select.select([0], [], [], min(left, 0.5))[0]:
            return False
    return False


def main() -> None:
    """Sample until the owner lets go."""
    # Ctrl-C reaches the owner as well, who says when this ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner, state = os.getppid(), dict[str, int]()
    told = sys.stdin.readline()
    if not told:
        return
    given = json.loads(told)
    with Path(given["file"]).open("w", encoding="utf-8") as file, Reader(given["database_url"]) as reader:
        due = time.monotonic()
        while _wait(due, owner):
            _write(file, time.monotonic(), _looked(reader, state))
            # A look that took longer than it may leaves out those that it made late.
            due = max(due + given["interval"], time.monotonic())


if __name__ == "__main__":
    main()
