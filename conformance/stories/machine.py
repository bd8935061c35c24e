"""The state machine of Hypothesis: what somebody may do next, whatever happened before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from conformance.actors import Family
from conformance.errors import CouldNotRun
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
from conformance.stories.world import Asked, State

if TYPE_CHECKING:
    from conformance.stories.search import Search

T = TypeVar("T")
Pair = tuple[type[Single], type[Single]]

# With one request a story goes deep, with two it shows what one does to the other.
_REQUESTS = 2
# What may be done at the same time to one request; twice the same is also done to two of its generations.
_PAIRS: tuple[Pair, ...] = (
    (Pop, Pop), (Reply, Reply), (GiveUp, GiveUp), (Cancel, Cancel), (Pop, Cancel), (Reply, Cancel), (GiveUp, Cancel),
    (Post, Cancel), (Post, Cancel), (Post, Reply), (Reply, GiveUp),
)  # fmt: skip


class Deed(StrEnum):
    """What somebody does next."""

    SUBMIT = "submit"
    POP = "pop"
    REPLY = "reply"
    GIVE_UP = "give up"
    POST = "post output"
    CANCEL = "cancel"
    ACROSS = "ask the other family's route"
    LATE = "work on what has ended"
    TOGETHER = "two things at the same time"


_WORK: dict[Deed, type[Reply | GiveUp | Post]] = {Deed.REPLY: Reply, Deed.GIVE_UP: GiveUp, Deed.POST: Post}


@dataclass(frozen=True)
class Choice:
    """What is drawn for one step. All but the deed, a declaration and a pair follows from the one number `which`."""

    deed: Deed
    which: int
    kind: Kind
    pair: int

    @property
    def family(self) -> Family:
        """Chat twice as often: it has more to go wrong."""
        return Family.CHAT if self.which % 3 else Family.TEXT

    @property
    def n(self) -> int:
        return 1 + self.which // 3 % 3

    @property
    def stream(self) -> bool:
        return self.which // 9 > 0

    @property
    def requester(self) -> int:
        return 1 + self.which % 2

    @property
    def worker(self) -> str:
        return "AAABBC"[self.which % 6]

    @property
    def amount(self) -> int:
        return 1 + self.which // 3 % 2

    @property
    def length(self) -> Length:
        return (Length.SHORT, Length.LONG)[self.which % 2]

    @property
    def route(self) -> Route:
        return (Route.STATUS, Route.CANCEL)[self.which % 2]

    @property
    def late(self) -> Deed:
        return tuple(_WORK)[self.which % 3]

    def one(self, things: list[T]) -> T | None:
        """One of these, every other time the newest, for state grows where one stays; None where there are none."""
        if not things:
            return None
        return things[-1] if self.which // 2 % 2 else things[self.which // 4 % len(things)]


# What makes a story go on, not end, and what is seen of it; weighed so that no state is much rarer than others.
_OFTEN = (
    *[Deed.POP] * 4, *[Deed.REPLY] * 2, *[Deed.GIVE_UP] * 2, *[Deed.POST] * 4, *[Deed.LATE] * 3, *[Deed.ACROSS] * 2,
    *[Deed.TOGETHER] * 4,
)  # fmt: skip
# Each draw takes longer than a call of the model: four a step.
_CHOICES = st.builds(
    Choice,
    deed=st.sampled_from((*Deed, *_OFTEN)),
    which=st.integers(0, 35),
    kind=st.sampled_from((*Kind, Kind.BOTH, Kind.BOTH)),
    pair=st.integers(0, len(_PAIRS) - 1),
)


class Machine(RuleBasedStateMachine):
    """One story.

    There is one rule: of several Hypothesis leaves some out of each story, and most stories would stand still. A deed
    that cannot be done yet becomes the call that it waits for. What is drawn depends on nothing that was seen, so that
    a target that acts by chance cannot confuse Hypothesis.
    """

    def __init__(self, search: Search) -> None:
        super().__init__()
        self.search = search
        self.story = search.begin()
        self._names = 0
        self._most = 1

    @initialize(choice=_CHOICES)
    def begin(self, choice: Choice) -> None:
        self._most = 1 + choice.which % _REQUESTS
        self._perform(self._submit(choice))

    @rule(choice=_CHOICES)
    def go_on(self, choice: Choice) -> None:
        self._perform(self._call(choice))

    def teardown(self) -> None:
        """End the story: the last looks, and what was left waiting is cancelled."""
        self.search.end(self.story)
        with suppress(CouldNotRun):
            self.story.tidy()

    def _perform(self, call: Call | None) -> None:
        unheard = not self.search.streaming and call and any(isinstance(single, Post) for single in each(call))
        if call is not None and not unheard and not self.search.over:
            self.search.judge(self.story, partial(self.story.perform, call))

    def _call(self, choice: Choice) -> Call | None:
        """The call that a choice comes to where the story stands; None for a needless one."""
        name = choice.one(list(self.story.world.requests))
        if name is None or choice.deed is Deed.SUBMIT:
            return self._submit(choice)
        if choice.deed in _WORK:
            return self._work(choice.deed, choice)
        calls: dict[Deed, Callable[[], Call | None]] = {
            Deed.POP: lambda: self._pop(choice, choice.kind) if self._waits() else self._hand_out(choice),
            Deed.CANCEL: lambda: Cancel(choice.one(self._open()) or name),
            Deed.ACROSS: lambda: self._across(choice, name),
            Deed.LATE: lambda: self._late(choice) or self._work(Deed.REPLY, choice),
            Deed.TOGETHER: lambda: self._together(choice) or self._hand_out(choice),
        }
        return calls[choice.deed]()

    def _submit(self, choice: Choice) -> Call | None:
        if len(self.story.world.requests) == self._most:
            return None
        stream = choice.stream and choice.family is Family.CHAT and self.search.streaming
        return Submit(self._new("request"), choice.requester, choice.family, choice.n, stream)

    def _pop(self, choice: Choice, kind: Kind) -> Pop:
        return Pop(self._new("pop"), choice.worker, kind, choice.amount)

    def _across(self, choice: Choice, name: str) -> Call | None:
        call = Across(name, choice.route)
        return None if self.story.played and self.story.played[-1][0] == call else call

    def _work(self, deed: Deed, choice: Choice) -> Call | None:
        flying = self._jobs(State.IN_FLIGHT)
        if deed is Deed.POST and choice.which % 4:
            # To other output nobody listens.
            flying = [job for job in flying if self._asked(job).stream]
        job = choice.one(flying)
        return self._hand_out(choice) if job is None else _worked(deed, job, choice.length)

    def _late(self, choice: Choice) -> Call | None:
        ended = choice.one(self._jobs(State.FINISHED, State.GIVEN_UP, State.SETTLED))
        return None if ended is None else _worked(choice.late, ended, choice.length)

    def _hand_out(self, choice: Choice) -> Call | None:
        """What brings a generation nearer to being in flight: somebody takes what waits, or submits."""
        if self._waits():
            return self._pop(choice, Kind.BOTH)
        return self._submit(choice) or self._pop(choice, choice.kind)

    def _waits(self) -> bool:
        return any(asked.waiting for asked in self.story.world.requests.values())

    def _open(self) -> list[str]:
        return [name for name, asked in self.story.world.requests.items() if not asked.cancelled]

    def _together(self, choice: Choice) -> Call | None:
        """The pair that was drawn, or the next one that some request allows."""
        names = self._open() or list(self.story.world.requests)
        for pair in _PAIRS[choice.pair :] + _PAIRS[: choice.pair]:
            both = choice.one([both for name in names if (both := self._both(name, pair, choice.which % 2))])
            if both:
                return both
        return None

    def _both(self, request: str, pair: Pair, place: int) -> Together | None:
        one, other = self._act(pair[0], request, 0, "A"), self._act(pair[1], request, place, "B")
        return Together(one, other) if one and other else None

    def _act(self, kind: type[Single], request: str, place: int, worker: str) -> Single | None:
        if kind is Cancel:
            return Cancel(request)
        if kind is Pop:
            return Pop(self._new("pop"), worker) if self.story.world.requests[request].waiting else None
        flying = [job for job in self._jobs(State.IN_FLIGHT) if self.story.world.generations[job].request == request]
        # First the one of which most was heard: two calls meet best where there is most to lose.
        flying.sort(key=self._heard, reverse=True)
        job = flying[place % len(flying)] if flying else None
        deed = next((deed for deed, work in _WORK.items() if work is kind), None)
        return _worked(deed, job, Length.SHORT) if deed and job else None

    def _heard(self, job: JobKey) -> int:
        return sum(getattr(call, "job", None) == job for call, _ in self.story.played)

    def _asked(self, job: JobKey) -> Asked:
        return self.story.world.requests[self.story.world.generations[job].request]

    def _jobs(self, *states: State) -> list[JobKey]:
        return [key for key, generation in self.story.world.generations.items() if generation.state in states]

    def _new(self, what: str) -> str:
        self._names += 1
        return f"{what} {self._names}"


def _worked(deed: Deed, job: JobKey, length: Length) -> Single:
    work = _WORK[deed]
    return GiveUp(job) if work is GiveUp else Post(job, length) if work is Post else Reply(job, length)
