"""A history's operations, gathered by the object that they are about: request, generation, queue, key, account.

Objects are independent of each other, so that a history is legal where each object's own part of it is (locality of
linearizability: Herlihy and Wing, 1990).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from conformance.histories.model import (
    AnyOperation,
    Balance,
    Cancel,
    Fault,
    History,
    Outcome,
    Pop,
    Progress,
    Reading,
    Reply,
    Submit,
    Terms,
)

DONE, REFUSED = Outcome.DONE, Outcome.REFUSED


class Request:
    """One request. `loose`: not all of its hand-outs are known to be its own, so that they cannot be counted."""

    __slots__ = ("cancels", "generations", "id", "loose", "pops", "readings", "submits")

    def __init__(self, id: str) -> None:
        self.id = id
        self.submits: list[Submit] = []
        self.pops: list[Pop] = []
        self.generations: list[Generation] = []
        self.cancels: list[Cancel] = []
        self.readings: list[Reading] = []
        self.loose = False

    @property
    def submit(self) -> Submit | None:
        """The submit that made it, or may have made it; None where it was made before the history began."""
        return self.submits[0] if self.submits else None

    @property
    def family(self) -> str | None:
        return self.submits[0].family if self.submits else None

    @property
    def stream(self) -> bool:
        return bool(self.submits) and self.submits[0].stream

    @property
    def acts(self) -> list[AnyOperation]:
        """All that was done to it, readings aside."""
        acts: list[AnyOperation] = [*self.submits, *self.pops, *self.cancels]
        for generation in self.generations:
            acts += [*generation.replies, *generation.faults, *generation.posts]
        return acts

    @property
    def counted(self) -> bool:
        """Whether all that was handed out of it is known, and how much it asked for."""
        if self.loose or not self.submits or not self.submits[0].models:
            return False
        return len(self.submits) == 1 or len({submit.n for submit in self.submits}) == 1


class Generation:
    """One generation: who was handed it, and what its workers did with it."""

    __slots__ = ("faults", "id", "pops", "posts", "replies", "request")

    def __init__(self, id: str) -> None:
        self.id = id
        self.request: Request | None = None
        self.pops: list[Pop] = []
        self.replies: list[Reply] = []
        self.faults: list[Fault] = []
        self.posts: list[Progress] = []


class Queue:
    """What waits of one family for one model, as pops see it. `lost`: the pops whose answers were lost."""

    __slots__ = ("lost", "pops")

    def __init__(self) -> None:
        self.pops: list[Pop] = []
        self.lost: list[Pop] = []


class Requests(dict[str, Request]):
    """Requests by id; whoever is asked for is there."""

    def __missing__(self, id: str) -> Request:
        request = self[id] = Request(id)
        return request


class Generations(dict[str, Generation]):
    """Generations by id; whichever is asked for is there."""

    def __missing__(self, id: str) -> Generation:
        generation = self[id] = Generation(id)
        return generation


@dataclass
class Books:
    """All objects of a history, by id."""

    history: History
    requests: Requests = field(default_factory=Requests)
    generations: Generations = field(default_factory=Generations)
    queues: defaultdict[tuple[str, str], Queue] = field(default_factory=lambda: defaultdict(Queue))
    keys: defaultdict[tuple[str, str, str], list[Submit]] = field(default_factory=lambda: defaultdict(list))
    balances: defaultdict[str, list[Balance]] = field(default_factory=lambda: defaultdict(list))

    @property
    def terms(self) -> Terms:
        return self.history.terms

    def ghosts(self, request: Request, until: float) -> int:
        """Generations that pops whose answers were lost may have taken of a request by then."""
        submit = request.submit
        if submit is None:
            return 0
        lost = {id(pop): pop for model in submit.models for pop in self.queues[submit.family, model].lost}
        return sum(pop.amount for pop in lost.values() if pop.called <= until)


def gather(history: History) -> Books:
    """The operations by their objects; those that were refused took no effect and are left out."""
    books = Books(history)
    for operation in history.operations:
        if operation.outcome is not REFUSED:
            _ENTER[type(operation)](books, operation)
    return books


def _submit(books: Books, submit: Submit) -> None:
    request = books.requests[submit.request]
    if submit.outcome is DONE and request.submits and request.submits[0].outcome is not DONE:
        request.submits.insert(0, submit)
    else:
        request.submits.append(submit)
    if submit.key is not None:
        books.keys[submit.account, submit.family, submit.key].append(submit)


def _pop(books: Books, pop: Pop) -> None:
    queues = books.queues
    if pop.text:
        for model in pop.models:
            queues["text", model].pops.append(pop)
    for model in pop.chat_models:
        queues["chat", model].pops.append(pop)
    if pop.outcome is not DONE:
        _lost(books, pop)
    for id in pop.among:
        books.requests[id].loose = True
    if not pop.generations:
        return
    request = None if pop.request is None else books.requests[pop.request]
    if request is not None:
        request.pops.append(pop)
    for id in pop.generations:
        generation = books.generations[id]
        if request is not None and generation.request is None:
            generation.request = request
            request.generations.append(generation)
        generation.pops.append(pop)


def _lost(books: Books, pop: Pop) -> None:
    for family in ("text", "chat"):
        for model in pop.takes(family):
            books.queues[family, model].lost.append(pop)


def _reply(books: Books, reply: Reply) -> None:
    books.generations[reply.generation].replies.append(reply)


def _fault(books: Books, fault: Fault) -> None:
    books.generations[fault.generation].faults.append(fault)


def _progress(books: Books, post: Progress) -> None:
    books.generations[post.generation].posts.append(post)


def _cancel(books: Books, cancel: Cancel) -> None:
    books.requests[cancel.request].cancels.append(cancel)


def _reading(books: Books, reading: Reading) -> None:
    if reading.outcome is DONE:
        books.requests[reading.request].readings.append(reading)


def _balance(books: Books, balance: Balance) -> None:
    if balance.outcome is DONE:
        books.balances[balance.account].append(balance)


_ENTER: dict[type, Callable[[Books, Any], None]] = {
    Submit: _submit,
    Pop: _pop,
    Reply: _reply,
    Fault: _fault,
    Progress: _progress,
    Cancel: _cancel,
    Reading: _reading,
    Balance: _balance,
}
