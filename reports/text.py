"""Wording shared by the renderers."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reports.model import Counts, Exchange, Report

# What XML 1.0 cannot hold, and what moves a terminal's cursor or colours: C0 save tab and newline, DEL, C1,
# surrogates, the two non-characters; and the marks that reverse the direction of text.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def visible(text: str) -> str:
    r"""Return the text with unprintable characters spelled out (`\x1b`): a target's text stays text."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def exchange_line(exchange: Exchange) -> str:
    """Return who asked what and what came back, with the start of a body that is no success, on one line."""
    # Not urlsplit: it refuses some of the hosts that a person may have aimed at.
    path = exchange.url.partition("://")[2].partition("/")[2]
    asked = f"{exchange.method} /{one_line(path, 90)}"
    answer = str(exchange.status) if exchange.status is not None else exchange.error or "no answer"
    line = f"{exchange.started:8.3f} s  {exchange.actor}  {asked}  ->  {answer}"
    if exchange.status is not None and exchange.status >= 400 and exchange.response_body:
        line += f"  {one_line(exchange.response_body, 120)}"
    return " ".join(visible(line).splitlines())


def closing_line(counts: Counts) -> str:
    """Return the line that ends every summary, for people and for scripts that read the last line."""
    return (
        f"selected {counts.selected} / ran {counts.ran} / passed {counts.passed} / failed {counts.failed} / "
        f"could not run {counts.could_not_run}"
    )


def compact(ids: Iterable[str]) -> str:
    """Return ids by area, numbers only after the first: `REQ-01 02 05, POP-19`."""
    areas = groupby(ids, key=lambda id: id.partition("-")[0])
    told = (" ".join([first, *(id.rpartition("-")[2] for id in rest)]) for _, (first, *rest) in areas)
    return visible(", ".join(told))


def verdict_line(report: Report) -> str:
    """Return the verdict with what it rests on."""
    unchecked = report.counts.no_check_yet
    against = sum(report.counts_against(row) for row in report.requirements)
    match report.verdict:
        case "conformant so far" if unchecked:
            return f"conformant so far: {_requirements(unchecked, 'has', 'have')} no check yet"
        case "conformant so far":
            return f"conformant so far: {_requirements(report.counts.not_selected, 'was', 'were')} not selected"
        case "not conformant":
            return f"not conformant: {_requirements(against, '', '')}failed or could not run"
        case "not conformant, as known":
            return f"not conformant, as known: {_requirements(against, '', '')}failed, each a known failure"
        case other:
            return other


def _requirements(number: int, verb_of_one: str, verb_of_many: str) -> str:
    return f"1 requirement {verb_of_one}" if number == 1 else f"{number} requirements {verb_of_many}"
