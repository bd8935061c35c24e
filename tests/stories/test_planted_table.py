"""The documented table shows each planted fault found in time, and its story cut to at most two calls too many."""

from __future__ import annotations

import re
from pathlib import Path

from conformance.catalogue import requirements
from conformance.stories.planted import IN_TIME, TOO_MANY
from fixtures import faults

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "stories.md"
ROW = re.compile(
    r"^\| (?P<name>[a-z-]+) \| (?P<error>.*) \| (?P<breaks>[A-Z]{3}-\d\d) \| (?P<shortest>\d+) calls \| "
    r"(?P<two>yes|no) \| (?P<seconds>[\d.]+) s, \d+ stories \| (?P<told>[A-Z]{3}-\d\d) \| (?P<cut>\d+) calls \|$",
    re.MULTILINE,
)
ROWS = {row["name"]: row for row in ROW.finditer(PAGE.read_text("utf-8"))}


def test_each_planted_fault_stands_in_it_as_it_was_planted() -> None:
    planted = faults.planted_faults()
    assert len(ROWS) == len(planted) == 10
    for name, fault in planted.items():
        row = ROWS[name]
        assert (row["error"], row["breaks"]) == (fault.summary, fault.breaks)
        assert int(row["shortest"]) == len(fault.story)
        assert (row["two"] == "yes") is fault.at_once


def test_each_was_found_in_time_and_cut_to_few_calls() -> None:
    for name, row in ROWS.items():
        assert float(row["seconds"]) < IN_TIME, name
        assert int(row["cut"]) <= int(row["shortest"]) + TOO_MANY, name
        assert row["told"] in requirements(), name


def test_each_is_told() -> None:
    page = PAGE.read_text("utf-8")
    for name in ROWS:
        assert re.search(rf"^- \*{name}\*: .*: expected .*, got .*\.$", page, re.MULTILINE), name
