"""The order in which jobs were handed out, against the one in which they should have been (LOD-07).

Calls that overlap have no order that could be wrong. A job was overtaken where another one, behind it in the queue,
had already been answered before the pop that received it was even sent.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict


class HandedOut(BaseModel):
    """A job's place in the true order, and when the pop that received it was sent and answered, in seconds."""

    model_config = ConfigDict(frozen=True)

    position: int
    sent: float
    answered: float


class Order(BaseModel):
    """How many pairs of jobs were handed out in the wrong order, and how many overtook the one that fared worst."""

    model_config = ConfigDict(frozen=True)

    jobs: int
    inversions: int
    worst: int


def order(handed: Sequence[HandedOut]) -> Order:
    """Hold hand-outs against the true order."""
    by_answer = sorted(handed, key=lambda job: job.answered)
    before: list[int] = []
    answered = inversions = worst = 0
    for job in sorted(handed, key=lambda job: job.sent):
        while answered < len(by_answer) and by_answer[answered].answered < job.sent:
            insort(before, by_answer[answered].position)
            answered += 1
        overtaking = len(before) - bisect_right(before, job.position)
        inversions += overtaking
        worst = max(worst, overtaking)
    return Order(jobs=len(handed), inversions=inversions, worst=worst)
