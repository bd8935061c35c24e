"""The target's database, where we may read or write it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any, Self

import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError

from conformance.errors import CouldNotRun

Row = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    """A statement that was run for a check, when by the monotonic clock, and the rows that it gave (None: none)."""

    text: str
    values: dict[str, Any]
    rows: list[Row] | None
    moment: float


@dataclass(frozen=True)
class Figures:
    """A table's statistics: blocks touched out of line, rows updated, when it was last scanned, and the time now.

    `scanned` is None where the server does not say it (before PostgreSQL 16) or the table never was.
    """

    out_of_line: int
    updates: int
    scanned: datetime | None
    now: datetime


class Database:
    """Runs the profile's statements; each in a transaction of its own. `told` are those of one check."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.told: list[Statement] = []
        self.engine = sqlalchemy.create_engine(_psycopg2(url), pool_pre_ping=True)

    def anew(self) -> Self:
        """The same database on connections of its own, for another process."""
        return type(self)(self.url)

    def close(self) -> None:
        """Give all connections back to the server."""
        self.engine.dispose()

    def rows(self, statement: str, *, on: sqlalchemy.Connection | None = None, **values: Any) -> list[Row]:
        """The rows of a statement, run on a connection of a session of the caller's where one is given.

        Raises:
            CouldNotRun: the profile has no such statement, or the database refuses it.
        """
        with nullcontext(on) if on is not None else self.session() as connection:
            result = connection.execute(_text(statement), values)
            rows = [dict(row) for row in result.mappings()] if result.returns_rows else []
        self.told.append(Statement(statement, values, rows, time.monotonic()))
        return rows

    def run(self, statement: str, **values: Any) -> int:
        """Run a statement and give the number of rows that it touched.

        Raises:
            CouldNotRun: the profile has no such statement, or the database refuses it.
        """
        with self.session() as connection:
            touched = connection.execute(_text(statement), values).rowcount
        self.told.append(Statement(statement, values, None, time.monotonic()))
        return touched

    @contextmanager
    def session(self) -> Iterator[sqlalchemy.Connection]:
        """One connection, in one transaction that is committed at the end.

        Raises:
            CouldNotRun: the database refuses what is done in it.
        """
        try:
            with self.engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise CouldNotRun(f"the database refuses: {str(error).splitlines()[0]}") from None

    def holding(self, tables: Sequence[str], word: str) -> list[str]:
        """The tables of these in which some row holds a word, in whichever column.

        Raises:
            CouldNotRun: there is no such table.
        """
        with self.session() as connection:
            return [table for table in tables if connection.scalar(_rows_with(table, word))]

    def figures_of(self, table: str) -> Figures:
        """A table's statistics, as far as the backends that touched it have reported: at most once a second each.

        Raises:
            CouldNotRun: there is no such table, or it has nothing out of line.
        """
        with self.session() as connection:
            row = connection.execute(_text(_QUERIES["figures_of"]), {"name": table}).mappings().first()
        if row is None:
            raise CouldNotRun(f"the database has no table {table} with values out of line")
        return Figures(**row)

    def touched_by(self, statement: str, table: str, **values: Any) -> int:
        """How many blocks out of line of a table a statement of ours touches, its rows read to the end.

        Raises:
            CouldNotRun: the database refuses it, or the table has nothing out of line.
        """
        before = self.figures_of(table).out_of_line
        with self.session() as connection:
            self.rows(statement, on=connection, **values)
            connection.execute(_text(_QUERIES["report_figures"]))
        return self.figures_of(table).out_of_line - before

    def waiting_behind(self, holder: sqlalchemy.Connection) -> int:
        """How many sessions wait for what this connection holds locked, or behind one that does."""
        with self.session() as connection:
            return int(connection.execute(_text(_QUERIES["waiting_behind"]), {"pid": backend(holder)}).scalar_one())


def backend(connection: sqlalchemy.Connection) -> int:
    """The process id of a connection's backend."""
    # The driver knows it without a statement, which a waiting connection could not carry out.
    return int(connection.connection.driver_connection.info.backend_pid)  # type: ignore[union-attr]


def _named(source: str) -> dict[str, str]:
    parts = re.split(r"^-- name: (\w+)$", source, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


_QUERIES = _named((files("conformance") / "database.sql").read_text("utf-8"))


def _rows_with(table: str, word: str) -> sqlalchemy.Select[Any]:
    held = sqlalchemy.table(table).alias("held")
    whole = sqlalchemy.cast(sqlalchemy.literal_column("held"), sqlalchemy.Text)
    return sqlalchemy.select(sqlalchemy.func.count()).select_from(held).where(sqlalchemy.func.strpos(whole, word) > 0)


def _text(statement: str) -> sqlalchemy.TextClause:
    if not statement.strip():
        raise CouldNotRun("the profile has no such SQL statement")
    return sqlalchemy.text(statement)


def _psycopg2(url: str) -> sqlalchemy.URL:
    return sqlalchemy.make_url(url).set(drivername="postgresql+psycopg2")
