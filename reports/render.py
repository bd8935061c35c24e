"""Renders a report that was read back, in any form, at any later time."""

from __future__ import annotations

import io
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from reports.model import Report


class Form(StrEnum):
    """What a report can be rendered as."""

    TERMINAL = "terminal"
    HTML = "html"
    MARKDOWN = "markdown"
    JUNIT = "junit"
    BADGE = "badge"
    SARIF = "sarif"


def render(report: Report, form: Form) -> str:
    """Return the report in this form; the same report gives the same text."""
    return _renderer(form)(report)


def _renderer(form: Form) -> Callable[[Report], str]:
    # Each brings what it needs: a badge waits for no template engine.
    match form:
        case Form.TERMINAL:
            return _terminal
        case Form.HTML:
            from reports.page.page import page as renderer  # noqa: PLC0415
        case Form.MARKDOWN:
            from reports.markdown import markdown as renderer  # noqa: PLC0415
        case Form.JUNIT:
            from reports.junit import junit_xml as renderer  # noqa: PLC0415
        case Form.BADGE:
            from reports.badge import badge as renderer  # noqa: PLC0415
        case Form.SARIF:
            from reports.sarif import sarif as renderer  # noqa: PLC0415
    return renderer


def _terminal(report: Report) -> str:
    from reports.terminal import print_summary  # noqa: PLC0415

    out = io.StringIO()
    print_summary(report, Console(file=out, width=100, color_system=None))
    return out.getvalue()
