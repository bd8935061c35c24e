"""What a pop costs in counts, at a queue that stands: a second server, behind the counting proxy, on the same database.

Values read out of line are told by a session at the latest when it ends: the counting server hangs up before they are
read, and its every call since it came up is the same pop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from conformance import counting as taking
from conformance import targets
from conformance.errors import CouldNotRun
from fixtures.counting.proxy import CountingProxy, Window
from load.errors import CouldNotCount
from load.probes import statements, storage
from load.probes.facts import Fact, NotMeasured
from load.probes.reading import Reader
from load.sweeps.cells import Axis, Branch, Sweep
from load.sweeps.popping import Popper
from load.sweeps.standing import Bench, Standing

WARM_UP, CALLS = 2, 3
# Seconds in which an idle server shows what it does uncalled, and within which a session that hung up is gone.
_WATCH, _GONE = 0.6, 10.0


class Count(Fact):
    """What one pop of a branch costs at a level; `reads` are values read out of line, None is what was not counted.

    Each figure is the least of several pops: what else a server does comes on top.
    """

    axis: Axis
    level: float
    branch: Branch
    statements: int
    received_bytes: int | None
    reads: float | None


@dataclass
class Counting:
    """A server whose traffic is counted; `reads` stands once it has hung up."""

    url: str
    proxy: CountingProxy
    calls: int = 0
    reads: float | None = None
    windows: list[Window] = field(default_factory=list)
    background: frozenset[tuple[str, ...]] = frozenset()

    def count(self, act: Callable[[], object]) -> None:
        """Keep what an act exchanges with the database."""
        try:
            self.windows.append(taking.counted(self.proxy, self.background, act)[1])
        except CouldNotRun as reason:
            raise CouldNotCount(f"{str(reason).capitalize()}.", "Nobody else may call the target.") from None


@contextmanager
def counting(standing: Standing, command: Sequence[str], fault: str | None = None) -> Iterator[Counting]:
    """A second server on a queue's database, for the time of a `with` block; `calls` is how many it was made."""
    assert standing.database_url is not None
    with CountingProxy(standing.database_url) as proxy, Reader(standing.database_url) as reader:
        before, others = storage.look(reader), _sessions(reader)
        with targets.started(tuple(command), proxy.through(standing.database_url), fault=fault) as server:
            counted = Counting(server.url(), proxy)
            counted.background = taking.uncalled(proxy, _WATCH)
            yield counted
        _await_end(reader, others)
        told = storage.between(before, storage.look(reader))
        if not isinstance(told, NotMeasured) and not any(one.tidied for one in told):
            counted.reads = sum(one.reads for one in told) / max(1, counted.calls)


def _sessions(reader: Reader) -> set[int]:
    return {row["pid"] for row in reader.rows("backends", database=reader.database)}


def _await_end(reader: Reader, others: set[int]) -> None:
    """Return once the database, too, has seen the server's sessions end: by then they have told all."""
    deadline = time.monotonic() + _GONE
    while _sessions(reader) - others and time.monotonic() < deadline:
        time.sleep(0.02)


def count(sweep: Sweep, bench: Bench, command: Sequence[str], fault: str | None = None) -> Iterator[Count]:
    """What each branch costs at each level.

    Raises:
        CouldNotCount, NotMeasurable: the pops are not what they have to be.
    """
    for level in sweep.cells:
        with bench.at(level) as standing:
            for branch in sweep.branches:
                yield _counted(sweep, level, branch, standing, command, fault)


def count_statements(sweep: Sweep, bench: Bench, branches: Sequence[Branch]) -> Iterator[Count | NotMeasured]:
    """At a target that our proxy does not stand before: the statements alone, where its database counts them."""
    for level in sweep.cells:
        with bench.at(level) as standing:
            if standing.database_url is None:
                yield NotMeasured(not_measured="statements", reason="no database of the target's is named")
                return
            with Reader(standing.database_url) as reader, standing.popper() as popper:
                for branch in branches:
                    made = [_statements(reader, popper, branch) for _ in range(WARM_UP + CALLS)]
                    refused = next((one for one in made if isinstance(one, NotMeasured)), None)
                    if refused is not None:
                        yield refused
                        return
                    least = min(one for one in made if not isinstance(one, NotMeasured))
                    yield Count(
                        axis=sweep.axis, level=level, branch=branch, statements=least, received_bytes=None, reads=None
                    )


def _statements(reader: Reader, popper: Popper, branch: Branch) -> int | NotMeasured:
    before = statements.look(reader, reader.database)
    popped = popper.pop(branch)
    told = statements.between(before, statements.look(reader, reader.database))
    popper.put_back(popped.ids)
    return told if isinstance(told, NotMeasured) else sum(one.calls for one in told)


def _counted(
    sweep: Sweep, level: float, branch: Branch, standing: Standing, command: Sequence[str], fault: str | None
) -> Count:
    with counting(standing, command, fault) as counted, standing.popper(counted.url) as popper:
        for number in range(-WARM_UP, CALLS):
            ids: list[str] = []

            def pop(ids: list[str] = ids) -> None:
                ids.extend(popper.pop(branch).ids)

            if number < 0:
                pop()
            else:
                counted.count(pop)
            popper.put_back(ids)
            counted.calls += 1
    return Count(
        axis=sweep.axis, level=level, branch=branch,
        statements=min(sum(part.calls for part in window.statements.values()) for window in counted.windows),
        received_bytes=min(window.traffic.received for window in counted.windows), reads=counted.reads,
    )  # fmt: skip
