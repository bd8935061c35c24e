"""What the generator measured of itself, each thing beside its limit, also where the limit was kept."""

from __future__ import annotations

from collections.abc import Iterator

from load.health import Facts, Health, Limits, Measure, Process
from reports.measured.parts import Check

_UNITS = {
    Measure.RATE: "share",
    Measure.LAG: "seconds",
    Measure.LONGEST_LAG: "seconds",
    Measure.LATENESS: "seconds",
    Measure.CPU: "share",
    Measure.CORES: "share",
    Measure.CLOCK: "seconds",
}


def checks(health: Health) -> tuple[Check, ...]:
    """Every measure of every process. What `health` gives a reason for is told with that reason's figures."""
    made = {(check.measure, check.process): check for check in _all(health.facts, health.limits)}
    for reason in health.reasons:
        kept = made.get((reason.measure.value, reason.process))
        at_least = kept.at_least if kept else reason.value < reason.limit
        if reason.limit > 0:
            made[reason.measure.value, reason.process] = _check(
                reason.measure, reason.process, reason.value, reason.limit, at_least=at_least
            )
    return tuple(made.values())


def _all(facts: Facts, limits: Limits) -> Iterator[Check]:
    yield _check(Measure.REQUESTS, None, facts.answered, 1, at_least=True)
    dead = facts.workers - len(facts.processes)
    lost = max(dead, len(facts.missing))
    yield _check(Measure.WORKERS, None, facts.workers - lost, facts.workers, at_least=True)
    told = sum(process.recorded for process in facts.processes)
    # A dead process took what it had not sent with it.
    if told and dead <= 0:
        yield _check(Measure.RECORDS, None, facts.recorded, told, at_least=facts.recorded <= told)
    due, begun = (sum(getattr(process, name) for process in facts.processes) for name in ("due", "begun"))
    if facts.open and due:
        yield _check(Measure.RATE, None, begun / due, limits.rate, at_least=True)
    for process in facts.processes:
        yield from _loop(process, facts, limits)
        yield from _cores(process, limits)


def _loop(process: Process, facts: Facts, limits: Limits) -> Iterator[Check]:
    share = limits.lag_share * facts.median_response
    yield _check(Measure.LAG, process.index, process.lag_median, max(limits.lag, share))
    yield _check(Measure.LONGEST_LAG, process.index, process.lag_tail, limits.longest_lag)
    if facts.open:
        yield _check(Measure.LATENESS, process.index, process.lateness_median, max(limits.lateness, share))
    phases = [
        (phase.dispersion, limits.phase + limits.phase_errors * phase.error)
        for phase in process.phases
        if phase.windows
    ]
    if phases:
        worst, limit = max(phases, key=lambda pair: pair[0] / pair[1])
        yield _check(Measure.PHASE, process.index, worst, limit)


def _cores(process: Process, limits: Limits) -> Iterator[Check]:
    could, wanted = process.wall - process.waited, process.cpu + process.waited
    yield _check(Measure.CPU, process.index, process.cpu / could if could > 0 else 0.0, limits.cpu)
    # One that hardly wants a core is not held to getting it.
    if wanted > limits.core_wanted * process.wall:
        yield _check(Measure.CORES, process.index, process.cpu / wanted, limits.core, at_least=True)
    yield _check(Measure.CLOCK, process.index, process.clock_step, limits.clock)


def _check(measure: Measure, process: int | None, value: float, limit: float, *, at_least: bool = False) -> Check:
    unit = _UNITS.get(measure, "")
    return Check(measure=measure.value, process=process, value=value, limit=limit, at_least=at_least, unit=unit)
