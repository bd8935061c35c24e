"""The counts, the verdict and the exit code follow from the rows, whatever the rows are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reports.model import CheckResult, Report, RequirementResult, count, requirement_verdict

WITHOUT_CHECKS = ("could_not_run", "not_declared", "not_selected", "no_check_yet")
VERDICTS = ("passed", "failed", *WITHOUT_CHECKS)


def a_check(verdict: str) -> CheckResult:
    return CheckResult.model_validate({"name": "test_a_rule", "verdict": verdict, "seconds": 0.1})


def a_row(number: int, level: str, verdict: str) -> RequirementResult:
    fields = {"id": f"FAM-{number:02}", "area": "FAM", "level": level, "basis": "adr", "half": "chat"}
    checks = [] if verdict in WITHOUT_CHECKS else [a_check(verdict)]
    return RequirementResult.model_validate({**fields, "statement": "S.", "verdict": verdict, "checks": checks})


def a_report(outcomes: list[tuple[str, str]], **given_: Any) -> Report:
    rows = [a_row(number, level, verdict) for number, (level, verdict) in enumerate(outcomes)]
    fields = {
        "harness": {"name": "horde-conformance", "version": "0"},
        "target": {"url": "http://127.0.0.1:1", "kind": "url", "profile": "aihorde"},
        "started_at": "2026-01-02T03:04:05Z",
        "ended_at": "2026-01-02T03:04:06Z",
        "seed": 1,
        "requirements": rows,
    }
    return Report.model_validate({**fields, **given_})


outcomes = st.lists(st.tuples(st.sampled_from(["MUST", "SHOULD", "INFO"]), st.sampled_from(VERDICTS)), max_size=12)


@given(outcomes=outcomes, strict=st.booleans())
def test_counts_add_up(outcomes: list[tuple[str, str]], *, strict: bool) -> None:
    counts = a_report(outcomes, strict=strict).counts
    assert counts.ran == counts.passed + counts.failed
    assert counts.selected == counts.ran + counts.could_not_run
    outside = counts.not_declared + counts.not_selected + counts.no_check_yet
    assert counts.selected + outside == len(outcomes)
    for verdict in VERDICTS:
        assert getattr(counts, verdict) == sum(each == verdict for _, each in outcomes)


@given(outcomes=outcomes, strict=st.booleans())
def test_the_verdict_is_one_of_four_and_fixes_the_exit_code(outcomes: list[tuple[str, str]], *, strict: bool) -> None:
    report = a_report(outcomes, strict=strict)
    binding = {"MUST", "SHOULD"} if strict else {"MUST"}
    judged = any(level != "INFO" and verdict in ("passed", "failed") for level, verdict in outcomes)
    wrong = any(level in binding and verdict in ("failed", "could_not_run") for level, verdict in outcomes)
    open_rows = any(verdict in ("no_check_yet", "not_selected") for _, verdict in outcomes)
    if not judged:
        assert (report.verdict, report.exit_code) == ("nothing judged", 3)
    elif wrong:
        assert (report.verdict, report.exit_code) == ("not conformant", 1)
    else:
        assert (report.verdict, report.exit_code) == ("conformant so far" if open_rows else "conformant", 0)


@given(outcomes)
def test_strict_never_makes_a_verdict_better(outcomes: list[tuple[str, str]]) -> None:
    lenient, strict = (a_report(outcomes, strict=each).exit_code for each in (False, True))
    assert strict >= lenient


@given(outcomes, outcomes)
def test_one_bad_must_spoils_every_run_that_judged(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> None:
    for bad in ("failed", "could_not_run"):
        report = a_report([*before, ("MUST", bad), ("MUST", "passed"), *after])
        assert report.exit_code == 1


@given(st.lists(st.sampled_from(["passed", "failed", "could_not_run"]), max_size=6))
def test_a_requirement_passes_only_if_each_of_its_checks_ran_and_passed(verdicts: list[str]) -> None:
    verdict, reason = requirement_verdict([a_check(each) for each in verdicts])
    assert (verdict == "passed") == (bool(verdicts) and set(verdicts) == {"passed"})
    assert (verdict == "failed") == ("failed" in verdicts)
    assert (verdict == "no_check_yet") == (not verdicts)
    assert (reason is None) == (verdict in ("passed", "no_check_yet"))


def test_the_reason_is_that_of_the_deciding_checks() -> None:
    def named(name: str, verdict: str, reason: str | None) -> CheckResult:
        return a_check(verdict).model_copy(update={"name": name, "reason": reason})

    alone = [named("test_a", "failed", "it was found")]
    several = [*alone, named("test_b", "could_not_run", "no worker"), named("test_c", "failed", None)]
    assert requirement_verdict(alone) == ("failed", "it was found")
    assert requirement_verdict(several) == ("failed", "test_a: it was found; test_c: no reason given")


def test_nothing_ran_is_nothing_judged() -> None:
    assert count([]).selected == 0
    assert a_report([]).exit_code == 3
    assert a_report([("MUST", "could_not_run")]).exit_code == 3
    assert a_report([("INFO", "passed")]).exit_code == 3


def test_an_aborted_run_judged_nothing() -> None:
    aborted = a_report([("MUST", "could_not_run"), ("MUST", "no_check_yet")], aborted="The heartbeat failed.")
    assert (aborted.verdict, aborted.exit_code) == ("nothing judged", 3)
    for verdict in ("passed", "failed"):
        with pytest.raises(ValidationError, match="judged nothing"):
            a_report([("MUST", verdict)], aborted="The heartbeat failed.")


@pytest.mark.parametrize(
    ("verdict", "checks"),
    [("passed", []), ("failed", []), ("passed", ["passed", "failed"]), ("not_selected", ["passed"])],
)
def test_a_row_that_does_not_follow_from_its_checks_is_refused(verdict: str, checks: list[str]) -> None:
    row = a_row(1, "MUST", "no_check_yet").model_dump()
    with pytest.raises(ValidationError, match="FAM-01"):
        RequirementResult.model_validate({**row, "verdict": verdict, "checks": [a_check(each) for each in checks]})


def test_a_row_is_counted_once() -> None:
    rows = [a_row(1, "MUST", "passed")] * 2
    with pytest.raises(ValidationError, match="given twice: FAM-01"):
        a_report([], requirements=rows)
