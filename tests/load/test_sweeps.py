"""What a sweep says of rounds whose truth is known, and a small one of real pops."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy

from conformance import profile as profiles
from conformance import targets
from conformance.errors import Situation
from fixtures.postgres import Server
from load.statistics import Order, Outcome
from load.sweeps import counting, judging
from load.sweeps.cells import AHEAD, FULL, QUICK, Axis, Branch, Cell, Sweep, sweep
from load.sweeps.cli import keep, run
from load.sweeps.counting import Count
from load.sweeps.judging import Finding
from load.sweeps.measuring import Plan, Timing
from load.sweeps.ordering import Handed
from load.sweeps.standing import InTurn, side_by_side

PROFILE = profiles.load("reference")


def timings(
    axis: Axis, levels: Sequence[float], exponent: float, *, noise: float = 0.02, rounds: int = 20
) -> list[Timing]:
    rng = random.Random(7)
    return [
        Timing(
            axis=axis, level=level, branch=Branch.TEXT, round=number,
            seconds=(0.004 * level**exponent * rng.lognormvariate(0, noise),),
        )
        for number in range(rounds)
        for level in levels
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("axis", "exponent", "noise", "outcome"),
    [
        (Axis.PAYLOAD, 0.0, 0.02, Outcome.PASSED),
        (Axis.PAYLOAD, 0.2, 0.02, Outcome.FAILED),
        (Axis.PAYLOAD, 0.0, 1.5, Outcome.INVALID),
        (Axis.DEPTH, 0.02, 0.02, Outcome.PASSED),
        (Axis.DEPTH, 0.5, 0.02, Outcome.FAILED),
    ],
)
def test_a_slope_is_held_to_its_limit(axis: Axis, exponent: float, noise: float, outcome: Outcome) -> None:
    (finding,) = judging.findings(axis, timings(axis, FULL[axis], exponent, noise=noise))
    assert (finding.requirement, finding.outcome) == ({Axis.PAYLOAD: "LOD-01", Axis.DEPTH: "LOD-02"}[axis], outcome)


def test_a_pop_that_every_row_of_the_queue_refuses_is_told_and_not_held_to_the_depth() -> None:
    asked = timings(Axis.DEPTH, FULL[Axis.DEPTH], 0.5)
    told = judging.findings(Axis.DEPTH, [one.model_copy(update={"branch": Branch.EMPTY}) for one in asked])
    assert [(one.requirement, one.branch, one.outcome) for one in told] == [("LOD-07", Branch.EMPTY, None)]


def count(level: float, statements: int) -> Count:
    return Count(axis=Axis.REFUSED, level=level, branch=Branch.TEXT, statements=statements, received_bytes=1, reads=0.0)


@pytest.mark.parametrize(("last", "outcome"), [(7, Outcome.PASSED), (57, Outcome.FAILED)])
def test_statements_may_not_grow_with_refused_rows_and_time_and_order_are_told(last: int, outcome: Outcome) -> None:
    handed = Handed(level=0, workers=4, order=Order(jobs=20, inversions=3, worst=2), unknown=0)
    told = judging.findings(
        Axis.REFUSED, timings(Axis.REFUSED, (1, 10, 100), 1.0, noise=0), [count(0, 7), count(100, last)], [handed]
    )
    assert [finding.outcome for finding in told] == [None, outcome, None]
    assert "4000.000 µs for each refused row" in told[0].reason
    assert "exponent from 10 to 100 rows 1.00" in told[0].reason
    assert "3 pairs in the wrong order, 2 overtook" in told[2].reason


@pytest.mark.parametrize(
    ("factor", "noise", "outcome"),
    [(1.0, 0.1, Outcome.PASSED), (3.0, 0.1, Outcome.FAILED), (2.0, 1.0, Outcome.INVALID)],
)
def test_a_row_behind_the_other_family_waits_no_more_than_twice(factor: float, noise: float, outcome: Outcome) -> None:
    behind_text = timings(Axis.AHEAD, (0.0,), 0.0, noise=noise)
    behind_chat = [
        one.model_copy(update={"level": 1.0, "seconds": (one.seconds[0] * factor,)})
        for one in random.Random(2).sample(behind_text, len(behind_text))
    ]
    renumbered = [one.model_copy(update={"round": number}) for number, one in enumerate(behind_chat)]
    (finding,) = judging.findings(Axis.AHEAD, [*behind_text, *renumbered])
    assert (finding.requirement, finding.outcome) == ("LOD-04", outcome)


def test_what_fails_is_said_even_where_something_else_could_not_be_measured() -> None:
    def said(*outcomes: Outcome | None) -> Outcome:
        return judging.verdict([Finding(requirement="", branch="", outcome=one, reason="") for one in outcomes])

    assert said(None) is Outcome.INVALID
    assert said(None, Outcome.PASSED) is Outcome.PASSED
    assert said(Outcome.PASSED, Outcome.INVALID) is Outcome.INVALID
    assert said(Outcome.INVALID, Outcome.FAILED) is Outcome.FAILED


def test_a_cell_is_written_refused_rows_first_and_what_is_handed_out_is_small() -> None:
    refused, head, laden = Cell(payload_bytes=4096, waiting=12, refused=5).queues()
    assert (refused.rows, refused.refused.rows, refused.payload.bytes[0]) == (0, 5, 4096)
    assert (head.rows, head.payload.bytes[0]) == (2, 256)
    assert (laden.rows, laden.payload.bytes[0]) == (10, 4096)
    # Rows of a deep queue are older than they are: their age alone would put them first.
    assert refused.priorities > head.priorities > laden.priorities


def test_behind_either_family_waits_the_same_text_row() -> None:
    swept = sweep(Axis.AHEAD, (AHEAD,))
    (text,), (chat,) = (cell.queues() for cell in swept.cells.values())
    assert (text.refused.by, chat.refused.by) == ("max_context_length", "family")
    assert text.model_copy(update={"refused": chat.refused}) == chat
    assert swept.branches == (Branch.TEXT,)


def test_levels_that_make_no_slope_are_refused() -> None:
    with pytest.raises(Situation, match="2 levels make no slope"):
        sweep(Axis.DEPTH, (100, 1000))
    assert all(len(levels) >= 3 for axis, levels in (*QUICK.items(), *FULL.items()) if axis is not Axis.AHEAD)


def test_pops_of_the_reference_are_timed_counted_and_put_back(postgres: Server, tmp_path: Path) -> None:
    swept = replace(sweep(Axis.REFUSED, (0, 5, 30), payload=4096, depth=30), branches=(Branch.TEXT,))
    with side_by_side(swept, PROFILE, postgres) as bench:
        measured = run(swept, bench, Plan(rounds=5, pops=3, warm_up=1), PROFILE, None)
    assert len(measured.timings) == 5 * 3
    assert {one.statements for one in measured.counts} == {5}
    assert {(one.order.jobs, one.unknown) for one in measured.orders} == {(8, 0)}
    assert judging.verdict(measured.findings) is Outcome.PASSED
    keep(tmp_path / "rows.jsonl", measured)
    assert len((tmp_path / "rows.jsonl").read_text("utf-8").splitlines()) == sum(
        len(part) for part in (measured.timings, measured.counts, measured.orders, measured.findings)
    )


def test_a_pop_of_a_model_that_nobody_asked_for_brings_nothing_at_any_depth(postgres: Server) -> None:
    cells = {float(depth): Cell(payload_bytes=256, waiting=depth) for depth in (2, 200)}
    swept = Sweep(Axis.DEPTH, cells, (Branch.UNASKED,))
    with side_by_side(swept, PROFILE, postgres) as bench:
        few, many = counting.count(swept, bench, PROFILE.server.command)
    assert (few.statements, few.received_bytes) == (many.statements, many.received_bytes)
    assert sweep(Axis.DEPTH, (2, 20, 200)).branches == tuple(Branch)
    assert sweep(Axis.REFUSED, (0, 5, 30)).branches == (Branch.EMPTY, Branch.TEXT, Branch.CHAT)


def test_a_server_that_looks_into_what_it_does_not_hand_out_is_counted_so(postgres: Server) -> None:
    level, fault = 16_384.0, "undeferred-column"
    swept = Sweep(Axis.PAYLOAD, {level: Cell(payload_bytes=int(level), waiting=10)}, (Branch.CHAT,))
    with side_by_side(swept, PROFILE, postgres) as bench:
        right, wrong = (next(counting.count(swept, bench, PROFILE.server.command, put)) for put in (None, fault))
    assert wrong.statements == right.statements
    assert (wrong.received_bytes or 0) - (right.received_bytes or 0) > 4 * level


def test_at_a_target_queues_stand_one_after_the_other_and_its_database_counts_statements(postgres: Server) -> None:
    swept = replace(sweep(Axis.REFUSED, (0, 5, 30)), branches=(Branch.TEXT,))
    with targets.embedded(PROFILE, postgres) as target:
        assert target.database_url is not None
        driven = sqlalchemy.make_url(target.database_url).set(drivername="postgresql+psycopg2")
        extension = sqlalchemy.create_engine(driven, poolclass=sqlalchemy.NullPool)
        with extension.begin() as connection:
            connection.exec_driver_sql("CREATE EXTENSION pg_stat_statements")
        bench = InTurn(swept, PROFILE, target.url, target.database_url)
        measured = run(swept, bench, Plan(rounds=5, pops=3, warm_up=0), PROFILE, target.database_url)
    assert len(measured.timings) == 5 * 3
    assert len({one.statements for one in measured.counts}) == 1
    assert [fact.not_measured for fact in measured.not_measured] == ["bytes"]
    assert judging.verdict(measured.findings) is Outcome.PASSED
