"""What became of a run's calls: by phase and operation, and second by second."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from load.recording import EXPECTED, Counts, Histogram, Outcome, Second
from load.scenarios.plan import Plan
from load.scenarios.result import Result
from load.scenarios.table import named
from load.sessions.counting import Counted
from load.telling.counting import told_counts, told_sessions, told_statements
from load.telling.generator import checks
from reports.measured.parts import Moment, Operation, Phase, Quantiles, Run

_SHARES = (0.5, 0.9, 0.99)
_MICROSECONDS = 1e6


def told_run(
    result: Result, name: str, place: int = 1, *, since: float | None = None, remarks: Sequence[str] = (),
    counted: Counted | None = None,
) -> Run:  # fmt: skip
    """One run as a report shows it.

    Args:
        result: what was measured.
        name: as a person calls it.
        place: among the session's runs, from 1: names that look alike as files' stay apart.
        since: when the session began, in seconds since 1970.
        remarks: what a reader of any figure must know.
        counted: what its database showed.
    """
    plan = result.plan
    return Run(
        slug=slug(name, place), name=name, scenario=plan.scenario, workers=result.workers, loop=plan.loop,
        started=max(result.begun - since, 0.0) if since is not None else 0.0, interrupted=result.interrupted,
        phases=told_phases(plan), expected=tuple(sorted(fine(plan))), operations=tuple(_operations(result)),
        moments=tuple(_moments(result.seconds)), checks=checks(result.health), remarks=tuple(remarks),
        counts=told_counts(counted) if counted else (), statements=told_statements(counted) if counted else (),
        sessions=told_sessions(counted) if counted else (),
    )  # fmt: skip


def slug(name: str, place: int) -> str:
    """A run's name as a file may have it."""
    kept = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24].strip("-")
    return f"run-{place}-{kept}" if kept else f"run-{place}"


def fine(plan: Plan) -> frozenset[str]:
    """The outcomes that are no errors in this scenario."""
    return frozenset(str(one) for one in (Outcome.DONE, *EXPECTED, *named(plan.scenario).expects))


def told_phases(plan: Plan) -> tuple[Phase, ...]:
    """The phases with their places in the run."""
    pairs = zip(plan.phases, plan.stretches, strict=True)
    return tuple(
        Phase(name=phase.name, begin=stretch.begin, end=stretch.end, rate=stretch.rate, judged=phase.counts)
        for phase, stretch in pairs
    )


def _operations(result: Result) -> Iterable[Operation]:
    accepted = fine(result.plan)
    names = dict.fromkeys(phase.name for phase in result.plan.phases)
    names.update(dict.fromkeys(one.phase for one in result.series))
    for phase in names:
        for operation in sorted({one.operation for one in result.of(phase)}):
            series = result.of(phase, operation)
            done = sum(one.count for one in series if one.outcome == Outcome.DONE)
            errors = sum(one.count for one in series if one.outcome not in accepted)
            yield Operation(
                phase=phase, operation=operation, done=done, errors=errors,
                expected=sum(one.count for one in series) - done - errors,
                service=_quantiles(result.service(phase, operation)),
                response=_quantiles(result.response(phase, operation)),
            )  # fmt: skip


def _quantiles(times: Histogram) -> Quantiles | None:
    if not times.count:
        return None
    p50, p90, p99 = (times.quantile(share) for share in _SHARES)
    return Quantiles(p50=p50, p90=p90, p99=p99)


def _moments(seconds: Sequence[Second]) -> Iterable[Moment]:
    """Each second, of all operations and of each one."""
    groups: dict[int, dict[str, list[Second]]] = defaultdict(lambda: defaultdict(list))
    for one in seconds:
        groups[one.second][one.operation].append(one)
    for second, by_operation in sorted(groups.items()):
        yield _moment(second, None, [one for group in by_operation.values() for one in group])
        for operation, group in sorted(by_operation.items()):
            yield _moment(second, operation, group)


def _moment(second: int, operation: str | None, group: Sequence[Second]) -> Moment:
    counts: dict[str, int] = defaultdict(int)
    for one in group:
        counts[one.outcome] += one.count
    done = [one for one in group if one.outcome == Outcome.DONE]
    return Moment(
        second=second, operation=operation, counts=dict(counts),
        service=sketched([one.service for one in done]), response=sketched([one.response for one in done]),
    )  # fmt: skip


def sketched(sketches: Sequence[Counts]) -> Quantiles | None:
    """The quantiles of several sketches together, to their 0.8 %; None where they hold nothing."""
    values = np.array([value for sketch in sketches for value in sketch.values], dtype=float)
    counts = np.array([count for sketch in sketches for count in sketch.counts], dtype=float)
    if not counts.sum():
        return None
    order = np.argsort(values)
    passed = np.cumsum(counts[order])
    places = np.searchsorted(passed, np.array(_SHARES) * passed[-1])
    p50, p90, p99 = (values[order][places] / _MICROSECONDS).tolist()
    return Quantiles(p50=p50, p90=p90, p99=p99)
