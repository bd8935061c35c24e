"""The parts of a load report: what was measured, on which machine, by which generator."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from reports.model import Text

# Of a URL's user part, of its query, and of libpq's own words.
_PASSWORD = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*(?=@)|(?<=password=)[^\s&'\"]+", re.IGNORECASE)

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
"""A name that is also a file's and an anchor's."""

Open = Annotated[Text, AfterValidator(lambda text: _PASSWORD.sub("…", text))]
"""A text that anybody may read: without the passwords that may stand in a URL or a command."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
Outcome = Literal["pass", "fail", "invalid", "inconclusive", "recorded"]
Kind = Literal["rule", "generator", "gate", "figure"]
Cell = str | int | Finite | None


class Part(BaseModel):
    """Frozen, and nothing in it that the schema does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Machine(Part):
    """Where it was measured. `load_average` is the one of the minute before the session."""

    cores: PositiveInt
    processor: Text | None = None
    memory_bytes: PositiveInt | None = None
    kernel: Text
    python: Text
    load_average: NonNegativeFloat | None = None


class Database(Part):
    """The PostgreSQL behind the target, with those of its settings that decide what a time means."""

    version: Text
    settings: dict[Text, Text] = {}

    @property
    def durable(self) -> bool | None:
        """Whether what was committed is on the disk; None where the settings are not known."""
        durability = ("fsync", "synchronous_commit", "full_page_writes")
        if not any(name in self.settings for name in durability):
            return None
        return all(self.settings.get(name) not in {"off", "local"} for name in durability)


class Target(Part):
    """What was loaded; `role` tells the two of a duet apart."""

    role: Text = "target"
    address: Open
    profile: Text


class Finding(Part):
    """One verdict: in a sentence, with the name of the rows that it rests on.

    A broken `rule` is broken however the generator fared; a `generator` that may not be believed makes the run's
    times invalid. `requirement` is the id of the requirement that is judged, if any. One that does not decide, as of a
    step of a ramp, is shown and is not a part of the verdict.
    """

    name: Text
    kind: Kind
    outcome: Outcome
    sentence: Text
    rows: Slug
    run: Slug | None = None
    requirement: Text | None = None
    decides: bool = True


class Phase(Part):
    """A named stretch of a run, from `begin` to `end` in seconds of the run; `rate` is of arrivals a second."""

    name: Text
    begin: NonNegativeFloat
    end: NonNegativeFloat
    rate: NonNegativeFloat
    judged: bool = True


class Quantiles(Part):
    """Seconds within which so many of a hundred fell."""

    p50: NonNegativeFloat
    p90: NonNegativeFloat
    p99: NonNegativeFloat


class Operation(Part):
    """What became of one operation in one phase; times are of the calls that were carried out."""

    phase: Text
    operation: Text
    done: NonNegativeInt
    expected: NonNegativeInt = 0
    errors: NonNegativeInt = 0
    service: Quantiles | None = None
    response: Quantiles | None = None

    @property
    def error_share(self) -> float:
        """Calls that ended as they should not, of all."""
        return self.errors / max(self.done + self.expected + self.errors, 1)


class Moment(Part):
    """What ended within one second of a run, of one operation; of all where `operation` is None."""

    second: int
    operation: Text | None = None
    counts: dict[Text, NonNegativeInt]
    service: Quantiles | None = None
    response: Quantiles | None = None


class Check(Part):
    """One thing that the generator measures of itself, beside its limit; `process` None stands for all of them."""

    measure: Text
    process: int | None = None
    value: Finite
    limit: PositiveFloat
    at_least: bool = False
    unit: Text = ""

    @property
    def within(self) -> bool:
        """Whether the limit is kept."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def strain(self) -> float:
        """How much of what is allowed was used: more than 1 is beyond the limit."""
        if not self.at_least:
            return max(self.value, 0.0) / self.limit
        return self.limit / self.value if self.value > 0 else float("inf")


class Figure(Part):
    """One thing that was counted of a phase, such as statements per call."""

    phase: Text
    name: Text
    value: Finite


class Ran(Part):
    """A statement that the database ran in a phase. `uncalled` ones the target runs while nobody calls it as well."""

    phase: Text
    statement: Text
    calls: NonNegativeInt
    rows: NonNegativeInt
    blocks: NonNegativeInt
    calls_per_pop: NonNegativeFloat | None = None
    uncalled: bool = False


class Sessions(Part):
    """The database's sessions in one look, `second` seconds into the run, which may be before its begin.

    `waiting` are those that wait for a lock, one behind the other at most `longest_chain`; `waits` is what sessions
    that do something wait for. `deadlocks` count from the first look. A look that `failed` says why.
    """

    second: Finite
    took_seconds: NonNegativeFloat
    active: NonNegativeInt = 0
    in_transaction: NonNegativeInt = 0
    idle: NonNegativeInt = 0
    waiting: NonNegativeInt = 0
    longest_wait_seconds: NonNegativeFloat = 0.0
    longest_chain: NonNegativeInt = 0
    locks_granted: NonNegativeInt = 0
    locks_awaited: NonNegativeInt = 0
    deadlocks: int = 0
    waits: dict[Text, NonNegativeInt] = {}
    failed: Text | None = None


