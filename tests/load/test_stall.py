"""What the stall test compares a reading with: the calculated quantile, its error, and the verdict on both."""

from __future__ import annotations

import numpy as np
import pytest

from conformance.errors import Exit
from load.arrivals import Gaps
from load.scenarios import stall


def waits(moments: np.ndarray) -> np.ndarray:
    """What arrivals at these moments wait for a server that stalls for the last second of every five."""
    left = 5 - moments % 5
    return np.where(left > 1, 0.0, left)


def test_the_calculated_quantiles_are_those_of_very_many_arrivals() -> None:
    drawn = waits(np.random.default_rng(1).uniform(0, 1000, 2_000_000))
    for share in (0.5, 0.85, 0.9, 0.99):
        assert np.quantile(drawn, share) == pytest.approx(stall.analytic(share), abs=0.005)


def test_the_error_of_a_reading_is_that_of_many_readings() -> None:
    draw = np.random.default_rng(2)
    readings = [np.quantile(waits(draw.uniform(0, 20, 2000)), 0.9) for _ in range(2000)]
    assert np.std(readings) == pytest.approx(stall.error(0.9, 2000), rel=0.1)


@pytest.mark.parametrize("rate", [20.0, 100.0, 250.0])
def test_a_run_lasts_until_its_reading_is_far_more_exact_than_the_bar(rate: float) -> None:
    seconds = stall.enough(rate, Gaps.EXPONENTIAL)
    assert seconds % 5 == 0
    assert 4 * stall.error(0.9, seconds * rate) <= 0.1 * 0.5
    assert 4 * stall.error(0.9, (seconds - 5) * rate) > 0.1 * 0.5
    # Regular arrivals are spread over the stall by no luck.
    assert stall.enough(rate, Gaps.CONSTANT) == 20


@pytest.mark.parametrize(
    ("readings", "verdict"),
    [
        ([(0.5, True), (0.549, True), (0.451, True)], Exit.CONFORMANT),
        ([(0.5, True), (0.551, True)], Exit.NOT_CONFORMANT),
        ([(0.449, True)], Exit.NOT_CONFORMANT),
        ([(0.5, True), (0.5, False)], Exit.COULD_NOT_RUN),
        ([(0.7, False)], Exit.COULD_NOT_RUN),
        ([(0.7, True), (0.5, False)], Exit.NOT_CONFORMANT),
    ],
)
def test_a_reading_is_wrong_only_where_its_run_is_believed(readings: list[tuple[float, bool]], verdict: Exit) -> None:
    assert stall.verdict(readings) is verdict
