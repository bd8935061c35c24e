"""What waits costs a pop nothing, what is handed out costs its own bytes once; and an eager server is seen."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from conformance import profile as profiles
from conformance.errors import Situation
from fixtures.postgres import Server
from load import amplification
from load.amplification import NOTHING, Branch, Measured, Pop
from load.probes import counted
from load.probes.facts import NotMeasured

SIZES = (0, 4096, 65536)


def pop(payload: int, received: int, **changed: object) -> Pop:
    given = {
        "way": "deferral", "branch": NOTHING, "takes": "both", "payload_bytes": payload, "received_bytes": received,
        "sent_bytes": 1, "statements": 2, "by_statement": {"small": 7, "large": received - 7}, **changed,
    }  # fmt: skip
    return Pop.model_validate(given)


def test_a_line_names_the_statement_that_grows() -> None:
    (line,) = amplification.lines([pop(size, 100 + 3 * size) for size in SIZES])
    assert (line.line.slope, line.grows_most, line.grows_by) == (3.0, "large", 3.0)


def test_a_call_on_a_connection_that_knew_nothing_yet_bends_no_line_and_is_told() -> None:
    cold = [pop(SIZES[0], 100 + 130), *(pop(size, 100) for size in SIZES)]
    (line,) = amplification.lines(cold)
    assert (line.line.slope, line.line.exact, line.line.largest_residual) == (0.0, False, 130.0)


def test_two_sizes_are_no_line() -> None:
    assert list(amplification.lines([pop(size, size) for size in SIZES[:2]])) == []


def test_what_was_not_measured_is_told_and_is_no_zero() -> None:
    fact = NotMeasured(not_measured="amplification, deferral", reason="there is no database")
    branches = tuple(amplification.lines([pop(size, 100, way="natural") for size in SIZES]))
    shown = io.StringIO()
    amplification.show(Measured(pops=(), branches=branches, not_measured=(fact,)), Console(file=shown, width=200))
    assert "amplification, deferral: not measured, there is no database" in shown.getvalue()
    assert shown.getvalue().count("0.000") == 1


def test_a_target_without_its_database_is_refused() -> None:
    with pytest.raises(Situation, match="only where both are named"):
        amplification.amplification_command(target="http://127.0.0.1:1")


def measured(postgres: Server, tmp_path: Path, fault: str | None = None) -> Measured:
    with counted.own(profiles.load("reference"), postgres, fault) as target:
        found = amplification.measure(target, SIZES)
    amplification.keep(tmp_path / "pops.jsonl", found)
    return found


def slopes(branches: tuple[Branch, ...]) -> Iterator[tuple[str, str, float]]:
    for one in branches:
        kind = "laden" if "laden" in one.branch else one.branch
        yield kind, one.way, one.line.slope


def test_the_reference_reads_a_payload_only_where_it_hands_it_out(postgres: Server, tmp_path: Path) -> None:
    found = measured(postgres, tmp_path)
    assert {(way, slope) for kind, way, slope in slopes(found.branches) if kind != "laden"} == {
        ("deferral", 0.0), ("natural", 0.0),
    }  # fmt: skip
    laden = [slope for kind, _, slope in slopes(found.branches) if kind == "laden"]
    assert len(laden) == 6
    assert all(0.99 < slope < 1.1 for slope in laden)
    rows = [json.loads(line) for line in (tmp_path / "pops.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == len(found.pops) == amplification.REPEATS * len(SIZES) * len(found.branches)


def test_a_server_that_loads_messages_into_its_page_is_seen(postgres: Server, tmp_path: Path) -> None:
    found = measured(postgres, tmp_path, "candidates-load-messages")
    scans = {one.takes: one for one in found.branches if one.branch.startswith("small") and one.way == "deferral"}
    # Half of the payload stands in the messages, and all four laden requests on a page; of text no page has any.
    assert {takes: one.line.slope for takes, one in scans.items()} == {"text": 0.0, "both": 2.0, "chat": 2.0}
    assert "messages" in scans["chat"].grows_most
