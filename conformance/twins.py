"""Twins: metamorphic relations between a chat request and the text request that has the same fields.

A relation tells one story twice, once in each family, and compares what it saw. It needs no formula: the text half
says what is right, and the chat half must agree. What the flattened prompt is worth nobody knows over HTTP, so that
a story's contents are long enough for the prompt's estimate to be capped in both halves (specification: Twins).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

from conformance.actors import Family
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.stage import Stage

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kudos:
    """An amount that a story saw, and the number of movements whose rounding may be in it."""

    amount: float
    movements: int = 1

    def __str__(self) -> str:
        return f"{self.amount} kudos"


Seen = Mapping[str, object]
Story = Callable[[Stage, Family], Seen]


@dataclass(frozen=True)
class Relation:
    """One thing in which twins must agree.

    `sentence` says what must hold, `compares` what is compared, `story` tells the story in one family and gives
    what it saw, by name.
    """

    name: str
    requirement: str
    compares: str
    sentence: str
    story: Story

    def judge(self, stage: Stage) -> None:
        """Tell the story of both halves and compare.

        Raises:
            AssertionError: the chat half saw something else than the text half.
            CouldNotRun: a half could not be told, or the text half saw nothing.
        """
        text, chat = self.story(stage, Family.TEXT), self.story(stage, Family.CHAT)
        if not text:
            raise CouldNotRun(f"the text half of {self.name} saw nothing of {self.compares}")
        for what in sorted({*text, *chat}):
            of_text, of_chat = text.get(what), chat.get(what)
            assert agree(stage, of_text, of_chat), (
                f"{self.name}: {what} is {of_text} for the text request, {of_chat} for its chat twin"
            )


def agree(stage: Stage, one: object, other: object) -> bool:
    """Whether two things seen are the same: kudos as far as the oracle can tell, everything else by equality."""
    if isinstance(one, Kudos) and isinstance(other, Kudos):
        return stage.money.same(one.amount, other.amount, movements=max(one.movements, other.movements))
    return one == other


def relation(requirement: str, *, compares: str) -> Callable[[Story], Relation]:
    """Make a relation of a story: its name is the function's, its sentence the docstring."""

    def make(story: Story) -> Relation:
        name = story.__name__.replace("_", "-")
        return Relation(name, requirement, compares, " ".join((story.__doc__ or "").split()), story)

    return make


def check_of(*relations: Relation) -> Callable[[F], F]:
    """Mark a test, whose arguments are `stage` and `relation`, as a check that is run once for each relation."""
    (requirement,) = {each.requirement for each in relations}
    parametrised = pytest.mark.parametrize("relation", relations, ids=[each.name for each in relations])
    return lambda function: check(requirement)(parametrised(function))
