"""What a pop takes beside its own statements, and how bars are judged; what is replayed is what was sent."""

from __future__ import annotations

import io
from contextlib import closing

import pytest
from rich.console import Console

from conformance import profile as profiles
from fixtures.postgres import Server
from load.probes.reading import Reader
from load.yardstick import Beside, Figure, Yardstick, floor
from load.yardstick.__main__ import show

SAME = {
    "what": "empty pop", "waiting": 10_000, "server_cpu_seconds": 0.001, "database_cpu_seconds": None, "statements": (),
}  # fmt: skip


def told(server: float, lowest: float, *, same: bool = True) -> Beside:
    times = {"server_seconds": (server, server, 9.0), "floor_seconds": (lowest, lowest, 9.0)}
    return Beside.model_validate({**SAME, **times, "same": same})


def test_a_pop_is_held_to_three_times_its_floor() -> None:
    assert told(0.003, 0.001).held
    assert not told(0.0031, 0.001).held


def test_a_floor_that_did_something_else_holds_no_bar() -> None:
    assert not told(0.001, 0.001, same=False).held


def test_a_figure_is_ten_times_better_or_not() -> None:
    assert Figure(what="submit", ours=6.7, horde=67.0).held
    assert not Figure(what="submit", ours=6.8, horde=67.0).held
    assert Figure(what="empty pops a second", ours=440, horde=44.0, rate=True).held
    assert not Figure(what="empty pops a second", ours=430, horde=44.0, rate=True).held


def test_a_missed_bar_is_shown_with_its_figures() -> None:
    missed = Figure(what="submit", ours=13.4, horde=67.0)
    measured = Yardstick(settings={"fsync": "on"}, beside=(told(0.002, 0.001),), figures=(missed,))
    shown = io.StringIO()
    show(measured, Console(file=shown, width=200))
    assert not measured.held
    assert all(word in shown.getvalue() for word in ("fsync on", "2.00", "held", "13.40 ms", "5.0", "MISSED"))


def test_the_floor_issues_what_the_server_issued(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "WAITING", 10)
    monkeypatch.setattr(floor, "ROUNDS", 1)
    monkeypatch.setattr(floor, "EACH", 4)
    extended = postgres.create_database(extensions=["pg_stat_statements"])
    with closing(Reader(postgres.url(extended))) as admin:
        found = {one.what: one for one in floor.beside(profiles.load("reference"), postgres, admin)}
    postgres.drop_database(extended)
    assert {what: one.same for what, one in found.items()} == {"pop with a job": True, "empty pop": True}
    claims = [one for one in found["pop with a job"].statements if one.text.startswith("UPDATE waiting_prompts")]
    assert [(one.calls, one.rows) for one in claims] == [(4, 4)]
    assert all(len(one.server_seconds) == len(one.floor_seconds) == 4 for one in found.values())
