"""Where a sweep's queues stand: each behind a server of its own that we start, or one after the other at a target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from conformance import accounts, preflight, targets
from conformance.client import Client
from conformance.profile import Profile
from fixtures.postgres import Server
from load.seeding import Seeded, row, seeded
from load.sweeps.cells import Cell, Sweep
from load.sweeps.popping import Declared, Popper


@dataclass(frozen=True)
class Standing:
    """A queue as it stands, the server in front of it, and who pops. `process` is the server's, where it is ours."""

    url: str
    database_url: str | None
    profile: Profile
    declared: Declared
    queues: tuple[Seeded, ...]
    process: int | None = None

    @property
    def waiting(self) -> tuple[str, ...]:
        """The ids of the requests that wait for our worker, in the queue's order."""
        return tuple(
            row(queue.description, number).id
            for queue in self.queues
            for number in range(queue.description.refused.rows, queue.description.total)
        )

    def popper(self, url: str | None = None) -> Popper:
        """A client with a worker for each branch, here or at another server in front of the same database."""
        return Popper(url or self.url, self.profile, self.declared, self.database_url)


class Bench(Protocol):
    """Gives a sweep its queues, level by level, as often as it asks for one."""

    def at(self, level: float) -> AbstractContextManager[Standing]:
        """The queue of that level, for the time of a `with` block."""


@contextmanager
def filled(cell: Cell, profile: Profile, url: str, database_url: str | None, process: int | None) -> Iterator[Standing]:
    """A queue at a server, for the time of a `with` block.

    Raises:
        BadQueue, QueueTooLarge, SeedingFailed, WrongCounts: it does not come to stand.
        TargetNotReady: the server gives no accounts.
    """
    with ExitStack() as stack:
        queues = tuple(
            stack.enter_context(seeded(description, profile, database_url=database_url, url=url))
            for description in cell.queues()
        )
        with Client(url, profile) as client:
            preflight.heartbeat(client)
            key = accounts.provide(client)[0].owners[0].key
        yield Standing(url, database_url, profile, Declared.of(queues, key), queues, process)


@contextmanager
def started(
    cell: Cell, profile: Profile, postgres: Server, *, fault: str | None = None, settings: tuple[str, ...] = ()
) -> Iterator[Standing]:
    """A queue behind a server that the profile's command starts, with these options more; both gone at the end."""
    with (
        targets.fresh_database(profile, postgres) as database_url,
        targets.started((*profile.server.command, *settings), database_url, fault=fault) as server,
        filled(cell, profile, server.url(), database_url, server.process.pid) as standing,
    ):
        yield standing


class SideBySide:
    """All queues of a sweep at once, so that rounds may go from one to the next."""

    def __init__(self, standing: dict[float, Standing]) -> None:
        self._standing = standing

    def at(self, level: float) -> AbstractContextManager[Standing]:
        """The queue of that level, which goes on to stand."""
        return nullcontext(self._standing[level])


class InTurn:
    """A target with one queue at a time, written anew whenever its level comes round."""

    def __init__(self, sweep: Sweep, profile: Profile, url: str, database_url: str | None) -> None:
        self._sweep, self._profile, self._url, self._database_url = sweep, profile, url, database_url

    def at(self, level: float) -> AbstractContextManager[Standing]:
        """The queue of that level, gone when the block ends."""
        return filled(self._sweep.cells[level], self._profile, self._url, self._database_url, None)


@contextmanager
def side_by_side(sweep: Sweep, profile: Profile, postgres: Server, fault: str | None = None) -> Iterator[SideBySide]:
    """Every level behind a server and on a database of its own."""
    with ExitStack() as stack:
        yield SideBySide(
            {
                level: stack.enter_context(started(cell, profile, postgres, fault=fault))
                for level, cell in sweep.cells.items()
            }
        )
