"""Whether B is slower than A, from pairs that were measured side by side.

A pair is one log ratio: ln(B / A) of two blocks of the same round. Three things make a ratio stray: the noise of a
block, which differs from pair to pair; a launch, for two processes of one build differ steadily by about 1 %; and the
true effect. The effect is estimated by the mean of the middle three fifths of all pairs, which a few disturbed blocks
do not move. Its interval comes from drawing again, first launches and then pairs within them, so that the scatter
between launches counts. Nothing is held against zero, everything against a margin: a build that is 1 % slower than
itself is no finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

from load.errors import BadMeasurements
from load.statistics.late import stats

Launches: TypeAlias = Sequence[Sequence[float]]
"""The log ratios of each launch."""

# Two launches of one build differ by as much as half of it.
SMALLEST_MARGIN = 0.02
FEWEST_PAIRS = 10
CONFIDENCE = 0.95
POWER = 0.8
# One-sided, of Wilcoxon's test against the margin, where something is said to differ; and where it is said not to.
DIFFERENT = 0.01
ALIKE = 0.05
_RESAMPLES = 2000
# Resamples drawn at a time: a few tens of megabytes.
_BATCH = 500
# Of the pairs, on either side, that the estimate leaves out.
_TRIMMED = 0.2


class Answer(StrEnum):
    """What is said of B beside A."""

    SLOWER = "slower"
    FASTER = "faster"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    NO_VERDICT = "no verdict"


class Comparison(BaseModel):
    """B beside A in one measure. `ratio`, `low` and `high` are B / A; effects and margin are fractions: 0.02 is 2 %.

    `p_slower` and `p_faster` are Wilcoxon's, one-sided, that B is beyond the margin; `p_alike` the larger of the two
    that it is within. `smallest_effect` is the smallest one that these pairs would have found four times in five.
    """

    model_config = ConfigDict(frozen=True)

    answer: Answer
    ratio: float
    low: float
    high: float
    margin: float
    p_slower: float
    p_faster: float
    p_alike: float
    smallest_effect: float
    spread: float
    pairs: int
    launches: int


def compare(launches: Launches, margin: float = SMALLEST_MARGIN, *, seed: int = 0) -> Comparison:
    """Hold the log ratios B / A of one or more launches against a margin.

    Args:
        margin: a fraction, 0.02 at least.
        seed: of the drawing; the same pairs and seed give the same interval.

    Raises:
        BadMeasurements: fewer than ten pairs, one that is no number, or a margin that is too narrow.
    """
    kept = [np.asarray(launch, dtype=float) for launch in launches if len(launch)]
    _check(kept, margin)
    ratios = np.concatenate(kept)
    drawn = _drawn(kept, seed)
    low, high = np.quantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    limit = np.log1p(margin)
    p_slower, p_faster = _p(ratios - limit, "greater"), _p(ratios + limit, "less")
    p_alike = max(_p(ratios - limit, "less"), _p(ratios + limit, "greater"))
    answer = Answer.INCONCLUSIVE
    if low > limit and p_slower < DIFFERENT:
        answer = Answer.SLOWER
    elif high < -limit and p_faster < DIFFERENT:
        answer = Answer.FASTER
    elif low > -limit and high < limit and p_alike < ALIKE:
        answer = Answer.EQUIVALENT
    return Comparison(
        answer=answer,
        ratio=float(np.exp(_middle(ratios))),
        low=float(np.exp(low)),
        high=float(np.exp(high)),
        margin=margin,
        p_slower=p_slower,
        p_faster=p_faster,
        p_alike=p_alike,
        smallest_effect=smallest_effect(float(drawn.std()), margin),
        spread=float(ratios.std(ddof=1)),
        pairs=len(ratios),
        launches=len(kept),
    )


def smallest_effect(error: float, margin: float, *, power: float = POWER) -> float:
    """The smallest slowdown, as a fraction, that a run whose estimate has this standard error finds at this power.

    Found is what lies beyond the margin with its whole interval.
    """
    reach = stats().norm.ppf((1 + CONFIDENCE) / 2) + stats().norm.ppf(power)
    return float(np.expm1(np.log1p(margin) + reach * error))


def _check(launches: list[np.ndarray], margin: float) -> None:
    count = sum(len(launch) for launch in launches)
    if count < FEWEST_PAIRS:
        raise BadMeasurements(
            f"{count} pairs are too few to compare anything.", f"Measure at least {FEWEST_PAIRS}; 100 find 9 %."
        )
    if not all(np.isfinite(launch).all() for launch in launches):
        raise BadMeasurements("A pair's ratio is not a number.", "Leave pairs out of which one block had no answer.")
    if not margin >= SMALLEST_MARGIN:
        raise BadMeasurements(
            f"A margin of {margin:.1%} is narrower than what two launches of one build may differ by.",
            f"Take {SMALLEST_MARGIN:.0%} at least.",
        )


def _middle(ratios: np.ndarray, axis: int = -1) -> np.ndarray:
    middle: np.ndarray = stats().trim_mean(ratios, _TRIMMED, axis=axis)
    return middle


def _p(shifted: np.ndarray, alternative: Literal["less", "greater"]) -> float:
    # All at zero has no ranks, and says nothing.
    if not shifted.any():
        return 1.0
    return float(stats().wilcoxon(shifted, alternative=alternative, method="approx").pvalue)


def _drawn(launches: list[np.ndarray], seed: int) -> np.ndarray:
    """The estimate of each resample: scipy draws launches, and within each one drawn we draw its pairs."""
    rng = np.random.default_rng(seed)
    sizes = np.array([len(launch) for launch in launches])
    starts = np.concatenate(([0], sizes.cumsum()[:-1]))
    ratios = np.concatenate(launches)
    # As many pairs from each drawn launch as a launch has on average.
    each = max(1, round(len(ratios) / len(launches)))

    def estimate(chosen: np.ndarray, axis: int = -1) -> np.ndarray:
        assert axis in {-1, chosen.ndim - 1}
        places = rng.random((*chosen.shape, each)) * sizes[chosen][..., None]
        picked = ratios[starts[chosen][..., None] + places.astype(int)]
        return _middle(picked.reshape(*chosen.shape[:-1], -1))

    numbers = np.arange(len(launches))
    if len(launches) == 1:
        # There is nothing to draw among; the pairs alone are drawn.
        return estimate(np.zeros((_RESAMPLES, 1), dtype=int))
    result = stats().bootstrap(
        (numbers,), estimate, n_resamples=_RESAMPLES, batch=_BATCH, method="percentile", vectorized=True, rng=rng
    )
    distribution: np.ndarray = result.bootstrap_distribution
    return distribution
