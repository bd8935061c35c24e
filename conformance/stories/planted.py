"""How fast the state machine finds each planted fault, and how small it cuts the story that shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass

from conformance import preflight, targets
from conformance import profile as profiles
from conformance.client import Client
from conformance.stage import Resources, Stage
from conformance.stories.search import Found, explore
from fixtures import faults
from fixtures.faults import Fault
from fixtures.postgres import Server, open_server

# Seconds in which a fault is to be found, and the calls by which its story may be longer than the shortest.
IN_TIME = 60.0
TOO_MANY = 2
# Seconds that the table takes for cutting: it is to show how small, a check is to be over soon.
_CUTTING = 30.0


@dataclass(frozen=True)
class Sighting:
    """What the machine saw of one fault: when, after how many stories, and the story that it cut, if it saw it."""

    fault: Fault
    stories: int
    seconds: float
    smallest: Found | None

    @property
    def right(self) -> bool:
        """Found in time and cut to few calls, whichever of its consequences showed first."""
        few = self.smallest is not None and self.smallest.size <= len(self.fault.story) + TOO_MANY
        return few and self.seconds < IN_TIME

    def line(self) -> str:
        """One line for a person."""
        if self.smallest is None:
            return f"{self.fault.name}: NOT FOUND in {self.stories} stories, {self.seconds:.1f} s"
        return (
            f"{self.fault.name}: {self.smallest.rule} broken in story {self.stories}, after {self.seconds:.1f} s; "
            f"{self.smallest.size} calls, {len(self.fault.story)} at best"
            + ("" if self.right else "; NOT AS IT SHOULD")
        )


def search(
    *, seed: int, database_url: str | None = None, on_sighting: Callable[[Sighting], None] = lambda _: None
) -> list[Sighting]:
    """Put each planted fault into a reference of its own, one after another, and let the machine look for it.

    Args:
        seed: of the stories.
        database_url: a PostgreSQL server; by default one is started.
    """
    sightings = []
    with open_server(database_url) as postgres:
        for fault in faults.planted_faults().values():
            sightings.append(_sighting(fault, postgres, seed))
            on_sighting(sightings[-1])
    return sightings


def _sighting(fault: Fault, postgres: Server, seed: int) -> Sighting:
    from conformance.database import Database  # noqa: PLC0415 - a third of a second, for those who need it

    profile = profiles.load("reference")
    with (
        targets.embedded(profile, postgres, fault.name) as target,
        Client(target.url, profile) as client,
        closing(Database(target.database_url or "")) as database,
    ):
        (cast,) = preflight.ready(client, 1)
        stage = Stage(Resources(client, cast, database, seed, postgres, fault.name), "stories")
        found = explore(stage, seed=seed, stories=sys.maxsize, seconds=IN_TIME, cutting=_CUTTING)
    first = found.first
    return Sighting(fault, found.told_first, first.seconds if first else IN_TIME, found.smallest)


_HEAD = """# Stories of the state machine

Made by `horde-conformance stories --write docs/reference/stories.md`; not to be edited by hand.

The state machine makes up stories of two requesters and three workers in both families: any interleaving of submit,
pop, progress, reply, fault, cancel, reads on the other family's route, and pops that declare something else, also two
at the same time. A model says what must be seen; the first story that shows something else is cut to the fewest calls
that still show it. With `--explore` a run tells a target as many stories as a minute takes.

Ten faults of state were planted in the reference before there was a machine. Each row is a search on a reference with
one of them in it, on the seed {seed}: the requirement that the fault breaks, the fewest calls that show it, when the
machine found it, as a breach of which requirement (a fault has consequences, and one of them shows first), and to how
many calls it cut its story. Calls are those that actors make; statuses and money, which the machine looks at beside
them, are not counted.

| fault | the error | breaks | shortest story | two at once | found after | as | cut to |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""


def table(sightings: Iterable[Sighting], seed: int) -> str:
    """The sightings as a page: a table, and each story as it was told."""
    seen = list(sightings)
    stories = "".join(f"- *{s.fault.name}*: {s.smallest.sentence}.\n" for s in seen if s.smallest is not None)
    return _HEAD.format(seed=seed) + "".join(map(_row, seen)) + f"\n## As they are told\n\n{stories}"


def _row(sighting: Sighting) -> str:
    fault, smallest = sighting.fault, sighting.smallest
    found = f"{sighting.seconds:.1f} s, {sighting.stories} stories" if smallest else "not found"
    told = f"{smallest.rule} | {smallest.size} calls" if smallest else " | "
    return (
        f"| {fault.name} | {fault.summary} | {fault.breaks} | {len(fault.story)} calls | "
        f"{'yes' if fault.at_once else 'no'} | {found} | {told} |\n"
    )
