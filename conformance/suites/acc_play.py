"""Short plays about money: what may happen to one request, in any order, and the kudos that each event moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from hypothesis import strategies as some

from conformance.actors import Family, Job, Request, Worker
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.acc_scenes import tokens, words
from conformance.suites.rpl_scenes import right_reply


class Event(StrEnum):
    """What may happen to a request after its submit."""

    POP = "a worker pops"
    REPLY = "a worker replies"
    EMPTY = "a worker replies nothing"
    CENSOR = "a worker replies that it censored"
    FAULT = "a worker gives up"
    REPEAT = "a worker replies again"
    FAULT_AGAIN = "a worker gives up what is over"
    CANCEL = "the requester cancels"
    READ = "the requester reads the status"


PLAYS = some.tuples(some.integers(1, 3), some.lists(some.sampled_from(Event), min_size=3, max_size=7))


@dataclass
class Play:
    """One request of n generations, what happened to it, and the movements of kudos that the text path makes for it.

    `charges` and `payments` are those movements, the requester's and the worker's owner's, as amounts.
    """

    stage: Stage
    family: Family
    worker: Worker
    n: int
    request: Request = field(init=False)
    charges: list[float] = field(default_factory=list)
    payments: list[float] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    _flying: list[Job] = field(default_factory=list)
    _over: list[Job] = field(default_factory=list)

    def __post_init__(self) -> None:
        model = self.worker.declaration["models"][0]
        self.request = self.stage.submit(self.family, model, n=self.n, max_length=120)
        self.told.append(f"{self.family} request of {self.n}")
        self.charges.append(self.stage.profile.money.submit_fee)

    def perform(self, events: Sequence[Event]) -> None:
        """Let these events happen, save those for which there is no generation; what is left is cancelled."""
        for event in events:
            if self._happens(event):
                self.told.append(event)
        self.request.cancel()

    def _happens(self, event: Event) -> bool:
        acts: dict[Event, Callable[[], bool]] = {
            Event.POP: self._pop,
            Event.REPLY: lambda: self._reply(words(tokens(self.stage, 60))),
            Event.EMPTY: lambda: self._reply(""),
            Event.CENSOR: lambda: self._reply(words(tokens(self.stage, 40)), state="censored"),
            Event.FAULT: self._fault,
            Event.REPEAT: lambda: self._repeat(right_reply),
            Event.FAULT_AGAIN: lambda: self._repeat(lambda job: job.worker.try_fault(job)),
            Event.CANCEL: lambda: bool(self.request.cancel()),
            Event.READ: lambda: bool(self.request.status()),
        }
        return acts[event]()

    def _pop(self) -> bool:
        job = self.worker.pop()
        if job is None:
            return False
        self.request.jobs += job.each()
        self._flying += job.each()
        return True

    def _next(self) -> Job | None:
        return self._flying.pop(0) if self._flying or self._pop() else None

    def _reply(self, content: str, **fields: str) -> bool:
        job = self._next()
        if job is None:
            return False
        reward = self.worker.reply(job, content, **fields)
        self._over.append(job)
        fee = self.stage.profile.money.finish_fee
        self.charges.append(fee if fields else reward + fee)
        self.payments.append(reward)
        return True

    def _fault(self) -> bool:
        job = self._next()
        if job is None:
            return False
        self.worker.fault(job)
        self._over.append(job)
        return True

    def _repeat(self, act: Callable[[Job], Answer]) -> bool:
        """What is over is answered once more; whether that is refused others judge, here it must move nothing."""
        if not self._over:
            return False
        if act(self._over[-1]).limited:
            raise CouldNotRun("refused for its rate only")
        return True

    @property
    def story(self) -> str:
        return ", ".join(self.told)

    def ledger(self) -> Counter[float]:
        """The movements as a ledger has them, to the cent: charges below zero, payments above, none of nothing."""
        amounts = [*(-charge for charge in self.charges), *self.payments]
        return Counter(round(amount, 2) for amount in amounts if round(amount, 2))
