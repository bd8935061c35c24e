"""How a suite says which requirement a check judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from conformance.actors import Family

F = TypeVar("F", bound=Callable[..., Any])

MARK = "requirement"


class Broken(AssertionError):
    """Of the requirements that one check judges this one is broken.

    `others_judged`: the check went far enough to say that the others held; where it did not, it says nothing of them.
    """

    def __init__(self, requirement: str, sentence: str, *, others_judged: bool = True) -> None:
        super().__init__(sentence)
        self.requirement = requirement
        self.others_judged = others_judged


def check(*requirements: str, both: bool = False, half: str = "chat") -> Callable[[F], F]:
    """Mark a test as a check of one requirement, or of several that one story judges together.

    Args:
        requirements: ids in the catalogue; a check of several says by `Broken` which one did not hold.
        both: run once for each family, given as the argument `family`; each run judges its half.
        half: without `both`, the half that the check judges: "chat" or "text".
    """

    def mark(function: F) -> F:
        marked: F = pytest.mark.requirement(*requirements, half=None if both else half)(function)
        if both:
            marked = pytest.mark.parametrize("family", [Family.CHAT, Family.TEXT])(marked)
        return marked

    return mark
