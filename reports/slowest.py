"""Prints where the time of a run went: the slowest checks, and how much of it was spent waiting for the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from reports.text import visible

if TYPE_CHECKING:
    from reports.model import CheckResult, Report

SHOWN_CHECKS = 10


def print_slowest(report: Report, console: Console | None = None) -> None:
    """Print the slowest checks of a run, one line each, and the run's sums.

    Seconds are of the wall clock. A check that judges several requirements is told once, under the first.
    """
    out = console or Console()
    checks = timed(report)
    for id, check in sorted(checks, key=lambda each: -each[1].seconds)[:SHOWN_CHECKS]:
        line = f"{check.seconds:7.2f} s {_share(check.waited, check.seconds):>5} waiting {check.calls:5} calls"
        out.print(Text(visible(f"{line}  {id}  {check.name}")), soft_wrap=True)
    whole = (report.ended_at - report.started_at).total_seconds()
    seconds = sum(check.seconds for _, check in checks)
    waited = sum(check.waited for _, check in checks)
    calls = sum(check.calls for _, check in checks)
    out.print(
        f"{len(checks)} checks took {seconds:.1f} s of their lanes in a run of {whole:.1f} s; "
        f"{_share(waited, seconds)} of it they waited for the target, in {calls} calls.",
        soft_wrap=True, highlight=False,
    )  # fmt: skip


def timed(report: Report) -> list[tuple[str, CheckResult]]:
    """The checks of a run with the first requirement that each judged; one that judges several comes once."""
    told: dict[tuple[str, float], tuple[str, CheckResult]] = {}
    for row in report.requirements:
        for check in row.checks:
            # Results that one run of a check gave to several rows have the same time, to the last digit.
            told.setdefault((check.name, check.seconds), (row.id, check))
    return list(told.values())


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"
