"""One client that pops and waits for the answer, again and again: the load of a block, and what it is timed by.

It is light on purpose. A generator that computes as much as the server would dilute a difference by half.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from conformance.profile import Profile
from load.probes.kernel import cpu_seconds

# Larger than any block ever has calls, so that a clock that stands still ends.
_MOST_CALLS = 1_000_000


class Block(BaseModel):
    """What one block showed. Times are seconds; the CPU times are per call, None where they cannot be seen."""

    model_config = ConfigDict(frozen=True)

    calls: int
    failed: int
    median_seconds: float
    server_cpu_seconds: float | None = None
    database_cpu_seconds: float | None = None
    generator_cpu_seconds: float = 0.0

    @property
    def cpu_seconds(self) -> float | None:
        """Of the server and its database together, per call."""
        if self.server_cpu_seconds is None or self.database_cpu_seconds is None:
            return None
        return self.server_cpu_seconds + self.database_cpu_seconds

    @property
    def figures(self) -> tuple[float, ...]:
        """All that was measured."""
        figures = (self.median_seconds, self.generator_cpu_seconds, self.cpu_seconds)
        return tuple(figure for figure in figures if figure is not None)


@dataclass(frozen=True)
class Meter:
    """Reads the CPU time of a server's processes and of its database's, which may come and go."""

    server: tuple[int, ...]
    database: Callable[[], tuple[int, ...]]

    def read(self) -> tuple[float, dict[int, float]]:
        """The server's seconds so far, and those of each process of the database."""
        return sum(_clocks(self.server).values()), _clocks(self.database())


def _declaration(profile: Profile) -> dict[str, Any]:
    """A worker of its own: two arms at one URL must not share a row."""
    unique = secrets.token_hex(4)
    chat = {"chat_models": [f"conformance/{unique}"]} if "chat" in profile.capabilities else {}
    return {
        "name": f"duet {unique}", "models": [f"conformance/{unique}"], "max_length": profile.limits.max_length_maximum,
        "max_context_length": 65536, "bridge_agent": profile.workers.validated_bridge, **chat,
    }  # fmt: skip


def _clocks(pids: tuple[int, ...]) -> dict[int, float]:
    read = {pid: cpu_seconds(pid) for pid in pids}
    return {pid: seconds for pid, seconds in read.items() if seconds is not None}


class Driver:
    """Pops on one connection as one worker, whose models nobody asks for: the queue is scanned, nothing handed out."""

    def __init__(self, url: str, profile: Profile, key: str, meter: Meter | None = None) -> None:
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=profile.timings.answer)
        self._method, self._path = profile.route("pop")
        self._accepted = profile.statuses["pop"]
        self._body = json.dumps(profile.build("pop", _declaration(profile))).encode()
        self._headers = {
            profile.headers.key: key,
            profile.headers.client_agent: profile.client_agent,
            "Content-Type": "application/json",
        }
        self._meter = meter

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def block(self, seconds: float) -> Block:
        """Call for so long; the first call after the other servers had the processor is not counted."""
        self._called()
        before = self._meter.read() if self._meter else None
        own = time.process_time()
        times, failed = self._calls(seconds)
        own = time.process_time() - own
        after = self._meter.read() if self._meter else None
        count = len(times) + failed
        server = database = None
        if before and after:
            server = (after[0] - before[0]) / count
            database = sum(spent - before[1].get(pid, 0.0) for pid, spent in after[1].items()) / count
        return Block(
            calls=count, failed=failed, median_seconds=statistics.median(times) if times else 0.0,
            server_cpu_seconds=server, database_cpu_seconds=database, generator_cpu_seconds=own / count,
        )  # fmt: skip

    def _calls(self, seconds: float) -> tuple[list[float], int]:
        times, failed = [], 0
        now = time.perf_counter()
        deadline = now + seconds
        for _ in range(_MOST_CALLS):
            began = now
            fine = self._called()
            now = time.perf_counter()
            if fine:
                times.append(now - began)
            else:
                failed += 1
            if now >= deadline:
                break
        return times, failed

    def _called(self) -> bool:
        """Pop once; whether it was carried out."""
        try:
            self._connection.request(self._method, self._path, self._body, self._headers)
            with self._connection.getresponse() as answer:
                answer.read()
                return answer.status in self._accepted
        except (OSError, HTTPException):
            with contextlib.suppress(OSError):
                self._connection.close()
            return False
