"""What a run's database showed, as a report shows it: figures and statements by phase, and the sampler's series."""

from __future__ import annotations

from collections.abc import Iterator

from load.probes.facts import NotMeasured
from load.probes.sampling import Sample
from load.sessions.counting import Counted
from reports.measured.parts import Figure, Ran, Sessions

_CPU = (("server", "server_seconds"), ("database", "database_seconds"))


def told_counts(counted: Counted) -> tuple[Figure, ...]:
    """Every figure by phase, those that gates are held to first; CPU time is in milliseconds."""
    figures = [Figure(phase=phase, name=name, value=value) for (phase, name), value in counted.figures.items()]
    return (*figures, *_cpu(counted))


def _cpu(counted: Counted) -> Iterator[Figure]:
    for one in counted.phases:
        cpu, calls = one.costs.cpu, one.costs.calls
        if isinstance(cpu, NotMeasured) or not calls:
            continue
        for name, field in _CPU:
            seconds = getattr(cpu, field)
            if seconds is not None:
                yield Figure(phase=one.phase, name=f"CPU of the {name} per call, ms", value=seconds / calls * 1000)


def told_statements(counted: Counted) -> tuple[Ran, ...]:
    """The statements of each phase by fingerprint, the dearest in blocks first."""
    return tuple(
        Ran(
            phase=one.phase, statement=ran.fingerprint, calls=ran.calls, rows=ran.rows, blocks=ran.blocks,
            calls_per_pop=round(ran.calls / one.pops, 6) if one.pops else None, uncalled=ran.uncalled,
        )
        for one in counted.phases
        if not isinstance(one.costs.statements, NotMeasured)
        for ran in one.costs.statements
    )  # fmt: skip


def told_sessions(counted: Counted) -> tuple[Sessions, ...]:
    """The sampler's looks, one after the other."""
    return () if isinstance(counted.samples, NotMeasured) else tuple(map(_looked, counted.samples))


def _looked(sample: Sample) -> Sessions:
    idle = sample.states.get("idle", 0)
    resting = sum(count for state, count in sample.states.items() if state.startswith("idle in transaction"))
    return Sessions(
        second=sample.at,
        took_seconds=sample.took_seconds,
        active=sample.states.get("active", 0),
        in_transaction=resting,
        idle=idle,
        waiting=len(sample.blocked),
        longest_wait_seconds=max((one.seconds or 0.0 for one in sample.blocked), default=0.0),
        longest_chain=sample.longest_chain,
        locks_granted=sample.locks_granted,
        locks_awaited=sum(sample.locks_awaited.values()),
        deadlocks=sample.deadlocks,
        waits=sample.waits,
        failed=sample.failed,
    )
