"""What a session counts of its target: empty pops that are made alone, each phase between two looks, and samples.

A look is taken at the borders of the phases only, by a thread of the process that waits for the load; the sampler is a
process of its own. Neither makes a call, nor is in the processes that do.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from conformance.actors import Worker
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import Profile
from fixtures.counting.proxy import ProxyFailed
from load.errors import CountsNotVisible
from load.gates import ALONE, Count
from load.probes import sampling
from load.probes.facts import Fact, NotMeasured
from load.probes.plan import is_candidates
from load.probes.sampling import Sample
from load.probes.statements import Statement
from load.probes.watching import Costs, Look, Watch
from load.recording import Outcome
from load.scenarios.plan import Plan, begun_file
from load.scenarios.result import Result

# Empty pops that are made alone: those before that do not count, then groups, of which the least counts, for what else
# a server does comes on top.
_FIRST, _GROUPS, _POPS = 3, 4, 5
# Seconds: for which an idle target is watched at most; between two looks for the begin of a run; for what is under way.
_WATCH, _GLANCE, _PATIENCE = 2.0, 0.02, 0.2


class PhaseCosts(Fact):
    """What a phase cost: the number of its calls and of its pops, and the look at its end beside that at its begin."""

    phase: str
    pops: int
    costs: Costs


class Counted(Fact):
    """All that was counted of one run. `alone` are figures per empty pop, by name; `samples` are of the sampler."""

    alone: dict[str, float] | NotMeasured
    phases: tuple[PhaseCosts, ...] = ()
    samples: tuple[Sample, ...] | NotMeasured
    table: str = ""

    @property
    def figures(self) -> dict[tuple[str, str], float]:
        """What gates are held to, by phase and name."""
        alone = {} if isinstance(self.alone, NotMeasured) else self.alone
        found = {(ALONE, name): value for name, value in alone.items()}
        for one in self.phases:
            found |= {(one.phase, name): value for name, value in figures(one, self.table).items()}
        return found

    @property
    def on_wire(self) -> bool:
        """Whether the counting proxy stood between."""
        return any(not isinstance(one.costs.wire, NotMeasured) for one in self.phases)

    @property
    def not_measured(self) -> list[NotMeasured]:
        """What could not be had, each once."""
        facts = [one for one in (self.alone, self.samples) if isinstance(one, NotMeasured)]
        facts += [fact for one in self.phases for fact in one.costs.not_measured]
        return list(dict.fromkeys(facts))


def figures(one: PhaseCosts, table: str) -> dict[str, float]:
    """The figures of a phase by name; those of the queue's scans where its `table` is known."""
    found = {f"{name} per call": value for name, value in one.costs.per_call.items()}
    if one.pops and not isinstance(one.costs.statements, NotMeasured):
        scans = scanning(one.costs.statements, table)
        if scans:
            found["scans per pop"] = sum(scan.calls for scan in scans) / one.pops
            found["rows scanned per pop"] = sum(scan.rows for scan in scans) / one.pops
    return found


def scanning(ran: Sequence[Statement], table: str) -> list[Statement]:
    """The statements that look for candidates: they read the queue's table in an order up to a limit."""
    return [one for one in ran if table and is_candidates(one.text, table)]


def check(gates: Sequence[Count], profile: Profile, seen: NotMeasured | None, on_wire: bool) -> None:
    """Refuse what cannot be judged before anybody waits for it.

    Args:
        gates: on counts.
        seen: why the database's counts are not visible; None where they are.
        on_wire: whether the counting proxy stands between.

    Raises:
        CountsNotVisible: a gate that binds here is on a count that is not visible.
    """
    for gate in gates:
        if gate.optional or not gate.binds(profile.name):
            continue
        if gate.on_wire and not on_wire:
            raise CountsNotVisible(
                f"The gate {str(gate)!r} cannot be judged: the server does not reach its database through our proxy.",
                "Give --database-proxy, or write `optional = true` to have it judged only where it can be.",
            )
        if seen is not None and not gate.on_wire:
            raise CountsNotVisible(
                f"The gate {str(gate)!r} cannot be judged: {seen.reason}.",
                "Give --database-url, of a database with pg_stat_statements, or write `optional = true` to have the "
                "gate judged only where it can be.",
            )


