"""An imaginary target that keeps every rule, for stories without a server; its deviations are the tests'."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.actors import Family
from conformance.stories.calls import (
    Across,
    Call,
    Cancel,
    GiveUp,
    Hand,
    JobKey,
    Length,
    Outcome,
    Pop,
    Post,
    Seen,
    Shown,
    Single,
    Submit,
    each,
)
from conformance.stories.rules import Prices
from conformance.stories.search import Search
from conformance.stories.story import Looks, Story
from conformance.stories.world import World

REWARDS = {Length.SHORT: 20.0, Length.LONG: 60.0}
PRICES = Prices(
    submit=dict.fromkeys(Family, 1.0),
    charge={(family, length): 1 + reward for family in Family for length, reward in REWARDS.items()},
    reward={(family, length): reward for family in Family for length, reward in REWARDS.items()},
)
DONE = Seen(Outcome.CARRIED_OUT, "200")
REFUSED = Seen(Outcome.REFUSED, "400")


@dataclass
class Kept:
    """A request, or a generation of one, as the imaginary target keeps it."""

    family: Family
    n: int
    stream: bool
    waiting: int
    cancelled: bool = False
    cost: float = 1.0
    paid: float = 0.0


@dataclass
class Handed:
    id: str
    request: str
    state: str = "flying"
    output: Length = Length.SHORT


class Imaginary:
    """Plays calls as `Player` does, on dictionaries. `twist` may change what is seen of a call."""

    def __init__(self, twist: Callable[[Imaginary, Single, Seen], Seen]) -> None:
        self.requests: dict[str, Kept] = {}
        self.handed: dict[JobKey, Handed] = {}
        self.twist = twist
        self._ids = itertools.count(1)

    def play(self, call: Call) -> tuple[Seen, ...]:
        return tuple(self.twist(self, single, self._play(single)) for single in each(call))

    def look(self, name: str) -> Shown:
        asked = self.requests[name]
        finished, flying, given_up = (self._of(name, state) for state in ("finished", "flying", "given up"))
        replies = tuple(one.id for one in finished)
        done = len(finished) == asked.n
        return Shown(len(finished), len(flying), len(given_up), asked.waiting, done, asked.cost, replies)

    def forget(self, name: str) -> None:
        self.requests[name].waiting = 0

    def _of(self, name: str, state: str) -> list[Handed]:
        return [one for one in self.handed.values() if one.request == name and one.state == state]

    def _play(self, call: Single) -> Seen:
        if isinstance(call, Submit):
            self.requests[call.request] = Kept(call.family, call.n, call.stream, call.n)
            return DONE
        if isinstance(call, Pop):
            return self._pop(call)
        if isinstance(call, Across):
            return Seen(Outcome.NOT_FOUND, "404")
        if isinstance(call, Cancel):
            return self._cancel(call.request)
        return self._work(call)

    def _pop(self, call: Pop) -> Seen:
        for name, asked in self.requests.items():
            if asked.waiting and call.kind.takes(asked.family):
                taken = [Handed(f"id {next(self._ids)}", name) for _ in range(min(call.amount, asked.waiting))]
                asked.waiting -= len(taken)
                self.handed |= {(call.pop, place): one for place, one in enumerate(taken)}
                return replace(DONE, hand=Hand(name, tuple(one.id for one in taken)))
        return DONE

    def _cancel(self, name: str) -> Seen:
        asked = self.requests[name]
        asked.cancelled, asked.waiting = True, 0
        for one in self._of(name, "flying") if asked.stream else []:
            one.state = "settled"
            self._settle(asked, one)
        return DONE

    def _work(self, call: Any) -> Seen:
        one = self.handed[call.job]
        asked = self.requests[one.request]
        if one.state != "flying":
            return REFUSED
        if isinstance(call, GiveUp):
            one.state = "given up"
            asked.waiting += not asked.cancelled
            return DONE
        one.output = call.length
        if isinstance(call, Post):
            return DONE
        one.state = "finished"
        return replace(DONE, reward=self._settle(asked, one))

    def _settle(self, asked: Kept, one: Handed) -> float:
        asked.cost += PRICES.charge[asked.family, one.output]
        asked.paid += PRICES.reward[asked.family, one.output]
        return PRICES.reward[asked.family, one.output]


def keep(_target: Imaginary, _call: Single, seen: Seen) -> Seen:
    """No twist."""
    return seen


class ImaginarySearch(Search):
    """A search on imaginary targets, a new one for each story."""

    twist: Callable[[Imaginary, Single, Seen], Seen] = staticmethod(keep)

    def begin(self, looks: Looks | None = None) -> Story:
        real = super().begin(looks)
        real.player = Imaginary(type(self).twist)  # type: ignore[assignment]  # plays as a player does
        return real


@pytest.fixture
def imaginary() -> Callable[..., Any]:
    """Gives a search on imaginary targets; its argument is the twist in them."""

    def search(twist: Callable[[Imaginary, Single, Seen], Seen] = keep) -> Search:
        kind = type("Twisted", (ImaginarySearch,), {"twist": staticmethod(twist)})
        stage = SimpleNamespace(
            profile=SimpleNamespace(capabilities={"streaming"}, timings=SimpleNamespace(settlement=0.0)),
            model=lambda: "m",
            money=SimpleNamespace(books=lambda requests: [(asked.cost, asked.paid) for asked in requests]),
        )
        made: Search = kind(stage, [{}, {}], PRICES)
        return made

    return search


@pytest.fixture
def world() -> World:
    """A world in which nothing has happened yet."""
    return World(PRICES)
