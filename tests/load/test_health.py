"""A clean generator is believed; one that is sabotaged is not, and says which way."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from load.arrivals import Gaps, Share, Stretch, starts
from load.health import Facts, Health, Limits, Measure, PhaseCounts, Process, Verdict, dispersion, judge

# Of a clean run against the reference, 50 arrivals a second, on a machine that others used as well.
CLEAN = {
    "pid": 1, "wall": 3.98, "cpu": 0.557, "waited": 0.198, "lag_median": 0.00018, "lag_tail": 0.0019,
    "lateness_median": 0.00047, "due": 247, "begun": 247, "recorded": 601, "clock_step": 0.0000014,
}  # fmt: skip
STEADY = PhaseCounts(phase="steady", windows=999, dispersion=1.02)


def process(index: int = 0, **changed: Any) -> Process:
    return Process(**{**CLEAN, "index": index, "phases": (STEADY,), **changed})


def judged(*processes: Process, **changed: Any) -> Health:
    told = {
        "workers": len(processes),
        "processes": processes,
        "recorded": sum(one.recorded for one in processes),
        "answered": 1,
        "median_response": 0.002,
    }
    return judge(Facts.model_validate({**told, **changed}))


def measures(health: Health) -> set[Measure]:
    assert (health.verdict is Verdict.INVALID) == bool(health.reasons)
    return {reason.measure for reason in health.reasons}


def test_a_clean_run_is_believed() -> None:
    assert judged(process(0), process(1)).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("changed", "measure"),
    [
        ({"lag_median": 0.0007}, Measure.LAG),
        ({"lag_tail": 0.2}, Measure.LONGEST_LAG),
        ({"lateness_median": 0.003}, Measure.LATENESS),
        ({"begun": 200}, Measure.RATE),
        ({"cpu": 3.7}, Measure.CPU),
        ({"cpu": 0.9, "waited": 4.0}, Measure.CORES),
        ({"clock_step": -0.0 + 2.0}, Measure.CLOCK),
        ({"phases": (STEADY.model_copy(update={"dispersion": 7.0}),)}, Measure.PHASE),
    ],
    ids=lambda value: value.name if isinstance(value, Measure) else "",
)
def test_one_process_that_is_sabotaged_makes_the_run_invalid(changed: dict[str, Any], measure: Measure) -> None:
    health = judged(process(0), process(1, **changed))
    assert measures(health) == {measure}
    (reason,) = health.reasons
    assert reason.process == (None if measure is Measure.RATE else 1)
    assert reason.sentence.endswith(".")


def test_a_run_without_an_answer_is_not_believed() -> None:
    assert measures(judged(process(), answered=0)) == {Measure.REQUESTS}


def test_a_dead_process_is_told_whether_it_is_missing_or_did_not_report() -> None:
    assert measures(judged(process(0), workers=2)) == {Measure.WORKERS}
    assert measures(judged(process(0), process(1), missing=(1,))) == {Measure.WORKERS}
    assert measures(judged(workers=1, answered=0, recorded=0)) == {Measure.WORKERS, Measure.REQUESTS}


def test_records_that_got_lost_on_the_way_are_missed() -> None:
    assert measures(judged(process(), recorded=600)) == {Measure.RECORDS}


def test_a_late_loop_may_be_a_tenth_of_what_it_measures() -> None:
    slow = process(lag_median=0.004, lateness_median=0.004)
    assert judged(slow, median_response=0.05).verdict is Verdict.VALID
    assert measures(judged(slow, median_response=0.03)) == {Measure.LAG, Measure.LATENESS}


def test_a_closed_loop_owes_no_rate() -> None:
    assert judged(process(begun=10, lateness_median=1.0), open=False).verdict is Verdict.VALID


def test_what_waits_for_a_core_that_it_hardly_wants_is_believed() -> None:
    assert judged(process(cpu=0.04, waited=0.3)).verdict is Verdict.VALID


def test_limits_may_be_given() -> None:
    facts = judged(process(lag_tail=0.2)).facts
    assert judge(facts, Limits(longest_lag=0.5)).verdict is Verdict.VALID


def test_a_verdict_travels_as_json() -> None:
    health = judged(process(0), process(1, cpu=3.9))
    assert Health.model_validate_json(health.model_dump_json()) == health


def index(starts: list[float]) -> bool:
    """Whether users who arrive like this are taken to be in step."""
    windows, found = dispersion(starts)
    counts = PhaseCounts(phase="steady", windows=windows, dispersion=found)
    return Measure.PHASE in measures(judged(process(phases=(counts,))))


@settings(max_examples=60, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from(Gaps), st.sampled_from([20, 200, 2000]), st.sampled_from([1, 2, 4]))
def test_schedules_of_ours_are_in_no_step(seed: int, gaps: Gaps, rate: int, of: int) -> None:
    assert not index(list(starts(Stretch(0, 10, rate), gaps, seed=seed, share=Share(0, of))))


@given(st.integers(0, 2**32), st.integers(4, 32), st.sampled_from([0.0, 0.0002, 0.001]))
def test_users_in_lock_step_are_found(seed: int, users: int, apart: float) -> None:
    draw, period = random.Random(seed), users / 200
    bursts = [turn * period + draw.gauss(0, 0.0005) for turn in range(int(10 / period))]
    assert index(sorted(begin + place * apart for begin in bursts for place in range(users)))


@pytest.mark.parametrize("starts", [[], [1.0], [1.0, 2.0]])
def test_too_few_arrivals_say_nothing(starts: list[float]) -> None:
    assert not index(starts)
