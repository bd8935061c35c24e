"""A faulty server beside the right one, at one payload: every count of every call, then times and CPU by paired blocks.

Counts come from a second server behind the proxy, one for each side; times from servers that nothing stands before.
PostgreSQL tells what a session read out of line when a transaction ends, at most once a second: before each look the
session rests that long and is called once more, so that both looks come at the same place.
"""

from __future__ import annotations

import math
import random
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.resources import files

import sqlalchemy
from pydantic import Field

from conformance import targets
from conformance.profile import Profile
from fixtures.counting.proxy import CountingProxy
from fixtures.postgres import Server
from load.errors import CouldNotCount
from load.probes import statements, storage
from load.probes.facts import Fact, NotMeasured
from load.probes.kernel import cpu_seconds, family
from load.probes.reading import Reader
from load.sweeps.cells import Branch
from load.sweeps.measuring import uncollected
from load.sweeps.scene import Call, Scene, cell, played
from load.sweeps.standing import Standing, started

PAYLOADS = (1024, 16_384, 65_536)
REFERENCE = "reference"
# The faults' server does nothing uncalled: then what is counted is the calls'. Braces are doubled, for a command's
# are places.
QUIET = ("--settings", '{{"cleaner_interval": 86400, "webhook_interval": 86400}}')
# Longer than PostgreSQL leaves between two tellings of one session.
_REST = 1.05
_COUNTED = 4
_LONGEST_WAIT = 3.0

_parts = re.split(r"^-- name: (\w+)$", (files(__package__) / "queries.sql").read_text("utf-8"), flags=re.MULTILINE)
_queries = dict(zip(_parts[1::2], _parts[2::2], strict=True))


class Plan(Fact):
    """How the paired blocks are measured: rounds, and the calls of a block."""

    rounds: int = Field(12, ge=10, le=1000)
    calls: int = Field(3, ge=1, le=100)
    seed: int = 1


class Blocks(Fact):
    """Log ratios of paired blocks, fault over reference: of the median time, and of the CPU time per call."""

    seconds: tuple[float, ...]
    cpu: tuple[float, ...]


class Measured(Fact):
    """One fault at one payload: counts per call on both sides, by call and measure, and the blocks of each call."""

    fault: str
    payload_bytes: int
    reference: dict[Call, dict[str, float]]
    faulty: dict[Call, dict[str, float]]
    blocks: dict[Call, Blocks]


def measure(
    fault: str, payload: int, profile: Profile, postgres: Server, plan: Plan,
    known: dict[Call, dict[str, float]] | None = None,
) -> Measured:  # fmt: skip
    """Put a fault beside the reference; `reference` beside itself.

    `known` are the reference's counts at this payload, where they were counted before: they are always the same.
    """
    put = None if fault == REFERENCE else fault
    extension = postgres.url(postgres.create_database(extensions=["pg_stat_statements"]))
    with (
        started(cell(payload), profile, postgres, settings=QUIET) as right,
        started(cell(payload), profile, postgres, fault=put, settings=QUIET) as wrong,
    ):
        return Measured(
            fault=fault, payload_bytes=payload, reference=known or counts(right, extension, None),
            faulty=counts(wrong, extension, put), blocks=paired(right, wrong, plan),
        )  # fmt: skip


# ---------------------------------------------------------------------------------------- counts


def counts(standing: Standing, extension: str, fault: str | None) -> dict[Call, dict[str, float]]:
    """What each call costs at a queue, by measure."""
    assert standing.database_url is not None
    command = (*standing.profile.server.command, *QUIET)
    with (
        CountingProxy(standing.database_url) as proxy,
        Reader(standing.database_url) as reader,
        Reader(extension) as admin,
        targets.started(command, proxy.through(standing.database_url), fault=fault) as server,
        played(standing, server.url()) as scene,
    ):
        found = {call: _counted(scene, call, proxy, reader, admin) for call in Call}
        found[Call.TEXT]["lock waits"] = lock_waits(scene)
    return found


def _counted(scene: Scene, call: Call, proxy: CountingProxy, reader: Reader, admin: Reader) -> dict[str, float]:
    def rested() -> storage.Look:
        time.sleep(_REST)
        scene.make(call, scene.prepare(call))
        look = storage.look(reader)
        if isinstance(look, NotMeasured):
            raise CouldNotCount(f"{look}.", "The embedded PostgreSQL tells it.")
        return look

    scene.make(call, scene.prepare(call))
    before = rested()
    singles = [_single(scene, call, proxy, admin, reader.database) for _ in range(_COUNTED)]
    told = storage.between(before, rested())
    tables = () if isinstance(told, NotMeasured) else told
    least = {name: min(single[name] for single in singles) for name in singles[0]}
    return least | {
        "values read": sum(one.reads for one in tables) / (_COUNTED + 1),
        "pieces written": sum(one.written for one in tables) / (_COUNTED + 1),
    }


