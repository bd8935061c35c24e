"""What a session is: TOML, as those beside this file."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError, model_validator

from load import seeding
from load.arrivals import Gaps
from load.errors import BadSession
from load.gates import ALONE, Count, Gate
from load.scenarios import table
from load.scenarios.plan import Phase
from load.seeding import Description
from load.sessions.checking import UPTIME, Kudos, is_long
from load.sessions.ramp import Ramp, step_name


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Run(_Part):
    """One load on the target: a scenario, its phases, the queue that waits meanwhile, and the gates; or a ramp.

    `queue` is a built-in description or a TOML file; without one the scenario fills its own.
    `history` keeps every exchange and has the history checker judge them; `kudos` has it judge balances as well, of
    everybody or of the requesters alone.
    """

    name: Annotated[str, Field(pattern=r"^[^/]+$")]
    scenario: str
    workers: PositiveInt = 1
    queue: str | None = None
    history: bool = True
    kudos: Kudos = True
    gaps: Gaps = Gaps.EXPONENTIAL
    loop: Literal["open", "closed"] = "open"
    users: PositiveInt = 8
    models: PositiveInt = 4
    family: Literal["text", "chat"] = "text"
    payload_bytes: Annotated[int, Field(ge=0, le=1024 * 1024)] = 1024
    chat_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    phase: tuple[Phase, ...] = ()
    gate: tuple[Gate, ...] = ()
    ramp: Ramp | None = None

    @property
    def seconds(self) -> float:
        if self.ramp is not None:
            return self.ramp.total_seconds
        return sum(phase.seconds for phase in self.phase)

    @property
    def description(self) -> Description | None:
        """The queue that is seeded beforehand.

        Raises:
            BadQueue: there is none of that name, or it cannot be read.
        """
        if self.queue is None:
            return None
        return seeding.example(self.queue) if self.queue in seeding.built_in() else seeding.read(Path(self.queue))

    def step(self, ramp: int, rate: float) -> Run:
        """The run that is one step of its ramp."""
        assert self.ramp is not None
        name = step_name(self.name, ramp, rate)
        update = {"name": name, "phase": self.ramp.phases(rate), "gate": self.ramp.gates, "ramp": None}
        return self.model_copy(update=update)

    @model_validator(mode="after")
    def _holds_together(self) -> Run:
        if (self.ramp is None) != bool(self.phase) or (self.ramp is not None and self.gate):
            raise ValueError("a run has phases, with gates, or a ramp, whose steps have their own")
        names = [phase.name for phase in self.phase]
        if ALONE in names:
            raise ValueError(f"no phase is called {ALONE!r}: it stands for pops that are made alone beforehand")
        for gate in self.gate:
            if gate.phase not in names and not (isinstance(gate, Count) and gate.phase == ALONE):
                raise ValueError(
                    f"the gate {str(gate)!r} is bound to no phase of the run: there are {', '.join(names)}"
                )
        if self.history and self.kudos is True and self.ramp is None and is_long(self.seconds):
            raise ValueError(
                f"from {UPTIME:.0f} s on a worker is paid for being there, which no exchange tells: in a run that long "
                'the kudos of workers\' owners cannot be judged, so that it says `kudos = "requesters"` (or false)'
            )
        if table.named(self.scenario).seeded and self.queue is None:
            raise ValueError(f"the scenario {self.scenario} wants a queue")
        return self


class Session(_Part):
    """Runs in their order."""

    sentence: str
    run: Annotated[tuple[Run, ...], Field(min_length=1)]

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.run)

    @model_validator(mode="after")
    def _names_differ(self) -> Session:
        if len({run.name for run in self.run}) < len(self.run):
            raise ValueError("each run has a name of its own")
        return self


def built_in() -> list[str]:
    """The names of the sessions that come with the harness."""
    return sorted(f.name.removesuffix(".toml") for f in files(__package__).iterdir() if f.name.endswith(".toml"))


def named(name: str) -> Session:
    """A session that comes with the harness, or the one in a TOML file.

    Raises:
        BadSession: there is none, or it is not usable.
    """
    if name in built_in():
        return parse((files(__package__) / f"{name}.toml").read_text("utf-8"), name)
    try:
        return parse(Path(name).read_text("utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        raise BadSession(
            f"The session {name} cannot be read: {error}.",
            f"Give a TOML file in UTF-8, or one of {', '.join(built_in())}.",
        ) from None


def parse(text: str, name: str) -> Session:
    """The session in a TOML text; `name` is what a person is told it is.

    Raises:
        BadSession: no TOML, an unknown key, a bad value.
        UnknownScenario: a run names one that there is not.
    """
    try:
        return Session.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadSession(f"The session {name} is not valid TOML: {error}.", "Mend the line it names.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its beginning"
        said = first["msg"].removeprefix("Value error, ")
        raise BadSession(
            f"The session {name} has a bad value at {place}: {said}.",
            "The sessions that come with the harness show every key.",
        ) from None
