"""What one load run is given: the one piece of JSON that its processes share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from conformance.actors import Account
from load.arrivals import Gaps, Stretch, stretches
from load.errors import BadPlan

# Names the file of a run's plan to its processes.
VARIABLE = "HORDE_LOAD_PLAN"
# Set in processes that end when their standard input does: with who started them.
LED = "HORDE_LOAD_LED"
_MIB = 1024 * 1024


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Phase(_Part):
    """A named stretch of a run: gates bind to it. `rate` is of arrivals a second, of all processes together."""

    name: Annotated[str, Field(pattern=r"^[^/]+$")]
    seconds: Annotated[PositiveFloat, Field(le=7 * 86400)]
    rate: NonNegativeFloat

    @property
    def counts(self) -> bool:
        """Whether the generator is judged by it: not by a warm-up, in which connections are opened."""
        return not self.name.startswith("warm-up")


class Plan(_Part):
    """One run. `url` is the target's root; `models[i]` is served by `owners[i % len(owners)]`."""

    scenario: str
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+(/\S*)?$")]
    profile: str = "reference"
    phases: Annotated[tuple[Phase, ...], Field(min_length=1)]
    gaps: Gaps = Gaps.EXPONENTIAL
    loop: Literal["open", "closed"] = "open"
    # Of a closed loop: users of all processes together.
    users: PositiveInt = 8
    seed: int = 1
    requesters: tuple[Account, ...] = ()
    owners: tuple[Account, ...] = ()
    models: tuple[str, ...] = ()
    # Of the two models' families that workers of head-of-line take.
    family: Literal["text", "chat"] = "text"
    # Whether the queue was made beforehand, so that a scenario need not fill it.
    seeded: bool = False
    payload_bytes: Annotated[int, Field(ge=0, le=_MIB)] = 1024
    chat_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    # Calls under way at most, of one process: beyond, the loop is open no more, and the run says so.
    in_flight: PositiveInt = 512
    # Whether the processes are of other hosts: they write no files, and their clocks are not ours.
    elsewhere: bool = False
    # A folder for each process's exchanges, for the history checker; none: they are not kept.
    exchanges: Path | None = None
    # Where the run's result goes, as JSON.
    result: Path | None = None
    # Where lines of JSON go while it lasts, one a second.
    beats: Path | None = None

    @field_validator("phases")
    @classmethod
    def _phases_have_names_of_their_own(cls, phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
        if len({phase.name for phase in phases}) < len(phases):
            raise ValueError("each phase has a name of its own")
        return phases

    @model_validator(mode="after")
    def _something_counts(self) -> Plan:
        if not any(phase.counts and phase.rate for phase in self.phases):
            raise ValueError("at least one phase beside the warm-up has a rate")
        return self

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        return stretches((phase.seconds, phase.rate) for phase in self.phases)

    @property
    def seconds(self) -> float:
        return sum(phase.seconds for phase in self.phases)


def begun_file(result: Path) -> Path:
    """Where a run says, shortly before its first phase, when that begins (seconds since 1970)."""
    return result.with_suffix(".begun")


def read(text: str) -> Plan:
    """A plan from its JSON.

    Raises:
        BadPlan: it is none.
    """
    try:
        return Plan.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its beginning"
        raise BadPlan(
            f"The plan of the load run has a bad value at {place}: {first['msg']}.",
            "`load.scenarios.plan.Plan` says what each field may be.",
        ) from None


def from_environment() -> Plan | None:
    """The plan that the environment names, or None where it names none.

    Raises:
        BadPlan: the file cannot be read, or holds no plan.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    try:
        return read(Path(path).read_text("utf-8"))
    except OSError as error:
        raise BadPlan(f"The plan {path} cannot be read: {error.strerror}.", f"{VARIABLE} names a JSON file.") from None
