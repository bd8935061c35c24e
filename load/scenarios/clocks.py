"""How far the monotonic clocks of two hosts are apart, by questions and answers.

A question is sent at one moment of our clock, answered at one of the other's, and the answer heard at one of ours:
when the other wrote down its moment, ours stood between the two. The narrowest of a second's answers is taken for all
of that second; the bounds of a run are those of all its seconds, for clocks drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

# Seconds of which the narrowest answer is taken.
_PERIOD = 1.0
# By which share of the time that passes two clocks may drift apart: a kernel slews each by 0.05 % at most.
SLEW = 2 * 0.0005


@dataclass(frozen=True)
class Reading:
    """One question: `sent` and `heard` by our clock, `told` by the other's."""

    sent: float
    told: float
    heard: float


class Apart(BaseModel):
    """Between which two bounds the other's clock is ahead of ours, in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    low: float
    high: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def ours(self, started: float, ended: float) -> tuple[float, float]:
        """The span by our clock within which a span of the other's lies for certain."""
        return started - self.high, ended - self.low


def apart(readings: Sequence[Reading]) -> Apart:
    """What all readings of a run tell.

    Raises:
        ValueError: there are none.
    """
    narrowest: dict[int, Reading] = {}
    for reading in readings:
        second = int(reading.sent // _PERIOD)
        best = narrowest.get(second)
        if best is None or reading.heard - reading.sent < best.heard - best.sent:
            narrowest[second] = reading
    if not narrowest:
        raise ValueError("the other's clock was never read")
    taken = sorted(narrowest.values(), key=lambda reading: reading.sent)
    # A moment is at most so far from one of those that were taken, also before the first and after the last.
    drift = SLEW * max(2 * _PERIOD, *(later.sent - one.sent for one, later in pairwise(taken)), 0)
    return Apart(
        low=min(one.told - one.heard for one in taken) - drift, high=max(one.told - one.sent for one in taken) + drift
    )
