"""A queue in memory that is right by construction, and many actors who use it at once: histories that are legal."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

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

MODELS = {"behemoth": 0.31373, "pebble": 0.02177}
TERMS = Terms(job_lifetime=0.6, faults=3)
# How often an answer is lost.
LOSSES = 0.03


@dataclass
class Hand:
    """A generation in the simulated queue."""

    id: str
    request: Asked
    owner: str
    since: float
    state: str = "in flight"
    posted: int = 0
    said: str = ""


@dataclass
class Asked:
    """A request in the simulated queue."""

    submit: Submit
    waiting: int
    cost: float = 1.0
    cancelled: bool = False
    given_up: bool = False
    hands: list[Hand] = field(default_factory=list)

    def count(self, *states: str) -> int:
        return sum(hand.state in states for hand in self.hands)

    def fits(self, pop: Pop) -> bool:
        return bool(set(self.submit.models) & set(pop.takes(self.submit.family)))


class Queue:
    """What a right server does, one act after another."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.requests: dict[str, Asked] = {}
        self.hands: dict[str, Hand] = {}
        self.keys: dict[tuple[str, str, str], str] = {}
        self.kudos: dict[str, float] = {}

    def tick(self, now: float) -> None:
        """What a cleaner does, now or a while later."""
        if self.rng.random() < 0.8:
            return
        for hand in self.hands.values():
            if hand.state == "in flight" and hand.since + TERMS.job_lifetime < now and self.rng.random() < 0.5:
                self._give_back(hand)
        for asked in self.requests.values():
            if asked.count("faulted") >= TERMS.faults and asked.waiting and self.rng.random() < 0.5:
                asked.given_up = True

    def _give_back(self, hand: Hand) -> None:
        hand.state = "faulted"
        # The AI Horde puts a cancelled text request back as well.
        if not hand.request.cancelled or (not hand.request.submit.stream and self.rng.random() < 0.5):
            hand.request.waiting += 1

    def _move(self, account: str, kudos: float) -> None:
        self.kudos[account] = self.kudos.get(account, 1000.0) + kudos

    def submit(self, act: Submit, _now: float, _beside: list[Pop]) -> Submit:
        if act.key is not None:
            known = self.keys.setdefault((act.account, act.family, act.key), act.request)
            if known in self.requests:
                return replace(act, request=known, n=self.requests[known].submit.n)
        self.requests[act.request] = Asked(act, act.n)
        self._move(act.account, -1.0)
        return act

    def pop(self, act: Pop, now: float, beside: list[Pop]) -> Pop:
        fitting = [
            asked
            for asked in self.requests.values()
            if asked.waiting
            and not asked.given_up
            and asked.fits(act)
            # What somebody else reaches for may be passed over.
            and not (any(asked.fits(other) for other in beside) and self.rng.random() < 0.3)
        ]
        if not fitting:
            return act
        asked = self.rng.choice(fitting)
        ids = tuple(f"h{len(self.hands) + place}" for place in range(min(act.amount, asked.waiting)))
        asked.waiting -= len(ids)
        for id in ids:
            self.hands[id] = Hand(id, asked, act.account, now)
            asked.hands.append(self.hands[id])
        model = next(m for m in asked.submit.models if m in act.takes(asked.submit.family))
        return replace(
            act, generations=ids, request=asked.submit.request, family=asked.submit.family, model=model, lifetime=None
        )

    def _price(self, hand: Hand, tokens: int) -> float:
        return round(min(max(tokens, 20), hand.request.submit.max_length) * MODELS[hand.request.submit.models[0]], 2)

    def _settle(self, hand: Hand, worth: float, cost: float, state: str) -> None:
        hand.state = state
        hand.request.cost += cost
        self._move(hand.request.submit.account, -cost)
        self._move(hand.owner, worth)

    def reply(self, act: Reply, _now: float, _beside: list[Pop]) -> Reply:
        hand = self.hands[act.generation]
        if hand.state != "in flight":
            again = replace(act, reward=0.0)
            return again if self.rng.random() < 0.2 else replace(act, outcome=Outcome.REFUSED)
        worth = self._price(hand, act.tokens)
        hand.said = act.said or ""
        self._settle(hand, worth, 1.0 if act.state == "censored" else worth + 1.0, "finished")
        return replace(act, reward=worth)

    def fault(self, act: Fault, _now: float, _beside: list[Pop]) -> Fault:
        hand = self.hands[act.generation]
        if hand.state == "in flight":
            self._give_back(hand)
            return act
        return act if self.rng.random() < 0.2 else replace(act, outcome=Outcome.REFUSED)

    def progress(self, act: Progress, _now: float, _beside: list[Pop]) -> Progress:
        hand = self.hands[act.generation]
        if hand.state == "settled":
            return replace(act, cancelled=True)
        if hand.state != "in flight":
            return replace(act, outcome=Outcome.REFUSED)
        hand.posted = act.tokens
        return replace(act, cancelled=False)

    def cancel(self, act: Cancel, _now: float, _beside: list[Pop]) -> Cancel:
        asked = self.requests[act.request]
        asked.waiting, asked.cancelled = 0, True
        for hand in asked.hands:
            if asked.submit.stream and hand.state == "in flight":
                worth = self._price(hand, hand.posted)
                self._settle(hand, worth, worth + 1.0, "settled")
        return act

    def reading(self, act: Reading, _now: float, _beside: list[Pop]) -> Reading:
        asked = self.requests[act.request]
        waiting = 0 if asked.given_up else asked.waiting
        flying, finished = asked.count("in flight"), asked.count("finished")
        return replace(
            act,
            finished=finished,
            processing=flying,
            waiting=waiting,
            restarted=asked.count("faulted"),
            done=asked.given_up or (not waiting and not flying),
            faulted=asked.given_up,
            kudos=asked.cost,
            said=tuple(hand.said for hand in asked.hands if hand.state == "finished"),
        )

    def balance(self, act: Balance, _now: float, _beside: list[Pop]) -> Balance:
        return replace(act, kudos=self.kudos.get(act.account, 1000.0))


