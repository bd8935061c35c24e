"""The catalogue holds every row of the specification once, and patterns select what they say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import pytest

from conformance import catalogue
from conformance.catalogue import CAPABILITIES, Requirement
from conformance.errors import NothingMatches

# The rows of the specification: an area's rows are numbered from 1, without a gap.
ROWS = {
    "ACC": 15,
    "API": 1,
    "CAN": 16,
    "DEF": 5,
    "FAM": 12,
    "LOD": 7,
    "MIG": 10,
    "OPK": 8,
    "POP": 24,
    "PRG": 5,
    "REQ": 17,
    "RPL": 24,
    "SEC": 3,
    "TXT": 1,
}
EVERY = [f"{area}-{number:02}" for area, count in ROWS.items() for number in range(1, count + 1)]
CORE = frozenset({"chat"})


def _ids(area: str, numbers: Iterable[int]) -> set[str]:
    return {f"{area}-{number:02}" for number in numbers}


# What rows ask for beside chat: the names in brackets of the specification.
NEEDS = {
    "streaming": _ids("CAN", range(1, 17)) - {"CAN-14"} | _ids("PRG", range(1, 6)) | {"REQ-17"},
    "operation_key": _ids("OPK", range(1, 9)),
    "request_record": {"FAM-08"},
    "chat_request_record": {"FAM-11", "REQ-15"},
    "webhook": {"RPL-14"},
    "moderator": {"ACC-08"},
    "moderation": {"ACC-07", "ACC-14", "REQ-10"},
    "time": {"FAM-12", "POP-19", "RPL-17", "RPL-19", "RPL-20", "ACC-10"},
    "database": {"REQ-08", "REQ-09", "RPL-16", "RPL-18", "RPL-19", "ACC-13", "ACC-15"},
    "database_write": {"DEF-03", "POP-24"},
    "database_proxy": {"DEF-01", "DEF-02", "DEF-04", "DEF-05"},
    "migration": _ids("MIG", range(1, 11)),
    "server_start": {"MIG-08"},
}
SHOULD = {
    *("ACC-09", "ACC-14", "DEF-03", "FAM-06", "FAM-09", "MIG-06", "MIG-09", "MIG-10", "OPK-05", "OPK-08", "POP-15"),
    *("API-01", "POP-23", "PRG-02", "REQ-11", "RPL-08", "RPL-14", "RPL-15", "RPL-24", "SEC-03"),
}


def requirement(*capabilities: str, half: str = "chat") -> Requirement:
    return Requirement.model_validate(
        {"id": "FAM-01", "level": "MUST", "basis": "adr", "half": half, "capabilities": capabilities, "statement": "."}
    )


def test_every_row_of_the_specification_is_there_once_and_no_other() -> None:
    assert Counter(r.id for area in catalogue.areas() for r in area.requirement) == Counter(EVERY)


def test_an_area_holds_its_own_rows_in_the_order_of_their_numbers() -> None:
    for area in catalogue.areas():
        ids = [r.id for r in area.requirement]
        assert ids == sorted(ids)
        assert {r.area for r in area.requirement} == {area.area}
        assert area.title


def test_every_statement_is_a_sentence_of_its_own() -> None:
    statements = [r.statement for r in catalogue.requirements().values()]
    assert len(set(statements)) == len(statements)
    assert [s for s in statements if not re.fullmatch(r"\S.*[.)]", s)] == []


def test_every_row_but_that_of_unchanged_text_is_about_chat() -> None:
    assert {r.id for r in catalogue.requirements().values() if "chat" not in r.capabilities} == {"TXT-01"}


def test_a_row_needs_what_the_specification_says_and_no_more() -> None:
    needed: dict[str, set[str]] = {capability: set() for capability in CAPABILITIES if capability != "chat"}
    for row in catalogue.requirements().values():
        for capability in set(row.capabilities) - CORE:
            needed[capability].add(row.id)
    assert needed == NEEDS


def test_levels_are_those_of_the_specification() -> None:
    level = {r.id: r.level for r in catalogue.requirements().values()}
    assert {id for id in level if level[id] == "SHOULD"} == SHOULD
    assert {id for id in level if level[id] == "INFO"} == {"CAN-13", "DEF-05", *_ids("LOD", range(1, 8))}


def test_rows_that_no_core_target_is_judged_by_name_what_they_need() -> None:
    special = {r.id for r in catalogue.requirements().values() if not r.declared(CORE)}
    assert {"FAM-08", "FAM-11", "FAM-12", "CAN-01", "PRG-01", "OPK-01", "MIG-01", "DEF-01", "REQ-08"} <= special
    assert not {"FAM-01", "FAM-07", "POP-01", "RPL-01", "CAN-14", "ACC-01"} & special


@pytest.mark.parametrize(
    ("patterns", "selected"),
    [
        ([], set(EVERY)),
        (["FAM-01"], {"FAM-01"}),
        (["fam-01"], {"FAM-01"}),
        (["PRG"], {f"PRG-0{n}" for n in range(1, 6)}),
        (["prg"], {f"PRG-0{n}" for n in range(1, 6)}),
        (["POP-2*"], {f"POP-2{n}" for n in range(5)}),
        (["*-01"], {f"{area}-01" for area in ROWS}),
        (["CAN-0[12]", "CAN-02", "TXT"], {"CAN-01", "CAN-02", "TXT-01"}),
        (["*"], set(EVERY)),
    ],
)
def test_patterns_select_by_id_area_and_shell_pattern(patterns: list[str], selected: set[str]) -> None:
    assert catalogue.select(patterns) == selected


@pytest.mark.parametrize("pattern", ["NIX", "FAM-99", "FAM-", "FAM-1", "F", "", " ", "AM-01", "FAM01", "FAM-01x"])
def test_a_pattern_that_matches_nothing_is_an_error_beside_any_that_matches(pattern: str) -> None:
    with pytest.raises(NothingMatches) as caught:
        catalogue.select(["FAM-01", pattern])
    assert repr(pattern) in caught.value.what
    assert "FAM-01" in caught.value.hint
    assert "horde-conformance list" in caught.value.hint


def test_a_row_is_declared_where_all_its_capabilities_are() -> None:
    row = requirement("chat", "streaming")
    assert row.declared({"chat", "streaming", "time"})
    assert not row.declared({"chat"})
    assert not row.declared({"streaming"})
    assert not row.declared(set())


@pytest.mark.parametrize(("half", "judged"), [("chat", False), ("text", True), ("both", True)])
def test_a_target_without_chat_is_judged_by_the_text_half(half: str, judged: bool) -> None:
    assert requirement("chat", half=half).declared(set()) is judged
    assert requirement("chat", "time", half=half).declared({"time"}) is judged
    assert not requirement("chat", "time", half=half).declared(set()), "what else is missing stays missing"


def test_each_capability_is_asked_for_by_a_row() -> None:
    asked = {capability for r in catalogue.requirements().values() for capability in r.capabilities}
    assert asked == set(CAPABILITIES)
