"""When requests are due: schedules that are drawn beforehand and know nothing of how the target answers.

In an open loop a request is due when the schedule says so, whether or not earlier ones have been answered; a stall
of the target then shows in the times of all that came due meanwhile. Several processes superpose their schedules:
of W each takes the rate/W, so that together they are one process's in law (exponential gaps: superposed Poisson
streams are one) or in every instant (constant gaps: each process's are shifted by its index).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import count


class Gaps(StrEnum):
    """How the gaps between arrivals are distributed."""

    EXPONENTIAL = "exponential"
    CONSTANT = "constant"


@dataclass(frozen=True)
class Stretch:
    """Arrivals at one rate (a second) from `begin` to `end` (seconds since the run's begin)."""

    begin: float
    end: float
    rate: float


@dataclass(frozen=True)
class Share:
    """Which of how many processes draws its part of the schedule."""

    index: int = 0
    of: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.of:
            raise ValueError(f"process {self.index} is not one of {self.of}")


def stretches(phases: Iterable[tuple[float, float]]) -> tuple[Stretch, ...]:
    """The stretches of phases that follow one another, each given as its seconds and its rate."""
    found: list[Stretch] = []
    begin = 0.0
    for seconds, rate in phases:
        found.append(Stretch(begin, begin + seconds, rate))
        begin += seconds
    return tuple(found)


def starts(stretch: Stretch, gaps: Gaps, *, seed: int, share: Share = Share()) -> Iterator[float]:
    """The intended starts of one process within a stretch, ascending, in seconds since the run's begin."""
    if stretch.rate <= 0:
        return iter(())
    if gaps is Gaps.CONSTANT:
        return _constant(stretch, share)
    return _exponential(stretch, stream(seed, share.index, stretch.begin), share.of)


def schedule(
    phases: Iterable[Stretch], gaps: Gaps, *, seed: int, share: Share = Share()
) -> Iterator[tuple[int, float]]:
    """The intended starts of one process over all phases, each with its phase's place."""
    for place, stretch in enumerate(phases):
        for start in starts(stretch, gaps, seed=seed, share=share):
            yield place, start


def stream(seed: int, *parts: object) -> random.Random:
    """A stream of random numbers of one's own: other parts (a process's index, a user's) give another one."""
    # Seeded by a text: seeds that differ by one give streams that have nothing in common.
    return random.Random("/".join(map(str, (seed, *parts))))


def _constant(stretch: Stretch, share: Share) -> Iterator[float]:
    # Counted, not summed up: the union over processes is the very schedule of one.
    for place in count(share.index, share.of):
        start = stretch.begin + place / stretch.rate
        if start >= stretch.end:
            return
        yield start


def _exponential(stretch: Stretch, draw: random.Random, of: int) -> Iterator[float]:
    start = stretch.begin + draw.expovariate(stretch.rate / of)
    while start < stretch.end:
        yield start
        start += draw.expovariate(stretch.rate / of)
