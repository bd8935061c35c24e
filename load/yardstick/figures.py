"""What AI Horde was measured by, measured on the reference: single calls at p50, and empty pops a second."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from conformance import targets
from conformance.profile import Profile
from fixtures.postgres import Server
from load.errors import CouldNotCount
from load.probes.facts import Fact
from load.yardstick.calling import Call, Caller, Line, caller
from load.yardstick.floor import EACH, ROUNDS, WARM

CLIENTS, SECONDS = 8, 4.0
# How many times better than AI Horde each figure is.
TIMES = 10.0
# AI Horde 5.1.5 on two cores: milliseconds at p50 with one client, and empty pops a second with eight.
HORDE = {"empty pop": 24.0, "pop with a job": 31.0, "submit": 67.0, "empty pops a second": 44.0}


class Figure(Fact):
    """A figure beside AI Horde's: milliseconds at p50, or calls a second; `quietest` is the p50 of the best block."""

    what: str
    ours: float
    horde: float
    quietest: float | None = None
    rate: bool = False

    @property
    def times(self) -> float:
        """How many times better ours is."""
        return self.ours / self.horde if self.rate else self.horde / self.ours

    @property
    def held(self) -> bool:
        """Whether the bar is held."""
        return self.times >= TIMES


def figures(profile: Profile, postgres: Server) -> Iterator[Figure]:
    """What AI Horde was measured by, on a queue that is as good as empty."""
    with (
        targets.fresh_database(profile, postgres) as url,
        targets.serving(profile.server.command, url) as base,
        closing(Line(base)) as line,
    ):
        people = caller(profile, base)
        model = f"{profile.models.known}-yardstick"
        empty = people.pop("yardstick", [model])
        rounds = [_lived(line, people, model, number) for number in range(WARM + ROUNDS * EACH)][WARM:]
        for what, times in zip(("submit", "pop with a job"), zip(*rounds, strict=True), strict=True):
            yield _figure(what, times)
        for _ in range(WARM):
            line.make(empty)
        yield _figure("empty pop", [line.make(empty)[0] for _ in range(ROUNDS * EACH)])
        calls = [people.pop(f"yardstick {number}", [model]) for number in range(CLIENTS)]
        rate = _rate(base, calls)
        yield Figure(what="empty pops a second", ours=rate, horde=HORDE["empty pops a second"], rate=True)


def _figure(what: str, times: Sequence[float]) -> Figure:
    blocks = [statistics.median(times[place : place + EACH]) for place in range(0, len(times), EACH)]
    return Figure(what=what, ours=statistics.median(times) * 1000, horde=HORDE[what], quietest=min(blocks) * 1000)


def _lived(line: Line, people: Caller, model: str, number: int) -> tuple[float, float]:
    """Seconds of a submit and of the pop that hands it out; then it is cancelled."""
    requester = people.requesters[number % len(people.requesters)]
    submitting, answer = line.make(people.submit(requester, model))
    popping, job = line.make(people.pop("yardstick", [model]))
    if people.profile.read("job", "id", job) is None:
        raise CouldNotCount("A pop did not hand out what was submitted before.", "Does somebody else pop?")
    line.make(people.cancel(str(people.profile.read("submit", "id", answer))))
    return submitting, popping


def _rate(url: str, calls: Sequence[Call]) -> float:
    """Calls a second of as many clients as there are calls, each with a connection and a worker of its own."""

    def client(call: Call) -> int:
        with closing(Line(url)) as line:
            line.make(call)
            deadline, count = time.perf_counter() + SECONDS, 0
            while time.perf_counter() < deadline:
                line.make(call)
                count += 1
            return count

    with ThreadPoolExecutor(len(calls)) as pool:
        return sum(pool.map(client, calls)) / SECONDS
