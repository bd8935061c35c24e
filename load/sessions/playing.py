"""Playing a session: the target is found or started, each queue seeded, each load made, and what came of it judged."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from conformance import preflight, targets
from conformance import profile as profiles
from conformance.client import Client
from conformance.profile import Profile
from fixtures.postgres import open_server
from load import gates, running, seeding
from load.gates import Judged
from load.running import Beat
from load.scenarios.plan import Plan
from load.scenarios.result import Result
from load.seeding import Seeded
from load.sessions import judging, ramp
from load.sessions.checking import Checking, Found, Queue
from load.sessions.description import Run, Session
from load.sessions.judging import Judgement
from load.sessions.ramp import Knee, Ramp, Step

# Of a step in which the generator was disturbed.
_TRIES = 2


@dataclass(frozen=True)
class Options:
    """On what a session is played. Without `target` it is the embedded reference."""

    target: str | None = None
    profile: str | None = None
    database_url: str | None = None
    seed: int = 1

    @property
    def profile_name(self) -> str:
        """The profile that was asked for, or the one that goes without saying."""
        return self.profile or ("aihorde" if self.target else "reference")


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
    judgement: Judgement
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
    with _target(options, profile) as target:
        with Client(target.url, profile) as client, preflight.in_time(client):
            preflight.heartbeat_within(client, 0.0)

        if found is not None:
            found(target)

        def play_one(run: Run, step_of: str | None = None) -> Played:
            if begun is not None:
                begun(run)
            played = _played(run, target, profile, options, heard).model_copy(update={"step_of": step_of})
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


@contextmanager
def _target(options: Options, profile: Profile) -> Iterator[targets.Target]:
    if options.target:
        yield targets.Target(options.target, options.database_url)
        return
    with open_server(options.database_url) as postgres, targets.embedded(profile, postgres) as target:
        yield target


def _played(
    run: Run, target: targets.Target, profile: Profile, options: Options, heard: Callable[[Beat], None] | None
) -> Played:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        since = time.monotonic()
        queue = stack.enter_context(_queue(run, target, profile))
        stood = None if queue is None else Queue(queue, since, time.monotonic())
        plan = _plan(run, target, options, folder, queue)
        checking = Checking(plan, profile, stood, kudos=run.kudos) if run.history else None
        result = running.run(plan, run.workers, heard=heard)
        found = checking.judge(result) if checking is not None else Found()
    judged = gates.judge(run.gate, result, {})
    doubts = [*(["It was interrupted."] if result.interrupted else []), *found.unjudged]
    judgement = judging.judge(result.health, judged, [found.witness] if found.witness else [], doubts)
    return Played(
        run=run, result=result, queue=queue, gates=judged, operations=found.operations, witness=found.witness,
        unjudged=tuple(doubts), judgement=judgement,
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
