"""A session counts what its target's database shows, and refuses beforehand what it could not judge."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance import profile as profiles
from load import gates, sessions
from load.errors import BadTarget, CountsNotVisible
from load.gates import ALONE, Count
from load.probes.facts import NotMeasured
from load.probes.listening import address
from load.probes.statements import Statement
from load.probes.watching import Costs, Look, Wire
from load.scenarios.plan import Phase, Plan, begun_file
from load.sessions.counting import Borders, Counted, PhaseCosts, check
from load.sessions.loading import Options

NOTHING = NotMeasured(not_measured="x", reason="nobody looked")
REFERENCE = profiles.load("reference")
SCAN = "SELECT w.id FROM waiting_prompts w WHERE w.active ORDER BY w.created LIMIT $1"


def ran(text: str, calls: int, rows: int, *, uncalled: bool = False) -> Statement:
    return Statement(fingerprint=text, text=text, calls=calls, rows=rows, blocks=0, uncalled=uncalled)


def counted(**given: Any) -> Counted:
    made = (
        ran(SCAN, 20, 100), ran("SELECT 1", 50, 50), ran("DELETE FROM old", 9, 0, uncalled=True), ran("COMMIT", 7, 0),
    )  # fmt: skip
    parts: dict[str, Any] = {"statements": made, "out_of_line": NOTHING, "wire": NOTHING, "cpu": NOTHING}
    costs = Costs(calls=50, **{**parts, **given})
    phase = PhaseCosts(phase="steady", pops=10, costs=costs)
    return Counted(alone={"statements per empty pop": 6.0}, phases=(phase,), samples=(), table="waiting_prompts")


def test_figures_are_of_what_calls_cost_and_not_of_what_is_done_uncalled() -> None:
    assert counted().figures == {
        (ALONE, "statements per empty pop"): 6.0,
        ("steady", "statements per call"): 70 / 50,
        ("steady", "rows per call"): 150 / 50,
        ("steady", "scans per pop"): 2.0,
        ("steady", "rows scanned per pop"): 10.0,
    }


def test_what_was_not_measured_has_no_figure_and_is_told_once() -> None:
    nothing = counted(statements=NOTHING)
    assert nothing.figures == {(ALONE, "statements per empty pop"): 6.0}
    assert nothing.not_measured == [NOTHING]
    wire = Wire(sent_bytes=100, received_bytes=500, transactions=5, journeys=9)
    assert counted(wire=wire).figures["steady", "bytes from the database per call"] == 10.0


def gate(count: str = "statements per empty pop", **given: Any) -> Count:
    return Count(phase=ALONE, count=count, exactly=5, **given)


@pytest.mark.parametrize("bound", [gate(), gate(profile="reference")])
def test_a_gate_on_what_is_not_visible_is_refused(bound: Count) -> None:
    with pytest.raises(CountsNotVisible, match=r"statements per empty pop exactly 5.*nobody looked"):
        check([bound], REFERENCE, NOTHING, on_wire=True)
    check([bound], REFERENCE, None, on_wire=False)


@pytest.mark.parametrize("bound", [gate(optional=True), gate(profile="aihorde")])
def test_a_gate_that_need_not_bind_is_not(bound: Count) -> None:
    check([bound], REFERENCE, NOTHING, on_wire=False)


def test_bytes_want_the_proxy_and_nothing_else() -> None:
    with pytest.raises(CountsNotVisible, match="our proxy"):
        check([gate("bytes per empty pop")], REFERENCE, None, on_wire=False)
    check([gate("bytes per empty pop")], REFERENCE, NOTHING, on_wire=True)


def test_without_a_database_a_session_is_refused_before_its_target_is_called() -> None:
    session = sessions.parse(SESSION, "mine")
    with pytest.raises(CountsNotVisible, match="no database"):
        sessions.play(session, Options(target="http://127.0.0.1:9", profile="reference"))


@pytest.mark.parametrize("text", ["", "6432", "localhost:", "localhost:port", "localhost:70000"])
def test_an_address_has_a_host_and_a_port(text: str) -> None:
    assert address("[::1]:6432") == ("::1", 6432)
    with pytest.raises(BadTarget):
        address(text)


# Borders


def plan(result: Path) -> Plan:
    phases = tuple(Phase(name=name, seconds=0.05, rate=10) for name in ("a", "b", "c"))
    return Plan(scenario="mixed", url="http://127.0.0.1:9", phases=phases, result=result)


def looking(moments: list[float], enough: int, seen: threading.Event) -> Callable[[], Look]:
    def look() -> Look:
        moments.append(time.time())
        if len(moments) == enough:
            seen.set()
        return Look(None, NOTHING, NOTHING, NOTHING)

    return look


def test_each_phase_is_looked_at_when_it_begins_and_not_before(tmp_path: Path) -> None:
    told, moments, seen = plan(tmp_path / "result.json"), list[float](), threading.Event()
    with Borders(told, looking(moments, 3, seen)) as borders:
        begun = time.time() + 0.05
        begun_file(tmp_path / "result.json").write_text(repr(begun))
        assert seen.wait(20)
    assert len(borders.looks) == 3
    assert all(at >= begun + stretch.begin for at, stretch in zip(moments, told.stretches, strict=True))


def test_phases_that_never_begin_have_no_look(tmp_path: Path) -> None:
    with Borders(plan(tmp_path / "result.json"), looking([], 1, threading.Event())) as borders:
        pass
    assert borders.looks == []


# On the reference


SESSION = """
sentence = "Pops."
[[run]]
name = "pops"
scenario = "pop-scan"
history = false
phase = [{ name = "warm-up", seconds = 1, rate = 10 }, { name = "steady", seconds = 2, rate = 10 }]
gate = [
    { phase = "alone", count = "statements per empty pop", at_most = 1000 },
    { phase = "alone", count = "bytes per empty pop", at_most = 1 },
    { phase = "steady", count = "scans per pop", at_most = 1000 },
]
"""


@pytest.fixture(scope="module")
def played() -> sessions.Played:
    (run,) = sessions.play(sessions.parse(SESSION, "mine"), Options()).runs
    return run


def test_gates_on_counts_are_judged_by_what_was_counted(played: sessions.Played) -> None:
    assert [one.verdict for one in played.gates] == ["passed", "failed", "passed"]
    assert all((one.measured or 0) >= 1 for one in played.gates)


def test_the_defaults_exact_gate_is_what_the_reference_does(played: sessions.Played) -> None:
    (bound,) = (one for run in sessions.named("default").run for one in run.gate if isinstance(one, Count))
    assert bound.exactly is not None
    assert played.counted is not None
    (judged,) = gates.judge([bound], played.result, played.counted.figures, "reference")
    assert judged.verdict == "passed", judged.sentence


def test_each_phase_has_its_costs_and_the_database_its_samples(played: sessions.Played) -> None:
    counted = played.counted
    assert counted is not None
    assert counted.not_measured == []
    assert [one.phase for one in counted.phases] == ["warm-up", "steady"]
    for one in counted.phases:
        assert one.pops
        assert isinstance(one.costs.statements, tuple)
        # A pop is one of several kinds of calls: in no way are there fewer statements than calls.
        assert one.costs.per_call["statements"] >= 1
        assert one.costs.per_call["bytes from the database"] > 0
        assert not isinstance(one.costs.cpu, NotMeasured)
        assert one.costs.cpu.server_seconds
    assert not isinstance(counted.samples, NotMeasured)
    assert any(0 <= sample.at <= 3 for sample in counted.samples)
    assert sessions.Played.model_validate_json(played.model_dump_json()) == played
