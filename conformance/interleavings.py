"""Histories of submits and pops of both families, and what in them breaks the rules of the queue.

A history is what happened, in an order in which it can have happened; it knows nothing of HTTP. Where pops ran beside
each other an empty answer is no loss, so that such a history leaves them out and ends with pops one after another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from conformance.actors import Family


class Kind(StrEnum):
    """What a worker takes."""

    CHAT_ONLY = "chat-only"
    TEXT_ONLY = "text-only"
    BOTH = "both"

    def takes(self, family: Family) -> bool:
        return self is Kind.BOTH or self.value == f"{family}-only"


@dataclass(frozen=True)
class Submitted:
    """A request of `n` generations was queued."""

    request: str
    family: Family
    n: int = 1


@dataclass(frozen=True)
class Popped:
    """A worker popped: it was handed these generations of a request, or nothing (`request` is None)."""

    worker: Kind
    request: str | None = None
    generations: tuple[str, ...] = ()


Event = Submitted | Popped


class Rule(StrEnum):
    """The rules of the queue that a history can break."""

    MISPLACED = "misplaced"
    TWICE = "twice"
    LOST = "lost"


@dataclass(frozen=True)
class Breach:
    """One broken rule, the family of the request that it concerns, and the sentence that says what happened."""

    rule: Rule
    family: Family
    what: str


class _Book:
    """Who asked for what, and what is still due."""

    def __init__(self) -> None:
        self.family: dict[str, Family] = {}
        self.due: Counter[str] = Counter()
        self.seen: set[str] = set()

    def breaches(self, event: Event) -> Iterable[Breach]:
        if isinstance(event, Submitted):
            self.family[event.request] = event.family
            self.due[event.request] = event.n
        elif event.request is None:
            yield from self._nothing(event.worker)
        else:
            yield from self._handed(event, event.request)

    def _nothing(self, worker: Kind) -> Iterable[Breach]:
        for request, left in self.due.items():
            if left > 0 and worker.takes(self.family[request]):
                family = self.family[request]
                what = f"a {worker} worker was handed nothing while {left} of {family} request {request} waited"
                yield Breach(Rule.LOST, family, what)

    def _handed(self, event: Popped, request: str) -> Iterable[Breach]:
        family = self.family[request]
        if not event.worker.takes(family):
            yield Breach(Rule.MISPLACED, family, f"a {event.worker} worker was handed {family} request {request}")
        for generation in event.generations:
            if generation in self.seen:
                what = f"generation {generation} of {family} request {request} was handed out twice"
                yield Breach(Rule.TWICE, family, what)
            self.seen.add(generation)
        self.due[request] -= len(event.generations)
        if self.due[request] < 0:
            yield Breach(Rule.TWICE, family, f"{family} request {request} was handed out more often than it asked for")


def breaches(history: Iterable[Event]) -> list[Breach]:
    """Every broken rule of a history, in its order.

    Raises:
        KeyError: a worker was handed a request that the history does not hold.
    """
    book = _Book()
    return [breach for event in history for breach in book.breaches(event)]


def sentence(found: Iterable[Breach], *rules: Rule) -> str:
    """What the breaches of these rules say; empty where there are none."""
    return "; ".join(breach.what for breach in found if breach.rule in rules)
