"""What is wrong in a report, the gravest first: every rendering begins with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports import known

if TYPE_CHECKING:
    from reports.model import CheckResult, Report, RequirementResult

_LEVELS = ("MUST", "SHOULD", "INFO")


def problems(report: Report) -> list[RequirementResult]:
    """The rows that failed or could not run: first what counts and nobody knew of, then by level."""
    expectations = report.expectations

    def gravity(row: RequirementResult) -> tuple[bool, bool, int, bool]:
        excused = known.excuses(expectations, row)
        return not report.counts_against(row), excused, _LEVELS.index(row.level), row.verdict != "failed"

    return sorted((row for row in report.requirements if row.verdict in ("failed", "could_not_run")), key=gravity)


def deciding(row: RequirementResult) -> list[CheckResult]:
    """The checks that made the row what it is."""
    return [check for check in row.checks if check.verdict == row.verdict]


def entry_for(report: Report, row: RequirementResult) -> str | None:
    """What the known failures say of a row that they excuse."""
    if not known.excuses(report.expectations, row):
        return None
    mine = [one for one in report.known_failures if one.id.partition("/")[0] == row.id]
    return "; ".join(f"{one.reason} ({one.link}, until {one.expires})" for one in mine)
