"""Renders a report as one page of HTML that needs nothing beside it: no network, no script, no font."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING

from jinja2 import Template

from reports import known, look
from reports.model import count
from reports.page.sequence import Drawing, sequence
from reports.problems import entry_for, problems
from reports.slowest import SHOWN_CHECKS, timed
from reports.text import closing_line, exchange_line, one_line, verdict_line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.model import CheckResult, Counts, Exchange, Report, RequirementResult

LARGEST = 5 * 2**20
VERDICTS = ("failed", "could_not_run", "passed", "not_declared", "no_check_yet", "not_selected")
LEVELS = ("MUST", "SHOULD", "INFO")


@dataclass(frozen=True)
class Thrift:
    """How much evidence a page holds: exchanges of a check, characters of a body, characters of a script."""

    exchanges: int
    body: int
    script: int


# The first of these with which the page stays below the largest size.
_THRIFT = (
    Thrift(30, 4000, 40_000),
    Thrift(30, 1000, 12_000),
    Thrift(12, 400, 4000),
    Thrift(4, 100, 0),
    Thrift(0, 0, 0),
)


@dataclass(frozen=True)
class ShownExchange:
    """An exchange as the page shows it: one line, and what went over the wire, cut."""

    line: str
    asked: str
    answered: str
    deciding: bool


@dataclass(frozen=True)
class ShownCheck:
    """A check with its drawing and its exchanges; `cut` says what of them is left out."""

    check: CheckResult
    drawing: Drawing | None
    exchanges: list[ShownExchange]
    script: str
    cut: str


@dataclass(frozen=True)
class ShownRow:
    """A requirement with its checks, and what the known failures say of it."""

    row: RequirementResult
    checks: list[ShownCheck]
    entry: str | None
    counted: bool

    @property
    def seconds(self) -> float:
        """What its checks took."""
        return sum(shown.check.seconds for shown in self.checks)


@dataclass(frozen=True)
class Area:
    """The requirements of one area, and how many of them had which verdict."""

    name: str
    rows: list[ShownRow]
    counts: Counts


def page(report: Report) -> str:
    """The whole page, below 5 MiB whatever the report holds; what is cut is said where it is."""
    html = ""
    for thrift in _THRIFT:
        html = _rendered(report, thrift)
        if len(html.encode()) < LARGEST:
            break
    return html


def _rendered(report: Report, thrift: Thrift) -> str:
    shown = {row.id: _shown(row, report, thrift) for row in report.requirements}
    timings = timed(report)
    return _template().render(
        report=report, headline=verdict_line(report), tone=_tone(report), closing=closing_line(report.counts),
        problems=[shown[row.id] for row in problems(report)], areas=_areas(report, shown), facts=_facts(report),
        wrong=[one for one in report.expectations if one.met not in known.RIGHT],
        slowest=sorted(timings, key=lambda each: -each[1].seconds)[:SHOWN_CHECKS], verdicts=VERDICTS, levels=LEVELS,
        css=look.style(__package__, "page.css"), seconds=(report.ended_at - report.started_at).total_seconds(),
    )  # fmt: skip


@cache
def _template() -> Template:
    environment = look.environment(__package__)
    environment.filters["words"] = lambda name: str(name).replace("_", " ")
    environment.filters["fact"] = _fact
    return environment.get_template("page.html")


def _fact(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(text, look.LONGEST_TEXT)


def _tone(report: Report) -> str:
    return {"conformant": "pass", "conformant so far": "pass", "not conformant": "fail"}.get(report.verdict, "doubt")


def _areas(report: Report, shown: dict[str, ShownRow]) -> list[Area]:
    rows = sorted(report.requirements, key=lambda row: row.area)
    areas = []
    for name, members in groupby(rows, key=lambda row: row.area):
        mine = list(members)
        areas.append(Area(name, [shown[row.id] for row in mine], count([row.verdict for row in mine])))
    return areas


def _shown(row: RequirementResult, report: Report, thrift: Thrift) -> ShownRow:
    checks = [_check(check, thrift) for check in row.checks]
    return ShownRow(row, checks, entry_for(report, row), report.counts_against(row))


def _check(check: CheckResult, thrift: Thrift) -> ShownCheck:
    held = len(check.exchanges)
    first = max(0, held - thrift.exchanges)
    exchanges = check.exchanges[first:]
    deciding = frozenset(one.exchange - first for one in check.evidence.deciding) if check.evidence else frozenset()
    told = [_exchange(one, index in deciding, thrift) for index, one in enumerate(exchanges)]
    script = check.evidence.repro.script if check.evidence and check.evidence.repro else ""
    cut = f"The last {len(exchanges)} of {held} exchanges are here; report.json has them all." if first else ""
    return ShownCheck(check, sequence(exchanges, deciding), told, _cut(script, thrift.script), cut)


def _exchange(exchange: Exchange, deciding: bool, thrift: Thrift) -> ShownExchange:
    asked = [f"{one_line(exchange.method, 20)} {one_line(exchange.url, 500)}", *_headers(exchange.request_headers)]
    status = exchange.error or "no answer" if exchange.status is None else f"status {exchange.status}"
    answered = [one_line(status, 500), *_headers(exchange.response_headers)]
    return ShownExchange(
        exchange_line(exchange),
        "\n".join([*asked, "", _cut(exchange.request_body, thrift.body)]),
        "\n".join([*answered, "", _cut(exchange.response_body, thrift.body)]),
        deciding,
    )


def _headers(headers: dict[str, str]) -> list[str]:
    return [f"{one_line(name, 100)}: {one_line(value, 300)}" for name, value in list(headers.items())[:40]]


def _cut(text: str | None, limit: int) -> str:
    if text is None:
        return ""
    # Cut first: making a megabyte visible, of which a kilobyte is shown, takes most of a page's time.
    return visible(text) if len(text) <= limit else f"{visible(text[:limit])}… ({len(text)} characters, cut here)"


def _facts(report: Report) -> Sequence[tuple[str, str]]:
    target, selection = report.target, report.selection
    facts = [
        ("target", f"{target.url or 'not yet started'} ({target.kind})"),
        ("profile", _hashed(target.profile, target.profile_sha256)),
    ]
    if target.fault:
        facts.append(("fault", target.fault))
    if report.catalogue:
        facts.append(("catalogue", _hashed(f"version {report.catalogue.version}", report.catalogue.sha256)))
    if report.environment:
        cores = f", {report.environment.cores} cores" if report.environment.cores else ""
        facts.append(("ran on", f"{report.environment.system}, Python {report.environment.python}{cores}"))
    facts.append(("seed", str(report.seed)))
    facts.append(("selected", " ".join(selection.patterns) or "everything"))
    facts.append(("declared", ", ".join(selection.capabilities) or "nothing"))
    if report.strict:
        facts.append(("strict", "a SHOULD that fails counts"))
    return facts


def _hashed(name: str, sha256: str | None) -> str:
    return f"{name}, sha256 {sha256[:16]}…" if sha256 else name
