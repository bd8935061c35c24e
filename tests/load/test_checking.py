"""What a loaded server breaks is found, in a queue that was seeded too; what could not be judged is never passed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import profile as profiles
from conformance import targets
from conformance.actors import Account
from fixtures import postgres
from load import sessions
from load.health import Facts, Process, judge
from load.scenarios.plan import Phase, Plan
from load.scenarios.result import Result
from load.seeding import Description, Payload, Seeded
from load.sessions import Options, Outcome, Verdict
from load.sessions.checking import Checking, Queue, standing

REFERENCE = profiles.load("reference")


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with postgres.open_server() as running:
        yield running


# Whole runs


def played(server: postgres.Server, fault: str | None, run: str) -> Outcome:
    session = sessions.parse(f'sentence = "Faulty."\n[[run]]\nname = "one"\n{run}', "the test's")
    with targets.embedded(REFERENCE, server, fault) as target:
        return sessions.play(session, Options(target.url, "reference", target.database_url))


def test_a_job_that_is_handed_out_twice_under_load_fails_the_session(server: postgres.Server) -> None:
    run = 'scenario = "pop-scan"\nqueue = "shallow"\nphase = [{ name = "steady", seconds = 4, rate = 100 }]'
    outcome = played(server, "claim-reads-then-writes", run)
    assert outcome.judgement.verdict is Verdict.FAIL
    # Which one comes first is chance: a seeded row, or one that was asked for again when it had been handed out.
    assert "asked for 1 generation" in str(outcome.runs[0].witness)
    assert "handed" in str(outcome.runs[0].witness)


def test_a_worker_that_is_not_paid_under_load_fails_the_session(server: postgres.Server) -> None:
    run = 'scenario = "cancel-storm"\nphase = [{ name = "steady", seconds = 4, rate = 20 }]'
    outcome = played(server, "cancel-pays-no-worker", run)
    assert outcome.judgement.verdict is Verdict.FAIL
    assert "kudos were not conserved" in str(outcome.runs[0].witness)


@pytest.mark.parametrize("scenario", ["pop-scan", "cancel-storm", "progress-storm"])
def test_nothing_is_found_where_nothing_is_wrong_and_kudos_are_judged(server: postgres.Server, scenario: str) -> None:
    queue = 'queue = "shallow"\n' if scenario == "pop-scan" else ""
    run = f'scenario = "{scenario}"\n{queue}phase = [{{ name = "steady", seconds = 3, rate = 20 }}]'
    (one,) = played(server, None, run).runs
    assert one.witness is None
    assert one.operations > 60
    assert not [reason for reason in one.judgement.reasons if "not judged" in reason]


# Pieces


def seeded(**fields: Any) -> Seeded:
    description = Description.model_validate({"rows": 20, "models": 2, **fields})
    return Seeded(
        run="run-00000000", way="copy", description=description, counts=(), bytes_given=0, bytes_estimated=0,
        seconds_generating=0, seconds_writing=1, stored=(), models=("a", "b"), keys=(), declaration={},
    )  # fmt: skip


def test_the_rows_of_a_queue_are_made_again_as_they_were_written() -> None:
    queue = Queue(seeded(payload=Payload(bytes=(100, 200)), refused={"rows": 5, "by": "model"}), 1.0, 2.0)
    made = list(standing(queue, REFERENCE))
    assert len(made) == 25
    assert sum(one.submit.open for one in made) == 20
    assert {one.submit.models for one in made} == {("a",), ("b",), ("a-refused",)}
    assert len({json.dumps(one.content) for one in made}) == 25
    assert {type(one.content) for one in made if one.submit.family == "chat"} == {list}


def plan(folder: Path, **fields: Any) -> Plan:
    (folder / "exchanges-0.rows").touch()
    return Plan(
        scenario="pop-scan", url="http://127.0.0.1:9", phases=(Phase(name="steady", seconds=1, rate=1),),
        exchanges=folder, **fields,
    )  # fmt: skip


def result(of: Plan, processes: int, *, interrupted: bool = False) -> Result:
    one = Process(
        index=0, pid=1, wall=1, cpu=0, waited=0, lag_median=0, lag_tail=0, lateness_median=0, due=1, begun=1,
        recorded=1, clock_step=0,
    )  # fmt: skip
    facts = Facts(workers=1, processes=(one,) * processes, recorded=1, answered=1, median_response=0.1)
    return Result(
        plan=of, workers=1, begun=0, interrupted=interrupted, series=(), seconds=(), lag="", lateness="",
        health=judge(facts),
    )  # fmt: skip


def test_what_was_cut_short_is_judged_by_what_holds_of_any_part(tmp_path: Path) -> None:
    of = plan(tmp_path)
    for cut in (result(of, 0), result(of, 1, interrupted=True)):
        found = Checking(of, REFERENCE, None, kudos=True).judge(cut)
        assert any("cut short: of the history only twice" in said for said in found.unjudged)
        assert any("Kudos were not judged: the run was cut short" in said for said in found.unjudged)


def test_balances_that_are_too_old_or_not_the_runs_own_are_not_passed(tmp_path: Path) -> None:
    of = plan(tmp_path)
    listed = REFERENCE.model_copy(update={"accounts": REFERENCE.accounts.model_copy(update={"method": "listed"})})
    found = Checking(of, listed, None, kudos=True).judge(result(of, 1))
    assert any("the accounts are not the run's own" in said for said in found.unjudged)
    assert not any("Kudos" in said for said in Checking(of, listed, None, kudos=False).judge(result(of, 1)).unjudged)


def test_owners_whose_movements_no_exchange_tells_are_not_passed_in_silence(tmp_path: Path) -> None:
    requester, owner = (Account(role=role, id=role, alias=role, key=role) for role in ("requester", "owner"))
    phases = (Phase(name="steady", seconds=600, rate=1),)
    of = plan(tmp_path, requesters=(requester,), owners=(owner,)).model_copy(update={"phases": phases})
    stale = REFERENCE.model_copy(update={"timings": REFERENCE.timings.model_copy(update={"settlement": 999.0})})
    long = Checking(of, stale, None, kudos=True).judge(result(of, 1))
    assert any("kudos of workers' owners were not judged: from 600 s on" in said for said in long.unjudged)
    chosen = Checking(of, stale, None, kudos="requesters").judge(result(of, 1))
    assert not any("owners" in said for said in chosen.unjudged)
    assert chosen.left_out == ("The kudos of workers' owners were left out.",)


def test_a_queue_that_is_too_deep_to_be_made_again_is_said_to_be_unjudged(tmp_path: Path) -> None:
    of = plan(tmp_path)
    deep = Queue(seeded(rows=1_000_000), 0.0, 1.0)
    found = Checking(of, REFERENCE, deep, kudos=False).judge(result(of, 1))
    assert any("who was handed how often was not judged" in said for said in found.unjudged)
