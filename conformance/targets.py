"""What is judged: a server at a URL, or our reference on a fresh database."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from conformance import migration
from conformance.errors import BadProfile, ReferenceNotStarted
from conformance.profile import Profile
from fixtures.postgres import PostgresError, Server

# Seconds that a server gets to come up, and to go.
_START = 20.0
_STOP = 5.0
# Between two looks at what it printed.
_GLANCE = 0.02
_LONGEST_LOG = 1024 * 1024


@dataclass(frozen=True)
class Target:
    """A running server: its root URL and, where we may see it, its database's URL."""

    url: str
    database_url: str | None = None


@contextmanager
def embedded(profile: Profile, postgres: Server, fault: str | None = None, *, port: int = 0) -> Iterator[Target]:
    """The reference on a fresh database with the profile's baseline and migration; gone at the end.

    Raises:
        ReferenceNotStarted: the server does not come up.
    """
    with (
        fresh_database(profile, postgres) as database_url,
        serving(profile.server.command, database_url, fault=fault, port=port) as url,
    ):
        yield Target(url, database_url)


@contextmanager
def fresh_database(profile: Profile, postgres: Server) -> Iterator[str]:
    """The URL of a database with the profile's baseline and migration; gone at the end."""
    template = postgres.make_template("reference", lambda url: migration.build(url, profile.migration))
    database = postgres.create_database(template)
    try:
        yield postgres.url(database)
    finally:
        # Where PostgreSQL itself is gone, so is the database: what was judged must not be lost over it.
        with suppress(PostgresError):
            postgres.drop_database(database)


@dataclass(frozen=True)
class Started:
    """A server's process that may not be ready yet."""

    process: subprocess.Popen[bytes]
    log: IO[bytes]

    def url(self) -> str:
        """Its base URL, once it is ready.

        Raises:
            ReferenceNotStarted: it ends, or says no URL in time.
        """
        return _url(self.process, self.log)


@contextmanager
def serving(command: tuple[str, ...], database_url: str, *, fault: str | None = None, port: int = 0) -> Iterator[str]:
    """A server started by a profile's command on a database, once it is ready; its base URL. Ended at the end.

    Raises:
        ReferenceNotStarted: it does not come up.
        BadProfile: the command has a placeholder that there is not.
    """
    with started(command, database_url, fault=fault, port=port) as server:
        yield server.url()


@contextmanager
def started(
    command: tuple[str, ...], database_url: str, *, fault: str | None = None, port: int = 0
) -> Iterator[Started]:
    """A server that is being started by a profile's command on a database. Ended at the end.

    The command's process prints a line that ends with its URL when it is ready, and is told by the end of its
    standard input that we are gone, even when we are killed.

    Raises:
        ReferenceNotStarted: there is no such program.
        BadProfile: the command has a placeholder that there is not.
    """
    values = {"python": sys.executable, "database_url": database_url, "port": port}
    try:
        argv = [part.format(**values) for part in command]
    except (KeyError, ValueError, IndexError) as error:
        raise BadProfile(
            f"The profile's [server] command has a placeholder that there is not: {error}.",
            f"There are {', '.join('{' + name + '}' for name in values)}.",
        ) from None
    if fault is not None:
        argv = [*("fixtures.faults" if part == "fixtures.horde" else part for part in argv), "--fault", fault]
    # A file, not a pipe: a server that says much must not stop because nobody listens.
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True)
        except OSError as error:
            raise ReferenceNotStarted(
                f"The server did not start: {error}.", "Does the profile's [server] command name a program?"
            ) from None
        try:
            yield Started(process, log)
        finally:
            _end(process)


def _url(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    deadline = time.monotonic() + _START
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        said = os.pread(log.fileno(), _LONGEST_LOG, 0).decode("utf-8", "replace")
        ready = re.search(r"(https?://\S+)\s*\n", said)
        if ready:
            return ready[1]
        if ended:
            break
        time.sleep(_GLANCE)
    last = said.strip().splitlines()[-3:]
    raise ReferenceNotStarted(
        f"The server did not start: {(' / '.join(last) or 'it printed no URL').rstrip('.')}.",
        "Run the profile's [server] command by hand to see all that it says.",
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.terminate()
    try:
        process.wait(timeout=_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
