"""A target whose traffic with its database is counted, call by call, and whose queue can be filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from conformance import accounts, counting, preflight, targets
from conformance.actors import Account
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import Profile
from fixtures.counting.meter import Kind
from fixtures.counting.proxy import CountingProxy, Window
from fixtures.postgres import Server
from load.errors import CouldNotCount

T = TypeVar("T")

# Seconds for which a server is watched that nobody calls, at most; two of its rounds are enough.
_WATCH = 2.0


@dataclass(frozen=True)
class Counted:
    """A target behind a counting proxy; `background` is what it does uncalled, `process` its own where it is ours."""

    client: Client
    owner: Account
    proxy: CountingProxy
    database_url: str
    background: frozenset[Kind]
    process: int | None = None

    def count(self, act: Callable[[], T]) -> tuple[T, Window]:
        """What an act gives, and what the server exchanged with its database for it.

        Raises:
            CouldNotCount: what the server began did not end.
        """
        try:
            return counting.counted(self.proxy, self.background, act)
        except CouldNotRun as reason:
            raise CouldNotCount(
                f"{str(reason).capitalize()}.", "Nobody else may call the target while its traffic is counted."
            ) from None
        finally:
            self.client.recorder.take()


@contextmanager
def own(profile: Profile, postgres: Server, fault: str | None = None) -> Iterator[Counted]:
    """A server of the profile's command on a database of its own, behind a proxy; gone at the end.

    Raises:
        ReferenceNotStarted: it does not come up.
    """
    with (
        targets.fresh_database(profile, postgres) as database_url,
        CountingProxy(database_url) as proxy,
        targets.started(profile.server.command, proxy.through(database_url), fault=fault) as server,
        Client(server.url(), profile) as client,
    ):
        yield _ready(client, proxy, database_url, server.process.pid)


@contextmanager
def in_front_of(url: str, profile: Profile, database_url: str, listen: tuple[str, int]) -> Iterator[Counted]:
    """A server at a URL whose operator lets it reach its database at the address where we listen.

    Raises:
        ProxyFailed: the address cannot be listened on.
        TargetNotReady: the server does not answer, or gives no accounts.
    """
    with CountingProxy(database_url, listen) as proxy, Client(url, profile) as client:
        preflight.heartbeat_within(client, profile.timings.preflight)
        yield _ready(client, proxy, database_url, None)


def _ready(client: Client, proxy: CountingProxy, database_url: str, process: int | None) -> Counted:
    owner = accounts.provide(client)[0].owners[0]
    background = counting.uncalled(proxy, min(_WATCH, max(2 * client.profile.timings.cleaner, 0.2)))
    return Counted(client, owner, proxy, database_url, background, process)
