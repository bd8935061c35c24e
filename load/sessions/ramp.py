"""A ramp: the rate rises in steps until something no longer holds; the knee is the highest one at which all held.

Each step is a run of its own, with a generator that is judged anew and a history that ends with it, so that what a step
leaves behind is not the next one's. Steps lie evenly on a logarithmic scale. Where the generator may not be believed a
step says nothing of the server: the knee is then *at least* the step before, and never said to be there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, model_validator

from load import gates
from load.gates import BEYOND, Errors, Judged, Quantile
from load.health import Health, Measure
from load.recording import Outcome
from load.scenarios.plan import Phase
from load.scenarios.result import Result
from load.sessions.judging import Judgement, Verdict

PHASE = "step"
# What a server that answers too slowly does to a generator that is on time: calls in flight reach their limit.
_HELD_BACK = frozenset({Measure.RATE, Measure.LATENESS, Measure.PHASE})

State: TypeAlias = Literal["held", "broke", "unknown"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


class Ramp(_Part):
    """From one rate (arrivals a second) to another, `repeats` times, in steps of so many seconds after a warm-up.

    A step holds where no rule was broken, the share of errors is within `error_ratio`, and the `quantile` of the
    response times of `operation` (every call, where none is named) within `at_most_seconds`.
    """

    begin: Annotated[PositiveFloat, Field(alias="from")]
    end: Annotated[PositiveFloat, Field(alias="to")]
    steps: Annotated[int, Field(ge=2, le=50)]
    seconds: Annotated[PositiveFloat, Field(le=3600)]
    warm_up: Annotated[PositiveFloat, Field(le=3600)] = 1.0
    repeats: Annotated[PositiveInt, Field(le=20)] = 2
    operation: str | None = None
    quantile: Annotated[float, Field(gt=0, le=0.999)] = 0.95
    at_most_seconds: PositiveFloat = 0.25
    error_ratio: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @model_validator(mode="after")
    def _rises(self) -> Ramp:
        if self.begin >= self.end:
            raise ValueError("a ramp rises: `from` is below `to`")
        if self.begin * self.seconds * (1 - self.quantile) < BEYOND:
            raise ValueError(f"the first step has too few calls: {BEYOND} must lie beyond the quantile")
        return self

    @property
    def rates(self) -> tuple[float, ...]:
        """Of the steps, ascending, to three digits."""
        factor = (self.end / self.begin) ** (1 / (self.steps - 1))
        return tuple(float(f"{self.begin * factor**place:.3g}") for place in range(self.steps))

    @property
    def total_seconds(self) -> float:
        """Of all steps of all repeats: the longest that it takes, starts of the generator apart."""
        return self.repeats * self.steps * (self.warm_up + self.seconds)

    def phases(self, rate: float) -> tuple[Phase, ...]:
        """Of one step."""
        return (
            Phase(name="warm-up", seconds=self.warm_up, rate=rate), Phase(name=PHASE, seconds=self.seconds, rate=rate),
        )  # fmt: skip

    @property
    def gates(self) -> tuple[Quantile | Errors, ...]:
        """To which each step is held."""
        return (
            Errors(phase=PHASE, error_ratio=self.error_ratio),
            Quantile(
                phase=PHASE, operation=self.operation, quantile=self.quantile, at_most_seconds=self.at_most_seconds
            ),
        )


class Step(_Part):
    """One step of one ramp, with why it did not hold or says nothing."""

    ramp: int
    rate: float
    state: State
    reasons: tuple[str, ...] = ()
    witness: str | None = None


class Knee(_Part):
    """The highest rate at which everything held: between `held`, in every ramp, and `broke` (None: seen in none).

    `best` is the middle of what the ramps say each; None where not even the lowest rate held.
    """

    run: str
    best: float | None
    held: float | None
    broke: float | None
    ramps: int
    steps: tuple[Step, ...]
    judgement: Judgement

    @property
    def sentence(self) -> str:
        """The figure, its interval, and what it stands on."""
        over = f"over {self.ramps} ramp{'s' if self.ramps > 1 else ''}"
        if self.best is None:
            if self.broke is None:
                return f"no step says where the knee lies ({over})"
            return f"the knee lies below {self.broke:g} a second, for not every ramp held its lowest rate ({over})"
        if self.broke is None:
            return f"the knee is at least {self.held or self.best:g} a second ({over})"
        low = f"{self.held:g}" if self.held is not None else "less than the lowest rate"
        return f"the knee is {self.best:g} a second, between {low} and {self.broke:g} ({over})"


def step_name(run: str, ramp: int, rate: float) -> str:
    """What the run is called that is one step of a ramp."""
    return f"{run}, ramp {ramp + 1}, {rate:g} a second"


def lines(made: Knee) -> Iterator[str]:
    """A knee and its steps for a terminal."""
    yield f"{made.run}: {made.sentence}"
    for one in made.steps:
        why = f": {one.reasons[0]}" if one.reasons else ""
        yield f"  ramp {one.ramp + 1}, {one.rate:g} a second: {one.state}{why}"


def step(
    ramp: int, rate: float, result: Result, judged: Sequence[Judged], witness: str | None, unjudged: Iterable[str]
) -> Step:
    """What one step says, as it was measured.

    Args:
        judged: the ramp's gates.
        witness: the rule that the server broke.
        unjudged: what of the history could not be judged.
    """
    crashed = sum(one.count for one in result.of(PHASE) if one.outcome == Outcome.CRASHED)
    failed = tuple(gate.sentence for gate in judged if gate.verdict == "failed")
    unmeasured = tuple(gate.sentence for gate in judged if gate.verdict == "not measured")
    doubts = tuple(unjudged)
    if witness:
        return Step(ramp=ramp, rate=rate, state="broke", reasons=(witness,), witness=witness)
    if result.health.reasons and not _answered_late(result, judged):
        # An error that the server answered with is its own, whoever asked for it.
        wrong = (f"{crashed} calls were answered with a 5xx.",) if crashed and failed else ()
        reasons = wrong or tuple(reason.sentence for reason in result.health.reasons)
        return Step(ramp=ramp, rate=rate, state="broke" if wrong else "unknown", reasons=reasons)
    if failed:
        return Step(ramp=ramp, rate=rate, state="broke", reasons=failed)
    if doubts or unmeasured:
        return Step(ramp=ramp, rate=rate, state="unknown", reasons=doubts + unmeasured)
    return Step(ramp=ramp, rate=rate, state="held")


def _answered_late(result: Result, judged: Sequence[Judged]) -> bool:
    """Whether a generator that was on time was held back by answers: their tail, from the send, is beyond its limit."""
    if not only_held_back(result.health):
        return False
    tails = [gate.gate for gate in judged if isinstance(gate.gate, Quantile)]
    fresh = gates.judge([tail.model_copy(update={"series": "service"}) for tail in tails], result)
    return any(gate.verdict == "failed" for gate in fresh)


def only_held_back(health: Health) -> bool:
    """Whether all that is said against a generator is that arrivals began late, its loop and cores being fine."""
    return bool(health.reasons) and {reason.measure for reason in health.reasons} <= _HELD_BACK


def knee(run: str, steps: Sequence[Step]) -> Knee:
    """Where the knee lies by these steps: a pure function.

    In each ramp only what comes before its first step that did not hold counts, and that step. Over ramps the
    interval reaches from the lowest of what held to the highest of what broke.
    """
    lows: list[float] = []
    highs: list[float] = []
    open_ends: list[float] = []
    for _, group in groupby(steps, key=lambda one: one.ramp):
        ramp = list(group)
        held = [one.rate for one in takewhile(lambda one: one.state == "held", ramp)]
        low = held[-1] if held else 0.0
        stopped = ramp[len(held)] if len(held) < len(ramp) else None
        lows.append(low)
        if stopped is not None and stopped.state == "broke":
            highs.append(stopped.rate)
        else:
            open_ends.append(low)
    broke = max(highs, default=None)
    if broke is not None and any(low >= broke for low in open_ends):
        broke = None
    held_in_all = min(lows, default=0.0) or None
    best = sorted(lows)[(len(lows) - 1) // 2] or None if lows else None
    made = Knee(
        run=run, best=best, held=held_in_all, broke=broke, ramps=len(lows), steps=tuple(steps),
        judgement=Judgement(verdict=Verdict.PASS, reasons=()),
    )  # fmt: skip
    return made.model_copy(update={"judgement": _judgement(made)})


def _judgement(made: Knee) -> Judgement:
    if wrong := tuple(f"At {one.rate:g} a second: {one.witness}" for one in made.steps if one.witness):
        return Judgement(verdict=Verdict.FAIL, reasons=wrong)
    last = [list(group)[-1] for _, group in groupby(made.steps, key=lambda one: one.ramp)]
    blind = [one for one in last if one.state == "unknown"]
    unknown = tuple(f"{made.sentence}; at {one.rate:g}: {reason}" for one in blind for reason in one.reasons)
    if made.best is None:
        broken = tuple(reason for one in last if one.state == "broke" for reason in one.reasons)
        return Judgement(verdict=Verdict.FAIL if broken else Verdict.INVALID, reasons=broken or unknown)
    if made.broke is None and unknown:
        return Judgement(verdict=Verdict.INVALID, reasons=unknown)
    return Judgement(verdict=Verdict.PASS, reasons=())
