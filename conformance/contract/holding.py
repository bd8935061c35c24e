"""Holding a target to its contract: the stories that are drawn from it, and what is judged of each call."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from secrets import randbits
from typing import TypeVar
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from schemathesis.errors import SchemathesisError

from conformance.actors import Family
from conformance.contract import drawing, judging, operations
from conformance.contract.documents import Document
from conformance.contract.drawing import Drawn, Key, Malformed
from conformance.contract.story import Story, Told
from conformance.errors import CouldNotRun
from conformance.stage import Stage

T = TypeVar("T")

_ROUTES_WITH_BODY = ("submit", "pop", "reply", "progress")


class Holder:
    """One family's routes of one target, as a document describes them; `counts` says what was carried out and seen."""

    def __init__(self, stage: Stage, family: Family, document: Document) -> None:
        self.stage = stage
        self.family = family
        self.document = document
        self.operations = operations.described(document, stage.profile, family)
        self.story = Story(stage, family)
        self.carried_out: set[str] = set()
        self.counts: Counter[str] = Counter()
        self._answers = drawing.schema(document, self.operations, sent=False)

    @cached_property
    def _calls(self) -> dict[str, SearchStrategy[Drawn]]:
        view = drawing.schema(self.document, self.operations, sent=True)
        return {name: drawing.calls(self.document, view, operation) for name, operation in self.operations.items()}

    def stories(self) -> SearchStrategy[dict[str, Drawn]]:
        """A drawn call of each operation."""
        return st.fixed_dictionaries(self._calls)

    def spoilt(self) -> SearchStrategy[list[Malformed]]:
        """Submits and a call by id as they were drawn, and a spoilt call of each route that takes a body."""
        bodies = [calls for name, calls in self._calls.items() if name.startswith(_ROUTES_WITH_BODY)]
        paths = [calls for name, calls in self._calls.items() if not name.startswith(_ROUTES_WITH_BODY)]
        submit = self._calls[f"submit_{self.family}"]
        as_drawn = [calls.map(drawing.unspoilt) for calls in (submit, submit, st.one_of(*paths))]
        return st.tuples(*as_drawn, *map(drawing.malformed, bodies)).map(list)

    # Judging

    def within_time(self, examples: SearchStrategy[T], judge: Callable[[T], None]) -> None:
        """Judge examples of the run's seed, or of fresh ones while an exploring run has time; one at least."""
        wanted = self.stage.profile.contract
        exploring = self.stage.resources.explore
        end = time.monotonic() + (wanted.exploring if exploring else wanted.seconds)
        begun = 0

        def timely(example: T) -> None:
            nonlocal begun
            if begun and time.monotonic() > end:
                return
            begun += 1
            judge(example)

        seeds = [self.stage.resources.seed]
        while True:
            try:
                self.stage.for_all(examples, timely, count=wanted.examples, seed=seeds[-1])
            except AssertionError as failure:
                raise _seeded(failure, seeds[-1]) from None
            except SchemathesisError as error:
                raise drawing.untrue(self.document, error) from None
            if not exploring or time.monotonic() > end:
                break
            seeds.append(randbits(32))
        self.stage.note("contract", self.document.place)
        self.stage.note("examples", begun)
        self.stage.note("seeds", seeds)
        self.stage.note("answers", dict(sorted(self.counts.items())))

    def true_of(self, story: dict[str, Drawn]) -> None:
        """Tell a story of drawn calls, each of which needs what came before, and judge each answer."""
        submit = f"submit_{self.family}"
        self._act(story[submit])
        if self.story.request is None:
            self._must(submit)
        self._must(f"status_{self.family}")
        self._act(story["pop"])
        self._ready(self._act)
        if "progress" in story:
            self._act(story["progress"])
        self._act(story["reply"])
        if self.story.job is not None:
            self._must("reply")
        for act in ("status", "record", "cancel"):
            if f"{act}_{self.family}" in story:
                self._act(story[f"{act}_{self.family}"])
        if self.story.request is not None:
            self._must(f"cancel_{self.family}")

    def told_plainly(self) -> None:
        """What happens every day is answered as the contract says: an unknown id, a key that nobody has, no key."""
        unknown = str(UUID(int=self.stage.random.getrandbits(128), version=4))
        keys: tuple[Key, ...] = ("own", "wrong", "none")
        for name in self.operations:
            for key in keys if not name.startswith(("status_", "cancel_")) else keys[:1]:
                self._act(replace(self.story.plain(name, unknown), key=key))
        self._ready(self._act)
        if "progress" in self.operations:
            self._must("progress")

    def followed(self) -> None:
        """Follow the links of a submit's answer, those that cancel last.

        Raises:
            AssertionError: one leads to nothing.
        """
        told = self._must(f"submit_{self.family}")
        links = operations.links(self.document, self.operations, told.operation, told.answer)
        for link in sorted(links, key=lambda link: link.operation.startswith("cancel")):
            led = self._act(Drawn(link.operation, id=link.id, own=False))
            assert led.answer.accepted, f"the link {link.name!r} of {told.operation} leads to {led.answer}"
        if self.story.request is not None:
            self._must(f"cancel_{self.family}")
        self.stage.note("links", [link.name for link in links])

    def complete(self) -> None:
        """Each operation was carried out at least once: a contract that only refusals are held to is not held at all.

        Raises:
            CouldNotRun: one was not.
        """
        missing = sorted(set(self.operations) - self.carried_out - {f"record_{self.family}"})
        if missing:
            raise CouldNotRun(f"none of the calls was carried out: {', '.join(missing)}")

    def _act(self, drawn: Drawn) -> Told:
        return self._judged(self.story.tell(drawn))

    def _must(self, operation: str) -> Told:
        return self.story.carried_out(self._act(self.story.plain(operation)))

    def _judged(self, told: Told) -> Told:
        """Hold an answer to the contract, save a crash of a chat route, which has a requirement of its own, and a
        refusal for the rate of calls, which is often not the target's own.
        """
        self._count(told)
        if not (told.answer.limited or (told.answer.crashed and self.family is Family.CHAT)):
            try:
                judging.conforms(self.document, self._answers, self.operations[told.operation], told.answer)
            except AssertionError as broken:
                raise AssertionError(f"{broken}{self._repeat(told)}") from None
        return told

    def survives(self, calls: list[Malformed]) -> None:
        """Tell spoilt calls while a request is open and a job is in hand: none crashes the target or hangs.

        Raises:
            AssertionError: one does.
            CouldNotRun: the target is gone.
        """
        self._ready(self.story.tell)
        for call in calls:
            told = self._answered(call)
            self._count(told)
            assert not told.answer.crashed, f"a call crashed the target: {told.answer}{self._repeat(told)}"

    def _ready(self, tell: Callable[[Drawn], Told]) -> None:
        """See that a request is open and a job in hand; a drawn request may ask for more than the worker is."""
        submit = f"submit_{self.family}"
        if self.story.request is None:
            self.story.carried_out(tell(self.story.plain(submit)))
        if self.story.job is None:
            tell(self.story.plain("pop"))
        if self.story.job is None:
            self.story.carried_out(tell(self.story.plain(submit)))
            self.story.carried_out(tell(self.story.plain("pop")))

    def _answered(self, call: Malformed) -> Told:
        try:
            return self.story.tell(call)
        except CouldNotRun as silence:
            # The control: the target is there, and answers what is right.
            self.story.must(f"submit_{self.family}")
            raise AssertionError(f"a call is not answered: {silence}. It was {call}") from None

    def _count(self, told: Told) -> None:
        self.counts[f"{told.operation} {told.answer.status}"] += 1
        if told.answer.accepted:
            self.carried_out.add(told.operation)

    def _repeat(self, told: Told) -> str:
        return f". The call: {judging.curl(told.answer.exchange, told.content, self.story.keys)}"


def _seeded(failure: AssertionError, seed: int) -> AssertionError:
    return AssertionError(f"{failure}. Drawn with --seed {seed}")
