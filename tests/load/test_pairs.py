"""Pairs held against a margin: what holds for all of them, and what the noise of a shared machine leaves of it."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from load.errors import BadMeasurements
from load.statistics import Answer, Comparison, compare, smallest_effect

SEED = 20261130
LAUNCHES = 5
# Measured: two launches of one build differed by 0.6 to 1.0 %; of pairs, the standard deviation is 0.16, the robust
# one 0.11.
LAUNCH = 0.006
SPREAD = 0.16

ratios = st.lists(st.floats(-1, 1), min_size=4, max_size=8)


def simulated(rng: np.random.Generator, effect: float, pairs: int) -> list[list[float]]:
    """Log ratios of five launches: most blocks quiet, one in ten disturbed, and a bias of each launch's own."""
    each = pairs // LAUNCHES
    disturbed = rng.random((LAUNCHES, each)) < 0.1
    noise = np.where(disturbed, rng.normal(0, 0.41, (LAUNCHES, each)), rng.normal(0, 0.1, (LAUNCHES, each)))
    bias = rng.normal(0, LAUNCH, (LAUNCHES, 1)) - rng.normal(0, LAUNCH, (LAUNCHES, 1))
    told: list[list[float]] = (math.log1p(effect) + bias + noise).tolist()
    return told


def many(effect: float, pairs: int, runs: int) -> list[Comparison]:
    sys.stdout.write(f"seed {SEED}\n")
    rng = np.random.default_rng(SEED)
    return [compare(simulated(rng, effect, pairs), seed=run) for run in range(runs)]


def share(runs: list[Comparison], answer: Answer) -> float:
    return sum(run.answer is answer for run in runs) / len(runs)


def test_the_noise_that_is_simulated_is_the_one_that_was_measured() -> None:
    drawn = np.concatenate([np.ravel(simulated(np.random.default_rng(seed), 0.0, 1000)) for seed in range(20)])
    assert drawn.std() == pytest.approx(SPREAD, abs=0.01)
    assert np.subtract(*np.quantile(drawn, [0.75, 0.25])) / 1.349 == pytest.approx(0.11, abs=0.01)


@settings(max_examples=20, deadline=None)
@given(st.lists(ratios, min_size=3, max_size=5))
def test_swapping_a_and_b_inverts_the_ratio(launches: list[list[float]]) -> None:
    one, other = compare(launches), compare([[-ratio for ratio in launch] for launch in launches])
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert (one.low, one.high) == pytest.approx((1 / other.high, 1 / other.low))
    assert (one.p_slower, one.p_alike) == pytest.approx((other.p_faster, other.p_alike))
    swapped = {Answer.SLOWER: Answer.FASTER, Answer.FASTER: Answer.SLOWER}
    assert swapped.get(one.answer, one.answer) is other.answer


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-4, 1), st.floats(1e-4, 1)), min_size=12, max_size=30), st.floats(1e-3, 1e6))
def test_the_unit_of_time_does_not_matter(blocks: list[tuple[float, float]], unit: float) -> None:
    plain = compare([[math.log(b / a) for a, b in blocks]])
    scaled = compare([[math.log((b * unit) / (a * unit)) for a, b in blocks]])
    assert (plain.ratio, plain.low, plain.high) == pytest.approx((scaled.ratio, scaled.low, scaled.high))


def test_the_order_of_launches_and_pairs_does_not_move_the_ratio() -> None:
    launches = simulated(np.random.default_rng(SEED), 0.05, 100)
    turned = [launch[::-1] for launch in launches[::-1]]
    assert compare(launches).ratio == pytest.approx(compare(turned).ratio)


def test_the_same_pairs_and_seed_give_the_same_interval() -> None:
    launches = simulated(np.random.default_rng(SEED), 0.0, 50)
    assert compare(launches, seed=7) == compare(launches, seed=7)
    assert compare(launches, seed=7).low != compare(launches, seed=8).low


@pytest.mark.parametrize("effect", [0.0, 0.09])
def test_the_interval_covers_the_true_ratio_at_least_as_often_as_it_says(effect: float) -> None:
    runs = many(effect, 100, 60)
    covered = sum(run.low <= 1 + effect <= run.high for run in runs) / len(runs)
    # Drawing launches and pairs counts the noise of blocks twice, on purpose: the interval errs on the wide side.
    assert covered >= 0.94


def test_one_build_twice_raises_no_alarm_and_nine_per_cent_are_found_with_a_hundred_pairs() -> None:
    same, slowed = many(0.0, 100, 100), many(0.09, 100, 100)
    assert share(same, Answer.SLOWER) == share(same, Answer.FASTER) == 0
    assert share(slowed, Answer.SLOWER) >= 0.95
    assert share(slowed, Answer.FASTER) == 0


def test_one_build_twice_is_equivalent_once_there_are_pairs_enough() -> None:
    assert share(many(0.0, 100, 50), Answer.EQUIVALENT) <= 0.2
    assert share(many(0.0, 1000, 10), Answer.EQUIVALENT) >= 0.6


def test_a_margin_forgives_what_lies_within_it() -> None:
    exact = [[math.log(1.015)] * 10] * 3
    assert compare(exact, 0.02).answer is Answer.EQUIVALENT
    assert compare([[math.log(1.025)] * 10] * 3, 0.02).answer is Answer.SLOWER
    assert compare([[math.log(1.025)] * 10] * 3, 0.05).answer is Answer.EQUIVALENT
    assert compare([[0.0] * 10] * 3).answer is Answer.EQUIVALENT


def test_the_scatter_between_launches_widens_the_interval_that_more_pairs_do_not() -> None:
    rng = np.random.default_rng(SEED)
    biases = (-0.06, -0.03, 0.0, 0.03, 0.06)
    pairs = [[bias + rng.normal(0, 0.02) for _ in range(200)] for bias in biases]
    together = compare([[ratio for launch in pairs for ratio in launch]])
    apart = compare(pairs)
    assert apart.high - apart.low > 3 * (together.high - together.low)


def test_the_smallest_effect_that_a_run_says_it_could_find_is_found_four_times_in_five_or_more() -> None:
    effect = float(np.median([run.smallest_effect for run in many(0.0, 100, 50)]))
    assert 0.03 < effect < 0.09
    assert 0.7 <= share(many(effect, 100, 80), Answer.SLOWER) <= 0.99


def test_four_times_the_pairs_halve_what_lies_beyond_the_margin() -> None:
    assert smallest_effect(0.0, 0.02) == pytest.approx(0.02)
    one, four = math.log1p(smallest_effect(0.016, 0.02)), math.log1p(smallest_effect(0.008, 0.02))
    assert (one - math.log(1.02)) == pytest.approx(2 * (four - math.log(1.02)))


@pytest.mark.parametrize(
    ("launches", "margin"),
    [([[0.0] * 9], 0.02), ([], 0.02), ([[0.0] * 9, [math.nan]], 0.02), ([[0.0] * 20], 0.01), ([[0.0] * 20], math.nan)],
)
def test_what_compares_nothing_is_refused(launches: list[list[float]], margin: float) -> None:
    with pytest.raises(BadMeasurements):
        compare(launches, margin)
