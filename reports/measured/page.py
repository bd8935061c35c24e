"""Renders a load report as one page of HTML that needs nothing beside it: no network, no script, no font."""

from __future__ import annotations

from functools import cache

from jinja2 import Template

from reports import look
from reports.measured import canvas
from reports.measured.model import FINDINGS, LoadReport
from reports.measured.rows import all_rows
from reports.measured.sections import LONGEST_TEXT, MOST_LISTED, sections, shown_rows
from reports.text import one_line

LARGEST = 1_000_000
ROWS_FOLDER = "rows"
# Points of a line and rows of a table: the first of these with which the page stays below the largest size.
_THRIFT = ((canvas.MOST_POINTS, 40), (120, 20), (60, 10), (24, 4))
_DURABILITY = ("fsync", "synchronous_commit", "full_page_writes")


def page(report: LoadReport) -> str:
    """The whole page, below 1 MB however long the session was."""
    html = ""
    for points, listed in _THRIFT:
        html = _rendered(report, points, listed)
        if len(html.encode()) < LARGEST:
            break
    return html


def _rendered(report: LoadReport, points: int, listed: int) -> str:
    shown = {slug: shown_rows(rows, listed) for slug, rows in all_rows(report).items()}
    return _template().render(
        report=report, sections=list(sections(report, shown, points)), findings=report.findings[:MOST_LISTED],
        findings_rows=shown[FINDINGS], facts=_facts(report), folder=ROWS_FOLDER, minutes=_minutes(report),
        css=look.style(__package__, "page.css"),
    )  # fmt: skip


@cache
def _template() -> Template:
    environment = look.environment(__package__)
    environment.filters["shown"] = lambda text: one_line(text, LONGEST_TEXT)
    return environment.get_template("page.html")


def _facts(report: LoadReport) -> list[tuple[str, str]]:
    machine, database = report.machine, report.database
    memory = f", {canvas.size_of(machine.memory_bytes)}" if machine.memory_bytes else ""
    crowd = "" if machine.load_average is None else f", load average {machine.load_average:.2f} before"
    cores = f"{machine.cores} core{'s' * (machine.cores > 1)}"
    facts = [(one.role, f"{one.address} (profile {one.profile})") for one in report.targets]
    facts.append(("machine", f"{cores}, {machine.processor or 'processor not known'}{memory}{crowd}"))
    facts.append(("kernel", f"{machine.kernel}, Python {machine.python}"))
    if database is None:
        facts.append(("PostgreSQL", "not seen: no access to the target's database"))
    else:
        facts.append(("PostgreSQL", database.version))
        facts.append(("durability", durability(report)))
    facts += [("seed", str(report.seed)), ("command", report.command)]
    return facts


def durability(report: LoadReport) -> str:
    """The settings that decide whether what was committed is on the disk, and what that means."""
    assert report.database is not None
    settings = report.database.settings
    told = ", ".join(f"{name} {settings[name]}" for name in _DURABILITY if name in settings)
    meaning = {True: "as in production", False: "times are not those of a durable database", None: "not known"}
    words = meaning[report.database.durable]
    return f"{told}: {words}" if told else words


def _minutes(report: LoadReport) -> str:
    seconds = (report.ended_at - report.started_at).total_seconds()
    return f"{seconds / 60:.1f} min" if seconds >= 90 else f"{seconds:.0f} s"
