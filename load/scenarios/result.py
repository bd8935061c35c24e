"""What a load run left: its times, second by second and as a whole, and the verdict on its generator."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from load.errors import GeneratorNotStarted
from load.health import Facts, Health, Process, judge
from load.recording import EXPECTED, Counts, Histogram, Merged, Outcome, Second, Series, total
from load.scenarios.plan import Plan
from load.scenarios.table import named


class Result(BaseModel):
    """One run. `plan` without its accounts, whose keys are nobody's business.

    `begun` is wall time (seconds since 1970); `seconds` of a row count from there. `lag` is how late the loop was,
    `lateness` how late arrivals began: what of a response time is the generator's. Both are HDR's own encoding (µs).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    plan: Plan
    workers: int
    begun: float
    interrupted: bool
    series: tuple[Series, ...]
    seconds: tuple[Second, ...]
    lag: str
    lateness: str
    health: Health

    def of(self, phase: str | None = None, operation: str | None = None, outcome: str | None = None) -> list[Series]:
        """The series of these; None stands for any."""
        wanted = {"phase": phase, "operation": operation, "outcome": outcome}
        return [one for one in self.series if all(v is None or getattr(one, k) == v for k, v in wanted.items())]

    def errors(self, phase: str | None = None) -> int:
        """Calls that ended in none of the ways which the scenario expects."""
        fine = {Outcome.DONE, *EXPECTED, *named(self.plan.scenario).expects}
        return sum(one.count for one in self.of(phase) if one.outcome not in fine)

    def response(self, phase: str | None = None, operation: str | None = None) -> Histogram:
        """Response times of what was carried out."""
        return total(self.of(phase, operation, Outcome.DONE))

    def service(self, phase: str | None = None, operation: str | None = None) -> Histogram:
        """Service times of what was carried out."""
        return total(self.of(phase, operation, Outcome.DONE), response=False)


class Gathered:
    """What the processes of a run have said so far."""

    def __init__(self, plan: Plan, workers: int) -> None:
        self.plan, self.workers = plan, workers
        self.merged, self.lag, self.lateness = Merged(), Histogram(), Histogram()
        self.processes: dict[int, Process] = {}
        self.answered = 0
        self.begun = 0.0

    def end(self, said: dict[str, Any]) -> None:
        """Take what a process says at its end."""
        process = Process.model_validate(said["facts"])
        self.processes[process.index] = process
        self.answered += said["answered"]
        self.lag.add(Counts.model_validate(said["lag"]))
        self.lateness.add(Counts.model_validate(said["lateness"]))

    def result(self, missing: Iterable[int] = (), *, interrupted: bool = False) -> Result:
        series = self.merged.series()
        counting = {phase.name for phase in self.plan.phases if phase.counts}
        answered = [one for one in series if one.outcome != Outcome.LOST and one.phase in counting]
        facts = Facts(
            workers=self.workers,
            processes=tuple(process for _, process in sorted(self.processes.items())),
            missing=tuple(missing),
            recorded=self.merged.recorded,
            answered=max(self.answered, sum(one.count for one in answered)),
            median_response=total(answered).quantile(0.5),
            open=self.plan.loop == "open",
        )
        return Result(
            plan=self.plan.model_copy(update={"requesters": (), "owners": ()}),
            workers=self.workers,
            begun=self.begun,
            interrupted=interrupted,
            series=series,
            seconds=self.merged.seconds(),
            lag=self.lag.encode(),
            lateness=self.lateness.encode(),
            health=judge(facts),
        )


def save(result: Result, path: Path) -> None:
    """Write a result as a whole or not at all."""
    partial = path.with_name(f"{path.name}.part")
    partial.write_text(result.model_dump_json(), "utf-8")
    partial.replace(path)


def load(path: Path) -> Result:
    """Read a result.

    Raises:
        GeneratorNotStarted: there is none.
    """
    try:
        return Result.model_validate_json(path.read_text("utf-8"))
    except (OSError, ValidationError) as error:
        raise GeneratorNotStarted(
            f"The load run left no result: {type(error).__name__}.", "What its processes said stands above."
        ) from None
