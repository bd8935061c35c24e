"""The reference server is fast: its pop beside a loop that issues the same statements, and beside AI Horde 5.1.5.

The floor of a pop is what its statements cost without a server: the texts that the reference was seen to send, value
for value, prepared, over one connection, on a copy of the same database. Server and floor take turns, so that whatever
else the machine does falls on both. Durability is on, for what is compared with had it on.
"""

from __future__ import annotations

import time
from contextlib import closing

from conformance import profile as profiles
from fixtures.postgres import open_server
from load.probes import processes
from load.probes.facts import Fact
from load.probes.reading import Reader
from load.yardstick.figures import Figure, figures
from load.yardstick.floor import Beside, beside

__all__ = ["Beside", "Figure", "Yardstick", "measure"]


class Yardstick(Fact):
    """All that was measured, on a PostgreSQL with these settings.

    `waited` is the share of the time in which something on this machine waited for a processor: times suffer from it.
    """

    settings: dict[str, str]
    waited: float | None = None
    beside: tuple[Beside, ...]
    figures: tuple[Figure, ...]

    @property
    def held(self) -> bool:
        """Whether every bar is."""
        return all(one.held for one in self.beside) and all(one.held for one in self.figures)


def measure() -> Yardstick:
    """Measure all of it on an embedded PostgreSQL that keeps what it commits.

    Raises:
        CouldNotCount: a call was refused, or the database does not log what is replayed.
    """
    profile = profiles.load("reference")
    with open_server(durable=True) as postgres:
        extended = postgres.create_database(extensions=["pg_stat_statements"])
        with closing(Reader(postgres.url(extended))) as admin:
            names = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "data_directory")
            settings = {name: str(admin.execute(f"SHOW {name}")[0][name]) for name in names}
            began, before = time.monotonic(), processes.pressure_seconds()
            pops, calls = tuple(beside(profile, postgres, admin)), tuple(figures(profile, postgres))
            after, took = processes.pressure_seconds(), time.monotonic() - began
    waited = None if before is None or after is None else (after - before) / took
    return Yardstick(settings=settings, waited=waited, beside=pops, figures=calls)
