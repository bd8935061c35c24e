"""A database looked at once a second while a load runs, from a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from load.probes.facts import Fact, NotMeasured

_STOP = 10.0


class Blocked(Fact):
    """A session that waits for a lock, for whom, and how long its statement has run, in seconds."""

    pid: int
    by: tuple[int, ...]
    seconds: float | None


class Sample(Fact):
    """One look, `at` seconds of the monotonic clock.

    Sessions by `states`; of those that are not idle what they wait for (`Lock: tuple`); `hidden` ones this role may not
    see. `longest_chain` is how many sessions wait one behind the other; `deadlocks` are those since the first look. A
    look that `failed` says why, and nothing else.
    """

    at: float
    took_seconds: float
    failed: str | None = None
    states: dict[str, int] = Field(default_factory=dict)
    waits: dict[str, int] = Field(default_factory=dict)
    hidden: int = 0
    locks_granted: int = 0
    locks_awaited: dict[str, int] = Field(default_factory=dict)
    blocked: tuple[Blocked, ...] = ()
    longest_chain: int = 0
    deadlocks: int = 0


class Sampler:
    """A process that samples a database into a file, until it is closed or its owner is gone."""

    def __init__(self, database_url: str, file: Path, interval: float = 1.0) -> None:
        self.file = file
        given = {"database_url": database_url, "file": str(file), "interval": interval}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "load.probes.sampler"],
            stdin=subprocess.PIPE,
            start_new_session=True,  # an interrupt at the terminal is ours to handle first
        )
        # Not as an argument: the URL may hold a password, and everybody may read arguments.
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(given).encode() + b"\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process that samples."""
        return self._process.pid

    def close(self) -> None:
        """End it; returns when it has. May be called twice."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def sampled(database_url: str | None, file: Path, interval: float = 1.0) -> Iterator[Sampler | None]:
    """Sample for the time of a `with` block; where no database is named, nothing is sampled."""
    if database_url is None:
        yield None
        return
    with Sampler(database_url, file, interval) as sampler:
        yield sampler


def samples(file: Path) -> list[Sample] | NotMeasured:
    """The samples of a file, without a last one that was cut off; not measured where no look succeeded."""
    found: list[Sample] = []
    if file.exists():
        for line in file.read_text("utf-8").splitlines():
            with suppress(ValidationError):
                found.append(Sample.model_validate_json(line))
    if all(one.failed is not None for one in found):
        why = found[-1].failed if found else "no look was made"
        return NotMeasured(not_measured="the database's sessions", reason=str(why))
    return found
