"""Counting what a target's server and its database exchange, in bytes and statements, for the call that a check makes.

Where the harness starts the server, it starts a second one behind the counting proxy, on a database of its own, with
the run's fault in it: the checks that count have it to themselves, and the others do not pay for the proxy. A server
at a URL is told by its operator to reach its database through the proxy; what it is called for meanwhile by others
is counted too, so that these checks run alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from conformance import preflight, targets
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import Profile
from conformance.stage import Resources, Stage
from fixtures.counting.meter import Kind
from fixtures.counting.proxy import CountingProxy, Window
from fixtures.postgres import Server

T = TypeVar("T")

# Seconds for which a server is watched that nobody calls, at most.
_WATCH = 1.0


def counted(proxy: CountingProxy, background: frozenset[Kind], act: Callable[[], T]) -> tuple[T, Window]:
    """What an act gives, and what a server exchanged with its database for it, without what it does uncalled.

    Raises:
        CouldNotRun: what the server began did not end.
    """
    proxy.take()
    given = act()
    window = proxy.take().without(background)
    if window.unfinished:
        raise CouldNotRun(f"{window.unfinished} transactions of the server's did not end after the call")
    return given, window


def uncalled(proxy: CountingProxy, seconds: float) -> frozenset[Kind]:
    """The kinds of transactions that a server makes while nobody calls it, for so long."""
    proxy.take()
    time.sleep(seconds)
    return proxy.take().kinds


@dataclass(frozen=True)
class Counted:
    """A stage on a target whose traffic with its database is counted; `background` is what it does uncalled."""

    stage: Stage
    proxy: CountingProxy
    background: frozenset[Kind]

    def count(self, act: Callable[[], T]) -> tuple[T, Window]:
        """What an act gives, and what the server exchanged with its database for it.

        Raises:
            CouldNotRun: what the server began did not end.
        """
        return counted(self.proxy, self.background, act)

    def received(self, act: Callable[[], object]) -> int:
        """The bytes that the database sent for an act."""
        return self.count(act)[1].traffic.received


@dataclass(frozen=True)
class _Second:
    """A server of the harness's own, and the database that it reaches through the proxy."""

    server: targets.Started
    database_url: str


class Counting:
    """Gives checks a stage on a target that is counted; opened when the first one asks."""

    def __init__(self, proxy: CountingProxy, opened: ExitStack, second: _Second | None = None) -> None:
        self.proxy = proxy
        self._opened = opened
        self._second = second
        self._url = ""
        self._quiet_since: float | None = None
        self._resources: Resources | None = None
        self._background: frozenset[Kind] | None = None

    def get_ready(self) -> None:
        """Wait for the second server to be ready, where there is one: from then on what it does, it does uncalled.

        Raises:
            ReferenceNotStarted: it does not come up.
        """
        if self._second is not None:
            self._url = self._second.server.url()
            self._quiet_since = time.monotonic()

    def on(self, stage: Stage) -> Counted:
        """The stage of a check on the counted target.

        Raises:
            CouldNotRun: the target is not ready for it.
        """
        if self._background is None:
            self._background = self._watched(stage.profile)
        if self._second is None:
            return Counted(stage, self.proxy, self._background)
        if self._resources is None:
            self._resources = self._open(stage.resources, self._second)
        return Counted(Stage(self._resources, stage.name), self.proxy, self._background)

    def _watched(self, profile: Profile) -> frozenset[Kind]:
        """The kinds of transactions that the server makes while nobody calls it."""
        if self._quiet_since is None:
            self.proxy.take()
            self._quiet_since = time.monotonic()
        seen_enough = self._quiet_since + min(_WATCH, profile.timings.cleaner)
        time.sleep(max(0.0, seen_enough - time.monotonic()))
        return self.proxy.take().kinds

    def _open(self, run: Resources, second: _Second) -> Resources:
        from conformance.database import Database  # noqa: PLC0415 - a third of a second, for those who need it

        client = self._opened.enter_context(Client(self._url, run.client.profile))
        client.recorder = run.client.recorder
        database = self._opened.enter_context(closing(Database(second.database_url)))
        (cast,) = preflight.ready(client, 1)
        return replace(run, client=client, cast=cast, database=database, counting=None)


@contextmanager
def beside(profile: Profile, postgres: Server, fault: str | None) -> Iterator[Counting]:
    """A second server of the profile's command behind a proxy, which is not waited for; gone at the end."""
    with ExitStack() as opened:
        database_url = opened.enter_context(targets.fresh_database(profile, postgres))
        proxy = opened.enter_context(CountingProxy(database_url))
        started = targets.started(profile.server.command, proxy.through(database_url), fault=fault)
        second = _Second(opened.enter_context(started), database_url)
        yield Counting(proxy, opened, second)


@contextmanager
def in_front_of(database_url: str, listen: tuple[str, int]) -> Iterator[Counting]:
    """A proxy at an address through which the operator's server reaches its database.

    Raises:
        ProxyFailed: the address cannot be listened on.
    """
    with ExitStack() as opened:
        yield Counting(opened.enter_context(CountingProxy(database_url, listen)), opened)
