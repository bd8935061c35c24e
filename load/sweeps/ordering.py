"""In which order concurrent workers are handed what waits (LOD-07): each job's place in the queue, as we wrote it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy

from load.probes.facts import Fact
from load.statistics import HandedOut, Order, order
from load.sweeps.cells import Branch, Sweep
from load.sweeps.popping import Popped
from load.sweeps.standing import Bench, Standing

WORKERS = 4


class Handed(Fact):
    """The order of one wave of pops at a level: `unknown` jobs were not found in the queue as we wrote it."""

    level: float
    workers: int
    order: Order
    unknown: int


def handed(sweep: Sweep, bench: Bench, waves: int = 3) -> Iterator[Handed]:
    """Waves of pops by several workers at once, at each level; afterwards all is put back."""
    for level in sweep.cells:
        with bench.at(level) as standing:
            for _ in range(waves):
                yield _wave(standing, level)


def _wave(standing: Standing, level: float) -> Handed:
    # Half of what waits is text: never more than there is.
    each = max(1, min(5, len(standing.waiting) // 2 // WORKERS - 1))
    with ThreadPoolExecutor(WORKERS) as pool:
        popped = [one for some in pool.map(lambda _: _pops(standing, each), range(WORKERS)) for one in some]
    places = _places(standing, popped)
    with standing.popper() as popper:
        popper.put_back([id for one in popped for id in one.ids])
    found = [
        HandedOut(position=places[id], sent=one.sent, answered=one.answered)
        for one in popped
        for id in one.ids
        if id in places
    ]
    return Handed(level=level, workers=WORKERS, order=order(found), unknown=len(popped) - len(found))


def _pops(standing: Standing, count: int) -> list[Popped]:
    with standing.popper() as popper:
        return [popper.pop(Branch.TEXT) for _ in range(count)]


def _places(standing: Standing, popped: Sequence[Popped]) -> dict[str, int]:
    """The place in the queue of each generation, by the request that it is of."""
    assert standing.database_url is not None
    wanted = {id for one in popped for id in one.ids}
    driven = sqlalchemy.make_url(standing.database_url).set(drivername="postgresql+psycopg2")
    statement = sqlalchemy.text(standing.profile.database.generation_rows)
    found: dict[str, int] = {}
    with sqlalchemy.create_engine(driven, poolclass=sqlalchemy.NullPool).connect() as connection:
        for place, request in enumerate(standing.waiting):
            for row in connection.execute(statement, {"id": request}):
                found |= {str(value): place for value in row if str(value) in wanted}
            if len(found) == len(wanted):
                break
    return found
