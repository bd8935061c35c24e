"""Gates: what a load run must keep to, each bound to a named phase. Never on a maximum, which is one call's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    Tag,
    model_validator,
)

from load.recording import EXPECTED, Outcome, Series, total
from load.scenarios.result import Result
from load.scenarios.table import named

# Calls that must lie beyond a quantile, or it says nothing of more than a few of them.
BEYOND = 10

# What is counted of pops that are made alone, before the first phase: the same every time.
ALONE = "alone"
ALONE_COUNTS = (
    "statements per empty pop", "rows per empty pop", "scans per empty pop", "bytes per empty pop",
)  # fmt: skip
# What is counted of a phase: its calls are of several kinds, and some of them lie across its borders.
PHASE_COUNTS = (
    "statements per call", "rows per call", "scans per pop", "rows scanned per pop", "blocks out of line per call",
    "values read out of line per call", "pieces written out of line per call", "journeys to the database per call",
    "bytes from the database per call", "bytes to the database per call",
)  # fmt: skip

# `left out` is a gate that does not bind here: it is of another profile, or optional and not counted.
Verdict: TypeAlias = Literal["passed", "failed", "not measured", "left out"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Quantile(_Part):
    """A share of the calls carried out in a phase ends within a time: from the intended start, or from the send."""

    phase: str
    operation: str | None = None
    series: Literal["response", "service"] = "response"
    quantile: Annotated[float, Field(gt=0, le=0.999)]
    at_most_seconds: PositiveFloat

    def __str__(self) -> str:
        which = f"of {self.operation}" if self.operation else "of all calls"
        return f"{self.phase}: {self.quantile:.4g} {which} within {self.at_most_seconds * 1000:.4g} ms ({self.series})"


class Errors(_Part):
    """A share of a phase's calls at most ends as the scenario does not expect; what it expects is not counted."""

    phase: str
    operation: str | None = None
    error_ratio: Annotated[float, Field(ge=0, lt=1)]

    def __str__(self) -> str:
        which = f" of {self.operation}" if self.operation else ""
        return f"{self.phase}: errors{which} at most {self.error_ratio:.3g} of the calls"


class Count(_Part):
    """Something that is counted, such as statements of a pop: exactly so many, or at most so many.

    The phase `alone` are empty pops that are made one by one before the first phase; only those are the same every
    time, so that only they can be bound to an exact figure. An `optional` gate binds where its count can be had; one
    with a `profile` binds targets of that profile.
    """

    phase: str
    count: str
    exactly: NonNegativeFloat | None = None
    at_most: NonNegativeFloat | None = None
    optional: bool = False
    profile: str | None = None

    @model_validator(mode="after")
    def _has_one_bound(self) -> Count:
        if (self.exactly is None) == (self.at_most is None):
            raise ValueError("a count is bound by `exactly` or by `at_most`")
        known = ALONE_COUNTS if self.phase == ALONE else PHASE_COUNTS
        if self.count not in known:
            raise ValueError(f"no {self.count!r} is counted in the phase {self.phase}: there are {', '.join(known)}")
        if self.exactly is not None and self.phase != ALONE:
            raise ValueError(f"a phase's count is bound by `at_most`: exact ones are of the phase `{ALONE}`")
        return self

    @property
    def on_wire(self) -> bool:
        """Whether only the counting proxy sees it."""
        return self.count.startswith(("bytes", "journeys"))

    def binds(self, profile: str) -> bool:
        """Whether it is meant for targets of this profile."""
        return self.profile in {None, profile}

    def __str__(self) -> str:
        bound = f"exactly {self.exactly:g}" if self.exactly is not None else f"at most {self.at_most:g}"
        return f"{self.phase}: {self.count} {bound}"


def _kind(given: object) -> str:
    """Which gate it is meant to be, so that what is wrong with it is told of that one."""
    for name in ("quantile", "error_ratio"):
        if name in given if isinstance(given, Mapping) else hasattr(given, name):
            return name
    return "count"


Gate: TypeAlias = Annotated[
    Annotated[Quantile, Tag("quantile")] | Annotated[Errors, Tag("error_ratio")] | Annotated[Count, Tag("count")],
    Discriminator(_kind),
]
Counts: TypeAlias = Mapping[tuple[str, str], float]
"""Figures by phase and name; what is missing was not counted."""


class Judged(_Part):
    """A gate with what was measured: seconds, a share, or a count; None where it could not be."""

    gate: Gate
    verdict: Verdict
    measured: float | None
    sentence: str


def judge(gates: Iterable[Gate], result: Result, counts: Counts | None = None, profile: str = "") -> tuple[Judged, ...]:
    """Each gate's verdict on one run.

    Args:
        gates: of this run.
        result: what was measured of its calls.
        counts: what was counted.
        profile: the target's, by name.
    """
    return tuple(_judged(gate, result, counts or {}, profile) for gate in gates)


def _judged(gate: Gate, result: Result, counts: Counts, profile: str) -> Judged:
    if isinstance(gate, Quantile):
        return _quantile(gate, result)
    if isinstance(gate, Errors):
        return _errors(gate, result)
    return _count(gate, counts.get((gate.phase, gate.count)), profile)


def _quantile(gate: Quantile, result: Result) -> Judged:
    chosen = [series for series in _of(gate, result) if series.outcome == Outcome.DONE]
    times = total(chosen, response=gate.series == "response")
    if round(times.count * (1 - gate.quantile), 6) < BEYOND:
        said = f"{times.count} calls are too few: {BEYOND} must lie beyond the quantile"
        return Judged(gate=gate, verdict="not measured", measured=None, sentence=f"{gate}: {said}.")
    measured = times.quantile(gate.quantile)
    return _told(gate, measured, measured <= gate.at_most_seconds, f"{measured * 1000:.4g} ms, of {times.count} calls")


def _errors(gate: Errors, result: Result) -> Judged:
    fine = {Outcome.DONE, *EXPECTED, *named(result.plan.scenario).expects}
    chosen = list(_of(gate, result))
    calls = sum(series.count for series in chosen)
    wrong = sum(series.count for series in chosen if series.outcome not in fine)
    if not calls:
        return Judged(gate=gate, verdict="not measured", measured=None, sentence=f"{gate}: there was no call.")
    return _told(gate, wrong / calls, wrong <= gate.error_ratio * calls, f"{wrong} of {calls}")


def _count(gate: Count, measured: float | None, profile: str) -> Judged:
    if not gate.binds(profile):
        said = f"it binds targets of the profile {gate.profile}"
        return Judged(gate=gate, verdict="left out", measured=measured, sentence=f"{gate}: {said}.")
    if measured is None:
        verdict: Verdict = "left out" if gate.optional else "not measured"
        return Judged(gate=gate, verdict=verdict, measured=None, sentence=f"{gate}: it was not counted.")
    kept = measured == gate.exactly if gate.exactly is not None else measured <= (gate.at_most or 0)
    return _told(gate, measured, kept, f"{measured:g}")


def _told(gate: Gate, measured: float, kept: bool, said: str) -> Judged:
    return Judged(gate=gate, verdict="passed" if kept else "failed", measured=measured, sentence=f"{gate}: {said}.")


def _of(gate: Quantile | Errors, result: Result) -> Iterator[Series]:
    """A phase's series of an operation: `pop` is every pop, `pop both: chat` the one of that name alone."""
    asked = gate.operation
    for series in result.of(gate.phase):
        if asked is None or series.operation == asked or series.operation.startswith((f"{asked} ", f"{asked}_")):
            yield series