class Run(Part):
    """One load: a scenario on the target. `expected` are the outcomes that are no errors, `done` among them.

    `counts`, `statements` and `sessions` are what its database showed, where that is visible.
    """

    slug: Slug
    name: Text
    scenario: Text
    started: NonNegativeFloat = 0.0
    workers: PositiveInt = 1
    loop: Literal["open", "closed"] = "open"
    interrupted: bool = False
    phases: tuple[Phase, ...] = ()
    expected: tuple[Text, ...] = ("done",)
    operations: tuple[Operation, ...] = ()
    moments: tuple[Moment, ...] = ()
    checks: tuple[Check, ...] = ()
    counts: tuple[Figure, ...] = ()
    statements: tuple[Ran, ...] = ()
    sessions: tuple[Sessions, ...] = ()
    remarks: tuple[Text, ...] = ()


class Step(Part):
    """One step of a ramp: whether all held at a rate (arrivals a second), and if not, why. `run` has its rows."""

    ramp: PositiveInt
    rate: PositiveFloat
    state: Literal["held", "broke", "unknown"]
    reason: Text = ""
    run: Slug


class Knee(Part):
    """The highest rate at which everything held, from `held` in every ramp to `broke` in some; None is not known."""

    slug: Slug
    name: Text
    sentence: Text
    best: PositiveFloat | None
    held: PositiveFloat | None
    broke: PositiveFloat | None
    steps: tuple[Step, ...]


class Amplified(Part):
    """Bytes counted per pop over payload bytes, of one branch, and the line through them."""

    branch: Text
    counted: Text = "bytes from the database per pop"
    counts: tuple[tuple[NonNegativeInt, NonNegativeFloat], ...]
    slope: Finite
    intercept_bytes: Finite
    largest_residual: NonNegativeFloat
    exact: bool


class Slope(Part):
    """How a figure grows with what is swept, with its 95 % interval."""

    value: Finite
    low: Finite
    high: Finite


class Point(Part):
    """The middle of a figure at one level, and the interval in which it lies."""

    level: NonNegativeFloat
    middle: NonNegativeFloat
    low: NonNegativeFloat
    high: NonNegativeFloat


class Curve(Part):
    """One series of a sweep. `rounds` are raw: each is one pass through levels, as (level, figure)."""

    name: Text
    points: tuple[Point, ...]
    rounds: tuple[tuple[tuple[NonNegativeFloat, NonNegativeFloat], ...], ...] = ()
    slope: Slope | None = None


class Sweep(Part):
    """A figure measured over levels of one thing: payload, depth, or rows refused ahead."""

    slug: Slug
    over: Text
    level_unit: Literal["bytes", "rows"]
    figure: Text
    figure_unit: Literal["seconds", "statements", "bytes", "blocks"] = "seconds"
    band: Text = "the 95 % interval of the median"
    curves: tuple[Curve, ...]


class Ratio(Part):
    """B's figure over A's, its interval, and the margin (0.02 is 2 %) that it was held against."""

    answer: Text
    ratio: PositiveFloat
    low: PositiveFloat
    high: PositiveFloat
    margin: NonNegativeFloat
    smallest_effect: NonNegativeFloat
    pairs: NonNegativeInt
    launches: NonNegativeInt


class Measured(Part):
    """One measure of a duet: B against A, and A against another launch of A."""

    measure: Text
    comparison: Ratio
    guard: Ratio


class Block(Part):
    """One block of a duet, raw. Times are seconds, CPU times per call."""

    launch: int
    round: int
    arm: Text
    calls: NonNegativeInt
    failed: NonNegativeInt
    median_seconds: NonNegativeFloat
    server_cpu_seconds: NonNegativeFloat | None = None
    database_cpu_seconds: NonNegativeFloat | None = None
    generator_cpu_seconds: NonNegativeFloat | None = None


class Duet(Part):
    """Two builds that were driven in turns."""

    a: Open
    b: Open
    answer: Text
    reason: Text
    measures: tuple[Measured, ...]
    rounds: NonNegativeInt
    broken: NonNegativeInt = 0
    blocks: tuple[Block, ...] = ()


class Table(Part):
    """What is told without a drawing: statements of a pop, waits, plans."""

    slug: Slug
    title: Text
    note: Text = ""
    columns: tuple[Text, ...]
    rows: tuple[tuple[Annotated[Text, Field(strict=True)] | int | Finite | None, ...], ...]

    @model_validator(mode="after")
    def _is_even(self) -> Table:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"{self.slug}: each row has {len(self.columns)} cells")
        return self
