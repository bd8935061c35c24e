"""A session is read whole or refused with a sentence, and its verdict says first what is true."""

from __future__ import annotations

import pytest

from load import seeding, sessions
from load.errors import BadSession, UnknownScenario
from load.gates import Errors, Judged
from load.health import Facts, Health, judge
from load.sessions import Judgement, Verdict, judging

RUN = """
sentence = "Pops."
[[run]]
name = "pops"
scenario = "pop-scan"
phase = [{ name = "steady", seconds = 5, rate = 10 }]
"""


def gate(verdict: str) -> Judged:
    bound = Errors(phase="steady", error_ratio=0.0)
    return Judged.model_validate({"gate": bound, "verdict": verdict, "measured": None, "sentence": f"it {verdict}"})


def generator(*, valid: bool) -> Health:
    return judge(Facts(workers=0, processes=(), recorded=0, answered=int(valid), median_response=0.01))


@pytest.mark.parametrize("name", sessions.built_in())
def test_what_comes_with_the_harness_can_be_played(name: str) -> None:
    session = sessions.named(name)
    assert all(run.gate or run.ramp for run in session.run), "a run without a gate says nothing of speed"
    for run in session.run:
        assert run.queue is None or run.description is not None


def test_the_default_takes_about_two_minutes() -> None:
    assert 90 <= sessions.named("default").seconds <= 130


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rate = 10", "rate = -1"), "phase.0.rate"),
        (('name = "pops"', 'name = "pops"\nspeed = 3'), "speed"),
        (("[[run]]", "[[walk]]"), "run"),
        (("phase = [", "phase = ["), None),
        (('steady", seconds = 5', 'steady", seconds = 0'), "phase.0.seconds"),
    ],
)  # fmt: skip
def test_a_bad_value_is_told_with_its_place(change: tuple[str, str], said: str | None) -> None:
    text = RUN.replace(*change)
    if said is None:
        assert sessions.parse(text, "mine").seconds == 5
        return
    with pytest.raises(BadSession, match=said):
        sessions.parse(text, "mine")


def test_a_gate_is_bound_to_a_phase_that_there_is() -> None:
    with pytest.raises(BadSession, match=r"bound to no phase.*steady"):
        sessions.parse(f'{RUN}gate = [{{ phase = "stead", error_ratio = 0.0 }}]', "mine")


def test_a_count_of_pops_that_are_made_alone_is_bound_to_no_phase_of_the_run() -> None:
    gated = 'gate = [{ phase = "alone", count = "statements per empty pop", exactly = 6 }]'
    assert sessions.parse(f"{RUN}{gated}", "mine").run[0].gate
    with pytest.raises(BadSession, match="no phase is called 'alone'"):
        sessions.parse(RUN.replace("steady", "alone"), "mine")
    with pytest.raises(BadSession, match=r"gate\.0.*no 'horses' is counted"):
        sessions.parse(f"{RUN}{gated.replace('statements per empty pop', 'horses')}", "mine")
    with pytest.raises(BadSession, match=r"bound to no phase"):
        sessions.parse(f'{RUN}gate = [{{ phase = "alone", error_ratio = 0.0 }}]', "mine")


def test_a_run_so_long_that_owners_cannot_be_judged_says_so_itself() -> None:
    long = RUN.replace("seconds = 5", "seconds = 600")
    with pytest.raises(BadSession, match=r'from 600 s on.*`kudos = "requesters"`'):
        sessions.parse(long, "mine")
    for said in ('kudos = "requesters"', "kudos = false", "history = false"):
        assert sessions.parse(long.replace("[[run]]", f"[[run]]\n{said}"), "mine").seconds == 600


def test_a_scenario_that_wants_a_queue_is_given_one() -> None:
    with pytest.raises(BadSession, match="wants a queue"):
        sessions.parse(RUN.replace("pop-scan", "head-of-line"), "mine")


def test_an_unknown_scenario_is_refused() -> None:
    with pytest.raises(UnknownScenario, match="pop-skan"):
        sessions.parse(RUN.replace("pop-scan", "pop-skan"), "mine")


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadSession, match="cannot be read"):
        sessions.named("no-such-session.toml")


def test_a_broken_rule_fails_a_run_however_its_generator_fared() -> None:
    for valid in (True, False):
        judged = judging.judge(generator(valid=valid), [gate("failed")], ["g7 was handed out twice."], [])
        assert judged == Judgement(verdict=Verdict.FAIL, reasons=("g7 was handed out twice.",))


def test_no_gate_passes_or_fails_on_a_generator_that_is_not_believed() -> None:
    for verdict in ("passed", "failed"):
        judged = judging.judge(generator(valid=False), [gate(verdict)], [], [])
        assert judged.verdict is Verdict.INVALID
        assert judged.reasons


def test_a_gate_that_was_not_measured_and_a_history_that_was_not_judged_are_not_passed() -> None:
    believed = generator(valid=True)
    assert judging.judge(believed, [gate("not measured")], [], []).verdict is Verdict.INVALID
    assert judging.judge(believed, [gate("passed")], [], ["nothing was judged"]).verdict is Verdict.INVALID


def test_gates_decide_where_all_else_is_right() -> None:
    believed = generator(valid=True)
    assert judging.judge(believed, [gate("passed")], [], []) == Judgement(verdict=Verdict.PASS, reasons=())
    assert judging.judge(believed, [gate("passed"), gate("failed")], [], []).verdict is Verdict.FAIL


def test_a_session_is_as_its_worst_run_and_says_which() -> None:
    passed, failed, doubted = (Judgement(verdict=v, reasons=(v.lower(),)) for v in Verdict)
    assert judging.whole([("a", passed), ("b", doubted)]).verdict is Verdict.INVALID
    whole = judging.whole([("a", doubted), ("b", failed), ("c", passed)])
    assert whole == Judgement(verdict=Verdict.FAIL, reasons=("b: fail",))
    assert judging.whole([]).verdict is Verdict.INVALID, "nothing ran, so that nothing passed"


def test_every_queue_that_a_built_in_session_names_is_there() -> None:
    named = {run.queue for name in sessions.built_in() for run in sessions.named(name).run if run.queue}
    assert named <= set(seeding.built_in())
