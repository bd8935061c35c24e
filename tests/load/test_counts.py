"""What a pop costs is counted by what it hands out, and an eager page is seen in it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from conformance import profile as profiles
from fixtures.postgres import Server, open_server
from load import counts
from load.counts import CHAT, NOTHING, TEXT, Counts
from load.probes.facts import NotMeasured
from load.probes.plan import Plan


def measured(postgres: Server, monkeypatch: pytest.MonkeyPatch, fault: str | None = None) -> Counts:
    monkeypatch.setattr(counts, "POPS", 3)
    return counts.measure(profiles.load("reference"), postgres, fault, told=lambda: None)


def test_the_references_pops_are_counted(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(postgres, monkeypatch)
    assert set(found.costs) == {NOTHING, TEXT, CHAT}
    received = {what: costs.per_call["bytes from the database"] for what, costs in found.costs.items()}
    assert received[TEXT] < 4_000
    assert found.payload_bytes < received[CHAT] < found.payload_bytes + 4_000
    assert all(costs.not_measured == [] for costs in found.costs.values())
    assert isinstance(found.plan, Plan)
    assert (found.plan.way, found.plan.remarks) == ("analysed", ())
    shown = io.StringIO()
    counts.show(found, Console(file=shown, width=200))
    assert "Nothing is read from end to end, nothing is unpacked." in shown.getvalue()
    assert "not measured" not in shown.getvalue()
    fact = NotMeasured(not_measured="the plan of the candidates", reason="there is no log")
    counts.show(found.model_copy(update={"plan": fact}), Console(file=shown, width=200))
    assert "the plan of the candidates: not measured, there is no log" in shown.getvalue()


def test_a_page_that_loads_messages_unpacks_them(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    found = measured(postgres, monkeypatch, "candidates-load-messages")
    assert found.costs[CHAT].per_call["bytes from the database"] > 3 * found.payload_bytes
    assert isinstance(found.plan, Plan)
    assert found.plan.unpacks


def test_where_the_log_is_not_ours_the_plan_is_the_one_for_unknown_values(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "POPS", 3)
    with open_server(postgres.url()) as guest:
        found = counts.measure(profiles.load("reference"), guest, told=lambda: None)
    assert isinstance(found.plan, Plan)
    assert (found.plan.way, found.plan.unpacks) == ("generic", None)
    assert "waiting_prompts" in {node.table for node in found.plan.nodes}
