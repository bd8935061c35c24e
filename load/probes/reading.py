"""The probes' connection to a database: it asks what is counted there, and is itself not counted."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any, Self

import psycopg2
from psycopg2.extras import RealDictCursor

from load.probes.facts import NotMeasured

# Stands in each statement of the probes, so that they find themselves and leave themselves out.
MARK = "horde-conformance probe"

_parts = re.split(r"^-- name: (\w+)$", (files(__package__) / "queries.sql").read_text("utf-8"), flags=re.MULTILINE)
queries: dict[str, str] = {
    # Within the statement: a comment before it is not kept.
    name: text.strip().replace("SELECT", f"SELECT /* {MARK} */", 1)
    for name, text in zip(_parts[1::2], _parts[2::2], strict=True)
}
"""SQL by name."""

_CONNECTING = 5
# A probe that waits behind the load would measure itself.
_OPTIONS = "-c statement_timeout=5s -c lock_timeout=1s -c idle_session_timeout=0"

Row = dict[str, Any]


class Reader:
    """One connection, opened when it is first needed and again where it broke. Not for several threads."""

    def __init__(self, database_url: str) -> None:
        self._url = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", database_url)
        self._connection: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()

    def rows(self, name: str, **values: Any) -> list[Row]:
        """The rows of a named query.

        Raises:
            psycopg2.Error: the database cannot be reached, or refuses it.
        """
        return self.execute(queries[name], values)

    def execute(self, statement: str, values: Row | None = None) -> list[Row]:
        """The rows of a statement, in a transaction of its own. Raises as `rows`."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg2.connect(
                self._url, connect_timeout=_CONNECTING, options=_OPTIONS, application_name=MARK
            )
            self._connection.autocommit = True
        with self._connection.cursor(cursor_factory=RealDictCursor) as cursor:
            cursor.execute(statement, values)
            return [dict(row) for row in cursor.fetchall()] if cursor.description else []

    def ask(self, what: str, name: str, **values: Any) -> list[Row] | NotMeasured:
        """The rows of a named query; where the database refuses, that and why."""
        try:
            return self.rows(name, **values)
        except psycopg2.Error as error:
            return NotMeasured(not_measured=what, reason=reason(error))

    @property
    def database(self) -> str:
        """The database's name, as the URL has it."""
        return str(psycopg2.extensions.parse_dsn(self._url)["dbname"])


def reason(error: Exception) -> str:
    """What a database says is wrong, in one line."""
    return next((line.rstrip(".") for line in str(error).strip().splitlines() if line), type(error).__name__)
