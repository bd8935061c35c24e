"""What a duet is played by: servers that it starts anew for each launch, or servers at URLs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import psycopg2

from conformance import accounts, preflight, targets
from conformance.client import Client
from conformance.profile import Profile
from fixtures.postgres import Server
from load.duet.driving import Driver, Meter
from load.errors import BadTarget
from load.probes.kernel import family

Prepare: TypeAlias = Callable[[targets.Target], None]
"""Fills the queue of a target that has just come up; the same each time."""

# Word for the server that the profile's own command starts.
OWN = "profile"
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"


@dataclass(frozen=True)
class Played:
    """A target of a duet: a server's URL, or a command that starts one."""

    text: str
    url: str | None = None
    command: tuple[str, ...] = ()

    @property
    def can_restart(self) -> bool:
        """Whether we start it, so that it has launches."""
        return self.url is None


def target(text: str, profile: Profile) -> Played:
    """A target as it is given: a URL, a command line with {python}, {port} and {database_url}, or `profile`.

    Raises:
        BadTarget: it is none of them.
    """
    if re.match(r"https?://[^/\s]+", text):
        return Played(text, url=text.rstrip("/"))
    try:
        command = profile.server.command if text == OWN else tuple(shlex.split(text))
    except ValueError as error:
        raise BadTarget(
            f"The command {text!r} cannot be read: {error}.", "Quote it as a shell would want it."
        ) from None
    if not any("{database_url}" in part for part in command):
        raise BadTarget(
            f"{text!r} is neither a URL nor a command that starts a server on a database.",
            "Give a URL (http://…), `profile` where the profile has a [server] command, or a command with "
            "{database_url} and {port} that prints its URL.",
        )
    return Played(text, command=command)


@contextmanager
def launched(
    wanted: Mapping[str, Played], profile: Profile, postgres: Server | None, prepare: Prepare | None = None
) -> Iterator[dict[str, Driver]]:
    """A driver for each arm, by name, in the order given; servers that we start are new, and gone at the end.

    Raises:
        TargetNotReady: a server gives no accounts.
        ReferenceNotStarted: one does not come up.
    """
    with ExitStack() as stack:
        coming = {name: _coming(one, profile, postgres, stack) for name, one in wanted.items()}
        yield {name: _driver(ready, profile, prepare, stack) for name, ready in coming.items()}


@dataclass(frozen=True)
class _Coming:
    """A server that may not be ready yet, and where the harness started it, its database."""

    url: str | targets.Started
    database_url: str | None = None
    postgres: Server | None = None


def _coming(played: Played, profile: Profile, postgres: Server | None, stack: ExitStack) -> _Coming:
    if played.url is not None:
        return _Coming(played.url)
    assert postgres is not None, "a server that we start needs a database"
    database_url = stack.enter_context(targets.fresh_database(profile, postgres))
    started = stack.enter_context(targets.started(played.command, database_url))
    return _Coming(started, database_url, postgres)


def _driver(coming: _Coming, profile: Profile, prepare: Prepare | None, stack: ExitStack) -> Driver:
    url = coming.url if isinstance(coming.url, str) else coming.url.url()
    with Client(url, profile) as client:
        preflight.heartbeat(client)
        owner = accounts.provide(client)[0].owners[0]
    if prepare is not None:
        prepare(targets.Target(url, coming.database_url))
    driver = Driver(url, profile, owner.key, _meter(coming, stack))
    stack.callback(driver.close)
    return driver


def _meter(coming: _Coming, stack: ExitStack) -> Meter | None:
    """Where server and database are processes of this machine that we started, their clocks can be read."""
    if isinstance(coming.url, str) or coming.postgres is None or not coming.postgres.is_embedded:
        return None
    connection = stack.enter_context(closing(psycopg2.connect(coming.postgres.url())))
    connection.autocommit = True
    name = psycopg2.extensions.parse_dsn(coming.database_url or "")["dbname"]

    def backends() -> tuple[int, ...]:
        with connection.cursor() as cursor:
            cursor.execute(_BACKENDS, (name,))
            return tuple(pid for (pid,) in cursor.fetchall())

    return Meter(family(coming.url.process.pid), backends)
