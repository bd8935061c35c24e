"""A gate holds a named phase to a bound; what could not be measured was not passed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable

import pytest
from pydantic import TypeAdapter, ValidationError

from load import gates
from load.gates import Gate
from load.health import Facts, judge
from load.recording import Histogram, Series
from load.scenarios.plan import Phase, Plan
from load.scenarios.result import Result

GATE: TypeAdapter[Gate] = TypeAdapter(Gate)


def series(phase: str, operation: str, outcome: str, response: Iterable[float], service: float = 0.001) -> Series:
    times = list(response)
    return Series(
        phase=phase, operation=operation, outcome=outcome, count=len(times),
        response=Histogram.of(times).encode(), service=Histogram.of([service] * len(times)).encode(),
    )  # fmt: skip


def result(*found: Series, scenario: str = "life-cycle") -> Result:
    plan = Plan(scenario=scenario, url="http://127.0.0.1:1", phases=(Phase(name="steady", seconds=10, rate=10),))
    facts = Facts(workers=1, processes=(), recorded=0, answered=0, median_response=0.0)
    return Result(
        plan=plan, workers=1, begun=0.0, interrupted=False, series=found, seconds=(), lag="", lateness="",
        health=judge(facts),
    )  # fmt: skip


def verdict(text: str, found: Result, counts: dict[tuple[str, str], float] | None = None) -> gates.Judged:
    (judged,) = gates.judge([GATE.validate_python(tomllib.loads(text))], found, counts or {})
    return judged


MANY = [0.010] * 950 + [0.100] * 50


def test_a_quantile_is_of_the_phase_and_operation_that_the_gate_names() -> None:
    found = result(
        series("steady", "pop both: chat", "done", MANY),
        series("warm-up", "pop both: chat", "done", [9.0] * 1000),
        series("steady", "reply", "done", [9.0] * 1000),
        series("steady", "pop both: chat", "crashed", [9.0] * 1000),
    )
    kept = verdict('phase = "steady"\noperation = "pop"\nquantile = 0.9\nat_most_seconds = 0.011', found)
    assert kept.verdict == "passed"
    assert kept.measured == pytest.approx(0.010, rel=1e-3)
    broken = verdict('phase = "steady"\noperation = "pop"\nquantile = 0.98\nat_most_seconds = 0.011', found)
    assert broken.verdict == "failed"
    assert broken.measured == pytest.approx(0.1, rel=1e-3)
    assert "of 1000 calls" in broken.sentence


def test_an_operations_name_is_not_the_beginning_of_anothers() -> None:
    found = result(series("steady", "population", "done", MANY))
    assert (
        verdict('phase = "steady"\noperation = "pop"\nquantile = 0.5\nat_most_seconds = 1', found).verdict
        == "not measured"
    )


def test_response_and_service_are_bound_apart() -> None:
    found = result(series("steady", "pop", "done", [0.5] * 100))
    text = 'phase = "steady"\nquantile = 0.5\nat_most_seconds = 0.01\n'
    assert verdict(text, found).verdict == "failed"
    assert verdict(f'{text}series = "service"', found).verdict == "passed"


@pytest.mark.parametrize(
    ("calls", "quantile", "expected"), [(99, 0.9, "not measured"), (100, 0.9, "passed"), (999, 0.99, "not measured")]
)
def test_a_quantile_of_too_few_calls_is_not_measured(calls: int, quantile: float, expected: str) -> None:
    found = result(series("steady", "pop", "done", [0.001] * calls))
    assert verdict(f'phase = "steady"\nquantile = {quantile}\nat_most_seconds = 1', found).verdict == expected


def test_errors_are_what_neither_the_scenario_nor_a_loaded_target_is_right_to_answer() -> None:
    rest = [series("steady", "pop", outcome, [0.001] * 10) for outcome in ("limited", "upfront")]
    fine = result(series("steady", "pop", "done", [0.001] * 80), *rest)
    assert verdict('phase = "steady"\nerror_ratio = 0.0', fine).verdict == "passed"
    gone = series("steady", "reply", "gone", [0.001] * 10)
    assert verdict('phase = "steady"\nerror_ratio = 0.0', result(gone, scenario="cancel-storm")).verdict == "passed"
    judged = verdict('phase = "steady"\nerror_ratio = 0.0', result(gone))
    assert (judged.verdict, judged.measured) == ("failed", 1.0)
    none = verdict('phase = "steady"\nerror_ratio = 0.5', result(series("warm-up", "pop", "crashed", [0.001])))
    assert none.verdict == "not measured"


ALONE = 'phase = "alone"\ncount = "statements per empty pop"\n'
SCANS = 'phase = "steady"\ncount = "scans per pop"\n'


@pytest.mark.parametrize(
    ("text", "measured", "expected"),
    [
        (f"{ALONE}exactly = 4", 4.0, "passed"),
        (f"{ALONE}exactly = 4", 4.001, "failed"),
        (f"{ALONE}at_most = 4", 4.0, "passed"),
        (f"{ALONE}exactly = 4", None, "not measured"),
        (f"{ALONE}exactly = 4\noptional = true", None, "left out"),
        (f"{ALONE}exactly = 4\noptional = true", 5.0, "failed"),
        (f'{ALONE}exactly = 4\nprofile = "reference"', 5.0, "failed"),
        (f'{ALONE}exactly = 4\nprofile = "aihorde"', 5.0, "left out"),
        (f'{ALONE}exactly = 4\nprofile = "aihorde"', None, "left out"),
        (f"{SCANS}at_most = 4", 4.0, "passed"),
        (f"{SCANS}at_most = 4", 5.0, "failed"),
        (f"{SCANS}at_most = 4", None, "not measured"),
    ],
)
def test_a_count_binds_where_it_was_counted_and_is_never_passed_unseen(
    text: str, measured: float | None, expected: str
) -> None:
    gate = GATE.validate_python(tomllib.loads(text))
    assert isinstance(gate, gates.Count)
    counts = {} if measured is None else {(gate.phase, gate.count): measured}
    (judged,) = gates.judge([gate], result(), counts, "reference")
    assert (judged.verdict, judged.measured) == (expected, measured)


@pytest.mark.parametrize(
    "text",
    [
        'phase = "steady"\nquantile = 1.0\nat_most_seconds = 1',
        'phase = "alone"\ncount = "statements per empty pop"',
        'phase = "alone"\ncount = "statements per empty pop"\nexactly = 1\nat_most = 2',
        'phase = "alone"\ncount = "scans per pop"\nexactly = 1',
        'phase = "steady"\ncount = "statements per empty pop"\nat_most = 1',
        'phase = "steady"\ncount = "scans per pop"\nexactly = 1',
        'phase = "steady"\ncount = "horses"\nat_most = 1',
        'phase = "steady"\nerror_ratio = 1.5',
        'phase = "steady"\nmaximum = 1',
        "quantile = 0.9\nat_most_seconds = 1",
    ],
)
def test_no_gate_binds_a_maximum_nothing_or_two_things(text: str) -> None:
    with pytest.raises(ValidationError):
        GATE.validate_python(tomllib.loads(text))