class Actor:
    """Somebody who does one thing after another, and knows what was answered to it."""

    def __init__(self, place: int, rng: random.Random, serial: list[int]) -> None:
        self.rng, self.serial = rng, serial
        self.name, self.place = f"a{place}", place
        self.jobs: list[str] = []

    def act(self, known: list[str], called: float) -> AnyOperation:
        """What it does next."""
        common: dict[str, Any] = {"actor": self.name, "called": called, "returned": called}
        number = self.serial[0] = self.serial[0] + 1
        draw = self.rng.random()
        requester, owner = f"requester {self.place % 3}", f"owner {self.place % 2}"
        if draw < 0.2 or not known:
            return self._submit(common, requester, number)
        if draw < 0.5 or (draw < 0.85 and not self.jobs):
            return self._pop(common, owner)
        if draw < 0.85:
            return self._work(common, number)
        if draw < 0.88:
            return Cancel(**common, request=self.rng.choice(known))
        if draw < 0.97:
            return Reading(**common, request=self.rng.choice(known))
        return Balance(**common, account=self.rng.choice([requester, owner]), kudos=0.0)

    def _submit(self, common: dict[str, Any], account: str, number: int) -> Submit:
        family = self.rng.choice(["chat", "text"])
        return Submit(
            **common, account=account, family=family, request=f"q{number}", n=self.rng.choice([1, 1, 2, 4]),
            models=(self.rng.choice(list(MODELS)),), stream=family == "chat" and self.rng.random() < 0.6,
            key=f"k{self.rng.randrange(5)}" if self.rng.random() < 0.1 else None, shape="plain", max_length=100,
        )  # fmt: skip

    def _pop(self, common: dict[str, Any], owner: str) -> Pop:
        models = tuple(MODELS) if self.place % 4 else ("pebble",)
        chat = models if self.place % 3 else ()
        return Pop(
            **common, account=owner, models=models, chat_models=chat, text=self.place % 3 != 1 or not chat,
            amount=self.rng.choice([1, 1, 3]),
        )  # fmt: skip

    def _work(self, common: dict[str, Any], number: int) -> Progress | Fault | Reply:
        job, which = self.rng.choice(self.jobs), self.rng.random()
        if which < 0.3:
            return Progress(**common, generation=job, tokens=self.rng.randrange(120))
        if self.rng.random() < 0.9:
            self.jobs.remove(job)
        if which < 0.4:
            return Fault(**common, generation=job)
        state = self.rng.choice(["ok", "ok", "ok", "censored"])
        said = f"said {number}" if self.rng.random() < 0.8 else "said before"
        return Reply(**common, generation=job, state=state, said=said, tokens=self.rng.randrange(150))


def simulated(seed: int, actors: int = 16, operations: int = 400, losses: float = LOSSES) -> History:
    """A legal history: operations take effect one after another, each at a moment between its call and its return."""
    rng, serial = random.Random(seed), [0]
    queue, known, told = Queue(rng), list[str](), list[AnyOperation]()
    crowd = [Actor(place, rng, serial) for place in range(actors)]
    heard: list[tuple[float, int, str]] = []
    open_pops: dict[str, Pop] = {}
    agenda: list[tuple[float, int, int, AnyOperation, float]] = []

    def call(place: int, called: float) -> None:
        while heard and heard[0][0] < called:
            known.append(heapq.heappop(heard)[2])
        act = crowd[place].act(known, called)
        if isinstance(act, Pop):
            open_pops[act.actor] = act
        length = rng.expovariate(100) * (30 if rng.random() < 0.02 else 1)
        moment = called + rng.random() * length
        heapq.heappush(agenda, (moment, serial[0], place, act, called + length))

    for place in range(actors):
        call(place, rng.random() * 0.01)
    while agenda:
        moment, number, place, act, returned = heapq.heappop(agenda)
        queue.tick(moment)
        method: Callable[..., AnyOperation] = getattr(queue, act.kind)
        lost = rng.random() < losses and not isinstance(act, Reading | Balance)
        beside = [pop for pop in open_pops.values() if pop.actor != act.actor and pop.called <= moment]
        # An answer that is lost was given, or the act was never carried out.
        done = act if lost and rng.random() < 0.5 else method(act, moment, beside)
        open_pops.pop(act.actor, None)
        if lost:
            outcome = Outcome.REFUSED if done.outcome is Outcome.REFUSED else Outcome.UNKNOWN
            told.append(replace(act, returned=returned, outcome=outcome))
        else:
            told.append(replace(done, returned=returned))
            if isinstance(done, Pop):
                crowd[place].jobs += done.generations
            if isinstance(done, Submit):
                heapq.heappush(heard, (returned, number, done.request))
        if len(told) + len(agenda) < operations:
            call(place, returned + rng.expovariate(200))
    closed = frozenset({*(f"requester {i}" for i in range(3)), *(f"owner {i}" for i in range(2))})
    return History(operations=tuple(told), terms=TERMS, closed=closed)


@pytest.fixture(scope="session")
def simulate() -> Callable[..., History]:
    return simulated
