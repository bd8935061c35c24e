"""Prints a report's summary: what is wrong first, then the table, the verdict, and the line of counts."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from reports import known
from reports.model import RequirementResult, count
from reports.problems import problems
from reports.text import closing_line, compact, exchange_line, one_line, verdict_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from reports.model import Exchange, Report

# What fits on one screen; report.json holds all.
SHOWN_FAILURES = 8
SHOWN_EXCHANGES = 3
REASON_LENGTH = 400

_COLUMNS = ("passed", "failed", "could_not_run", "not_declared", "not_selected", "no_check_yet")
_VERDICT_STYLES = {
    "conformant": "bold green",
    "conformant so far": "bold green",
    "not conformant, as known": "bold yellow",
    "not conformant": "bold red",
    "nothing judged": "bold yellow",
}


def print_summary(report: Report, console: Console | None = None, *, written: Path | None = None) -> None:
    """Print the summary of a run; its last line always reads
    `selected N / ran N / passed N / failed N / could not run N`.

    `written` is where the whole report stands, said beside the verdict.

    Nothing that a target sent is taken as markup, control sequence or emoji.
    """
    out = _Printer(console or Console())
    out.line(_heading(report), "bold")
    if report.aborted is not None:
        out.line(f"Nothing was judged: {one_line(report.aborted, REASON_LENGTH)}", "bold yellow")
    else:
        _print_problems(report, out)
        for line in _areas(report.requirements):
            out.line(line)
        _print_ids(report, out)
        _print_repeated(report, out)
    for one in report.expectations:
        right = one.met in known.RIGHT
        out.line(
            f"known failure{'' if right else ' in error'}: {one_line(one.sentence, REASON_LENGTH)}",
            "dim" if right else "bold red",
        )
    if written is not None:
        out.line(f"every exchange of what failed, and the rest: {written}", "dim")
    out.line(f"verdict: {verdict_line(report)}", _VERDICT_STYLES[report.verdict])
    out.line(closing_line(report.counts))


class _Printer:
    """A console that prints text as text, one line a line, in any encoding."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def line(self, text: str, style: str = "") -> None:
        """Print one line, left to the terminal to wrap, so that a pipe gets it whole."""
        encoding = self.console.encoding
        printable = visible(text).encode(encoding, "backslashreplace").decode(encoding)
        self.console.print(Text(printable, style), soft_wrap=True)


def _heading(report: Report) -> str:
    target = report.target
    fault = f", fault {target.fault}" if target.fault else ""
    seconds = (report.ended_at - report.started_at).total_seconds()
    return (
        f"{report.harness.name} {report.harness.version} on {one_line(target.url, 100)} "
        f"(profile {target.profile}{fault}, seed {report.seed}, {seconds:.0f} s)"
    )


def _print_problems(report: Report, out: _Printer) -> None:
    rows = problems(report)
    for row in rows[:SHOWN_FAILURES]:
        _print_problem(row, report, out)
    if hidden := rows[SHOWN_FAILURES:]:
        out.line(f"and {len(hidden)} more: {compact(row.id for row in hidden)}", "red")


def _print_problem(row: RequirementResult, report: Report, out: _Printer) -> None:
    counted = "" if report.counts_against(row) else " (not counted)"
    counted += " (known)" if known.excuses(report.expectations, row) else ""
    style = "red" if report.counts_against(row) else "yellow"
    out.line(
        f"{row.id}  {row.level}  {row.verdict.replace('_', ' ')}{counted}  {one_line(row.statement, 200)}",
        style,
    )
    out.line(f"    {one_line(row.reason or 'no reason given', REASON_LENGTH)}")
    for exchange in _last_exchanges(row):
        out.line(f"    {exchange_line(exchange)}", "dim")
    if script := _script(row):
        out.line(f"    to see it again: sh {script}")


def _script(row: RequirementResult) -> str | None:
    """The file of the first script that shows the failure again, in the report's folder."""
    repros = (check.evidence.repro for check in row.checks if check.evidence is not None)
    return next((repro.file for repro in repros if repro is not None), None)


def _last_exchanges(row: RequirementResult) -> list[Exchange]:
    deciding = next((check for check in row.checks if check.verdict == row.verdict), None)
    return deciding.exchanges[-SHOWN_EXCHANGES:] if deciding else []


def _areas(rows: list[RequirementResult]) -> list[str]:
    # Not rich's table: it folds and crops cells on a narrow terminal, and numbers must stay whole.
    lines = [_table_line("area", [name.replace("_", " ") for name in _COLUMNS])]
    for area, members in _by_area(rows):
        counts = count([row.verdict for row in members])
        lines.append(_table_line(area, [str(getattr(counts, name) or "-") for name in _COLUMNS]))
    return lines


def _table_line(area: str, cells: list[str]) -> str:
    widths = [len(name) + 2 for name in _COLUMNS]
    return f"{area:<6}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))


def _print_ids(report: Report, out: _Printer) -> None:
    for verdict in ("no_check_yet", "not_declared"):
        rows = [row for row in report.requirements if row.verdict == verdict]
        if rows:
            out.line(f"{verdict.replace('_', ' ')} ({len(rows)}): {compact(row.id for row in rows)}", "dim")


def _print_repeated(report: Report, out: _Printer) -> None:
    for row in report.requirements:
        for check in row.checks:
            if check.again is not None:
                out.line(f"{row.id} was run once more ({check.name}): {one_line(check.again, REASON_LENGTH)}", "yellow")


def _by_area(rows: list[RequirementResult]) -> Iterator[tuple[str, list[RequirementResult]]]:
    for area, members in groupby(rows, key=lambda row: row.area):
        yield area, list(members)
