"""A schedule is the same every time, and that of several processes together is that of one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from load.arrivals import Gaps, Share, Stretch, schedule, starts, stretches

RATES = st.floats(0.5, 5000)
SEEDS = st.integers(0, 2**32)
PROCESSES = st.integers(1, 8)


def union(stretch: Stretch, gaps: Gaps, seed: int, of: int) -> list[float]:
    return sorted(start for index in range(of) for start in starts(stretch, gaps, seed=seed, share=Share(index, of)))


@given(RATES, PROCESSES, st.floats(0, 100), st.floats(0.1, 2))
def test_constant_gaps_of_several_processes_are_the_very_schedule_of_one(
    rate: float, of: int, begin: float, seconds: float
) -> None:
    stretch = Stretch(begin, begin + seconds, rate)
    assert union(stretch, Gaps.CONSTANT, 1, of) == list(starts(stretch, Gaps.CONSTANT, seed=1))


@given(SEEDS, RATES, PROCESSES, st.sampled_from(Gaps))
def test_a_schedule_is_the_same_every_time_and_stays_within_its_stretch(
    seed: int, rate: float, of: int, gaps: Gaps
) -> None:
    stretch = Stretch(3.0, 4.0, rate)
    for index in range(of):
        first = list(starts(stretch, gaps, seed=seed, share=Share(index, of)))
        assert first == list(starts(stretch, gaps, seed=seed, share=Share(index, of)))
        assert all(3.0 <= start < 4.0 for start in first)
        assert all(a < b for a, b in pairwise(first))


@given(SEEDS)
def test_each_process_and_each_stretch_draws_from_a_stream_of_its_own(seed: int) -> None:
    def gaps(share: Share, begin: float) -> tuple[float, ...]:
        drawn = list(starts(Stretch(begin, begin + 1, 100), Gaps.EXPONENTIAL, seed=seed, share=share))
        return tuple(round(b - a, 9) for a, b in pairwise(drawn))

    seen = {gaps(Share(index, 3), begin) for index in range(3) for begin in (0.0, 1.0)}
    assert len(seen) == 6


@settings(max_examples=8, derandomize=True)
@given(st.integers(0, 1000), st.sampled_from([1, 2, 3, 4, 8]))
def test_exponential_gaps_of_several_processes_are_one_poisson_stream_in_law(seed: int, of: int) -> None:
    stretch = Stretch(0.0, 100.0, 100.0)
    arrivals = union(stretch, Gaps.EXPONENTIAL, seed, of)
    gaps = [b - a for a, b in pairwise(arrivals)]
    # With these seeds, fixed once and for all, neither is a matter of luck.
    assert stats.kstest(gaps, "expon", args=(0, 1 / 100.0)).pvalue > 1e-4
    assert abs(len(arrivals) - 10_000) < 5 * 100
    # Gaps that know nothing of the ones before: what a stream in lock-step is not.
    assert abs(stats.pearsonr(gaps[:-1], gaps[1:]).statistic) < 0.05


def test_phases_follow_one_another_each_at_its_rate() -> None:
    phases = stretches([(1.0, 10.0), (2.0, 0.0), (0.5, 20.0)])
    assert [(p.begin, p.end) for p in phases] == [(0.0, 1.0), (1.0, 3.0), (3.0, 3.5)]
    due = list(schedule(phases, Gaps.CONSTANT, seed=1))
    assert [place for place, _ in due] == [0] * 10 + [2] * 10
    assert due[10] == (2, 3.0)


def test_a_process_is_one_of_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="not one of 2"):
        Share(2, 2)
