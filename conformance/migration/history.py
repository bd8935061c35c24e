"""A database that a server worked on before the migration and works on after it."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from conformance import migration, preflight, targets
from conformance.actors import Requester, Worker
from conformance.client import Client
from conformance.errors import CouldNotRun, ReferenceNotStarted
from conformance.migration import catalog
from conformance.stage import Resources, Stage
from conformance.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

    from conformance.actors import Request
    from conformance.migration.rehearsal import Rehearsal


class History:
    """One database, first under yesterday's server, then migrated, then under today's.

    There is but one server to start: ours to judge. What it wrote into yesterday's columns is what yesterday's
    server would have written; the columns that the migration adds are dropped again before it is run.
    """

    def __init__(self, stage: Stage, rehearsal: Rehearsal) -> None:
        self.stage = stage
        self.rehearsal = rehearsal

    def __enter__(self) -> Self:
        with self.rehearsal.yesterday() as database:
            self._yesterday = database.schema
        self._name = self.rehearsal.server.create_database()
        self.url = self.rehearsal.server.url(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        self.rehearsal.server.drop_database(self._name)

    @contextmanager
    def yesterdays_server(self) -> Iterator[Stage]:
        """A stage on the server as it should be. Raises CouldNotRun where it does not come up."""
        migration.build(self.url, self.rehearsal.settings)
        with targets.serving(self.stage.profile.server.command, self.url) as url, self._client(url) as client:
            resources = Resources(client, preflight.ready(client)[0], None, self.stage.resources.seed)
            yield Stage(resources, self.stage.name)

    def migrate(self) -> None:
        """Take back what the migration added, and run it. Raises AssertionError where it is refused."""
        with closing(migration.connect(self.url)) as connection:
            self._take_back(connection)
            migration.Database(self.url, connection, self.rehearsal.script).migrate()

    @contextmanager
    def todays_server(self) -> Iterator[Today]:
        """The server that is judged, on the migrated database. Raises AssertionError where it does not come up."""
        command, fault = self.stage.profile.server.command, self.stage.resources.fault
        try:
            with targets.serving(command, self.url, fault=fault) as url, self._client(url) as client:
                yield Today(client)
        except ReferenceNotStarted as reason:
            raise AssertionError(f"on the migrated database: {reason.what}") from None

    @contextmanager
    def _client(self, url: str) -> Iterator[Client]:
        with Client(url, self.stage.profile) as client:
            # What is said here is evidence of the same check.
            client.recorder = self.stage.client.recorder
            yield client

    def _take_back(self, connection: Connection) -> None:
        today = catalog.read(connection)
        kept = {index.name for index in self._yesterday.indexes}
        with connection.cursor() as cursor:
            for index in today.indexes:
                if index.name not in kept:
                    cursor.execute(f"DROP INDEX IF EXISTS {index.name}")
            for column in today.added_since(self._yesterday):
                if column.table in self._yesterday.columns:
                    cursor.execute(f"ALTER TABLE {column.table} DROP COLUMN {column.quoted}")
            for table in today.columns.keys() - self._yesterday.columns.keys():
                cursor.execute(f"DROP TABLE {table} CASCADE")
        if catalog.read(connection).shape() != self._yesterday.shape():
            raise CouldNotRun("the migration changes more than columns and indexes, which cannot be taken back")


@dataclass(frozen=True)
class Today:
    """The people of yesterday at today's server."""

    client: Client

    def again(self, worker: Worker, **declared: object) -> Worker:
        """The same worker, with a declaration changed."""
        told = {name: value for name, value in declared.items() if value is not None}
        return replace(worker, client=self.client, declaration={**worker.declaration, **told})

    def has_finished(self, request: Request) -> bool:
        """Whether the request is found, done, with a reply."""
        answer = Requester(self.client, request.requester.account).try_status(request)
        return answer.accepted and Status(answer).done and Status(answer).finished == 1
