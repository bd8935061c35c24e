"""Yesterday's database and the migration that is judged on it.

The baseline and the migration are run statement by statement in autocommit, as psql does, on databases that the
harness makes for itself; a target's own database is never touched.
"""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

from conformance.errors import CouldNotRun
from conformance.migration import catalog, files
from conformance.migration.rows import FIRST, Numbers, Sower, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from conformance.profile import Migration as Settings
    from fixtures.postgres import Server


def parse(settings: Settings) -> None:
    """Read both files and split them into statements. Raises BadMigration."""
    files.read(settings.baseline)
    files.read(settings.file)


def check(server: Server, settings: Settings) -> None:
    """Let the server parse both files, and run the baseline; leaves nothing behind. Raises BadMigration."""
    name = server.create_database()
    try:
        with closing(connect(server.url(name))) as connection:
            for path in (settings.baseline, settings.file):
                files.parse(files.read(path), connection)
            _run_baseline(files.read(settings.baseline), connection)
    finally:
        server.drop_database(name)


def build(url: str, settings: Settings) -> None:
    """Make an empty database today's: baseline, then migration. Raises BadMigration."""
    with closing(connect(url)) as connection:
        _run_baseline(files.read(settings.baseline), connection)
    # The baseline may have left settings of its own in its session, as a dump does.
    with closing(connect(url)) as connection:
        try:
            files.run(files.read(settings.file), connection)
        except files.StatementRefused as refusal:
            raise files.BadMigration(
                f"The migration does not run on the baseline: {refusal}.", "Give the two files that go together."
            ) from None


def connect(url: str) -> Connection:
    """A connection in autocommit, as psql's is."""
    connection = psycopg2.connect(url)
    connection.autocommit = True
    return connection


class Rehearsal:
    """Makes databases as they stood before the migration, each of its own, with the migration to run on them."""

    def __init__(self, server: Server | None, settings: Settings) -> None:
        if server is None:
            raise CouldNotRun("there is no PostgreSQL server on which databases may be made")
        self.server = server
        self.settings = settings
        self.baseline = files.read(settings.baseline)
        self.script = files.read(settings.file)

    @contextmanager
    def yesterday(self) -> Iterator[Database]:
        """A database that holds the baseline alone; dropped at the end."""
        template = self.server.make_template(f"baseline {self.baseline.path}", self._run_baseline)
        name = self.server.create_database(template)
        try:
            with closing(connect(self.server.url(name))) as connection:
                yield Database(self.server.url(name), connection, self.script)
        finally:
            self.server.drop_database(name)

    def _run_baseline(self, url: str) -> None:
        with closing(connect(url)) as connection:
            _run_baseline(self.baseline, connection)


class Database:
    """One of yesterday's databases: `schema` is yesterday's, until it is read again."""

    def __init__(self, url: str, connection: Connection, script: files.Script) -> None:
        self.url = url
        self.connection = connection
        self.script = script
        self.schema = catalog.read(connection)

    def migrate(self, statements: int | None = None) -> catalog.Schema:
        """Run the migration, or its first statements only, and give the schema that it leaves.

        Raises:
            AssertionError: the database refuses one of the statements.
        """
        with closing(connect(self.url)) as connection:
            self.run_on(connection, self.script.statements[:statements])
        return self.read_schema()

    def run_on(self, connection: Connection, statements: Sequence[files.Statement]) -> None:
        """Run some of the migration's statements on a connection. Raises AssertionError where one is refused."""
        try:
            files.run(files.Script(self.script.path, tuple(statements)), connection)
        except files.StatementRefused as refusal:
            raise AssertionError(str(refusal)) from None

    def read_schema(self) -> catalog.Schema:
        """The schema as it stands now."""
        return catalog.read(self.connection)

    def sow(self, count: int) -> None:
        """Put as many rows into every table, each with a value in each of yesterday's columns.

        Raises:
            CouldNotRun: no rows can be made up for this schema.
        """
        with _must_work():
            self.insert(count)

    def sow_sparse(self, count: int) -> None:
        """Put as many rows into every table that have values where they must only. Raises CouldNotRun."""
        with _must_work():
            self.insert_sparse(count)

    def insert(self, count: int) -> None:
        """Run yesterday's INSERTs that name every column, for as many rows of every table.

        Raises:
            psycopg2.Error: the database refuses one.
        """
        sower = Sower(self.schema)
        sower.sow(self.connection, sower.everywhere(count))

    def insert_sparse(self, count: int) -> None:
        """Run yesterday's INSERTs that name only what they have to, for as many rows of every table.

        Raises:
            psycopg2.Error: the database refuses one.
        """
        sower = Sower(self.schema)
        # Parents of their own, which no other row names: a row of a table of pairs must name a new pair.
        parents = sower.parents(count, first=FIRST + count)
        sower.sow(self.connection, parents)
        numbers = sower.everywhere(count, first=FIRST + 2 * count)
        for table in sower.exhausted(parents):
            del numbers[table]
        sower.sow(self.connection, numbers, parents=parents, sparse=True)

    def grow(self, tables: Iterable[str], count: int) -> None:
        """Put many rows into these tables, and into those that their rows name as few as will do.

        Raises:
            CouldNotRun: no rows can be made up for this schema.
        """
        sower = Sower(self.schema)
        # Rows that fit need not be looked up again in their parents; a role that may not say so waits twice as long.
        with suppress(psycopg2.errors.InsufficientPrivilege):
            self.run("SET session_replication_role = replica")
        with _must_work():
            sower.sow(self.connection, sower.with_parents(dict.fromkeys(tables, Numbers(count)), few=100))
        with suppress(psycopg2.errors.InsufficientPrivilege):
            self.run("RESET session_replication_role")

    def rows(self) -> dict[str, list[str]]:
        """Every row of every table in yesterday's columns, as text."""
        return rows_of(self.connection, self.schema)

    def values(self, column: catalog.Column) -> list[str | None]:
        """What a column reads in each row, as text."""
        return [text for (text,) in self.ask(f"SELECT {column.quoted}::text FROM {column.table}")]

    def other_than_default(self, column: catalog.Column) -> list[str | None]:
        """What a column reads, as text, in rows where it is not its default."""
        default = f"({column.default or 'NULL'})::{column.type}::text"
        place = f"{column.quoted}::text"
        where = f"WHERE {place} IS DISTINCT FROM {default}"
        return [text for (text,) in self.ask(f"SELECT {place} FROM {column.table} {where}")]

    def run(self, statement: str, *values: object) -> None:
        """Run a statement of the check's own. Raises psycopg2.Error."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        with self.connection.cursor() as cursor:
            cursor.execute(statement, values or None)
            return cursor.fetchall()


def said(error: psycopg2.Error) -> str:
    """What the database said, on one line."""
    return " ".join((error.diag.message_primary or str(error)).split())


@contextmanager
def _must_work() -> Iterator[None]:
    try:
        yield
    except psycopg2.Error as error:
        raise CouldNotRun(f"no rows can be made up for the baseline: {said(error)}") from None


def _run_baseline(script: files.Script, connection: Connection) -> None:
    try:
        files.run(script, connection)
    except files.StatementRefused as refusal:
        raise files.BadMigration(
            f"The baseline does not run on an empty database: {refusal}.",
            "Give the schema as it stood before the migration, made by `pg_dump --schema-only --no-owner`.",
        ) from None
