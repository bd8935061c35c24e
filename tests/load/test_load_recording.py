"""Times are kept to 0.1 %, and those of several processes together as if one had recorded them."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from load.recording import EXPECTED, Histogram, Key, Merged, Outcome, Recorder, total

TIMES = st.lists(st.floats(1e-6, 200), min_size=1, max_size=60)
SHARES = (0.5, 0.9, 0.99, 0.999)
KEY = Key("steady", "pop", Outcome.DONE)


def rank(times: list[float], share: float) -> float:
    return sorted(times)[max(math.floor(share * len(times) + 0.5), 1) - 1]


def same(a: float, b: float) -> bool:
    # To 0.1 %, or to the microsecond.
    return math.isclose(a, b, rel_tol=1e-3, abs_tol=1.001e-6)


@given(TIMES, st.sampled_from(SHARES))
def test_a_quantile_is_right_to_a_thousandth(times: list[float], share: float) -> None:
    assert same(Histogram.of(times).quantile(share), rank(times, share))


@given(TIMES)
def test_what_is_encoded_is_read_as_it_was(times: list[float]) -> None:
    histogram = Histogram.of(times)
    again = Histogram.decode(histogram.encode())
    assert again.count == len(times)
    assert again.quantiles(SHARES) == histogram.quantiles(SHARES)


@given(TIMES, st.integers(1, 5))
def test_several_together_are_one(times: list[float], of: int) -> None:
    merged = Histogram()
    for place in range(of):
        merged.merge(Histogram.of(times[place::of]))
    assert merged.count == len(times)
    assert merged.quantiles(SHARES) == Histogram.of(times).quantiles(SHARES)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 4))
def test_messages_of_several_processes_give_what_one_process_records(seed: int, of: int) -> None:
    draw = random.Random(seed)
    calls = [(draw.uniform(0, 5), draw.lognormvariate(-6, 1), draw.uniform(0, 0.01)) for _ in range(300)]
    parts, alone = [Recorder() for _ in range(of)], Recorder()
    for place, (intended, service, late) in enumerate(calls):
        sent = intended + late
        for recorder in (parts[place % of], alone):
            recorder.add(KEY, intended, sent, sent + service)
    several, one = Merged(), Merged()
    for recorder in parts:
        # As they travel: plain data.
        several.add(json.loads(json.dumps(recorder.take(0.0))))
    one.add(alone.take(0.0))
    assert several.series() == one.series()
    assert several.seconds() == one.seconds()
    assert sum(second.count for second in one.seconds()) == one.recorded == len(calls)


def test_response_time_counts_from_the_intended_start_and_service_time_from_the_send() -> None:
    recorder, merged = Recorder(), Merged()
    recorder.add(KEY, intended=10.0, sent=11.0, ended=11.25)
    merged.add(recorder.take(begun=10.0))
    (series,) = merged.series()
    assert same(series.service_times.quantile(0.5), 0.25)
    assert same(series.response_times.quantile(0.5), 1.25)
    assert series.key == KEY
    (second,) = merged.seconds()
    assert second.second == 1
    assert merged.count(1) == {"done": 1}


def test_each_call_is_taken_once() -> None:
    recorder = Recorder()
    recorder.add(KEY, 0.0, 0.0, 0.5)
    assert len(recorder.take(0.0)) == 1
    assert recorder.take(0.0) == []
    assert recorder.recorded == 1


def test_expected_refusals_are_a_series_of_their_own() -> None:
    recorder, merged = Recorder(), Merged()
    for outcome, service in ((Outcome.DONE, 0.1), (Outcome.LIMITED, 0.001), (Outcome.UPFRONT, 0.002)):
        recorder.add(Key("steady", "submit", outcome), 0.0, 0.0, service)
    merged.add(recorder.take(0.0))
    done = [series for series in merged.series() if series.outcome not in EXPECTED]
    assert [series.outcome for series in done] == ["done"]
    assert same(total(done).maximum, 0.1)
    assert total(merged.series()).count == 3


@pytest.mark.parametrize(("seconds", "kept"), [(0.0, 1e-6), (-1.0, 1e-6), (1e9, 3600.0), (120.0, 120.0)])
def test_a_time_outside_the_range_counts_as_the_nearest_within(seconds: float, kept: float) -> None:
    assert same(Histogram.of([seconds]).quantile(0.5), kept)


def test_nothing_has_no_times() -> None:
    empty = Histogram()
    assert (empty.count, empty.quantile(0.99), empty.maximum) == (0, 0.0, 0.0)
    empty.merge(Histogram())
    assert Histogram.decode(empty.encode()).count == 0
