"""The floor of a pop: its statements alone, value for value, in turns with the server that issues them.

The texts that the reference was seen to send are replayed, prepared, over one connection with the server's own
settings, on a copy of the same database. Server and floor take turns, so that whatever else the machine does falls on
both; that both did the same is counted by `pg_stat_statements`.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg2

from conformance import targets
from conformance.profile import Profile
from fixtures.counting.fingerprints import prepared as preparation
from fixtures.postgres import Server
from fixtures.postgres.embedded import Embedded
from load.errors import CouldNotCount
from load.probes import journal, processes, statements
from load.probes.facts import Fact, NotMeasured
from load.probes.journal import Entry, Journal
from load.probes.reading import Reader
from load.probes.statements import Statement
from load.seeding import Description, seed
from load.yardstick.calling import Call, Line, caller

WAITING = 10_000
ROUNDS, EACH = 10, 20
# The most that the reference's pop may take of its floor.
MOST = 3.0
# What comes once a connection is not timed.
WARM = 5
_QUIET = {"cleaner_interval": 1000, "webhook_interval": 1000}


class Beside(Fact):
    """A pop of the reference beside its floor, `waiting` rows in the queue: seconds, one each time, in turns.

    `statements` are those of one pop, as `pg_stat_statements` counts them; `same` says that the floor issued the same.
    """

    what: str
    waiting: int
    server_seconds: tuple[float, ...]
    floor_seconds: tuple[float, ...]
    server_cpu_seconds: float | None
    database_cpu_seconds: float | None
    statements: tuple[Statement, ...]
    same: bool

    @property
    def ratio(self) -> float:
        """The server's p50 over the floor's."""
        return statistics.median(self.server_seconds) / statistics.median(self.floor_seconds)

    @property
    def held(self) -> bool:
        """Whether the bar is held, by a floor that did the same."""
        return self.ratio <= MOST and self.same


@dataclass(frozen=True)
class Prepared:
    """A database whose copies are the same to the row: accounts, a worker that has popped before, a deep queue."""

    name: str
    pops: dict[str, Call]


@dataclass(frozen=True)
class Recorded:
    """What the reference sends for each of some pops, text by text, and what must be prepared and set beforehand."""

    preparations: tuple[str, ...]
    settings: dict[str, str]
    warm: tuple[tuple[str, ...], ...]
    pops: tuple[tuple[str, ...], ...]
    statements: tuple[Statement, ...]


def beside(profile: Profile, postgres: Server, admin: Reader) -> Iterator[Beside]:
    """The two kinds of pop, each beside its floor, on copies of one database."""
    with targets.fresh_database(profile, postgres) as url:
        prepared = _prepared(profile, url)
        for what, call in prepared.pops.items():
            with ExitStack() as stack:
                seen, timed, floor = (stack.enter_context(_copy(postgres, prepared.name)) for _ in range(3))
                recorded = record(profile, postgres, admin, seen, call)
                yield _in_turns(profile, admin, what, call, recorded, timed, floor)


@contextmanager
def _copy(postgres: Server, template: str) -> Iterator[str]:
    name = postgres.create_database(template)
    yield postgres.url(name)
    postgres.drop_database(name)


def _prepared(profile: Profile, url: str) -> Prepared:
    queue = Description(rows=WAITING + WARM + ROUNDS * EACH, users=100)
    models = seed(queue, profile, url).models
    with targets.serving(profile.server.command, url) as base, closing(Line(base)) as line:
        people = caller(profile, base)
        pops = {
            "pop with a job": people.pop("yardstick taker", models),
            "empty pop": people.pop("yardstick asker", [f"{profile.models.known}-yardstick"]),
        }
        # A first pop makes the worker; of the one that takes jobs it takes one of the spare rows.
        for call in pops.values():
            line.make(call)
    return Prepared(psycopg2.extensions.parse_dsn(url)["dbname"], pops)


def record(profile: Profile, postgres: Server, admin: Reader, url: str, call: Call) -> Recorded:
    """Let a server of its own make the pops once, and read from the database's log what it sent for each.

    Raises:
        CouldNotCount: the database does not log it.
    """
    assert isinstance(postgres.provider, Embedded)
    with closing(Reader(url)) as marker:
        refused = journal.switch_on(marker)
        if refused is not None:
            raise CouldNotCount(str(refused), "The yardstick needs a PostgreSQL of its own.")
    log = Journal(postgres.provider.log)
    quiet = json.dumps(_QUIET).replace("{", "{{").replace("}", "}}")
    with (
        targets.serving((*profile.server.command, "--settings", quiet), url) as base,
        closing(Line(base)) as line,
        closing(Reader(url)) as marker,
    ):
        logged = log.read()
        warm, heard = _pops(line, call, log, WARM)
        logged += heard
        before = statements.look(admin, marker.database)
        pops, heard = _pops(line, call, log, ROUNDS * EACH)
        logged += heard
        counted = statements.between(before, statements.look(admin, marker.database))
    if isinstance(counted, NotMeasured):
        raise CouldNotCount(str(counted), "The yardstick needs a PostgreSQL of its own.")
    settings = [entry.plan.get("Settings", {}) for entry in logged if entry.plan]
    preparations = tuple(journal.preparations(logged).values())
    return Recorded(preparations, settings[-1] if settings else {}, warm, pops, counted)


def _pops(line: Line, call: Call, log: Journal, count: int) -> tuple[tuple[tuple[str, ...], ...], list[Entry]]:
    """The texts that the server sent for each of some pops, preparations left out, and all that was logged."""
    pops, logged = [], []
    for _ in range(count):
        line.make(call)
        heard = log.read()
        logged += heard
        pops.append(tuple(entry.text for entry in heard if entry.text and preparation(entry.text) is None))
    return tuple(pops), logged


def _in_turns(
    profile: Profile, admin: Reader, what: str, call: Call, recorded: Recorded, timed: str, floor: str
) -> Beside:
    """Time the server on one copy and the floor on another, a block of each in turns."""
    with (
        targets.started(profile.server.command, timed) as server,
        closing(Line(server.url())) as line,
        closing(psycopg2.connect(floor)) as connection,
        closing(Reader(timed)) as reader,
    ):
        for _ in range(WARM):
            line.make(call)
        replayed = _Floor(connection, recorded)
        name = reader.database
        served: list[float] = []
        floors: list[float] = []
        spent: list[processes.Cpu | NotMeasured] = []
        before = statements.look(admin, replayed.database)
        for number in range(ROUNDS):
            begun = processes.look(server.process.pid, reader, name)
            served += [line.make(call)[0] for _ in range(EACH)]
            spent.append(processes.between(begun, processes.look(server.process.pid, reader, name)))
            floors += [replayed.pop(texts) for texts in recorded.pops[number * EACH : (number + 1) * EACH]]
        issued = statements.between(before, statements.look(admin, replayed.database))
    counts = {one.fingerprint: (one.calls, one.rows) for one in recorded.statements}
    same = not isinstance(issued, NotMeasured) and {one.fingerprint: (one.calls, one.rows) for one in issued} == counts
    cpu = [one for one in spent if not isinstance(one, NotMeasured)]
    return Beside(
        what=what, waiting=WAITING, server_seconds=tuple(served), floor_seconds=tuple(floors),
        server_cpu_seconds=_mean([one.server_seconds for one in cpu]),
        database_cpu_seconds=_mean([one.database_seconds for one in cpu]), statements=recorded.statements, same=same,
    )  # fmt: skip


def _mean(blocks: Sequence[float | None]) -> float | None:
    """Seconds per call, over blocks of calls."""
    known = [one for one in blocks if one is not None]
    return sum(known) / (len(known) * EACH) if known else None


class _Floor:
    """A connection with a server's settings and statements, and nothing between it and the database."""

    def __init__(self, connection: Any, recorded: Recorded) -> None:
        connection.autocommit = True
        self.database = str(connection.info.dbname)
        self._cursor = connection.cursor()
        for name, value in recorded.settings.items():
            self._cursor.execute("SELECT set_config(%s, %s, false)", (name, value))
        for text in recorded.preparations:
            self._cursor.execute(text)
        # The copy is to lose the same rows, too.
        for texts in recorded.warm:
            self.pop(texts)

    def pop(self, texts: Sequence[str]) -> float:
        """The seconds that one pop's texts take, their rows fetched."""
        began = time.perf_counter()
        for text in texts:
            self._cursor.execute(text)
            if self._cursor.description:
                self._cursor.fetchall()
        return time.perf_counter() - began
