"""The database as seeding uses it: transactions, maintenance, and a run's lock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from load.errors import SeedingFailed
from load.seeding import marks

_parts = re.split(r"^-- name: (\w+)$", (files(__package__) / "queries.sql").read_text("utf-8"), flags=re.MULTILINE)
queries: dict[str, str] = dict(zip(_parts[1::2], _parts[2::2], strict=True))
"""SQL by name."""

# The first of an advisory lock's two numbers; the second is the run.
_SPACE = 0x10AD


class Database:
    """A database by its URL. Each use has a connection of its own, in UTC, and leaves none behind."""

    def __init__(self, url: str) -> None:
        self.url = url
        driven = sqlalchemy.make_url(url).set(drivername="postgresql+psycopg2")
        options = {"options": "-c timezone=UTC", "application_name": "horde-conformance load"}
        self._engine = sqlalchemy.create_engine(driven, poolclass=NullPool, connect_args=options)

    @contextmanager
    def transaction(self) -> Iterator[sqlalchemy.Connection]:
        """One transaction, committed at the end.

        Raises:
            SeedingFailed: the database cannot be reached, or refuses what is done.
        """
        with _told(), self._engine.begin() as connection:
            yield connection

    def row(self, statement: str, **values: Any) -> dict[str, Any]:
        """The one row of a statement."""
        with self.transaction() as connection:
            return dict(connection.execute(sqlalchemy.text(statement), values).mappings().one())

    def maintain(self, statements: Sequence[str]) -> None:
        """Run statements that no transaction takes, such as VACUUM."""
        with _told(), self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for statement in statements:
                connection.execute(sqlalchemy.text(statement))

    @contextmanager
    def holding(self, run: str) -> Iterator[bool]:
        """Hold a run as alive for the time of a `with`; false where somebody else holds it.

        The server itself lets go of it when the process that holds it dies, however it dies.
        """
        values = {"space": _SPACE, "number": marks.number(run)}
        with _told():
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with connection:
            yield bool(connection.execute(sqlalchemy.text(queries["hold"]), values).scalar_one())


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0].rstrip(".")
        raise SeedingFailed(f"The database refuses: {said}.", "Is it the target's, and may its role write?") from None