def _single(scene: Scene, call: Call, proxy: CountingProxy, admin: Reader, database: str) -> dict[str, float]:
    """One call that is counted: what prepares it and what undoes it is not."""
    id = scene.prepare(call)
    before = statements.look(admin, database)
    proxy.take()
    _, ids = scene.act(call, id)
    window = proxy.take()
    told = statements.between(before, statements.look(admin, database))
    scene.popper.put_back(ids)
    if isinstance(told, NotMeasured) or window.unfinished:
        raise CouldNotCount(f"A call could not be counted: {told}.", "Does anybody else use this PostgreSQL?")
    return {
        "bytes": window.traffic.received,
        "statements": sum(one.calls for one in told),
        "blocks": sum(one.blocks for one in told),
    }


def lock_waits(scene: Scene) -> float:
    """Whether a pop waits for a row that it does not take: the second candidate is held meanwhile."""
    standing = scene.standing
    assert standing.database_url is not None
    # After the small text and the small chat request comes a text request.
    held = standing.waiting[2]
    driven = sqlalchemy.make_url(standing.database_url).set(drivername="postgresql+psycopg2")
    lock = sqlalchemy.text(_queries["lock"].format(table=standing.profile.seeding.table))
    engine = sqlalchemy.create_engine(driven, poolclass=sqlalchemy.NullPool)
    waited = 0.0
    with ThreadPoolExecutor(1) as pool, engine.connect() as other, engine.connect() as looking:
        other.execute(lock, {"id": held})
        pop = pool.submit(scene.popper.pop, Branch.TEXT)
        deadline = time.monotonic() + _LONGEST_WAIT
        while not pop.done() and not waited and time.monotonic() < deadline:
            waited = float(bool(looking.execute(sqlalchemy.text(_queries["waiters"])).scalar_one()))
            looking.rollback()
        other.rollback()
        scene.popper.put_back(pop.result(timeout=30).ids)
    return waited


# ---------------------------------------------------------------------------------------- times


def paired(right: Standing, wrong: Standing, plan: Plan) -> dict[Call, Blocks]:
    """Blocks of both sides in every round, in shuffled order; the first round does not count."""
    rng = random.Random(plan.seed)
    ratios: dict[Call, list[tuple[float, float]]] = {call: [] for call in Call}
    with _clocked(right) as one, _clocked(wrong) as other:
        for number in range(-1, plan.rounds):
            for call in rng.sample(list(Call), len(Call)):
                sides = [one, other]
                rng.shuffle(sides)
                measured = {side: side.block(call, plan.calls) for side in sides}
                if number >= 0:
                    ratios[call].append(_ratio(measured[one], measured[other]))
    return {
        call: Blocks(seconds=tuple(pair[0] for pair in pairs), cpu=tuple(pair[1] for pair in pairs))
        for call, pairs in ratios.items()
    }


def _ratio(right: tuple[float, float], wrong: tuple[float, float]) -> tuple[float, float]:
    return math.log(wrong[0] / right[0]), math.log(wrong[1] / right[1])


class _Clocked:
    """A scene whose calls are timed, by the clock and by the CPU time of the server and of its database."""

    def __init__(self, scene: Scene, reader: Reader) -> None:
        self._scene, self._reader = scene, reader
        assert scene.standing.process is not None
        self._server = family(scene.standing.process)

    def block(self, call: Call, count: int) -> tuple[float, float]:
        """The median seconds of a call and the mean CPU seconds; what prepares it is not in them."""
        scene = self._scene
        ids = [scene.prepare(call) for _ in range(count)]
        pids = (*self._server, *(row["pid"] for row in self._reader.rows("backends", database=self._reader.database)))
        seconds, spent = [], 0.0
        with uncollected():
            for id in ids:
                before = _cpu(pids)
                took, handed = scene.act(call, id)
                spent += _cpu(pids) - before
                seconds.append(took)
                scene.popper.put_back(handed)
        return statistics.median(seconds), spent / count


def _cpu(pids: Sequence[int]) -> float:
    return sum(cpu_seconds(pid) or 0.0 for pid in pids)


@contextmanager
def _clocked(standing: Standing) -> Iterator[_Clocked]:
    assert standing.database_url is not None
    with played(standing) as scene, Reader(standing.database_url) as reader:
        yield _Clocked(scene, reader)
