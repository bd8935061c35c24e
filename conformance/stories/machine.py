"""The state machine: Hypothesis makes stories up, the model judges each call, the first breach is cut to the quick."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from conformance.actors import Family
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.stories import cutting, telling
from conformance.stories.calls import (
    Across,
    Call,
    Cancel,
    GiveUp,
    JobKey,
    Kind,
    Length,
    Pop,
    Post,
    Reply,
    Route,
    Single,
    Submit,
    Together,
    each,
)
from conformance.stories.player import Crew, crew
from conformance.stories.rules import Breach, Prices, Rule
from conformance.stories.story import Looks, Story, measured
from conformance.stories.world import State

T = TypeVar("T")

# Choices in a story; those that make no sense where it stands are no calls.
_STEPS = 24
_REQUESTS = 2
# A story in which two calls meet may come out otherwise the next time.
_TRIES = 3
# Seconds that cutting may take.
_CUTTING = 8.0
# Stories between two looks at the clock.
_BATCH = 25
# Two crews: no worker gives up so often that a target puts it into maintenance (facts, 3.7: twenty times an hour).
_CREWS = 2
# Chat has more to go wrong, and so have two generations.
_FAMILIES = st.sampled_from((Family.CHAT, Family.CHAT, Family.TEXT))
_NUMBERS = st.sampled_from((1, 2, 2))
# What a worker does with a generation that it was handed.
_WORK = (Reply, GiveUp, Post)
Work = type[Reply] | type[GiveUp] | type[Post]
# What may be done at the same time to one request; twice the same is also done to two of its generations.
_MEETINGS: tuple[tuple[type[Single], type[Single]], ...] = (
    (Pop, Pop), (Reply, Reply), (GiveUp, GiveUp), (Cancel, Cancel), (Pop, Cancel), (Reply, Cancel), (GiveUp, Cancel),
    (Post, Cancel), (Reply, GiveUp), (Post, Reply), (GiveUp, Pop),
)  # fmt: skip


@dataclass
class Found:
    """A breach, and the smallest story that showed it; `seconds` since the search began."""

    rule: Rule
    calls: cutting.Calls
    sentence: str
    seconds: float = 0.0

    @property
    def size(self) -> int:
        """How many calls it takes."""
        return cutting.size(self.calls)


@dataclass
class Search:
    """A search for a story that breaks a rule, on one target. Its workers are hired once, its prices measured once."""

    stage: Stage
    crews: Sequence[Crew]
    prices: Prices
    stories: int = 0
    calls: int = 0
    found: Found | None = None
    stopped: CouldNotRun | None = None
    deadline: float = field(default=float("inf"))
    began: float = field(default_factory=time.monotonic)
    first: Found | None = None

    @property
    def over(self) -> bool:
        """Whether no further call is to be made."""
        return self.found is not None or self.stopped is not None or time.monotonic() > self.deadline

    @property
    def streaming(self) -> bool:
        """Whether the target streams, so that output may be posted."""
        return "streaming" in self.stage.profile.capabilities

    def begin(self, looks: Looks = Looks.AFTER_EACH_CALL) -> Story:
        """A new story, with the crew whose turn it is."""
        self.stories += 1
        return Story(self.stage, self.crews[self.stories % len(self.crews)], self.prices, looks)

    def told(self, story: Story, breach: Breach) -> Found:
        """A breach with its story, in words."""
        calls = tuple(call for call, _ in story.played)
        sentence = f"{telling.told(story.played, story.world)}: {breach}"
        return Found(breach.rule, calls, sentence, time.monotonic() - self.began)


class Machine(RuleBasedStateMachine):
    """One story. What a rule draws depends on nothing that was seen, so that chance cannot confuse Hypothesis."""

    def __init__(self, search: Search) -> None:
        super().__init__()
        self.search = search
        self.story = search.begin()
        self._names = 0

    # Hypothesis leaves rules out of a story by lot, so that stories differ in kind; none does without a request.
    @initialize(family=_FAMILIES, n=_NUMBERS, stream=st.booleans())
    def begin(self, family: Family, n: int, stream: bool) -> None:
        self.submit(1, family, n, stream)

    @rule(requester=st.integers(1, 2), family=_FAMILIES, n=_NUMBERS, stream=st.booleans())
    def submit(self, requester: int, family: Family, n: int, stream: bool) -> None:
        hinted = stream and family is Family.CHAT and self.search.streaming
        if len(self.story.world.requests) < _REQUESTS:
            self._perform(Submit(self._new("request"), requester, family, n, hinted))

    @rule(worker=st.sampled_from("ABC"), kind=st.sampled_from(Kind), amount=st.integers(1, 2))
    def pop(self, worker: str, kind: Kind, amount: int) -> None:
        if self.story.world.requests:
            self._perform(Pop(self._new("pop"), worker, kind, amount))

    @rule(worker=st.sampled_from("ABC"), amount=st.integers(1, 2))
    def take(self, worker: str, amount: int) -> None:
        if any(asked.waiting for asked in self.story.world.requests.values()):
            self._perform(Pop(self._new("pop"), worker, Kind.BOTH, amount))

    @rule(k=st.integers(0, 5), length=st.sampled_from(Length))
    def reply(self, k: int, length: Length) -> None:
        self._perform(*(Reply(job, length) for job in _one(self._jobs(State.IN_FLIGHT), k)))

    @rule(k=st.integers(0, 5))
    def give_up(self, k: int) -> None:
        self._perform(*map(GiveUp, _one(self._jobs(State.IN_FLIGHT), k)))

    @rule(k=st.integers(0, 5), length=st.sampled_from(Length))
    def post(self, k: int, length: Length) -> None:
        self._perform(*(Post(job, length) for job in _one(self._jobs(State.IN_FLIGHT), k)))

    @rule(k=st.integers(0, 5))
    def cancel(self, k: int) -> None:
        self._perform(*map(Cancel, _one(list(self.story.world.requests), k)))

    @rule(k=st.integers(0, 5), route=st.sampled_from(Route))
    def across(self, k: int, route: Route) -> None:
        self._perform(*(Across(name, route) for name in _one(list(self.story.world.requests), k)))

    @rule(k=st.integers(0, 5), how=st.sampled_from(_WORK))
    def late(self, k: int, how: type[Reply | GiveUp | Post]) -> None:
        for job in _one(self._jobs(State.FINISHED, State.GIVEN_UP, State.SETTLED), k):
            self._perform(how(job))

    @rule(k=st.integers(0, 5), j=st.integers(0, 1), pair=st.sampled_from(_MEETINGS))
    def together(self, k: int, j: int, pair: tuple[type[Single], type[Single]]) -> None:
        for name in _one(list(self.story.world.requests), k):
            one, other = self._act(pair[0], name, 0, "A"), self._act(pair[1], name, j, "B")
            if one and other:
                self._perform(Together(one, other))

    def teardown(self) -> None:
        """End the story: the last looks, and what was left waiting is cancelled."""
        if not self.search.over:
            self._judge(self.story.close)
        with suppress(CouldNotRun):
            self.story.tidy()

    def _act(self, kind: type[Single], request: str, j: int, worker: str) -> Single | None:
        if kind is Cancel:
            return Cancel(request)
        if kind is Pop:
            return Pop(self._new("pop"), worker)
        flying = [job for job in self._jobs(State.IN_FLIGHT) if self.story.world.generations[job].request == request]
        return next((work(job) for work in _WORK if work is kind for job in _one(flying, j)), None)

    def _perform(self, *calls: Call) -> None:
        for call in calls:
            posts = any(isinstance(single, Post) for single in each(call))
            if not self.search.over and (self.search.streaming or not posts):
                self._judge(partial(self.story.perform, call))

    def _judge(self, act: Callable[[], object]) -> None:
        try:
            act()
        except Breach as breach:
            self.search.found = self.search.told(self.story, breach)
        except CouldNotRun as reason:
            self.search.stopped = reason

    def _jobs(self, *states: State) -> list[JobKey]:
        return [key for key, generation in self.story.world.generations.items() if generation.state in states]

    def _new(self, what: str) -> str:
        self._names += 1
        return f"{what} {self._names}"


def _one(things: Sequence[T], k: int) -> Sequence[T]:
    """The k-th of these, counted round and round; nothing where there are none."""
    return [things[k % len(things)]] if things else []


def explore(stage: Stage, *, seed: int, stories: int = 25, seconds: float = float("inf")) -> Search:
    """Tell stories until one breaks a rule, so many are told, or the time is up; what was found is cut down.

    Args:
        seed: of the stories.
        seconds: after which no further call of a new story is made.

    Raises:
        CouldNotRun: a story could not be told on.
    """
    crews = [crew(stage) for _ in range(_CREWS)]
    search = Search(stage, crews, measured(stage, crews[0]), deadline=time.monotonic() + seconds)
    batch = 0
    while not search.over and search.stories < stories:
        _tell(search, f"{seed}/{batch}", min(_BATCH, stories - search.stories))
        batch += 1
    if search.stopped is not None:
        raise search.stopped
    search.first = search.found
    if search.found is not None:
        cut(search, search.found)
    return search


def _tell(search: Search, seed: str, stories: int) -> None:
    settings = hypothesis.settings(
        max_examples=stories,
        stateful_step_count=_STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    # A function, and not the class: the seed is an attribute of what it is given.
    machine = cast("type[RuleBasedStateMachine]", hypothesis.seed(seed)(lambda: Machine(search)))
    run_state_machine_as_test(machine, settings=settings)


def cut(search: Search, found: Found) -> None:
    """Cut a breach's story down, as far as a few seconds allow; the search keeps the smallest that showed it."""
    deadline = time.monotonic() + _CUTTING
    # Each look costs a call: no more are taken than the breach needs to show.
    for looks in Looks:
        shows = partial(_shows, search, found.rule, deadline, looks)
        shown = shows(found.calls)
        if shown is not None:
            cutting.cut(shown, shows)
            return


def _shows(search: Search, rule: Rule, deadline: float, looks: Looks, calls: cutting.Calls) -> cutting.Calls | None:
    for _ in range(_TRIES if any(isinstance(call, Together) for call in calls) else 1):
        smaller = None if time.monotonic() > deadline else replay(search, calls, looks)
        if smaller is not None and smaller.rule is rule:
            search.found = smaller
            return smaller.calls
    return None


def replay(search: Search, calls: Sequence[Call], looks: Looks = Looks.AFTER_EACH_CALL) -> Found | None:
    """Tell a story again, on requests of its own, without the calls that make no sense any more."""
    story = search.begin(looks)
    breach: Breach | None = None
    try:
        for call in calls:
            story.perform(call)
        story.close()
    except Breach as met:
        breach = met
    except CouldNotRun:
        return None
    finally:
        with suppress(CouldNotRun):
            story.tidy()
    return None if breach is None else search.told(story, breach)
