"""The catalogue: every requirement of the specification, as data.

`catalogue/*.toml` holds one file an area and is the only place where a requirement is worded. Suites, faults,
documents and reports cite ids.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

from conformance.errors import NothingMatches

Capability = Literal[
    "chat",
    "streaming",
    "operation_key",
    "request_record",
    "chat_request_record",
    "webhook",
    "moderator",
    "moderation",
    "time",
    "database",
    "database_write",
    "database_proxy",
    "migration",
    "server_start",
]
CAPABILITIES: tuple[Capability, ...] = get_args(Capability)
Level = Literal["MUST", "SHOULD", "INFO"]
Basis = Literal["adr", "text", "chosen"]
Half = Literal["chat", "text", "both"]
Mark = Literal["alone", "slow"]


# Counts up when a requirement is added, reworded or asks for something else; what it says is known by its hash.
VERSION = "1"


class Requirement(BaseModel):
    """One row of the specification: a statement that a conformant server makes true."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    level: Level
    basis: Basis
    half: Half
    capabilities: tuple[Capability, ...]
    marks: tuple[Mark, ...] = ()
    statement: str

    @property
    def area(self) -> str:
        """The three letters before the number, as in `FAM`."""
        return self.id.partition("-")[0]

    def declared(self, capabilities: Iterable[str]) -> bool:
        """Whether a target with these capabilities is judged by this row.

        A target without chat is judged by the text half of a row that has one.
        """
        missing = set(self.capabilities) - set(capabilities)
        return not missing or (missing == {"chat"} and self.half != "chat")


class Area(BaseModel):
    """One file of the catalogue; what a load run measures is no part of a certificate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    area: str
    title: str
    judged_by: Literal["checks", "load"] = "checks"
    requirement: tuple[Requirement, ...]


@cache
def areas() -> tuple[Area, ...]:
    """All areas, in alphabetical order."""
    folder = files("conformance") / "catalogue"
    sources = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    return tuple(Area.model_validate(tomllib.loads(f.read_text("utf-8"))) for f in sources)


@cache
def requirements() -> dict[str, Requirement]:
    """Every requirement by its id, in the order of the catalogue."""
    return {r.id: r for area in areas() for r in area.requirement}


@cache
def judged() -> dict[str, Requirement]:
    """What checks judge, and a certificate stands on: every requirement but those that a load run measures."""
    return {r.id: r for area in areas() if area.judged_by == "checks" for r in area.requirement}


def select(patterns: Sequence[str]) -> set[str]:
    """The ids that the patterns match; all of them when there is no pattern.

    A pattern is an id (`FAM-01`), an area (`FAM`) or a shell pattern over whole ids (`POP-1*`).

    Raises:
        NothingMatches: a pattern matches no requirement.
    """
    every = requirements()
    if not patterns:
        return set(every)
    chosen: set[str] = set()
    for pattern in patterns:
        wanted = pattern.upper()
        matched = {i for i, r in every.items() if r.area == wanted or fnmatchcase(i, wanted)}
        if not matched:
            known = ", ".join(area.area for area in areas())
            raise NothingMatches(
                f"The pattern {pattern!r} matches no requirement.",
                f"Give an id such as FAM-01, an area ({known}) or a pattern such as 'POP-1*'; "
                "`horde-conformance list` shows them all.",
            )
        chosen |= matched
    return chosen
