"""Prints the end of a load session: operations and their times, each verdict, and the verdict on all."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from reports.measured.model import LoadReport
from reports.measured.page import durability
from reports.measured.parts import Operation, Run
from reports.measured.sections import HEADS, times
from reports.text import one_line, visible

_STYLES = {
    "PASS": "bold green",
    "FAIL": "bold red",
    "INVALID": "bold yellow",
    "INCONCLUSIVE": "bold yellow",
    "RECORDED": "bold",
    "NOTHING JUDGED": "bold yellow",
    "pass": "green",
    "fail": "red",
    "invalid": "yellow",
    "inconclusive": "yellow",
    "recorded": "dim",
}
_LONGEST = 400
# What is kept fills no screen: it is counted.
_MOST_KEPT = 6


def print_load_summary(report: LoadReport, console: Console | None = None, *, written: Path | None = None) -> None:
    """Print the summary; its last line is the verdict. `written` is where the page stands."""
    out = console or Console()
    for run in report.runs:
        _run(run, out)
    for line in report.amplification:
        _line(out, f"{line.branch}: {line.slope:.3f} bytes per byte of payload ({line.counted})")
    _findings(report, out)
    for said in report.unmeasured:
        _line(out, f"not measured: {one_line(said, _LONGEST)}", "dim")
    _line(out, _where(report), "dim")
    if written is not None:
        _line(out, f"drawings and raw rows: {written}", "dim")
    _line(out, one_line(report.sentence, _LONGEST), _STYLES[report.verdict])


def _run(run: Run, out: Console) -> None:
    _line(out, f"{run.name} ({run.scenario})", "bold")
    heads = ("phase", "operation", "calls", "errors", *HEADS)
    table = [heads, *(_operation(one) for one in run.operations)]
    # Not rich's table: it folds and crops cells on a narrow terminal, and numbers must stay whole.
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table if run.operations else ():
        cells = (
            f"{c:<{w}}" if place < 2 else f"{c:>{w}}" for place, (c, w) in enumerate(zip(row, widths, strict=True))
        )
        _line(out, f"  {'  '.join(cells)}", "dim" if row is heads else "")
    for remark in run.remarks:
        _line(out, one_line(remark, _LONGEST), "yellow")


def _operation(one: Operation) -> tuple[str, ...]:
    calls = f"{one.done + one.expected + one.errors:,}"
    named = (one_line(one.phase, 24), one_line(one.operation, 24))
    return (*named, calls, f"{one.error_share:.2%}", *times(one.response, one.done), *times(one.service, one.done))


def _findings(report: LoadReport, out: Console) -> None:
    decided = [one for one in report.findings if one.decides]
    kept = [one for one in decided if one.outcome in {"pass", "recorded"}]
    for finding in decided:
        if finding not in kept[_MOST_KEPT:]:
            style = _STYLES[finding.outcome]
            _line(out, f"{finding.outcome}: {finding.name}: {one_line(finding.sentence, _LONGEST)}", style)
    more = len(report.findings) - len(decided) + len(kept[_MOST_KEPT:])
    if more:
        _line(out, f"and {more} more that are kept, recorded, or of a ramp's steps", "dim")


def _where(report: LoadReport) -> str:
    machine, database = report.machine, report.database
    behind = f", PostgreSQL {database.version} ({durability(report)})" if database is not None else ""
    return f"on {machine.cores} cores, {machine.kernel}{behind}, seed {report.seed}"


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(_printable(text, out), style), soft_wrap=True)


def _printable(text: str, out: Console) -> str:
    return visible(text).encode(out.encoding, "backslashreplace").decode(out.encoding)
