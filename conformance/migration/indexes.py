"""The migration's indexes: what the catalogues say of them, and what they admit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg2

from conformance.errors import BadProfile, CouldNotRun

if TYPE_CHECKING:
    from conformance.migration.catalog import Index, Schema
    from conformance.migration.rehearsal import Database
    from conformance.profile import Migration as Settings

_WANTED = re.compile(r"\s*([\w.]+)\s*\(([^)]+)\)\s*")


def parts(wanted: str) -> tuple[str, tuple[str, ...]]:
    """Table and columns of a profile's `table (column, column)`. Raises BadProfile."""
    match = _WANTED.fullmatch(wanted)
    if match is None:
        raise BadProfile(
            f"{wanted!r} does not describe an index.", "Write it as `table (column, column)` in [migration]."
        )
    return match[1], tuple(column.strip() for column in match[2].split(","))


def whole_index(schema: Schema, wanted: str) -> Index:
    """A finished index on exactly these columns, over all rows. Raises AssertionError."""
    found = _finished(schema, wanted)
    whole = [index for index in found if index.predicate is None]
    assert whole, f"every index on {wanted} leaves out rows: {_told(found)}"
    return whole[0]


def operation_key_index(schema: Schema, wanted: str) -> Index:
    """A finished unique, partial index on exactly these columns. Raises AssertionError."""
    unique = [index for index in _finished(schema, wanted) if index.unique]
    assert unique, f"no index on {wanted} is unique"
    partial = [index for index in unique if index.predicate is not None]
    assert partial, f"no unique index on {wanted} is partial: {_told(unique)}"
    return partial[0]


def _finished(schema: Schema, wanted: str) -> list[Index]:
    table, columns = parts(wanted)
    there = [index for index in schema.indexes if index.table == table]
    found = [index for index in there if index.columns == columns]
    assert found, f"there is no index on {wanted}; there are {_told(there) or 'none'}"
    finished = [index for index in found if index.valid and index.ready]
    assert finished, f"the index on {wanted} is not valid and ready: {_told(found)}"
    return finished


def _told(indexes: list[Index]) -> str:
    return "; ".join(str(index) for index in indexes)


@dataclass
class Keyed:
    """Requests in a migrated database that are given operation keys by SQL, as the index admits them."""

    database: Database
    schema: Schema
    settings: Settings

    def __post_init__(self) -> None:
        self.table, columns = parts(self.settings.operation_key_index)
        self.index = operation_key_index(self.schema, self.settings.operation_key_index)
        self.user, self.key = (f'"{column}"' for column in columns)
        self.identity = f"{self.schema.columns[self.table][0].quoted}::text"

    def rows_of_one_user(self, count: int) -> list[str]:
        """The identities of as many rows without a key, made one user's. Raises AssertionError, CouldNotRun."""
        rows = self.database.ask(f"SELECT {self.identity}, {self.user} FROM {self.table} ORDER BY 1")
        users = sorted({user for _, user in rows})
        if len(rows) < count or len(users) < 2:
            raise CouldNotRun(f"{self.table} has not {count} rows of 2 users to begin with")
        self.one_user, self.another_user = users[:2]
        chosen = [str(identity) for identity, _ in rows[:count]]
        # The discriminator is set, for a key is a chat request's in any case.
        discriminator = self.settings.discriminator.rpartition(".")[2]
        for identity in chosen:
            admitted = self._set(
                identity, f'{self.user} = %s, {self.key} = NULL, "{discriminator}" = true', self.one_user
            )
            assert admitted, "two rows of one user without a key are refused"
        return chosen

    def without_key_in_the_index(self) -> int:
        """How many rows without a key the index holds, by its predicate."""
        where = f"{self.key} IS NULL AND ({self.index.predicate})"
        return int(self.database.ask(f"SELECT count(*) FROM {self.table} WHERE {where}")[0][0])

    def give_key(self, identity: str, key: str) -> bool:
        """Give a row a key; whether that is admitted."""
        return self._set(identity, f"{self.key} = %s", key)

    def give_to_another_user(self, identity: str, key: str) -> bool:
        """Give a row another user and a key; whether that is admitted."""
        return self._set(identity, f"{self.user} = %s, {self.key} = %s", self.another_user, key)

    def _set(self, identity: str, assignments: str, *values: object) -> bool:
        try:
            self.database.run(f"UPDATE {self.table} SET {assignments} WHERE {self.identity} = %s", *values, identity)
        except psycopg2.errors.UniqueViolation:
            return False
        return True
