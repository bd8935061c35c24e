"""Every named fault is caught by the requirement it names, and every binding requirement has one."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance import faultmatrix, listing
from conformance.catalogue import requirements
from conformance.faultmatrix import Finding, Scope
from fixtures import faults
from fixtures.faults import FaultError, Patch
from fixtures.postgres import Server

AREAS = ("API", "FAM", "REQ", "POP", "RPL", "CAN", "PRG", "OPK", "TXT", "SEC", "MIG", "DEF", "ACC")
FAULTS = faults.known()
TABLE = Path(__file__).parents[2] / "docs" / "reference" / "faults.md"


# One for each requirement is put in at every change; `horde-conformance faults` puts in all of them.
FIRST = {fault.breaks: name for name, fault in reversed(FAULTS.items())}


@pytest.fixture(scope="session")
def findings(postgres: Server) -> dict[str, Finding]:
    """The first fault of each requirement, in a reference of its own and judged by the requirement that it names."""
    chosen = [FAULTS[name] for name in FIRST.values()]
    found = faultmatrix.judge(chosen, scope=Scope.NAMED, database_url=postgres.url())
    return {finding.fault: finding for finding in found}


@pytest.mark.parametrize("name", sorted(FIRST.values()))
def test_the_named_requirement_turns_red(name: str, findings: dict[str, Finding]) -> None:
    assert findings[name].right, findings[name].line()


def test_every_binding_requirement_with_a_check_has_a_fault() -> None:
    checked = listing.checks()
    binding = {r.id for r in requirements().values() if r.level == "MUST" and r.area in AREAS and r.id in checked}
    assert len(binding) > 70
    assert binding - {f.breaks for f in FAULTS.values()} == set()


def test_faults_cite_requirements_of_the_catalogue_and_say_their_error_in_one_line() -> None:
    for fault in FAULTS.values():
        assert {fault.breaks, *fault.also} <= set(requirements()), fault.name
        assert fault.breaks not in fault.also, fault.name
        assert fault.summary, fault.name
        assert "\n" not in fault.summary, fault.name


def test_the_documented_table_has_each_fault_with_what_it_names_and_its_consequences() -> None:
    rows = re.findall(
        r"^\| ([a-z0-9-]+) \| .* \| ([A-Z]{3}-\d\d) \| (.*) \| .* \| (named|area|whole) \|$",
        TABLE.read_text("utf-8"),
        re.MULTILINE,
    )
    documented = {name: (breaks, also, scope) for name, breaks, also, scope in rows}
    assert {name: row[0] for name, row in documented.items()} == {f.name: f.breaks for f in FAULTS.values()}
    consequences = {
        name: set(filter(None, also.split(", "))) for name, (_, also, scope) in documented.items() if scope != "named"
    }
    assert consequences == {name: set(FAULTS[name].also) for name in consequences}


def finding(name: str, *red: str, scope: Scope = Scope.WHOLE) -> Finding:
    fault = FAULTS[name]
    return Finding(fault.name, fault.breaks, fault.also, red, (), scope)


def test_a_table_keeps_the_rows_of_faults_that_were_not_judged_again() -> None:
    one, other = [name for name, fault in FAULTS.items() if fault.breaks.startswith("FAM")][:2]
    before = faultmatrix.table([finding(one, FAULTS[one].breaks), finding(other, "SEC-01", scope=Scope.AREA)])
    after = faultmatrix.table([finding(one, "ACC-01")], before)
    rows = [line for line in after.splitlines() if line.startswith((f"| {one} ", f"| {other} "))]
    assert [row.split(" | ")[2:] for row in rows] == [
        [f"{FAULTS[one].breaks} (not red)", "ACC-01", "", "whole |"],
        [f"{FAULTS[other].breaks} (not red)", "SEC-01", "", "area |"],
    ]


@pytest.mark.parametrize(
    ("red", "scope", "right"),
    [
        (("FAM-01",), Scope.WHOLE, False),
        (("FAM-01", "FAM-05"), Scope.WHOLE, True),
        (("FAM-01", "FAM-05", "FAM-06"), Scope.WHOLE, False),
        (("FAM-01",), Scope.NAMED, True),
        (("FAM-05",), Scope.NAMED, False),
    ],
)
def test_a_finding_is_right_when_just_what_was_named_is_red(red: tuple[str, ...], scope: Scope, right: bool) -> None:
    assert Finding("a-fault", "FAM-01", ("FAM-05",), red, (), scope).right is right


def no_such_function(patch: Patch) -> None:
    patch.function(faultmatrix, "no_such_function", lambda: None)


def no_such_query(patch: Patch) -> None:
    patch.sql("no such query", "old", "new")


def no_such_text(patch: Patch) -> None:
    patch.migration("text that does not stand in it", "new")
    patch.migrated("ALTER TABLE workers;")


@pytest.mark.parametrize("stale", [no_such_function, no_such_query, no_such_text])
def test_a_fault_that_no_longer_fits_the_server_says_so(stale: Callable[[Patch], None]) -> None:
    with pytest.raises(FaultError):
        stale(Patch(live=False))


def test_an_unknown_fault_is_a_named_situation() -> None:
    with pytest.raises(FaultError, match="no-such-fault"):
        faults.get("no-such-fault")
