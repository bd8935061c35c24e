"""How a figure grows with what was swept: slopes with intervals, from rounds that each went through every level.

Latencies of neighbouring moments resemble each other, so the points of a sweep are not independent and the usual
interval of a regression is too narrow. Each round therefore gives one slope of its own: what made a whole round slow
moves its line, not its slope. Neighbouring rounds are gathered into at most twenty batches, and Student's t over the
batches gives the interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from load.errors import BadMeasurements
from load.statistics.late import stats

Round: TypeAlias = Mapping[float, float]
"""One pass through the levels: the figure that was measured at each."""

# Fewer rounds say nothing of how far slopes scatter.
FEWEST_ROUNDS = 5
_BATCHES = 20
# LOD-01 and LOD-02: the upper end of the interval stays below; a wider interval of the first is no measurement.
PAYLOAD_LIMIT = 0.05
PAYLOAD_WIDEST = 0.05
DEPTH_LIMIT = 0.1


class Slope(BaseModel):
    """A slope and its 95 % interval; `dropped` rounds missed a level."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float
    high: float
    levels: tuple[float, ...]
    rounds: int
    dropped: int

    @property
    def width(self) -> float:
        """From one end of the interval to the other."""
        return self.high - self.low


class Outcome(StrEnum):
    """What is said of a measurement that has a limit."""

    PASSED = "pass"
    FAILED = "fail"
    INVALID = "invalid"


class Judged(BaseModel):
    """An outcome and the sentence that says why."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    reason: str


def elasticity(rounds: Sequence[Round], *, confidence: float = 0.95) -> Slope:
    """The slope of log figure on log level: 0 where the level does not matter, 1 where the figure doubles with it.

    Raises:
        BadMeasurements: fewer than five whole rounds, fewer than three levels, or one that has no logarithm.
    """
    levels, table, dropped = _table(rounds)
    if levels.min() <= 0 or table.min() <= 0:
        raise BadMeasurements("A level or a figure is not above 0.", "A slope in logarithms needs positive ones.")
    return _slope(levels, np.log(levels), np.log(table), dropped, confidence)


def increase(rounds: Sequence[Round], *, confidence: float = 0.95) -> Slope:
    """The slope of the figure itself on the level, in the figure's unit per one of the level; a level may be 0.

    Raises:
        BadMeasurements: fewer than five whole rounds or fewer than three levels.
    """
    levels, table, dropped = _table(rounds)
    return _slope(levels, levels, table, dropped, confidence)


def judge_payload(slope: Slope) -> Judged:
    """LOD-01: the pop's latency does not grow with the payload."""
    return judge(slope, PAYLOAD_LIMIT, widest=PAYLOAD_WIDEST)


def judge_depth(slope: Slope) -> Judged:
    """LOD-02: the pop's latency hardly grows with the queue."""
    return judge(slope, DEPTH_LIMIT)


def judge(slope: Slope, limit: float, *, widest: float | None = None) -> Judged:
    """Hold the upper end of an interval to a limit; one that is wider than `widest` judges nothing."""
    interval = f"{slope.value:.3f} (95 % interval {slope.low:.3f} to {slope.high:.3f}, {slope.rounds} rounds)"
    if widest is not None and slope.width > widest:
        side = "; all of it lies above the limit" if slope.low >= limit else ""
        return Judged(
            outcome=Outcome.INVALID,
            reason=f"slope {interval}: the interval is {slope.width:.3f} wide, more than {widest}{side}",
        )
    outcome = Outcome.PASSED if slope.high < limit else Outcome.FAILED
    return Judged(outcome=outcome, reason=f"slope {interval}, limit {limit}")


def _table(rounds: Sequence[Round]) -> tuple[np.ndarray, np.ndarray, int]:
    """The levels in order, one row of figures for each whole round, and how many rounds were not whole."""
    levels = sorted({level for one in rounds for level in one})
    whole = [[one[level] for level in levels] for one in rounds if len(one) == len(levels)]
    if len(whole) < FEWEST_ROUNDS or len(levels) < 3:
        raise BadMeasurements(
            f"{len(whole)} whole rounds through {len(levels)} levels give no slope with an interval.",
            f"Measure at least {FEWEST_ROUNDS} rounds through at least 3 levels.",
        )
    table = np.array(whole, dtype=float)
    if not np.isfinite(table).all() or not np.isfinite(levels).all():
        raise BadMeasurements("A figure of the sweep is not a number.", "Leave rounds out in which a call failed.")
    return np.array(levels, dtype=float), table, len(rounds) - len(whole)


def _slope(levels: np.ndarray, x: np.ndarray, table: np.ndarray, dropped: int, confidence: float) -> Slope:
    away = x - x.mean()
    each = table @ away / (away @ away)
    batches = np.array([batch.mean() for batch in np.array_split(each, min(len(each), _BATCHES))])
    centre = float(each.mean())
    reach = float(stats().sem(batches) * stats().t.ppf((1 + confidence) / 2, len(batches) - 1))
    return Slope(
        value=centre,
        low=centre - reach,
        high=centre + reach,
        levels=tuple(levels.tolist()),
        rounds=len(each),
        dropped=dropped,
    )
