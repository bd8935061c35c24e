"""Rows for any schema, made from what its catalogues say: types, NOT NULL, foreign keys, unique columns.

A row is a function of its number: each column has an SQL expression over `n`, as a rule another one than its
neighbours', and a foreign key has its parent's expression over the parent's number. So a thousand or a hundred
thousand rows are one INSERT … SELECT a table, made by the server itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from conformance.errors import CouldNotRun

if TYPE_CHECKING:
    from collections.abc import Mapping

    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

    from conformance.migration.catalog import Column, ForeignKey, Schema

# Numbers begin here, away from rows that a baseline brings along and from what its sequences give first.
FIRST = 1000

_BY_KIND = {
    "bool": "{n} % 2 = 0",
    "int2": "{n} % 32000",
    "int4": "{n}",
    "int8": "{n}",
    "oid": "{n}",
    "float4": "{n}",
    "float8": "{n}",
    "uuid": "lpad(to_hex{n}, 32, '0')",
    "json": "json_build_object('n', {n})",
    "jsonb": "jsonb_build_object('n', {n})",
    "bytea": "convert_to({n}::text, 'UTF8')",
    "date": "date '2020-01-01' + {n} % 10000",
    "time": "time '00:00' + {n} * interval '1 second'",
    "interval": "{n} * interval '1 second'",
    "timestamp": "timestamp '2020-01-01' + {n} * interval '1 second'",
    "timestamptz": "timestamptz '2020-01-01 UTC' + {n} * interval '1 second'",
    "inet": "inet '10.0.0.0' + {n}",
    "cidr": "cidr(inet '10.0.0.0' + {n})",
}
_TEXTS = ("text", "varchar", "bpchar", "name", "citext")
_HEADER = 4  # what PostgreSQL adds to a length that it keeps as a type's modifier


@dataclass(frozen=True)
class Numbers:
    """The rows of a table: `count` of them, from number `first` on."""

    count: int
    first: int = FIRST


class Sower:
    """Makes rows for one schema; its columns are those that the INSERTs name."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._order = _parents_first(schema)

    def sow(
        self,
        connection: Connection,
        numbers: Mapping[str, Numbers],
        *,
        parents: Mapping[str, Numbers] | None = None,
        sparse: bool = False,
    ) -> None:
        """Insert rows into these tables, parents first.

        Args:
            connection: in autocommit.
            numbers: which rows of which table.
            parents: the rows that foreign keys may name; those being made, unless given.
            sparse: name only the columns that an INSERT must name.

        Raises:
            psycopg2.Error: the database refuses them.
            CouldNotRun: no rows can be made up for this schema.
        """
        with connection.cursor() as cursor:
            for table in (t for t in self._order if t in numbers):
                cursor.execute(self.insert(table, numbers[table], parents or numbers, sparse=sparse))

    def insert(self, table: str, numbers: Numbers, parents: Mapping[str, Numbers], *, sparse: bool = False) -> str:
        """The INSERT of these rows of a table."""
        columns = [c for c in self.schema.columns[table] if not c.generated and (c.required or not sparse)]
        names = ", ".join(c.quoted for c in columns)
        values = ", ".join(self._value(c, "series.n", parents) for c in columns)
        last = numbers.first + numbers.count - 1
        target = f"{table} ({names}) OVERRIDING SYSTEM VALUE" if columns else table
        series = f"generate_series({numbers.first}, {last}) AS series (n)"
        return f"INSERT INTO {target} SELECT {values} FROM {series}"

    def everywhere(self, count: int, first: int = FIRST) -> dict[str, Numbers]:
        """The same rows of every table."""
        return dict.fromkeys(self.schema.columns, Numbers(count, first))

    def parents(self, count: int, first: int) -> dict[str, Numbers]:
        """The same rows of every table that others name."""
        return dict.fromkeys((key.parent for key in self.schema.foreign_keys), Numbers(count, first))

    def exhausted(self, parents: Mapping[str, Numbers]) -> list[str]:
        """Those of these tables in which no further row can name the same parents: each may be named once only."""
        return [t for t in parents if any(self._names_each_once(key) for key in self._keys(t))]

    def with_parents(self, numbers: Mapping[str, Numbers], few: int) -> dict[str, Numbers]:
        """These rows and those that they need: `few` of a parent, or as many where each may be named once only."""
        needed = dict(numbers)
        for table in reversed(list(self._order)):
            for key in self._keys(table) if table in needed else ():
                count = needed[table].count
                wanted = count if self._names_each_once(key) else min(few, count)
                if key.parent != table and (key.parent not in needed or needed[key.parent].count < wanted):
                    needed[key.parent] = Numbers(wanted)
        return needed

    def _names_each_once(self, key: ForeignKey) -> bool:
        unique = [i for i in self.schema.indexes if i.unique and i.table == key.table]
        return any(set(index.columns) <= set(key.columns) for index in unique)

    def _keys(self, table: str) -> list[ForeignKey]:
        return [key for key in self.schema.foreign_keys if key.table == table]

    def _value(self, column: Column, n: str, parents: Mapping[str, Numbers]) -> str:
        key = next((k for k in self._keys(column.table) if column.name in k.columns), None)
        if key is None:
            return f"({_plain(column, f'({n} + {_salt(column)})')})::{column.type}"
        rows = parents.get(key.parent)
        if rows is None or self._order[key.parent] >= self._order[column.table]:
            return _empty(column, f"it names a row of {key.parent}, which is not there yet")
        parent = self.schema.column(f"{key.parent}.{key.parent_columns[key.columns.index(column.name)]}")
        assert parent is not None
        return self._value(parent, f"({rows.first} + ({n} - {FIRST}) % {rows.count})", parents)


