"""How a suite says which requirement a check judges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from conformance.actors import Family

F = TypeVar("F", bound=Callable[..., Any])

MARK = "requirement"


def check(requirement: str, *, both: bool = False, half: str = "chat") -> Callable[[F], F]:
    """Mark a test as a check of one requirement.

    Args:
        requirement: the id in the catalogue.
        both: run once for each family, given as the argument `family`; each run judges its half.
        half: without `both`, the half that the check judges: "chat" or "text".
    """

    def mark(function: F) -> F:
        marked: F = pytest.mark.requirement(requirement, half=None if both else half)(function)
        if both:
            marked = pytest.mark.parametrize("family", [Family.CHAT, Family.TEXT])(marked)
        return marked

    return mark
