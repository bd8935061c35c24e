"""What `list` and `explain` print: the catalogue beside the checks that the suites hold."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterable
from enum import StrEnum

import pytest

from conformance import catalogue, record
from conformance.catalogue import Requirement
from conformance.checks import MARK
from conformance.plugin import call_pytest
from conformance.run import SUITES
from fixtures import faults

_BASIS = {
    "adr": "a sentence of the decision record",
    "text": "the record says that chat inherits it from the text path",
    "chosen": "our choice; a profile may rebind it",
}


class Format(StrEnum):
    """How `list` prints."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"


class _Collected:
    """Collects the checks of the suites without running one."""

    def __init__(self) -> None:
        self.checks: dict[str, list[tuple[str, str]]] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", f"{MARK}(ids, half): the requirements that a check judges")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            mark = item.get_closest_marker(MARK)
            if mark is not None and isinstance(item, pytest.Function):
                story = (item.function.__doc__ or "").strip()
                for id in mark.args:
                    self.checks.setdefault(id, []).append((item.name, story))
        items.clear()


def checks() -> dict[str, list[tuple[str, str]]]:
    """The name and the story of each check, by requirement id."""
    collected = _Collected()
    with contextlib.redirect_stdout(io.StringIO()):
        call_pytest(["--collect-only", SUITES], collected)
    return collected.checks


def requirements(ids: Iterable[str], output: Format) -> str:
    """The chosen requirements, in the catalogue's order."""
    wanted, having = set(ids), checks()
    rows = [r for r in catalogue.requirements().values() if r.id in wanted]
    if output is Format.JSON:
        return (
            json.dumps([{**r.model_dump(), "checks": [c for c, _ in having.get(r.id, [])]} for r in rows], indent=2)
            + "\n"
        )
    if output is Format.MARKDOWN:
        return _markdown(rows, having)
    lines = [f"{r.id:7} {r.level:6} {_count(r, having):13} {_needs(r)}{r.statement}" for r in rows]
    measured = sum(r.id not in catalogue.judged() for r in rows)
    without = sum(r.id not in having for r in rows) - measured
    parts = [f"{len(rows)} requirements", f"{len(rows) - measured - without} with a check"]
    parts += [f"{measured} measured by a load run"] if measured else []
    return "\n".join([*lines, ", ".join([*parts, f"{without} with no check yet"])]) + "\n"


def _count(requirement: Requirement, having: dict[str, list[tuple[str, str]]]) -> str:
    if requirement.id not in catalogue.judged():
        return "a load run"
    number = len(having.get(requirement.id, []))
    return "no check yet" if number == 0 else "1 check" if number == 1 else f"{number} checks"


def _needs(requirement: Requirement) -> str:
    special = [*(c for c in requirement.capabilities if c != "chat"), *requirement.marks]
    return f"[{', '.join(special)}] " if special else ""


def _markdown(rows: list[Requirement], having: dict[str, list[tuple[str, str]]]) -> str:
    lines: list[str] = []
    for area in catalogue.areas():
        mine = [r for r in rows if r.area == area.area]
        if mine:
            lines += [
                f"## {area.area}: {area.title}",
                "",
                "| id | level | basis | statement | checks |",
                "| --- | --- | --- | --- | --- |",
            ]
            lines += [
                f"| {r.id} | {r.level} | {r.basis} | {_needs(r)}{r.statement} | {_count(r, having)} |" for r in mine
            ]
            lines.append("")
    return "\n".join(lines)


def explanation(id: str) -> str:
    """All that is known of one requirement."""
    requirement = catalogue.requirements()[id]
    lines = [
        f"{id} ({requirement.level})",
        f"  {requirement.statement}",
        f"basis: {requirement.basis}, {_BASIS[requirement.basis]}",
        *(f'the record: "{sentence}"' for sentence in record.quoted(id)),
        f"judges: {'both families' if requirement.half == 'both' else f'the {requirement.half} family'}",
        f"needs: {', '.join(requirement.capabilities) or 'nothing'}",
    ]
    if requirement.marks:
        lines.append(f"marks: {', '.join(requirement.marks)}")
    mine = checks().get(id, [])
    if id in catalogue.judged():
        lines.append("checks:" if mine else "checks: no check yet")
    else:
        lines.append("checks: none, it is measured by a load run: `horde-conformance load`")
    lines += [f"  {name}\n    {story}" if story else f"  {name}" for name, story in mine]
    breaking = [f for f in faults.known().values() if f.breaks == id]
    if breaking:
        lines.append("faults of the reference that break it (run --fault NAME):")
        lines += [f"  {f.name}: {f.summary}" for f in breaking]
    return "\n".join(lines) + "\n"