def _parents_first(schema: Schema) -> dict[str, int]:
    """Each table's place in an order in which a table stands behind those that its rows name."""
    ordered: list[str] = []
    begun: set[str] = set()

    def visit(table: str) -> None:
        if table not in begun:
            begun.add(table)
            for key in schema.foreign_keys:
                if key.table == table and key.parent in schema.columns:
                    visit(key.parent)
            ordered.append(table)

    for table in schema.columns:
        visit(table)
    return {table: place for place, table in enumerate(ordered)}


def _salt(column: Column) -> int:
    # A migration that copies one column over another must not go unseen.
    return crc32(column.name.encode()) % 97


def _plain(column: Column, n: str) -> str:
    if column.labels:
        return "'" + column.labels[0].replace("'", "''") + "'"
    if column.category == "A":
        return "'{}'"
    if column.kind in _TEXTS:
        length = column.modifier - _HEADER if column.modifier > _HEADER else 63
        return f"right('Row ' || {n}, {length})"
    if column.kind == "numeric":
        return f"{n} % {_numeric_bound(column.modifier)}"
    if column.kind in _BY_KIND:
        return _BY_KIND[column.kind].replace("{n}", n)
    return _empty(column, f"no value of type {column.type} can be made up")


def _numeric_bound(modifier: int) -> int:
    digits = ((modifier - _HEADER) >> 16) - ((modifier - _HEADER) & 0x7FF) if modifier > _HEADER else 9
    return int(10 ** max(1, min(9, digits)))


def _empty(column: Column, reason: str) -> str:
    if column.not_null:
        raise CouldNotRun(f"no row can be made up for {column}: {reason}, and it is NOT NULL")
    return "NULL"


def rows_of(connection: Connection, schema: Schema) -> dict[str, list[str]]:
    """Every row of every table, as text, in the columns that the schema has; sorted."""
    found = {}
    with connection.cursor() as cursor:
        for table, columns in schema.columns.items():
            names = ", ".join(c.quoted for c in columns)
            cursor.execute(f"SELECT ROW({names})::text FROM {table}")
            found[table] = sorted(text for (text,) in cursor.fetchall())
    return found
