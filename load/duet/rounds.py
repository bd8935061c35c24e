"""The rounds of a duet: in each, one block of every arm, in an order drawn anew, kept raw as a line of JSON."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conformance.profile import Profile
from fixtures.postgres import Server
from load.duet.arms import Played, Prepare, launched
from load.duet.driving import Block, Driver
from load.errors import BadPairs
from load.statistics import SMALLEST_MARGIN

# The arms of a duet: A, another launch of A, and B.
A, AGAIN, B = "a", "again", "b"


class Plan(BaseModel):
    """How a duet is played. `rounds` are of each launch, those after the warm-up; 4 x 25 are a hundred pairs.

    `margin` is for what decides, `wall_margin` for time by the clock where CPU time decides.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    launches: int = Field(4, ge=1, le=100)
    rounds: int = Field(25, ge=1, le=1000)
    warm_up: int = Field(3, ge=0, le=100)
    block_seconds: float = Field(0.2, ge=0.05, le=5)
    margin: float = Field(SMALLEST_MARGIN, ge=SMALLEST_MARGIN, le=0.5)
    wall_margin: float = Field(0.05, ge=SMALLEST_MARGIN, le=0.5)
    seed: int = 0


class Head(BaseModel):
    """The first line of a file of rounds: what was played, how, and how crowded the machine was (`uptime`'s figure)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["duet"] = "duet"
    a: str
    b: str
    plan: Plan
    load_average: float = Field(default_factory=lambda: round(os.getloadavg()[0], 2))


class Round(BaseModel):
    """One block of each arm; `order` is the one in which they were played."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    launch: int
    round: int
    order: tuple[str, ...]
    blocks: dict[str, Block]

    @property
    def whole(self) -> bool:
        """Whether every call of every block was answered as it should be, and every clock went forward."""
        return all(not block.failed and min(block.figures) > 0 for block in self.blocks.values())


def play(
    a: Played, b: Played, plan: Plan, profile: Profile, postgres: Server | None, *, prepare: Prepare | None = None
) -> Iterator[Round]:
    """Every counted round of every launch, as it is played.

    Servers that are given as commands are started anew for each launch, each on a database of its own.

    Raises:
        TargetNotReady: a server gives no accounts.
        ReferenceNotStarted: one does not come up.
    """
    rng = random.Random(plan.seed)
    arms = {A: a, AGAIN: a, B: b}
    for launch in range(plan.launches):
        names = list(arms)
        # Nor should it matter which of them starts first.
        rng.shuffle(names)
        with launched({name: arms[name] for name in names}, profile, postgres, prepare) as drivers:
            for number in range(-plan.warm_up, plan.rounds):
                played = _round(drivers, launch, number, plan.block_seconds, rng)
                if number >= 0:
                    yield played


def _round(drivers: dict[str, Driver], launch: int, number: int, seconds: float, rng: random.Random) -> Round:
    order = sorted(drivers)
    rng.shuffle(order)
    # The generator's own garbage is nobody's time.
    gc.disable()
    try:
        blocks = {name: drivers[name].block(seconds) for name in order}
    finally:
        gc.enable()
    return Round(launch=launch, round=number, order=tuple(order), blocks=blocks)


def keep(path: Path, head: Head, rounds: Iterator[Round]) -> Iterator[Round]:
    """Write each round as it comes, and hand it on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write(head.model_dump_json() + "\n")
        for one in rounds:
            file.write(one.model_dump_json() + "\n")
            file.flush()
            yield one


def read(path: Path) -> tuple[Head, Sequence[Round]]:
    """What was kept.

    Raises:
        BadPairs: the file is none of these, or a line of it is broken.
    """
    try:
        first, *lines = path.read_text("utf-8").splitlines()
        return Head.model_validate_json(first), [Round.model_validate_json(line) for line in lines]
    except (OSError, ValueError, ValidationError) as error:
        problem = str(error).splitlines()[0]
        raise BadPairs(f"{path} holds no rounds of a duet: {problem}.", "Remove it, or name another file.") from None
