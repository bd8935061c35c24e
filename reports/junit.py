"""Renders a report as JUnit XML: one suite an area, one case a check."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from reports.text import exchange_line, visible
from reports.write import DEFAULT_DIRECTORY, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from reports.model import CheckResult, Report, RequirementResult

JUNIT_NAME = "junit.xml"


def write_junit(report: Report, directory: Path = DEFAULT_DIRECTORY) -> Path:
    """Write `junit.xml` into the directory and return its path; raises `UnwritableReport`."""
    return write_text(directory / JUNIT_NAME, junit_xml(report))


def junit_xml(report: Report) -> str:
    """Return the report as JUnit XML.

    A failed check is a `failure`, one that could not run an `error`; rows without a check, not declared or
    not selected are `skipped`, and so is an INFO row that found nothing to record: INFO is never judged.
    """
    document = JUnitXml(visible(report.harness.name))
    rows = sorted(report.requirements, key=lambda row: row.area)  # stable: the catalogue's order within an area
    for area, members in groupby(rows, key=lambda row: row.area):
        document.add_testsuite(_suite(area, list(members), report))
    document.update_statistics()  # type: ignore[no-untyped-call]  # junitparser types only a part of itself
    return str(document.tostring(), "utf-8")  # type: ignore[no-untyped-call]


def _suite(area: str, rows: list[RequirementResult], report: Report) -> TestSuite:
    suite = TestSuite(visible(area))
    suite.timestamp = report.started_at.isoformat(timespec="seconds")
    suite.add_property("target", visible(report.target.url))
    suite.add_property("profile", visible(report.target.profile))
    suite.add_property("seed", str(report.seed))
    suite.add_property("verdict", report.verdict)
    if report.aborted is not None:
        suite.add_property("aborted", visible(report.aborted))
    for row in rows:
        suite.add_testcases([_case(row, check) for check in row.checks] or [_case_without_check(row)])
    return suite


def _case(row: RequirementResult, check: CheckResult) -> TestCase:
    case = TestCase(name=visible(check.name), classname=row.id, time=check.seconds)
    if check.again is not None:
        case.system_out = visible(f"Run once more: {check.again}")
    if check.verdict == "passed":
        return case
    message = visible(f"{row.level}: {row.statement} {check.reason or 'No reason given.'}")
    if row.level == "INFO":
        case.result = [Skipped(f"recorded, never judged. {message}")]
        return case
    outcome = Failure(message, "failed") if check.verdict == "failed" else Error(message, "could not run")
    outcome.text = visible("\n".join([check.reason or "", *map(exchange_line, check.exchanges)]))
    case.result = [outcome]
    return case


def _case_without_check(row: RequirementResult) -> TestCase:
    case = TestCase(name=row.id, classname=row.id, time=0)
    words = row.verdict.replace("_", " ")
    message = visible(f"{words}: {row.reason}" if row.reason else words)
    case.result = [Error(message, words) if row.verdict == "could_not_run" else Skipped(message)]
    return case
