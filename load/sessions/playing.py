"""Playing a session: the target is found or started, each queue seeded, each load made, and what came of it judged."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from conformance import preflight, targets
from conformance import profile as profiles
from conformance.client import Client
from conformance.profile import Profile
from load import gates, running, seeding
from load.gates import Count, Judged
from load.probes.facts import NotMeasured
from load.probes.watching import NO_DATABASE
from load.running import Beat
from load.scenarios.plan import Plan
from load.scenarios.result import Result
from load.seeding import Seeded
from load.sessions import counting, judging, loading, ramp
from load.sessions.checking import Checking, Found, Queue
from load.sessions.counting import Counted, Counter
from load.sessions.description import Run, Session
from load.sessions.judging import Judgement
from load.sessions.loading import Options
from load.sessions.ramp import Knee, Ramp, Step

# Of a step in which the generator was disturbed.
_TRIES = 2


class Played(BaseModel):
    """A run that was made, with all that was measured. `witness` says which rule the target broke under it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Run
    result: Result
    queue: Seeded | None
    gates: tuple[Judged, ...]
    operations: int
    witness: str | None
    unjudged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    judgement: Judgement
    counted: Counted | None = None
    # The name of the run whose ramp it is a step of.
    step_of: str | None = None


class Outcome(BaseModel):
    """A session that was played: what is kept of it as JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session: Session
    profile: str
    seed: int
    runs: tuple[Played, ...]
    knees: tuple[Knee, ...] = ()
    judgement: Judgement


def play(
    session: Session,
    options: Options,
    *,
    found: Callable[[targets.Target], None] | None = None,
    begun: Callable[[Run], None] | None = None,
    heard: Callable[[Beat], None] | None = None,
) -> Outcome:
    """Play all runs of a session.

    Args:
        session: the runs.
        options: on which target.
        found: is told the target, once it answers.
        begun: is told each run before its load is made.
        heard: is told once a second what has ended.

    Raises:
        Situation: the target is not ready, a queue cannot be had, or the generator did not come up.
    """
    profile = profiles.load(options.profile_name)
    runs: list[Played] = []
    knees: list[Knee] = []
    bound = [gate for run in session.run for gate in run.gate if isinstance(gate, Count)]
    if options.target and not options.database_url:
        # Before anything is waited for.
        counting.check(bound, profile, NotMeasured(not_measured="counts", reason=NO_DATABASE), on_wire=False)
    with loading.loaded(options, profile, on_wire=_on_wire(bound, profile)) as (target, counter):
        with Client(target.url, profile) as client, preflight.in_time(client):
            preflight.heartbeat_within(client, 0.0)

        counter.get_ready()
        counting.check(bound, profile, counter.seen, counter.on_wire)
        if found is not None:
            found(target)

        def play_one(run: Run, step_of: str | None = None) -> Played:
            if begun is not None:
                begun(run)
            played = _played(run, target, counter, profile, options, heard).model_copy(update={"step_of": step_of})
            runs.append(played)
            return played

        judged = []
        for run in session.run:
            if run.ramp is None:
                judged.append((run.name, play_one(run).judgement))
            else:
                knees.append(ramp.knee(run.name, list(_climbed(run, run.ramp, play_one))))
                judged.append((run.name, knees[-1].judgement))
    return Outcome(
        session=session, profile=profile.name, seed=options.seed, runs=tuple(runs), knees=tuple(knees),
        judgement=judging.whole(judged),
    )  # fmt: skip


def _climbed(run: Run, described: Ramp, play_one: Callable[[Run, str], Played]) -> Iterator[Step]:
    """The steps of all ramps, each up to the first that does not hold."""
    for repeat in range(described.repeats):
        for rate in described.rates:
            for _ in range(_TRIES):
                played = play_one(run.step(repeat, rate), run.name)
                gated = played.gates
                found = ramp.step(repeat, rate, played.result, gated, played.witness, played.unjudged)
                if found.state != "unknown":
                    break
            yield found
            if found.state != "held":
                break


def _on_wire(bound: Sequence[Count], profile: Profile) -> bool:
    """Whether a gate wants what only the proxy counts, whose price is a part of every time."""
    return any(gate.on_wire and not gate.optional and gate.binds(profile.name) for gate in bound)


def _played(
    run: Run, target: targets.Target, counter: Counter, profile: Profile, options: Options,
    heard: Callable[[Beat], None] | None,
) -> Played:  # fmt: skip
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        since = time.monotonic()
        queue = stack.enter_context(_queue(run, target, profile))
        stood = None if queue is None else Queue(queue, since, time.monotonic())
        plan = _plan(run, target, options, folder, queue)
        checking = Checking(plan, profile, stood, kudos=run.kudos) if run.history else None
        result, counted = counter.run(
            plan, folder, lambda: running.run(plan, run.workers, heard=heard, meeting=options.meeting)
        )
        found = checking.judge(result) if checking is not None else Found()
    judged = gates.judge(run.gate, result, counted.figures, profile.name)
    doubts = [*(["It was interrupted."] if result.interrupted else []), *found.unjudged]
    judgement = judging.judge(result.health, judged, [found.witness] if found.witness else [], doubts)
    return Played(
        run=run, result=result, queue=queue, gates=judged, operations=found.operations, witness=found.witness,
        unjudged=tuple(doubts), left_out=found.left_out, judgement=judgement, counted=counted,
    )  # fmt: skip


@contextmanager
def _queue(run: Run, target: targets.Target, profile: Profile) -> Iterator[Seeded | None]:
    description = run.description
    if description is None:
        yield None
        return
    with seeding.seeded(description, profile, database_url=target.database_url, url=target.url) as queue:
        yield queue


def _plan(run: Run, target: targets.Target, options: Options, folder: Path, queue: Seeded | None) -> Plan:
    plan = running.equipped(
        target.url, options.profile_name, models=run.models, scenario=run.scenario, phases=run.phase, gaps=run.gaps,
        loop=run.loop, users=run.users, seed=options.seed, family=run.family, payload_bytes=run.payload_bytes,
        chat_share=run.chat_share, seeded=queue is not None, exchanges=folder / "exchanges" if run.history else None,
        result=folder / "result.json", beats=folder / "beats.jsonl",
    )  # fmt: skip
    # All that waits in a seeded queue is of its own models.
    return plan if queue is None else plan.model_copy(update={"models": queue.models})
