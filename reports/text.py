"""Wording shared by the renderers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.model import Counts, Exchange

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
