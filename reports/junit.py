"""Renders a report as JUnit XML: one suite an area, one case a requirement."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from reports.known import RIGHT
from reports.problems import deciding, entry_for
from reports.text import exchange_line, visible
from reports.write import DEFAULT_DIRECTORY, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reports.known import Expectation
    from reports.model import Report, RequirementResult

JUNIT_NAME = "junit.xml"


def write_junit(report: Report, directory: Path = DEFAULT_DIRECTORY) -> Path:
    """Write `junit.xml` into the directory and return its path; raises `UnwritableReport`."""
    return write_text(directory / JUNIT_NAME, junit_xml(report))


def junit_xml(report: Report) -> str:
    """Return the report as JUnit XML.

    A requirement that failed is a `failure`, one that could not run an `error`. Rows not declared, not selected or
    without a check are `skipped`, and so are a known failure that holds and an INFO row that found nothing to record:
    INFO is never judged. An entry of the known failures that is in error is a failure in a suite of its own.
    """
    document = JUnitXml(visible(report.harness.name))
    rows = sorted(report.requirements, key=lambda row: row.area)  # stable: the catalogue's order within an area
    for area, members in groupby(rows, key=lambda row: row.area):
        document.add_testsuite(_suite(area, [_case(row, report) for row in members], report))
    if report.expectations:
        document.add_testsuite(_suite("known failures", [_entry(one) for one in report.expectations], report))
    document.update_statistics()  # type: ignore[no-untyped-call]  # junitparser types only a part of itself
    return str(document.tostring(), "utf-8")  # type: ignore[no-untyped-call]


def _suite(name: str, cases: list[TestCase], report: Report) -> TestSuite:
    suite = TestSuite(visible(name))
    suite.timestamp = report.started_at.isoformat(timespec="seconds")
    suite.add_property("target", visible(report.target.url))
    suite.add_property("profile", visible(report.target.profile))
    suite.add_property("seed", str(report.seed))
    suite.add_property("verdict", report.verdict)
    if report.aborted is not None:
        suite.add_property("aborted", visible(report.aborted))
    suite.add_testcases(cases)
    return suite


def _case(row: RequirementResult, report: Report) -> TestCase:
    # The id alone: a CI that follows a case from run to run must not lose it when a statement is worded anew.
    case = TestCase(name=row.id, classname=row.area, time=sum(check.seconds for check in row.checks))
    case.system_out = visible("\n".join([row.statement, *_repeated(row)]))
    words = row.verdict.replace("_", " ")
    message = visible(f"{row.level}: {row.statement} {words}: {row.reason or 'no reason given'}")
    if row.verdict == "passed":
        return case
    if row.verdict not in ("failed", "could_not_run"):
        case.result = [Skipped(visible(f"{words}: {row.reason}" if row.reason else words))]
    elif row.level == "INFO":
        case.result = [Skipped(f"recorded, never judged. {message}")]
    elif known := entry_for(report, row):
        case.result = [Skipped(visible(f"known failure: {known}. {message}"))]
    else:
        outcome = Failure(message, "failed") if row.verdict == "failed" else Error(message, words)
        outcome.text = visible("\n".join(_told(row)))
        case.result = [outcome]
    return case


def _repeated(row: RequirementResult) -> list[str]:
    return [f"{check.name} was run once more: {check.again}" for check in row.checks if check.again is not None]


def _told(row: RequirementResult) -> Iterator[str]:
    for check in deciding(row):
        yield f"{check.name}: {check.reason or 'no reason given'}"
        yield from map(exchange_line, check.exchanges)


def _entry(one: Expectation) -> TestCase:
    case = TestCase(name=visible(one.id), classname="known failures", time=0)
    sentence = visible(one.sentence)
    case.result = [Skipped(sentence) if one.met in RIGHT else Failure(sentence, one.met)]
    return case
