"""Draws a report's verdict as a badge: an SVG with two fields, for a README."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reports.model import Report

LABEL = "chat conformance"

# Each with white text on it has a contrast of at least 4.5.
_COLOURS = {
    "conformant": "#13795b",
    "conformant so far": "#13795b",
    "not conformant, as known": "#8a5a00",
    "not conformant": "#b3261e",
    "nothing judged": "#59636e",
}
# Of 11 px Verdana a character is this wide on the average; `textLength` makes the guess exact.
_CHARACTER = 6.4
_MARGIN = 10

_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {words}">
<title>{label}: {words}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)">
<rect width="{left}" height="20" fill="#3a424a"/>
<rect x="{left}" width="{right}" height="20" fill="{colour}"/>
</g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{label_middle}" y="14" textLength="{label_length}">{label}</text>
<text x="{words_middle}" y="14" textLength="{words_length}">{words}</text>
</g>
</svg>
"""


def badge(report: Report) -> str:
    """Return the badge: the verdict and how many of the judged requirements passed."""
    counts = report.counts
    words = report.verdict if not counts.selected else f"{report.verdict}, {counts.passed}/{counts.selected}"
    label_length, words_length = round(len(LABEL) * _CHARACTER), round(len(words) * _CHARACTER)
    left, right = label_length + 2 * _MARGIN, words_length + 2 * _MARGIN
    return _BADGE.format(
        width=left + right, left=left, right=right, colour=_COLOURS[report.verdict], label=LABEL, words=escape(words),
        label_middle=left / 2, words_middle=left + right / 2, label_length=label_length, words_length=words_length,
    )  # fmt: skip
