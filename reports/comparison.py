"""Tells a comparison of two reports: as Markdown for a pull request, and as text for a terminal."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from reports.markdown import plain
from reports.text import compact, one_line, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.diff import Change, Diff, Timing

_LISTED = 25
_TITLES = {
    "regressed": "regressed", "untestable": "became untestable", "gone": "gone", "new": "new", "fixed": "fixed",
    "failing": "still failing",
}  # fmt: skip


class Form(StrEnum):
    """How a comparison can be told."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"


def told(diff: Diff, form: Form) -> str:
    """Return the comparison in this form."""
    return markdown(diff) if form is Form.MARKDOWN else text(diff)


def headline(diff: Diff) -> str:
    """Return what the comparison comes to, in one line."""
    counts = [(len(getattr(diff, name)), title) for name, title in _TITLES.items()]
    told = ", ".join(f"{number} {title}" for number, title in counts if number) or "nothing changed"
    return f"{'worse' if diff.worse else 'not worse'}: {told}"


def text(diff: Diff) -> str:
    """Return the comparison for a terminal."""
    lines = [f"{diff.old.verdict} -> {diff.new_report.verdict}", headline(diff)]
    for name, title in _TITLES.items():
        changes: list[Change] = getattr(diff, name)
        lines += [f"{title}:"] if changes else []
        lines += [f"    {_line(one)}" for one in changes[:_LISTED]]
        lines += _rest(changes, "    and")
    if diff.timings:
        lines.append("times:")
        lines += [f"    {one.id}  {_timed(one)}" for one in diff.timings[:_LISTED]]
    return "\n".join([*lines, *diff.caveats]) + "\n"


def markdown(diff: Diff) -> str:
    """Return the comparison for a pull request: what got worse stands open, the rest is folded."""
    parts = [
        f"## {'❌' if diff.worse else '✅'} {headline(diff)}",
        f"Verdict before: {diff.old.verdict}. Verdict now: {diff.new_report.verdict}.",
    ]
    for name, title in _TITLES.items():
        changes: list[Change] = getattr(diff, name)
        if changes:
            table = "\n".join(_table(changes))
            count = f"{title} ({len(changes)})"
            is_open = name in ("regressed", "untestable", "gone")
            parts.append(f"### {count}\n\n{table}" if is_open else _folded(count, table))
    if diff.timings:
        rows = [f"| {one.id} | {one.before:.2f} s | {one.after:.2f} s |" for one in diff.timings[:_LISTED]]
        table = "\n".join(["| requirement | before | now |", "| --- | ---: | ---: |", *rows])
        parts.append(_folded(f"times ({len(diff.timings)})", table))
    if diff.caveats:
        parts.append("\n".join(f"- {plain(caveat, 300)}" for caveat in diff.caveats))
    return "\n\n".join(parts) + "\n"


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def _table(changes: list[Change]) -> Iterator[str]:
    yield "| requirement | level | before | now | what it says, and why |"
    yield "| --- | --- | --- | --- | --- |"
    for one in changes[:_LISTED]:
        why = f" {plain(one.reason, 300)}" if one.reason else ""
        counted = "" if one.counts else ", not counted"
        yield (
            f"| **{plain(one.id, 20)}** | {one.level} | {one.before} | {one.after}{counted} | "
            f"{plain(one.statement, 160)}{why} |"
        )
    for rest in _rest(changes, "and"):
        yield f"| | | | | {plain(rest, 600)} |"


def _line(one: Change) -> str:
    counted = "" if one.counts else " (not counted)"
    why = f": {one_line(one.reason, 200)}" if one.reason else ""
    return visible(f"{one.id}  {one.level}  {one.before} -> {one.after}{counted}  {one_line(one.statement, 120)}{why}")


def _rest(changes: list[Change], joined: str) -> list[str]:
    hidden = changes[_LISTED:]
    return [f"{joined} {len(hidden)} more: {compact(one.id for one in hidden)}"] if hidden else []


def _timed(one: Timing) -> str:
    return f"{one.before:.2f} s -> {one.after:.2f} s"
