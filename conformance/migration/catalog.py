"""A database's schema as the system catalogues tell it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from psycopg2.extras import RealDictCursor

if TYPE_CHECKING:
    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

Volatility = Literal["immutable", "stable", "volatile"]


@dataclass(frozen=True)
class Column:
    """One column. `default` is SQL, `labels` are an enum's values."""

    table: str
    name: str
    type: str
    kind: str
    category: str
    modifier: int
    not_null: bool
    identity: bool
    generated: bool
    default: str | None
    volatility: Volatility | None
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.table}.{self.name}"

    @property
    def quoted(self) -> str:
        """Its name as SQL."""
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def required(self) -> bool:
        """Whether an INSERT must give a value."""
        return self.not_null and self.default is None and not (self.identity or self.generated)


@dataclass(frozen=True)
class Index:
    """One index; `columns` are its key columns in order, `predicate` the WHERE of a partial one."""

    name: str
    table: str
    columns: tuple[str, ...]
    unique: bool
    valid: bool
    ready: bool
    predicate: str | None

    def __str__(self) -> str:
        kind = "unique index" if self.unique else "index"
        where = f" WHERE {self.predicate}" if self.predicate else ""
        usable = "" if self.valid and self.ready else ", not valid"
        return f"{kind} {self.name} on {self.table} ({', '.join(self.columns)}){where}{usable}"


@dataclass(frozen=True)
class ForeignKey:
    """Columns of a table that name a row of its parent."""

    table: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """All tables at one moment: columns and indexes by table, the file that each table lies in."""

    columns: dict[str, tuple[Column, ...]]
    files: dict[str, int]
    indexes: tuple[Index, ...]
    foreign_keys: tuple[ForeignKey, ...]
    constraints: tuple[tuple[Any, ...], ...]

    def column(self, name: str) -> Column | None:
        """The column called `table.column`."""
        table, _, column = name.rpartition(".")
        return next((c for c in self.columns.get(table, ()) if c.name == column), None)

    def added_since(self, before: Schema) -> list[Column]:
        """The columns that an earlier schema did not have."""
        known = {str(c) for columns in before.columns.values() for c in columns}
        return [c for columns in self.columns.values() for c in columns if str(c) not in known]

    def shape(self) -> tuple[Any, ...]:
        """Everything but the files, for a comparison of two databases."""
        return self.columns, self.indexes, self.constraints


def read(connection: Connection) -> Schema:
    """The schema as it stands."""
    columns: dict[str, tuple[Column, ...]] = {}
    for row in query(connection, "columns"):
        column = Column(**{**row, "labels": tuple(row["labels"])})
        columns[column.table] = (*columns.get(column.table, ()), column)
    return Schema(
        columns=columns,
        files={row["name"]: row["file"] for row in query(connection, "tables")},
        indexes=tuple(Index(**_frozen(row)) for row in query(connection, "indexes")),
        foreign_keys=tuple(ForeignKey(**_frozen(row)) for row in query(connection, "foreign_keys")),
        constraints=tuple(tuple(row.values()) for row in query(connection, "constraints")),
    )


def query(connection: Connection, name: str, **values: Any) -> list[dict[str, Any]]:
    """The rows of a named query of `sql/migration.sql`."""
    with connection.cursor(cursor_factory=RealDictCursor) as cursor:
        cursor.execute(_queries()[name], values or None)
        return [dict(row) for row in cursor.fetchall()]


def _frozen(row: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}


@cache
def _queries() -> dict[str, str]:
    text = (files("conformance.migration") / "migration.sql").read_text("utf-8")
    _, *parts = re.split(r"^-- name: (\w+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))
