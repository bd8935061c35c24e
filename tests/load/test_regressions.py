"""Which measure finds a performance fault: of made-up figures, and of one fault put into a real server."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conformance import profile as profiles
from conformance.errors import Situation
from fixtures.faults.performance import SLOW
from fixtures.postgres import Server
from load.sweeps import finding, planting
from load.sweeps.regressions import QUIET, REFERENCE, Blocks, Measured, lock_waits
from load.sweeps.scene import Call, cell, played
from load.sweeps.standing import started

COUNTS = {
    "bytes": 1000.0,
    "statements": 7.0,
    "values read": 0.0,
    "pieces written": 0.0,
    "blocks": 200.0,
    "lock waits": 0.0,
}


def measured(
    fault: str = "undeferred-column", *, slower: float = 0.0, payload: int = 1024, **changed: float
) -> Measured:
    """A fault whose chat pops have these counts instead."""
    rng = random.Random(3)
    ratios = tuple(rng.gauss(slower, 0.02) for _ in range(12))
    wrong = {call: dict(COUNTS) for call in Call}
    wrong[Call.CHAT] |= {name.replace("_", " "): figure for name, figure in changed.items()}
    return Measured(
        fault=fault, payload_bytes=payload, reference=dict.fromkeys(Call, COUNTS), faulty=wrong,
        blocks={call: Blocks(seconds=ratios, cpu=tuple(one / 10 for one in ratios)) for call in Call},
    )  # fmt: skip


def names(one: Measured) -> list[str]:
    return [part.measure for part in finding.found(one)]


def test_what_does_not_differ_is_not_found() -> None:
    assert names(measured(bytes=1060.0, blocks=310.0)) == []


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (measured(bytes=1090.0), "bytes"),
        (measured(statements=8.0), "statements"),
        (measured(values_read=1.0), "values read"),
        (measured(pieces_written=1.0), "pieces written"),
        (measured(blocks=330.0), "blocks"),
        (measured(lock_waits=1.0), "lock waits"),
    ],
)
def test_a_count_finds_and_names_the_call(one: Measured, found: str) -> None:
    (told,) = finding.found(one)
    assert (told.measure, told.call) == (found, Call.CHAT)
    assert finding.by_count([told])


def test_time_finds_what_no_count_does() -> None:
    assert names(measured(slower=0.5)) == ["time"]


def test_a_fault_that_nothing_finds_and_a_reference_that_trips_are_said() -> None:
    assert finding.right([measured(bytes=5000.0), measured(REFERENCE)]) == []
    assert finding.right([measured(), measured(REFERENCE, statements=9.0)]) == [
        "nothing finds undeferred-column",
        "the reference beside itself trips statements",
    ]


def test_the_table_has_a_row_for_each_fault_and_a_column_for_each_payload() -> None:
    table = planting.table([measured(REFERENCE), measured(bytes=5000.0), measured(payload=16384)])
    assert "| 1 KiB | 16 KiB |" in table
    assert "| **bytes** (chat job) 1,000 → 5,000 | nothing |" in table


def test_the_documented_table_has_every_fault_and_each_was_found_by_a_count_at_each_payload() -> None:
    lines = (Path(__file__).parents[2] / "docs" / "reference" / "regressions.md").read_text("utf-8").splitlines()
    rows = {cells[1].strip(): cells[3:-1] for line in lines if len(cells := line.split("|")) == 7}
    assert set(rows) == {"fault", "---", REFERENCE, *SLOW}
    assert {cell.strip() for cell in rows[REFERENCE]} == {"nothing"}
    for name in SLOW:
        assert all(any(f"**{measure}**" in cell for measure in finding.MEASURES) for cell in rows[name]), name


def test_what_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    file = tmp_path / "measured.jsonl"
    file.write_text(measured().model_dump_json() + "\n" + '{"cut off', encoding="utf-8")
    assert planting.kept(file) == [measured()]


def test_an_unknown_fault_is_a_named_situation() -> None:
    assert planting.wanted([]) == [REFERENCE, *SLOW]
    with pytest.raises(Situation, match="no-such-fault"):
        planting.wanted(["no-such-fault"])


@pytest.mark.parametrize(("fault", "waits"), [(None, 0.0), ("candidates-locked", 1.0)])
def test_a_locked_page_is_seen_by_the_pop_that_waits(fault: str | None, waits: float, postgres: Server) -> None:
    with (
        started(cell(1024), profiles.load("reference"), postgres, fault=fault, settings=QUIET) as standing,
        played(standing) as scene,
    ):
        assert lock_waits(scene) == waits
