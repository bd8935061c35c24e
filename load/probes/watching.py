"""What a number of calls costs: every count that can be had here, between two looks, as one record."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from fixtures.counting.meter import Kind
from fixtures.counting.proxy import PATIENCE, CountingProxy, Window
from load.probes import processes, statements, storage
from load.probes.facts import Fact, NotMeasured
from load.probes.processes import Cpu
from load.probes.reading import Reader
from load.probes.statements import Statement
from load.probes.storage import OutOfLine

NO_DATABASE = "no database of the target's is named"


class Wire(Fact):
    """What server and database exchanged: bytes each way, transactions, and journeys, which may carry several texts."""

    sent_bytes: int
    received_bytes: int
    transactions: int
    journeys: int


class Costs(Fact):
    """What `calls` calls cost together; each part is there, or says why it could not be measured."""

    calls: int
    statements: tuple[Statement, ...] | NotMeasured
    out_of_line: tuple[OutOfLine, ...] | NotMeasured
    wire: Wire | NotMeasured
    cpu: Cpu | NotMeasured

    @property
    def not_measured(self) -> list[NotMeasured]:
        """The parts that could not be had."""
        parts = (self.statements, self.out_of_line, self.wire, self.cpu)
        return [part for part in parts if isinstance(part, NotMeasured)]

    @property
    def per_call(self) -> dict[str, float]:
        """The counts that are exact, per call, by name; what was not measured is not among them."""
        found: dict[str, float] = {}
        if not isinstance(self.statements, NotMeasured):
            found["statements"] = sum(one.calls for one in self.statements if one.is_work)
            found["rows"] = sum(one.rows for one in self.statements if one.is_work)
        if not isinstance(self.out_of_line, NotMeasured):
            found["blocks out of line"] = sum(one.blocks for one in self.out_of_line)
            found["values read out of line"] = sum(one.reads for one in self.out_of_line)
            found["pieces written out of line"] = sum(one.written for one in self.out_of_line)
        if not isinstance(self.wire, NotMeasured):
            found["journeys to the database"] = self.wire.journeys
            found["bytes from the database"] = self.wire.received_bytes
            found["bytes to the database"] = self.wire.sent_bytes
        return {name: value / max(1, self.calls) for name, value in found.items()}


@dataclass
class Watched:
    """Calls that are watched: say how many they were; `costs` stands once the block has ended."""

    calls: int = 0
    costs: Costs | None = None


class Look(NamedTuple):
    """All that was counted up to a moment; `window` is what passed the proxy since the look before."""

    window: Window | None
    counted: statements.Look | NotMeasured
    computed: processes.Look | NotMeasured
    stored: storage.Look | NotMeasured


class Watch:
    """Looks at all that is counted of a target.

    Args:
        database_url: the target's database, None where there is none to see.
        admin_url: a database of the same server with pg_stat_statements, where the target's has it not.
        proxy: through which the server reaches it.
        server: the process of the server, where it runs here.
        background: kinds of transactions that it makes uncalled, which the proxy is not to count.
    """

    def __init__(
        self, database_url: str | None, *, admin_url: str | None = None, proxy: CountingProxy | None = None,
        server: int | None = None, background: Collection[Kind] = (),
    ) -> None:  # fmt: skip
        self._reader = Reader(database_url) if database_url else None
        self._admin = Reader(admin_url) if admin_url else self._reader
        self._proxy, self._server, self._background = proxy, server, frozenset(background)
        self._uncalled: set[str] = set()

    def close(self) -> None:
        """Hang up."""
        for reader in (self._reader, self._admin):
            if reader is not None:
                reader.close()

    def look(self, patience: float = PATIENCE) -> Look:
        """All that is counted up to now; `patience` is how long the proxy waits for what is under way, in seconds."""
        window = None if self._proxy is None else self._proxy.take(patience)
        return Look(window, self._counted(), self._computed(), self._stored())

    def costs(self, before: Look, after: Look, calls: int) -> Costs:
        """What that many calls cost between two looks, one after the other."""
        ran = statements.between(before.counted, after.counted)
        return Costs(
            calls=calls,
            statements=ran if isinstance(ran, NotMeasured) else tuple(map(self._marked, ran)),
            out_of_line=storage.between(before.stored, after.stored),
            wire=wire(after.window, self._background),
            cpu=processes.between(before.computed, after.computed),
        )

    @contextmanager
    def calls(self, count: int = 0, *, told: Callable[[], object] | None = None) -> Iterator[Watched]:
        """Watch the calls of a `with` block, which says their number if it is not known before.

        `told` returns when the target's sessions have told what they did out of line; by default that takes `TOLD`
        seconds, where it can be seen at all.
        """
        watched = Watched(count)
        before = self.look()
        yield watched
        after = self.look()
        self.settle(told)
        watched.costs = self.costs(before, after._replace(stored=self._stored()), watched.calls)

    def idle(self, seconds: float) -> None:
        """See what the target does while nobody calls it: from now on that is not what a call costs."""
        before = self.look()
        time.sleep(seconds)
        after = self.look()
        self._background |= after.window.kinds if after.window is not None else frozenset()
        self._uncalled_is(statements.between(before.counted, after.counted))

    def settle(self, told: Callable[[], object] | None = None) -> None:
        """Wait until the target's sessions have told what they did, and see what it does meanwhile, uncalled.

        To be done before calls that are watched, too, where there were others.
        """
        before = self._counted()
        if told is not None:
            told()
        elif not isinstance(self._stored(), NotMeasured):
            time.sleep(storage.TOLD)
            self._uncalled_is(statements.between(before, self._counted()))

    def _uncalled_is(self, ran: tuple[Statement, ...] | NotMeasured) -> None:
        if not isinstance(ran, NotMeasured):
            self._uncalled |= {one.fingerprint for one in ran}

    def _marked(self, one: Statement) -> Statement:
        uncalled = one.fingerprint in self._uncalled - statements.BOUNDS
        return one.model_copy(update={"uncalled": uncalled})

    def _counted(self) -> statements.Look | NotMeasured:
        if self._reader is None or self._admin is None:
            return NotMeasured(not_measured="statements", reason=NO_DATABASE)
        return statements.look(self._admin, self._reader.database)

    def _stored(self) -> storage.Look | NotMeasured:
        if self._reader is None:
            return NotMeasured(not_measured="values out of line", reason=NO_DATABASE)
        return storage.look(self._reader)

    def _computed(self) -> processes.Look | NotMeasured:
        return processes.look(self._server, self._reader, self._reader.database if self._reader else "")


def wire(window: Window | None, background: Collection[Kind] = ()) -> Wire | NotMeasured:
    """What a proxy counted, without what the server does uncalled; without a proxy nothing was."""
    if window is None:
        return NotMeasured(
            not_measured="bytes", reason="the server does not reach its database through the counting proxy"
        )
    window = window.without(background)
    traffic = window.traffic
    return Wire(
        sent_bytes=traffic.sent,
        received_bytes=traffic.received,
        transactions=traffic.calls,
        journeys=sum(one.calls for one in window.statements.values()),
    )


@contextmanager
def watching(
    database_url: str | None, *, admin_url: str | None = None, proxy: CountingProxy | None = None,
    server: int | None = None, background: Collection[Kind] = (),
) -> Iterator[Watch]:  # fmt: skip
    """A watch for the time of a `with` block; see `Watch`."""
    with closing(Watch(database_url, admin_url=admin_url, proxy=proxy, server=server, background=background)) as watch:
        yield watch
