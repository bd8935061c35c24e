"""A session or a duet as a whole: every verdict a finding with its rows, and all that was measured beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from load.duet import Head, Round
from load.duet import Verdict as DuetVerdict
from load.gates import Count
from load.sessions import Outcome, Played, Verdict
from load.sessions.ramp import Knee
from load.statistics import Answer, Comparison
from load.telling.climbing import told_knees, told_step
from load.telling.measures import harness
from load.telling.running import told_run
from reports.measured import parts
from reports.measured.model import DUET, LoadReport
from reports.measured.parts import Amplified, Database, Finding, Machine, Run, Sweep, Table, Target

_ANSWERS: dict[Answer, parts.Outcome] = {
    Answer.SLOWER: "fail",
    Answer.FASTER: "pass",
    Answer.EQUIVALENT: "pass",
    Answer.INCONCLUSIVE: "inconclusive",
    Answer.NO_VERDICT: "invalid",
}
_VERDICTS: dict[Verdict, parts.Outcome] = {Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.INVALID: "invalid"}
_GATES: dict[str, parts.Outcome] = {
    "passed": "pass",
    "failed": "fail",
    "not measured": "invalid",
    "left out": "recorded",
}


def tell(
    outcome: Outcome,
    *,
    command: str,
    started_at: datetime,
    machine: Machine,
    database: Database | None = None,
    title: str | None = None,
    findings: Sequence[Finding] = (),
    amplification: Sequence[Amplified] = (),
    sweeps: Sequence[Sweep] = (),
    tables: Sequence[Table] = (),
    unmeasured: Sequence[str] = (),
) -> LoadReport:
    """A session as a report shows it; its verdict follows from its findings and is the session's own.

    Args:
        outcome: the session that was played.
        command: as it was typed.
        started_at: when, with its time zone; `machine` is as it was then.
        title: what the page is called; the session's sentence, if none is given.
        findings: verdicts of other measurements, beside those of the runs.
        amplification: lines; and so sweeps, tables, and sentences of what could not be measured.
    """
    runs = tuple(_run(played, place, started_at) for place, played in enumerate(outcome.runs, 1))
    told = [
        finding
        for played, run in zip(outcome.runs, runs, strict=True)
        for finding in (_findings(played, run) if played.step_of is None else _of_step(played, run))
    ]
    knees = tuple(told_knees(outcome.knees, runs))
    told += [_knee(knee, shown) for knee, shown in zip(outcome.knees, knees, strict=True)]
    urls = dict.fromkeys(played.result.plan.url for played in outcome.runs)
    return LoadReport(
        harness=harness(), title=title or f"Load session: {outcome.session.sentence}", command=command,
        seed=outcome.seed, started_at=started_at, ended_at=datetime.now(UTC), machine=machine, database=database,
        targets=tuple(Target(address=url, profile=outcome.profile) for url in urls), findings=(*told, *findings),
        runs=runs, knees=knees, amplification=tuple(amplification), sweeps=tuple(sweeps), tables=tuple(tables),
        unmeasured=tuple(dict.fromkeys([*unmeasured, *_unmeasured(outcome)])),
    )  # fmt: skip


def _run(played: Played, place: int, started_at: datetime) -> Run:
    remarks = list(played.queue.remarks if played.queue else ())
    if played.counted is not None and played.counted.on_wire:
        remarks.append("The counting proxy stands between server and database: every time is its own as well.")
    return told_run(
        played.result, played.run.name, place, since=started_at.timestamp(), remarks=remarks, counted=played.counted
    )


def _unmeasured(outcome: Outcome) -> Iterator[str]:
    """What could not be counted; the same reason of several runs is told once."""
    for played in outcome.runs:
        if played.counted is not None:
            yield from (fact.why for fact in played.counted.not_measured)


def _findings(played: Played, run: Run) -> Iterator[Finding]:
    """What is true first, then what may be believed, then what is fast enough; no reason of the session is left out."""
    operations, name = f"{run.slug}-operations", played.run.name
    doubts = [reason.sentence for reason in played.result.health.reasons]
    if played.witness:
        yield _finding(f"{name}: rules", "rule", "fail", played.witness, operations, run)
    elif played.operations:
        said = " ".join([f"{played.operations} operations judged by their history, no rule broken.", *played.left_out])
        yield _finding(f"{name}: rules", "rule", "pass", said, operations, run)
    known = {*doubts, *(gate.sentence for gate in played.gates), played.witness}
    for reason in played.judgement.reasons:
        if reason not in known:
            yield _finding(f"{name}: what was not judged", "rule", "invalid", reason, operations, run)
    rows = f"{run.slug}-generator"
    for doubt in doubts:
        yield _finding(f"{name}: the generator", "generator", "invalid", doubt, rows, run)
    if not doubts:
        yield _finding(f"{name}: the generator", "generator", "pass", "The generator kept all its limits.", rows, run)
    for gate in played.gates:
        rests_on = f"{run.slug}-counts" if isinstance(gate.gate, Count) and run.counts else operations
        yield _finding(f"{name}: gate", "gate", _GATES[gate.verdict], gate.sentence, rests_on, run)


def _of_step(played: Played, run: Run) -> Iterator[Finding]:
    """The verdict on a step of a ramp, and what it rests on."""
    yield told_step(played, run)
    for finding in _findings(played, run):
        yield finding.model_copy(update={"decides": False})


def _knee(knee: Knee, shown: parts.Knee) -> Finding:
    """The verdict on a ramp, on the rows of its steps."""
    said = " ".join([shown.sentence, *knee.judgement.reasons])
    return Finding(
        name=f"{knee.run}: the knee", kind="figure", outcome=_VERDICTS[knee.judgement.verdict], sentence=said,
        rows=shown.slug,
    )  # fmt: skip


def _finding(name: str, kind: parts.Kind, outcome: parts.Outcome, sentence: str, rows: str, run: Run) -> Finding:
    return Finding(name=name, kind=kind, outcome=outcome, sentence=sentence, rows=rows, run=run.slug)


def tell_duet(
    verdict: DuetVerdict,
    head: Head,
    rounds: Sequence[Round],
    *,
    profile: str,
    command: str,
    started_at: datetime,
    machine: Machine,
    database: Database | None = None,
) -> LoadReport:
    """A duet as a report shows it. Slower fails, faster and equivalent pass."""
    sentence = f"B against A: {verdict.answer.value}, {verdict.reason}."
    finding = Finding(
        name="B against A", kind="figure", outcome=_ANSWERS[verdict.answer], sentence=sentence, rows=DUET
    )  # fmt: skip
    return LoadReport(
        harness=harness(), title="Duet of two builds", command=command, seed=head.plan.seed, started_at=started_at,
        ended_at=datetime.now(UTC), machine=machine, database=database, findings=(finding,),
        targets=tuple(Target(role=role, address=one, profile=profile) for role, one in (("A", head.a), ("B", head.b))),
        duet=told_duet(verdict, head, rounds),
    )  # fmt: skip


def told_duet(verdict: DuetVerdict, head: Head, rounds: Sequence[Round]) -> parts.Duet:
    """The measures of a duet, and its raw blocks."""
    measures = tuple(
        parts.Measured(measure=told.measure.value, comparison=_ratio(told.comparison), guard=_ratio(told.guard))
        for told in verdict.told
    )
    blocks = tuple(
        parts.Block(
            launch=one.launch, round=one.round, arm=arm, calls=block.calls, failed=block.failed,
            median_seconds=block.median_seconds, server_cpu_seconds=block.server_cpu_seconds,
            database_cpu_seconds=block.database_cpu_seconds, generator_cpu_seconds=block.generator_cpu_seconds,
        )
        for one in rounds
        for arm, block in one.blocks.items()
    )  # fmt: skip
    return parts.Duet(
        a=head.a, b=head.b, answer=verdict.answer.value, reason=verdict.reason, measures=measures,
        rounds=verdict.rounds, broken=verdict.broken, blocks=blocks,
    )  # fmt: skip


def _ratio(one: Comparison) -> parts.Ratio:
    return parts.Ratio(
        answer=one.answer.value, ratio=one.ratio, low=one.low, high=one.high, margin=one.margin,
        smallest_effect=max(one.smallest_effect, 0.0), pairs=one.pairs, launches=one.launches,
    )  # fmt: skip
