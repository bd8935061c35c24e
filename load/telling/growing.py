"""How figures grow with what was swept: points with intervals from rounds, and lines through counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from load.amplification import Measured
from load.statistics import Amplification, slopes
from load.statistics.late import stats
from reports.measured.parts import Amplified, Curve, Point, Slope, Sweep

_CONFIDENCE = 0.95


def told_amplification(measured: Measured) -> tuple[Amplified, ...]:
    """The line of each branch with the counts that it goes through."""
    return tuple(
        told_line(
            f"{one.branch} ({one.takes} worker), {one.way}",
            [
                (pop.payload_bytes, pop.received_bytes)
                for pop in measured.pops
                if (pop.way, pop.branch, pop.takes) == (one.way, one.branch, one.takes)
            ],
            one.line,
        )
        for one in measured.branches
    )


def told_line(branch: str, counts: Iterable[tuple[int, int]], line: Amplification) -> Amplified:
    """One line through counts of (payload bytes, bytes counted)."""
    return Amplified(
        branch=branch, counts=tuple(counts), slope=line.slope, intercept_bytes=line.intercept_bytes,
        largest_residual=line.largest_residual, exact=line.exact,
    )  # fmt: skip


def told_sweep(
    slug: str,
    figure: str,
    over: str,
    level_unit: Literal["bytes", "rows"],
    rounds: Mapping[str, Sequence[slopes.Round]],
    *,
    found: Mapping[str, slopes.Slope] | None = None,
    figure_unit: Literal["seconds", "statements", "bytes", "blocks"] = "seconds",
) -> Sweep:
    """A sweep with a curve for each series: at each level the median of the rounds, and its interval.

    Args:
        slug: names its rows' files, such as `latency-over-depth`.
        figure: what was measured, such as "service time of a pop".
        over: what was swept, such as "waiting rows".
        rounds: raw, by series.
        found: the slopes, by series.
    """
    curves = tuple(
        Curve(
            name=name, points=tuple(_points(each)), rounds=tuple(tuple(sorted(one.items())) for one in each),
            slope=told_slope(found[name]) if found and name in found else None,
        )
        for name, each in rounds.items()
    )  # fmt: skip
    return Sweep(
        slug=slug, over=over, level_unit=level_unit, figure=figure, figure_unit=figure_unit, curves=curves,
        band="the interval that holds the median of all rounds 95 times in 100, or all rounds where they are few",
    )  # fmt: skip


def told_slope(slope: slopes.Slope) -> Slope:
    """A slope with its interval."""
    return Slope(value=slope.value, low=slope.low, high=slope.high)


def _points(rounds: Sequence[slopes.Round]) -> Iterable[Point]:
    for level in sorted({level for one in rounds for level in one}):
        figures = np.sort([one[level] for one in rounds if level in one])
        low, high = _ranks(len(figures))
        yield Point(
            level=level, middle=float(np.median(figures)), low=float(figures[low]), high=float(figures[high])
        )  # fmt: skip


def _ranks(count: int) -> tuple[int, int]:
    """The ranks between which the median lies: distribution-free, by the binomial of how many fall below it."""
    low = int(stats().binom.ppf((1 - _CONFIDENCE) / 2, count, 0.5))
    # At `low - 1` and below it lies less often than allowed.
    first = max(low - 1, 0)
    return first, count - 1 - first
