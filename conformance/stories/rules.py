"""What stories judge: the requirements, how one is broken, and the prices by which money is judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from conformance.actors import Family
from conformance.stories.calls import Length

# Binary noise of floats: a hundredth of a kudo is the smallest movement.
NOISE = 0.005


class Rule(StrEnum):
    """The requirements that stories judge."""

    FAMILIES_APART = "FAM-05"
    CHAT_WHERE_DECLARED = "POP-04"
    TEXT_WHERE_ACCEPTED = "POP-05"
    HANDED_OUT_ONCE = "POP-13"
    LAST_DECLARATION = "POP-14"
    ONES_OWN_ONCE = "RPL-22"
    COUNTS = "RPL-23"
    MONEY = "ACC-06"


class Breach(Exception):
    """A rule is broken: what was expected of the call before, and what was seen."""

    def __init__(self, rule: Rule, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}, got {got}")
        self.rule = rule
        self.expected = expected
        self.got = got


@dataclass(frozen=True)
class Prices:
    """What this target takes, measured on it: `cancel` is what a streamed cancel costs less than such a reply."""

    submit: dict[Family, float]
    charge: dict[tuple[Family, Length], float]
    reward: dict[tuple[Family, Length], float]
    cancel: float = 0.0
    rounding: float = 0.0

    def same(self, one: float, other: float, movements: int) -> bool:
        """Whether two figures are the same, each off by the rounding of so many movements at most."""
        return abs(one - other) <= 2 * self.rounding * movements + NOISE