class Counter:
    """Counts the runs of a session, one after the other.

    Args:
        watch: looks at the target.
        profile: the target's.
        database_url: of its database, for the sampler; None where it is not visible.
        on_wire: whether the counting proxy stands between the two.
    """

    def __init__(self, watch: Watch, profile: Profile, database_url: str | None, *, on_wire: bool = False) -> None:
        self._watch, self._profile, self._database_url, self.on_wire = watch, profile, database_url, on_wire

    def get_ready(self) -> None:
        """See what the target does uncalled."""
        self._watch.idle(min(_WATCH, max(2 * self._profile.timings.cleaner, 0.2)))

    @property
    def seen(self) -> NotMeasured | None:
        """Why statements are not counted here; None where they are."""
        counted = self._watch.look().counted
        return counted if isinstance(counted, NotMeasured) else None

    def alone(self, plan: Plan) -> dict[str, float] | NotMeasured:
        """What one empty pop costs beside the queue as it stands."""
        try:
            with Client(plan.url, self._profile) as client:
                worker = _worker(client, plan)
                _pops(worker, _FIRST)
                groups = [self._group(worker) for _ in range(_GROUPS)]
        except (CouldNotRun, ProxyFailed) as error:
            return NotMeasured(not_measured="an empty pop", reason=str(error).rstrip("."))
        refused = next((one for one in groups if isinstance(one, NotMeasured)), None)
        found = [one for one in groups if not isinstance(one, NotMeasured)]
        if not found or not any(found):
            return refused or NotMeasured(not_measured="an empty pop", reason="nothing is counted of it here")
        return {name: min(group[name] for group in found) for name in found[0]}

    def _group(self, worker: Worker) -> dict[str, float] | NotMeasured:
        before = self._watch.look()
        _pops(worker, _POPS)
        costs = self._watch.costs(before, self._watch.look(), _POPS)
        per_call = costs.per_call
        found = {f"{name} per empty pop": per_call[name] for name in ("statements", "rows") if name in per_call}
        if "bytes from the database" in per_call:
            found["bytes per empty pop"] = per_call["bytes from the database"]
        if isinstance(costs.statements, NotMeasured):
            return found or costs.statements
        if scans := scanning(costs.statements, self._profile.seeding.table):
            found["scans per empty pop"] = sum(one.calls for one in scans) / _POPS
        return found

    def run(self, plan: Plan, folder: Path, play: Callable[[], Result]) -> tuple[Result, Counted]:
        """Play a run and count it; `folder` is for what the sampler writes."""
        alone, file = self.alone(plan), folder / "samples.jsonl"
        with sampling.sampled(self._database_url, file), Borders(plan, self._look) as borders:
            result = play()
        looks = [*borders.looks, self._look()]
        found = sampling.samples(file)
        return result, Counted(
            alone=alone,
            phases=tuple(self._phases(result, looks)),
            samples=found if isinstance(found, NotMeasured) else tuple(_from(result.begun, found)),
            table=self._profile.seeding.table,
        )

    def _look(self) -> Look:
        return self._watch.look(_PATIENCE)

    def _phases(self, result: Result, looks: Sequence[Look]) -> Iterator[PhaseCosts]:
        for phase, before, after in zip(result.plan.phases, looks, looks[1:], strict=False):
            series = result.of(phase.name)
            yield PhaseCosts(
                phase=phase.name,
                pops=sum(one.count for one in series if one.outcome == Outcome.DONE and _is_pop(one.operation)),
                costs=self._watch.costs(before, after, sum(one.count for one in series)),
            )


def _is_pop(operation: str) -> bool:
    return operation == "pop" or operation.startswith("pop ")


def _from(begun: float, samples: Sequence[Sample]) -> Iterator[Sample]:
    """Samples by seconds of the run instead of the monotonic clock's."""
    origin = begun - time.time() + time.monotonic()
    for one in samples:
        yield one.model_copy(update={"at": round(one.at - origin, 3)})


def _worker(client: Client, plan: Plan) -> Worker:
    profile, owner = client.profile, plan.owners[0]
    models = list(plan.models[:: len(plan.owners)])
    declared: dict[str, Any] = {
        "models": models,
        "max_context_length": 65536,
        "bridge_agent": profile.workers.validated_bridge,
        # No request is so short: the queue is looked through, and nothing is handed out.
        "max_length": profile.limits.max_length_minimum,
    }
    if "chat" in profile.capabilities:
        declared["chat_models"] = models
    return Worker(client, owner, f"load alone {secrets.token_hex(4)}", declared)


def _pops(worker: Worker, count: int) -> None:
    for _ in range(count):
        job = worker.pop()
        worker.client.recorder.take()
        if job is not None:
            raise CouldNotRun("a pop that had to be empty brought a job")


class Borders:
    """Takes a look at the begin of each phase of a run that others play: `looks` has one for each that began."""

    def __init__(self, plan: Plan, look: Callable[[], Look]) -> None:
        self.looks: list[Look] = []
        self._plan, self._take = plan, look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="borders of phases")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        begun = self._begun()
        for stretch in self._plan.stretches:
            if begun is None or self._over.wait(max(0.0, begun + stretch.begin - time.time())):
                return
            try:
                self.looks.append(self._take())
            except ProxyFailed:
                # Its target has lost its database with it, and the run says so.
                return

    def _begun(self) -> float | None:
        """When the first phase begins, as soon as the run says so; None where it ended before."""
        assert self._plan.result is not None
        file = begun_file(self._plan.result)
        while not self._over.wait(_GLANCE):
            try:
                return float(file.read_text("ascii"))
            except (OSError, ValueError):
                continue
        return None
