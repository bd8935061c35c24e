"""The search for a story that breaks a rule, on one target; what it finds is cut to the fewest calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import cast

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.stories import telling
from conformance.stories.calls import Call, Together
from conformance.stories.cutting import Calls, cut_down, size, straightened
from conformance.stories.machine import Machine
from conformance.stories.player import Crew, crew
from conformance.stories.rules import Breach, Prices, Rule
from conformance.stories.story import Looks, Story, measured

# Choices in a story.
_STEPS = 20
# A story in which two calls meet may come out otherwise the next time.
_TRIES = 4
# Hypothesis makes its first ten stories up anew; after them it varies old ones, which finds less here.
_BATCH = 10
# Two crews: no worker gives up so often that a target puts it into maintenance (facts, 3.7: twenty times an hour).
_CREWS = 2


@dataclass(frozen=True)
class Found:
    """A breach, and a story that showed it; `seconds` since the search began."""

    rule: Rule
    calls: Calls
    sentence: str
    seconds: float

    @property
    def size(self) -> int:
        """How many calls it takes."""
        return size(self.calls)


@dataclass
class Search:
    """What a search needs and what it found: its workers are hired once, its prices measured once.

    `stories` counts those told again as well; `told_first` those that Hypothesis made up.
    """

    stage: Stage
    crews: Sequence[Crew]
    prices: Prices
    deadline: float = float("inf")
    stories: int = 0
    told_first: int = 0
    first: Found | None = None
    smallest: Found | None = None
    stopped: CouldNotRun | None = None
    unsettled: list[Story] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def over(self) -> bool:
        """Whether no further call is to be made."""
        return self.first is not None or self.stopped is not None or time.monotonic() > self.deadline

    @property
    def streaming(self) -> bool:
        """Whether the target streams, so that output may be posted."""
        return "streaming" in self.stage.profile.capabilities

    def begin(self, looks: Looks | None = None) -> Story:
        """A new story, with the crew whose turn it is; every other one is looked at in the end only.

        A look costs a call, and may itself mend or hide something.
        """
        self.stories += 1
        watched = (Looks.AT_THE_END, Looks.AFTER_EACH_CALL)[self.stories % 2] if looks is None else looks
        return Story(self.stage, self.crews[self.stories // 2 % len(self.crews)], self.prices, watched)

    def judge(self, story: Story, act: Callable[[], object]) -> None:
        """Let something happen in a story, and remember the breach that it is, or why it could not be judged."""
        try:
            act()
        except Breach as breach:
            self.first, self.told_first = self.told(story, breach), self.stories
        except CouldNotRun as reason:
            self.stopped = reason

    def end(self, story: Story) -> None:
        """Judge how a story ended; its money at once, or with others' where that has to be waited for."""
        if not self.over:
            self.judge(story, story.close)
            self.unsettled.append(story)
        if self.stage.profile.timings.settlement == 0:
            self.settle()

    def settle(self) -> None:
        """Judge the money of the stories that have ended."""
        stories, self.unsettled = self.unsettled, []
        for story, books in self._books(stories) if stories and not self.over else []:
            if not self.over:
                self.judge(story, partial(story.settle, books))

    def _books(self, stories: list[Story]) -> list[tuple[Story, list[tuple[float, float | None]]]]:
        try:
            books = iter(self.stage.money.books([request for story in stories for request in story.requests]))
        except CouldNotRun as reason:
            self.stopped = reason
            return []
        return [(story, list(islice(books, len(story.requests)))) for story in stories]

    def told(self, story: Story, breach: Breach) -> Found:
        """A breach with its story, in words."""
        calls = tuple(call for call, _ in story.played)
        sentence = f"{telling.told(story.played, story.world)}: {breach}"
        return Found(breach.rule, calls, sentence, time.monotonic() - self.began)


def explore(
    stage: Stage, *, seed: int, stories: int = 20, seconds: float = float("inf"), cutting: float = 8.0
) -> Search:
    """Tell stories until one breaks a rule, so many are told, or the time is up; what was found is cut down.

    Args:
        seed: of the stories.
        seconds: after which no further call of a new story is made.
        cutting: seconds that cutting may take.

    Raises:
        CouldNotRun: a story could not be told on.
    """
    began = time.monotonic()
    crews = [crew(stage) for _ in range(_CREWS)]
    search = Search(stage, crews, measured(stage, crews[0]), began + seconds, began=began)
    batch = 0
    while not search.over and search.stories < stories:
        tell(search, f"{seed}/{batch}", min(_BATCH, stories - search.stories))
        batch += 1
    search.told_first = search.told_first or search.stories
    if search.stopped is not None:
        raise search.stopped
    if search.first is not None:
        search.smallest = search.first
        cut(search, search.first, cutting)
    return search


def tell(search: Search, seed: str, stories: int) -> None:
    """Let Hypothesis make up so many stories."""
    settings = hypothesis.settings(
        max_examples=stories,
        stateful_step_count=_STEPS,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    # A function, and not the class: it takes the search, and the seed is an attribute of what is given.
    machine = cast("type[RuleBasedStateMachine]", hypothesis.seed(seed)(lambda: Machine(search)))
    run_state_machine_as_test(machine, settings=settings)
    search.settle()


def cut(search: Search, found: Found, seconds: float) -> None:
    """Cut a breach's story down, as far as these seconds allow; the search keeps the smallest that showed it."""
    deadline = time.monotonic() + seconds
    # Each look costs a call: no more are taken than the breach needs to show.
    for looks in Looks:
        shows = partial(_shows, search, found.rule, deadline, looks)
        shown = next(filter(None, map(shows, [*straightened(found.calls), found.calls])), None)
        if shown is not None:
            cut_down(shown, shows)
            return


def _shows(search: Search, rule: Rule, deadline: float, looks: Looks, calls: Calls) -> Calls | None:
    for _ in range(_TRIES if any(isinstance(call, Together) for call in calls) else 1):
        smaller = None if time.monotonic() > deadline else replay(search, calls, looks)
        if smaller is not None and smaller.rule is rule:
            search.smallest = smaller
            return smaller.calls
    return None


def replay(search: Search, calls: Sequence[Call], looks: Looks) -> Found | None:
    """Tell a story again, on requests of its own, without the calls that make no sense any more."""
    story = search.begin(looks)
    try:
        for call in calls:
            story.perform(call)
        story.close()
        story.settle(search.stage.money.books(story.requests) if story.requests else [])
    except Breach as breach:
        return search.told(story, breach)
    except CouldNotRun:
        return None
    finally:
        with suppress(CouldNotRun):
            story.tidy()
    return None
