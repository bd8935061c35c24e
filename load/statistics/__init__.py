"""What measurements say, and how surely: slopes with intervals, lines through counts, pairs held against a margin."""

from __future__ import annotations

from load.statistics.counts import Amplification, amplification
from load.statistics.order import HandedOut, Order, order
from load.statistics.pairs import SMALLEST_MARGIN, Answer, Comparison, Launches, compare, smallest_effect
from load.statistics.slopes import (
    Judged,
    Outcome,
    Round,
    Slope,
    elasticity,
    increase,
    judge,
    judge_depth,
    judge_payload,
)

__all__ = [
    "SMALLEST_MARGIN",
    "Amplification",
    "Answer",
    "Comparison",
    "HandedOut",
    "Judged",
    "Launches",
    "Order",
    "Outcome",
    "Round",
    "Slope",
    "amplification",
    "compare",
    "elasticity",
    "increase",
    "judge",
    "judge_depth",
    "judge_payload",
    "order",
    "smallest_effect",
]
