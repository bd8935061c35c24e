"""Slopes of sweeps, and lines through counts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from load.errors import BadMeasurements
from load.statistics import Outcome, Slope, amplification, elasticity, increase, judge, judge_depth, judge_payload

SEED = 20261130
PAYLOADS = (1024, 8192, 65536, 1048576)


def swept(
    rng: np.random.Generator, exponent: float, rounds: int, *, levels: tuple[int, ...] = PAYLOADS
) -> list[dict[float, float]]:
    """Latencies of a few milliseconds; a round's noise follows the one before's, and each point has its own."""
    told, weather = [], 0.0
    for _ in range(rounds):
        weather = 0.5 * weather + rng.normal(0, 0.2)
        told.append({float(level): 0.003 * level**exponent * np.exp(weather + rng.normal(0, 0.11)) for level in levels})
    return told


@pytest.mark.parametrize("exponent", [0.0, 0.04, 0.7])
def test_a_slope_without_noise_is_found_exactly(exponent: float) -> None:
    slope = elasticity([{float(x): 0.003 * x**exponent for x in PAYLOADS}] * 5)
    assert slope.value == pytest.approx(exponent, abs=1e-12)
    assert slope.width == pytest.approx(0, abs=1e-12)
    assert (slope.levels, slope.rounds, slope.dropped) == (PAYLOADS, 5, 0)


def test_neither_the_unit_nor_the_weather_of_a_round_moves_a_slope() -> None:
    rng = np.random.default_rng(SEED)
    rounds = swept(rng, 0.1, 30)
    stormy = [
        {level: value * 1000 * factor for level, value in one.items()}
        for one, factor in zip(rounds, np.exp(rng.normal(0, 2, 30)), strict=True)
    ]
    plain, scaled = elasticity(rounds), elasticity(stormy)
    assert (plain.value, plain.low, plain.high) == pytest.approx((scaled.value, scaled.low, scaled.high))


@pytest.mark.parametrize("rounds", [5, 12, 60])
def test_the_interval_covers_the_true_slope_as_often_as_it_says(rounds: int) -> None:
    sys.stdout.write(f"seed {SEED}\n")
    rng = np.random.default_rng(SEED)
    runs = 400
    covered = 0
    for _ in range(runs):
        slope = elasticity(swept(rng, 0.03, rounds))
        covered += slope.low <= 0.03 <= slope.high
    # 0.95 by three standard errors of 400 runs.
    assert 0.917 <= covered / runs <= 0.983


def test_an_increase_is_in_the_figures_unit_for_each_row_and_takes_level_zero() -> None:
    slope = increase([{rows: weather + 2e-7 * rows for rows in (0.0, 100.0, 10000.0)} for weather in (1, 2, 3, 4, 5)])
    assert slope.value == pytest.approx(2e-7)


def test_a_round_that_missed_a_level_is_dropped_and_counted() -> None:
    rounds = swept(np.random.default_rng(SEED), 0.0, 8)
    del rounds[3][1024.0]
    slope = elasticity(rounds)
    assert (slope.rounds, slope.dropped) == (7, 1)


@pytest.mark.parametrize(
    "rounds",
    [
        [],
        [dict.fromkeys((1.0, 2.0, 3.0), 1.0)] * 4,
        [dict.fromkeys((1.0, 2.0), 1.0)] * 9,
        [dict.fromkeys((0.0, 1.0, 2.0), 1.0)] * 9,
        [dict.fromkeys((1.0, 2.0, 3.0), 0.0)] * 9,
        [dict.fromkeys((1.0, 2.0, 3.0), float("nan"))] * 9,
    ],
)
def test_what_gives_no_slope_is_refused(rounds: list[dict[float, float]]) -> None:
    with pytest.raises(BadMeasurements):
        elasticity(rounds)


def told(low: float, high: float) -> Slope:
    return Slope(value=(low + high) / 2, low=low, high=high, levels=(1, 2, 3), rounds=9, dropped=0)


@pytest.mark.parametrize(
    ("low", "high", "payload", "depth"),
    [
        (-0.01, 0.03, Outcome.PASSED, Outcome.PASSED),
        (0.02, 0.06, Outcome.FAILED, Outcome.PASSED),
        (0.04, 0.05, Outcome.FAILED, Outcome.PASSED),
        (-0.03, 0.04, Outcome.INVALID, Outcome.PASSED),
        (0.5, 0.7, Outcome.INVALID, Outcome.FAILED),
        (0.5, 0.54, Outcome.FAILED, Outcome.FAILED),
    ],
)
def test_a_slope_is_held_to_the_limits_of_its_requirement(
    low: float, high: float, payload: Outcome, depth: Outcome
) -> None:
    """LOD-01 and LOD-02."""
    assert judge_payload(told(low, high)).outcome is payload
    assert judge_depth(told(low, high)).outcome is depth


def test_a_wide_interval_that_lies_wholly_above_the_limit_says_so() -> None:
    assert "all of it lies above the limit" in judge(told(0.5, 0.7), 0.05, widest=0.05).reason
    assert "all of it" not in judge(told(0.0, 0.7), 0.05, widest=0.05).reason


def test_an_eager_latency_fails_and_a_flat_one_passes_with_the_noise_of_a_shared_machine() -> None:
    sys.stdout.write(f"seed {SEED}\n")
    rng = np.random.default_rng(SEED)
    flat = [judge_payload(elasticity(swept(rng, 0.0, 40))).outcome for _ in range(50)]
    eager = [judge_payload(elasticity(swept(rng, 0.2, 40))).outcome for _ in range(50)]
    assert set(flat) == {Outcome.PASSED}
    assert set(eager) == {Outcome.FAILED}


@pytest.mark.parametrize(("copies", "rest"), [(0, 812), (3, 1400), (9, 77)])
def test_bytes_that_are_counted_exactly_give_whole_copies(copies: int, rest: int) -> None:
    """LOD-06."""
    counts = [(payload, copies * payload + rest) for payload in (0, 2048, 65536, 1048576) for _ in range(3)]
    line = amplification(counts)
    assert (line.slope, line.exact, line.points) == (copies, True, 12)
    assert line.intercept_bytes == pytest.approx(rest, abs=1e-3)
    assert line.largest_residual < 1e-3


def test_counts_that_differ_or_lie_on_no_line_are_told() -> None:
    line = amplification([(0, 100), (0, 101), (1000, 1100), (2000, 9000)])
    assert not line.exact
    assert line.largest_residual > 1000
    with pytest.raises(BadMeasurements):
        amplification([(0, 1), (0, 1), (5, 6)])
