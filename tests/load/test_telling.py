"""What the load room measured is told to the report room as it was: no verdict, no reason and no call is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fixtures.postgres import Server
from load import health, telling
from load.amplification import Measured, Pop, lines
from load.duet import Head, Plan, Round, decide
from load.duet.driving import Block
from load.duet.rounds import A, B
from load.gates import Count, Judged, Quantile
from load.health import Facts, Limits, PhaseCounts, Process
from load.probes.facts import NotMeasured
from load.probes.processes import Cpu
from load.probes.sampling import Blocked, Sample
from load.probes.statements import Statement
from load.probes.watching import Costs
from load.recording import Key, Recorder
from load.scenarios import plan as plans
from load.scenarios.result import Gathered, Result
from load.sessions import Judgement, Outcome, Played, Run, Session, Verdict, ramp
from load.sessions.counting import Counted, PhaseCosts
from load.sessions.judging import judge, whole
from load.sessions.ramp import Knee
from load.statistics import elasticity
from reports.measured.write import read_load_report, write_load_report

STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PHASES = (plans.Phase(name="warm-up", seconds=2, rate=5), plans.Phase(name="steady", seconds=4, rate=10))


def process(index: int = 0, **given: Any) -> Process:
    fields: dict[str, Any] = {
        "index": index, "pid": 100 + index, "wall": 10.0, "cpu": 2.0, "waited": 0.5, "lag_median": 0.0001,
        "lag_tail": 0.002, "lateness_median": 0.0002, "due": 40, "begun": 40, "recorded": 40, "clock_step": 0.0,
        "phases": (PhaseCounts(phase="steady", windows=40, dispersion=1.1),),
    }  # fmt: skip
    return Process(**(fields | given))


def result(**given: Any) -> Result:
    """Ten pops in each of six seconds of 2 ms, sent at once; one crashes, two are refused for the rate."""
    plan = plans.Plan(scenario="mixed", url="http://127.0.0.1:1", phases=PHASES)
    gathered, recorder = Gathered(plan, 1), Recorder()
    gathered.begun = STARTED.timestamp() + 3
    for second in range(6):
        for call in range(10):
            outcome = {(3, 0): "crashed", (3, 1): "limited", (4, 1): "limited"}.get((second, call), "done")
            began = second + call / 20
            phase = PHASES[0].name if second < 2 else PHASES[1].name
            recorder.add(Key(phase, "pop", outcome), began, began + 0.001, began + 0.003)
    gathered.merged.add(recorder.take(0.0))
    facts = process(recorded=60, due=60, begun=60, **given)
    nothing: dict[str, list[int]] = {"values": [], "counts": []}
    gathered.end({"facts": facts.model_dump(), "answered": 40, "lag": nothing, "lateness": nothing})
    return gathered.result()


def played(
    measured: Result, *, witness: str | None = None, unjudged: tuple[str, ...] = (), gate: str = "passed"
) -> Played:
    limit = Quantile(phase="steady", quantile=0.5, at_most_seconds=0.25)
    gates = (Judged(gate=limit, verdict=gate, measured=0.003, sentence=f"the gate {gate}."),)
    run = Run(name="Mixed & hot", scenario="mixed", phase=PHASES)
    judgement = judge(measured.health, gates, [witness] if witness else [], unjudged)
    return Played(
        run=run, result=measured, queue=None, gates=gates, operations=0 if unjudged else 60, witness=witness,
        judgement=judgement,
    )  # fmt: skip


def outcome(*runs: Played) -> Outcome:
    named = tuple(
        one.model_copy(update={"run": one.run.model_copy(update={"name": f"{one.run.name} {place}"})})
        for place, one in enumerate(runs)
    )
    return Outcome(
        session=Session(sentence="All there is", run=tuple(one.run for one in named)), profile="reference", seed=7,
        runs=named, judgement=whole((one.run.name, one.judgement) for one in named),
    )  # fmt: skip


FINE, LATE = result(), result(lag_median=0.02)
SESSIONS = {
    "passed": outcome(played(FINE)),
    "a gate failed": outcome(played(FINE, gate="failed")),
    "a gate was not measured": outcome(played(FINE, gate="not measured")),
    "a rule was broken": outcome(played(FINE, witness="POP-01: handed out twice")),
    "late": outcome(played(LATE, gate="failed")),
    "late, and a rule was broken": outcome(played(LATE, witness="POP-01: handed out twice")),
    "not judged": outcome(played(FINE, unjudged=("The history was not judged: it holds no operation.",))),
    "one late, one failed": outcome(played(LATE), played(FINE, gate="failed")),
    "one fine, one late": outcome(played(FINE), played(LATE)),
}


@pytest.mark.parametrize("session", SESSIONS.values(), ids=SESSIONS)
def test_the_reports_verdict_is_the_sessions_and_no_reason_is_lost(session: Outcome) -> None:
    report = telling.tell(session, command="load run", started_at=STARTED, machine=telling.machine())
    assert report.verdict == session.judgement.verdict.value
    sentences = {finding.sentence for finding in report.findings}
    for one in session.runs:
        assert set(one.judgement.reasons) <= sentences
    assert {finding.run for finding in report.findings} == {run.slug for run in report.runs}


def climbed(*gates: str, verdict: Verdict) -> Outcome:
    """A ramp of steps whose gate was so."""
    rates = [10.0 * 2**place for place in range(len(gates))]
    steps, runs = [], []
    for gate, rate in zip(gates, rates, strict=True):
        made = played(FINE, gate=gate)
        phases = tuple(phase.model_copy(update={"rate": rate}) for phase in PHASES)
        run = made.run.model_copy(update={"name": ramp.step_name("climb", 0, rate), "phase": phases})
        runs.append(made.model_copy(update={"run": run, "step_of": "climb"}))
        steps.append(ramp.step(0, rate, made.result, made.gates, None, ()))
    judgement = Judgement(verdict=verdict, reasons=() if verdict is Verdict.PASS else ("Something is to be said.",))
    knee = Knee(run="climb", best=10, held=10, broke=20, ramps=1, steps=tuple(steps), judgement=judgement)
    return outcome(played(FINE)).model_copy(update={"runs": tuple(runs), "knees": (knee,), "judgement": judgement})


@pytest.mark.parametrize("verdict", [Verdict.PASS, Verdict.FAIL, Verdict.INVALID])
def test_a_ramp_is_judged_by_its_knee_and_not_by_the_step_that_broke(verdict: Verdict) -> None:
    session = climbed("passed", "failed", verdict=verdict)
    report = telling.tell(session, command="load run ramp", started_at=STARTED, machine=telling.machine())
    assert report.verdict == verdict.value
    (told,) = (finding for finding in report.findings if finding.decides)
    assert "the knee is 10 a second, between 10 and 20" in told.sentence.lower()
    assert all(reason in told.sentence for reason in session.judgement.reasons)
    assert told.rows == report.knees[0].slug


def test_what_was_left_out_of_the_history_stands_in_the_verdict_on_it() -> None:
    made = played(FINE).model_copy(update={"left_out": ("Owners were left out.",)})
    report = telling.tell(outcome(made), command="load run", started_at=STARTED, machine=telling.machine())
    (rules,) = (one for one in report.findings if one.kind == "rule")
    assert rules.sentence == "60 operations judged by their history, no rule broken. Owners were left out."


def test_each_step_of_a_ramp_has_its_verdict() -> None:
    session = climbed("passed", "failed", verdict=Verdict.PASS)
    report = telling.tell(session, command="load run ramp", started_at=STARTED, machine=telling.machine())
    steps = [one for one in report.findings if one.name.endswith(": the step")]
    assert [(one.outcome, one.run) for one in steps] == [
        ("pass", report.runs[0].slug), ("fail", report.runs[1].slug),
    ]  # fmt: skip
    assert "the gate failed." in steps[1].sentence
    assert [(step.rate, step.state, step.run) for step in report.knees[0].steps] == [
        (10.0, "held", report.runs[0].slug), (20.0, "broke", report.runs[1].slug),
    ]  # fmt: skip


def test_what_the_database_showed_stands_in_its_run() -> None:
    ran = Statement(fingerprint="SELECT 1", text="SELECT 1", calls=37, rows=74, blocks=5)
    missing = NotMeasured(not_measured="bytes", reason="no proxy")
    cpu = Cpu(server_seconds=0.4, database_seconds=None, ended=0)
    costs = Costs(calls=40, statements=(ran,), out_of_line=(), wire=missing, cpu=cpu)
    blocked = Blocked(pid=1, by=(2,), seconds=0.5)
    samples = (
        Sample(at=-0.5, took_seconds=0.01, failed="gone"),
        Sample(at=0.5, took_seconds=0.01, states={"active": 2, "idle in transaction": 1}, blocked=(blocked,)),
    )
    counted = Counted(
        alone={"statements per empty pop": 5.0}, phases=(PhaseCosts(phase="steady", pops=37, costs=costs),),
        samples=samples,
    )  # fmt: skip
    bound = Count(phase="alone", count="statements per empty pop", exactly=5)
    gate = Judged(gate=bound, verdict="failed", measured=6, sentence="six.")
    made = played(FINE).model_copy(update={"counted": counted, "gates": (gate,)})
    report = telling.tell(outcome(made, made), command="load run", started_at=STARTED, machine=telling.machine())
    run = report.runs[0]
    assert [(one.phase, one.name, one.value) for one in run.counts] == [
        ("alone", "statements per empty pop", 5.0), ("steady", "statements per call", 37 / 40),
        ("steady", "rows per call", 74 / 40), ("steady", "blocks out of line per call", 0.0),
        ("steady", "values read out of line per call", 0.0), ("steady", "pieces written out of line per call", 0.0),
        ("steady", "CPU of the server per call, ms", 10.0),
    ]  # fmt: skip
    assert [(one.statement, one.calls_per_pop) for one in run.statements] == [("SELECT 1", 1.0)]
    assert [(one.second, one.active, one.in_transaction, one.waiting) for one in run.sessions] == [
        (-0.5, 0, 0, 0), (0.5, 2, 1, 1),
    ]  # fmt: skip
    (told, _) = (one for one in report.findings if one.kind == "gate")
    assert (told.outcome, told.rows) == ("fail", f"{run.slug}-counts")
    assert report.unmeasured == ("bytes: no proxy",)


def test_a_run_is_told_call_by_call() -> None:
    run = telling.told_run(FINE, "Mixed & hot", since=STARTED.timestamp())
    assert (run.slug, run.scenario) == ("run-1-mixed-hot", "mixed")
    assert run.started == pytest.approx(3.0)
    assert [(phase.name, phase.begin, phase.end, phase.judged) for phase in run.phases] == [
        ("warm-up", 0.0, 2.0, False), ("steady", 2.0, 6.0, True),
    ]  # fmt: skip
    steady = next(one for one in run.operations if one.phase == "steady")
    assert (steady.done, steady.expected, steady.errors) == (37, 2, 1)
    assert steady.service is not None
    assert steady.service.p50 == pytest.approx(0.002, rel=0.002)
    assert steady.response is not None
    assert steady.response.p99 == pytest.approx(0.003, rel=0.002)
    assert sum(sum(m.counts.values()) for m in run.moments if m.operation is None) == 60
    fourth = next(m for m in run.moments if m.second == 3 and m.operation == "pop")
    assert fourth.counts == {"done": 8, "limited": 1, "crashed": 1}
    assert fourth.response is not None
    assert fourth.response.p90 == pytest.approx(0.003, rel=0.01)


@pytest.mark.parametrize(("name", "slug"), [("../../x", "run-2-x"), ("Ä", "run-2"), ("A" * 99, f"run-2-{'a' * 24}")])
def test_a_runs_name_becomes_a_files(name: str, slug: str) -> None:
    assert telling.told_run(FINE, name, 2).slug == slug


STRAYING: dict[str, dict[str, Any]] = {
    "nothing": {},
    "lag": {"lag_median": 0.02},
    "tail": {"lag_tail": 0.2},
    "lateness": {"lateness_median": 0.02},
    "rate": {"begun": 20},
    "records": {"recorded": 39},
    "bunches": {"phases": (PhaseCounts(phase="steady", windows=40, dispersion=9.0),)},
    "cpu": {"cpu": 9.0},
    "cores": {"cpu": 1.0, "waited": 8.5},
    "clock": {"clock_step": 3.0},
    "no windows": {"phases": (PhaseCounts(phase="steady", windows=0, dispersion=9.0),)},
    "idle": {"cpu": 0.0, "waited": 0.0},
}


@pytest.mark.parametrize("given", STRAYING.values(), ids=STRAYING)
@pytest.mark.parametrize("limits", [Limits(), Limits(cpu=0.15, core=0.9, lag=0.00005)], ids=["usual", "strict"])
@pytest.mark.parametrize("kept", [True, False], ids=["there", "dead"])
def test_beyond_its_limit_is_told_what_the_generator_was_refused_for(
    given: dict[str, Any], limits: Limits, *, kept: bool
) -> None:
    processes = (process(), process(1, **given))[: 1 + kept]
    facts = Facts(workers=2, processes=processes, recorded=80, answered=80, median_response=0.0002)
    told = health.judge(facts, limits)
    checks = telling.checks(told)
    beyond = {(check.measure, check.process) for check in checks if not check.within}
    assert beyond == {(reason.measure.value, reason.process) for reason in told.reasons}
    # Also without a look at the reasons: the figures beside a limit are those that were judged.
    alone = telling.checks(told.model_copy(update={"reasons": ()}))
    assert {(check.measure, check.process) for check in alone if not check.within} == beyond


def test_nothing_answered_is_beyond_its_limit() -> None:
    facts = Facts(workers=1, processes=(process(recorded=0),), recorded=0, answered=0, median_response=0.0)
    beyond = [check.measure for check in telling.checks(health.judge(facts)) if not check.within]
    assert beyond == ["requests"]


def rounds(slower: float) -> list[Round]:
    """Rounds whose B is slower by a factor, with a little noise of its own."""
    made = []
    for number in range(40):
        noise = 1 + (number % 5 - 2) / 400
        arms = {A: 1.0, "again": 1.001, B: slower * noise}
        blocks = {
            arm: Block(
                calls=50, failed=0, median_seconds=0.002 * factor, server_cpu_seconds=0.001 * factor,
                database_cpu_seconds=0.0005 * factor, generator_cpu_seconds=0.0003,
            )
            for arm, factor in arms.items()
        }  # fmt: skip
        made.append(Round(launch=number % 4, round=number // 4, order=(A, B, "again"), blocks=blocks))
    return made


@pytest.mark.parametrize(("slower", "verdict"), [(1.09, "FAIL"), (1.0, "PASS"), (0.8, "PASS")])
def test_a_duet_fails_where_b_is_slower(slower: float, verdict: str) -> None:
    plan, played = Plan(launches=4, rounds=10, seed=5), rounds(slower)
    head = Head(a="profile", b="http://127.0.0.1:2", plan=plan)
    report = telling.tell_duet(
        decide(played, plan), head, played, profile="reference", command="load duet", started_at=STARTED,
        machine=telling.machine(),
    )  # fmt: skip
    assert (report.verdict, report.seed) == (verdict, 5)
    assert report.duet is not None
    assert len(report.duet.blocks) == 3 * 40
    assert report.duet.measures[0].comparison.ratio == pytest.approx(slower, rel=0.01)
    assert [target.role for target in report.targets] == ["A", "B"]


def test_a_duet_without_a_measure_is_told_as_one() -> None:
    broken = [
        one.model_copy(update={"blocks": {name: b.model_copy(update={"failed": 1}) for name, b in one.blocks.items()}})
        for one in rounds(1.0)
    ]
    plan = Plan()
    report = telling.tell_duet(
        decide(broken, plan), Head(a="a", b="b", plan=plan), broken, profile="reference", command="load duet",
        started_at=STARTED, machine=telling.machine(),
    )  # fmt: skip
    assert report.verdict == "INVALID"
    assert "40 of 40 rounds" in report.sentence


def test_a_sweep_has_the_median_of_its_rounds_and_an_interval_around_it() -> None:
    levels = (100.0, 1000.0, 10000.0)
    raw = [dict.fromkeys(levels, 0.002 * (1 + number / 100)) for number in range(24)]
    sweep = telling.told_sweep(
        "latency-over-depth", "service time of a pop", "waiting rows", "rows", {"empty pop": raw},
        found={"empty pop": elasticity(raw)},
    )  # fmt: skip
    (curve,) = sweep.curves
    assert [point.level for point in curve.points] == list(levels)
    first = curve.points[0]
    assert first.middle == pytest.approx(0.002 * 1.115)
    # Of 24 rounds the seventh and the eighteenth.
    assert [first.low, first.high] == pytest.approx([0.002 * 1.06, 0.002 * 1.17])
    assert curve.slope is not None
    assert curve.slope.value == pytest.approx(0, abs=1e-9)
    assert len(curve.rounds) == 24


@pytest.mark.parametrize("count", [1, 2, 5, 6])
def test_few_rounds_lie_within_their_own_interval(count: int) -> None:
    raw = [{1.0: float(number + 1)} for number in range(count)]
    (point,) = telling.told_sweep("x", "x", "x", "rows", {"x": raw}).curves[0].points
    assert (point.low, point.high) == (1.0, float(count))


def test_lines_are_told_with_the_counts_that_they_go_through() -> None:
    pops = tuple(
        Pop(
            way="deferral", branch="laden chat job", takes="chat", payload_bytes=size, received_bytes=2000 + size,
            sent_bytes=10, statements=4, by_statement={},
        )
        for size in (0, 1024, 65536)
    )  # fmt: skip
    (line,) = telling.told_amplification(Measured(pops=pops, branches=tuple(lines(pops)), not_measured=()))
    assert (line.branch, line.slope) == ("laden chat job (chat worker), deferral", 1.0)
    assert line.counts == ((0, 2000.0), (1024, 3024.0), (65536, 67536.0))


def test_a_told_session_is_written_and_reads_back(tmp_path: Any) -> None:
    report = telling.tell(
        SESSIONS["late"], command="load run", started_at=STARTED, machine=telling.machine(),
        unmeasured=("bytes: no proxy",),
    )  # fmt: skip
    files = write_load_report(report, tmp_path)
    assert read_load_report(files.json) == report
    assert "its loop was 20.00 ms late" in files.page.read_text("utf-8")


def test_the_machine_is_known() -> None:
    machine = telling.machine()
    assert machine.cores >= 1
    assert machine.kernel.startswith("Linux ")


def test_the_database_says_how_durable_it_is(postgres: Server) -> None:
    database = telling.database(postgres.url())
    assert database is not None
    assert database.version[0].isdigit()
    assert set(database.settings) >= {"fsync", "synchronous_commit", "full_page_writes"}


@pytest.mark.parametrize("url", [None, "postgresql://nobody@127.0.0.1:1/none"])
def test_a_database_that_cannot_be_seen_is_none(url: str | None) -> None:
    assert telling.database(url) is None
