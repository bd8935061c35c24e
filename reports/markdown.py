"""Renders a report as Markdown for a pull request: the verdict first, at most one screen, the details folded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reports import known
from reports.model import count
from reports.problems import deciding, entry_for, problems
from reports.text import closing_line, compact, exchange_line, one_line, verdict_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reports.model import CheckResult, Report, RequirementResult

# What stands open before a reader scrolls, how many folds there are, and what one holds: together far below the 1 MiB
# beyond which a step summary is not shown at all.
SHOWN = 10
FOLDED = 40
_EXCHANGES = 8
_SENTENCE = 160
_REASON = 600
_CHECKS = 3

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~<>&@$]|:(?=[\w/]))")
_MARKS = {
    "conformant": "✅",
    "conformant so far": "✅",
    "not conformant, as known": "⚠️",
    "not conformant": "❌",
    "nothing judged": "⚠️",
}


def markdown(report: Report) -> str:
    """Return the summary; what a target said is text in it, never markup."""
    parts = [
        f"## {_MARKS[report.verdict]} {verdict_line(report)}",
        _line(report),
        *_said(report),
        *_table(report),
        *(_fold(row, report) for row in problems(report)[:FOLDED]),
        _areas(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(text: str, limit: int) -> str:
    """A text of others on one line in which nothing is markup, a mention, a link or an emoji."""
    return _SPECIAL.sub(r"\\\1", one_line(text, limit)).replace("www.", r"www\.")


def code(lines: Sequence[str]) -> str:
    """Lines of others in a fence that is longer than any in them."""
    text = "\n".join(visible(line) for line in lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _line(report: Report) -> str:
    target = report.target
    fault = f", fault {plain(target.fault, 60)}" if target.fault else ""
    seconds = (report.ended_at - report.started_at).total_seconds()
    return (
        f"{closing_line(report.counts)} · {plain(target.url, 100)} (profile {plain(target.profile, 60)}{fault}), "
        f"seed {report.seed}, {seconds:.0f} s, {report.harness.name} {report.harness.version}"
    )


def _said(report: Report) -> Iterator[str]:
    if report.aborted is not None:
        yield f"**Nothing was judged.** {plain(report.aborted, _REASON)}"
    wrong = [one for one in report.expectations if one.met not in known.RIGHT]
    if wrong:
        told = [f"- {plain(one.sentence, 300)}" for one in wrong[:SHOWN]]
        more = [f"- and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
        yield "\n".join(["**Known failures in error:**", "", *told, *more])


def _table(report: Report) -> Iterator[str]:
    rows = problems(report)
    if not rows or report.aborted is not None:
        return
    lines = ["| requirement | level | | what it says |", "| --- | --- | --- | --- |"]
    lines += [
        f"| **{row.id}** | {row.level} | {_outcome(row, report)} | {plain(row.statement, _SENTENCE)} |"
        for row in rows[:SHOWN]
    ]
    if len(rows) > SHOWN:
        lines.append(f"| | | | and {len(rows) - SHOWN} more: {plain(compact(row.id for row in rows[SHOWN:]), 600)} |")
    yield "\n".join(lines)


def _outcome(row: RequirementResult, report: Report) -> str:
    words = row.verdict.replace("_", " ")
    if entry_for(report, row):
        return f"{words}, known"
    return words if report.counts_against(row) else f"{words}, not counted"


def _fold(row: RequirementResult, report: Report) -> str:
    if report.aborted is not None:
        return ""
    lines = [f"<details><summary>{row.id}: {_outcome(row, report)}</summary>", "", plain(row.statement, 1000)]
    lines += [f"\n> {plain(sentence, 600)}" for sentence in row.record]
    if entry := entry_for(report, row):
        lines += ["", f"Known failure: {plain(entry, 400)}"]
    for check in deciding(row)[:_CHECKS]:
        lines += ["", *_evidence(check)]
    return "\n".join([*lines, "", "</details>"])


def _evidence(check: CheckResult) -> Iterator[str]:
    yield f"*{plain(check.name, 200)}*: {plain(check.reason or 'no reason given', _REASON)}"
    if check.evidence is not None:
        yield ""
        yield f"- expected: {plain(check.evidence.expected, _REASON)}"
        yield f"- came: {plain(check.evidence.came, _REASON)}"
        if check.evidence.repro is not None:
            yield f"- to see it again: {plain(check.evidence.repro.file, 200)}"
    if check.exchanges:
        cut = len(check.exchanges) - _EXCHANGES
        left_out = [f"… {cut} earlier ones are in report.json"] if cut > 0 else []
        yield ""
        yield code([*left_out, *map(exchange_line, check.exchanges[-_EXCHANGES:])])


def _areas(report: Report) -> str:
    columns = ("passed", "failed", "could_not_run", "not_declared", "not_selected", "no_check_yet")
    areas = sorted({row.area for row in report.requirements})
    if not areas:
        return ""
    lines = [f"| area | {' | '.join(name.replace('_', ' ') for name in columns)} |", "| --- |" + " ---: |" * 6]
    for area in areas:
        counts = count([row.verdict for row in report.requirements if row.area == area])
        cells = " | ".join(str(getattr(counts, name) or "") for name in columns)
        lines.append(f"| {plain(area, 20)} | {cells} |")
    return "\n".join(["<details><summary>All areas</summary>", "", *lines, "", "</details>"])
