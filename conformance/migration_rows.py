"""Rows for any schema, made from what its catalogues say: types, NOT NULL, foreign keys, unique columns.

A row is a function of its number: each column has an SQL expression over `n`, and a foreign key has its parent's
expression over the parent's number. So a thousand or a hundred thousand rows are one INSERT … SELECT a table, made
by the server itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg2

from conformance.errors import CouldNotRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

    from conformance.migration_catalog import Column, ForeignKey, Schema

# Numbers of rows begin here, away from rows that a baseline brings along and from what sequences give first.
FIRST = 1000

_BY_KIND = {
    "bool": "{n} % 2 = 0",
    "int2": "{n} % 32000",
    "int4": "{n}",
    "int8": "{n}",
    "oid": "{n}",
    "float4": "{n}",
    "float8": "{n}",
    "uuid": "md5(({n})::text)",
    "json": "json_build_object('n', {n})",
    "jsonb": "jsonb_build_object('n', {n})",
    "bytea": "convert_to(({n})::text, 'UTF8')",
    "date": "date '2020-01-01' + ({n}) % 10000",
    "time": "time '00:00' + ({n}) * interval '1 second'",
    "interval": "({n}) * interval '1 second'",
    "timestamp": "timestamp '2020-01-01' + ({n}) * interval '1 second'",
    "timestamptz": "timestamptz '2020-01-01 UTC' + ({n}) * interval '1 second'",
    "inet": "inet '10.0.0.0' + ({n})",
    "cidr": "cidr(inet '10.0.0.0' + ({n}))",
    "xml": "xmlelement(name n, {n})",
}
_TEXTS = ("text", "varchar", "bpchar", "name", "citext")
_HEADER = 4  # what PostgreSQL adds to a length that it keeps as a type's modifier


@dataclass(frozen=True)
class Numbers:
    """The rows of a table: `count` of them, from number `first` on."""

    count: int
    first: int = FIRST

    @property
    def last(self) -> int:
        return self.first + self.count - 1


@dataclass(frozen=True)
class Sower:
    """Makes rows for one schema; `schema` says which columns the INSERTs name."""

    schema: Schema

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
            numbers: which rows of which table.
            parents: the rows that foreign keys may name; those being made, unless given.
            sparse: name only the columns that an INSERT must name.

        Raises:
            psycopg2.Error: the database refuses them.
            CouldNotRun: no rows can be made for this schema.
        """
        for table in self.in_order(numbers):
            statement = self.insert(table, numbers[table], parents or numbers, sparse=sparse)
            with connection.cursor() as cursor:
                cursor.execute(statement)

    def insert(self, table: str, numbers: Numbers, parents: Mapping[str, Numbers], *, sparse: bool = False) -> str:
        """The INSERT for these rows of a table."""
        columns = [c for c in self.schema.columns[table] if not c.computed and (c.required or not sparse)]
        source = f"FROM generate_series({numbers.first}, {numbers.last}) AS series (n)"
        if not columns:
            # Every column has a default: as many rows of defaults as were asked for.
            return f"INSERT INTO {table} SELECT {source}"
        names = ", ".join(f'"{c.name}"' for c in columns)
        values = ",\n       ".join(self._value(c, "series.n", parents) for c in columns)
        return f"INSERT INTO {table} ({names})\nSELECT {values}\n{source}"

    def in_order(self, tables: Iterable[str]) -> list[str]:
        """These tables, each after those that its rows name."""
        wanted, ordered, open_tables = set(tables), dict[str, None](), set[str]()

        def visit(table: str) -> None:
            if table in ordered or table in open_tables:
                return
            open_tables.add(table)
            for key in self._keys_of(table):
                if key.parent in wanted:
                    visit(key.parent)
            ordered[table] = None

        for table in sorted(wanted):
            visit(table)
        return list(ordered)

    def with_parents(self, numbers: Mapping[str, Numbers], few: int) -> dict[str, Numbers]:
        """These rows and those that they need: `few` of each parent, or one each where it may be named once only."""
        needed = dict(numbers)
        for table in reversed(self.in_order(self.schema.columns)):
            if table not in needed:
                continue
            for key in self._keys_of(table):
                once = any(
                    i.unique and i.table == table and set(i.columns) <= set(key.columns) for i in self.schema.indexes
                )
                count = needed[table].count if once else min(few, needed[table].count)
                known = needed.get(key.parent)
                if known is None or (known.count < count and key.parent != table):
                    needed[key.parent] = Numbers(count, needed[table].first)
        return needed

    def _keys_of(self, table: str) -> list[ForeignKey]:
        return [key for key in self.schema.foreign_keys if key.table == table]

    def _value(self, column: Column, n: str, parents: Mapping[str, Numbers]) -> str:
        key = next((k for k in self._keys_of(column.table) if column.name in k.columns), None)
        if key is None:
            return f"({_plain(column, n)})::{column.type}"
        if key.parent == column.table or key.parent not in parents:
            # Its own table's rows, or a table that is not sown: only a column that may be empty can do without.
            return _empty(column, f"it names a row of {key.parent}")
        parent = self.schema.column(f"{key.parent}.{key.parent_columns[key.columns.index(column.name)]}")
        assert parent is not None
        rows = parents[key.parent]
        return self._value(parent, f"({rows.first} + ({n} - {FIRST}) % {rows.count})", parents)


def _plain(column: Column, n: str) -> str:
    if column.labels:
        return "'" + column.labels[0].replace("'", "''") + "'"
    if column.category == "A":
        return "'{}'"
    if column.kind in _TEXTS:
        length = column.modifier - _HEADER if column.modifier > _HEADER else 63
        return f"right('{column.name[:20]} ' || {n}, {length})"
    if column.kind == "numeric":
        return f"({n}) % {_numeric_bound(column.modifier)}"
    if column.kind in _BY_KIND:
        return _BY_KIND[column.kind].replace("{n}", n)
    return _empty(column, f"no value of type {column.type} can be made up")


def _numeric_bound(modifier: int) -> int:
    if modifier < _HEADER:
        return 10**9
    precision, scale = (modifier - _HEADER) >> 16, (modifier - _HEADER) & 0x7FF
    return int(10 ** max(1, min(9, precision - scale)))


def _empty(column: Column, reason: str) -> str:
    if column.not_null:
        raise CouldNotRun(f"no row can be made for {column}: {reason}, and it is NOT NULL")
    return "NULL"


def refusal(error: psycopg2.Error) -> str:
    """What the database said, on one line."""
    return " ".join((error.diag.message_primary or str(error)).split())
