from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg2
import pytest

from conformance.migration import locks
from fixtures.postgres import open_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.migration.rehearsal import Rehearsal
    from fixtures.postgres import Server

    Rehearse = Callable[..., Rehearsal]

TABLES = "CREATE TABLE t (n int); CREATE TABLE u (n int)"


@pytest.mark.parametrize(
    ("change", "shut"),
    [
        ("ALTER TABLE t ADD COLUMN m int", [("t",)]),
        ("CREATE INDEX ON t (n)", [("t",)]),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK (n > 0) NOT VALID; ALTER TABLE t VALIDATE CONSTRAINT c", [("t",), ()]),
        ("CREATE INDEX CONCURRENTLY ON t (n)", []),
        ("CREATE TABLE new (n int)", [()]),
        ("INSERT INTO t VALUES (1)", [()]),
        ("SET lock_timeout = '1s'; SELECT 1", [(), ()]),
        ("DO $$ BEGIN LOCK TABLE t, u; END $$", [("t", "u")]),
        # A transaction of the file's own keeps its locks from statement to statement.
        ("BEGIN; LOCK TABLE u; UPDATE t SET n = 1; COMMIT; SELECT 1", [(), ("u",), ("u",), ()]),
    ],
)
def test_a_statement_shuts_out_those_who_write(rehearse: Rehearse, change: str, shut: list[tuple[str, ...]]) -> None:
    with rehearse(TABLES, change).yesterday() as database:
        assert [footprint.shut for footprint in locks.footprints(database)] == shut


@pytest.mark.parametrize(
    ("change", "grows"),
    [
        ("ALTER TABLE t ADD COLUMN m int NOT NULL DEFAULT 1", False),
        ("ALTER TABLE t ADD COLUMN m uuid DEFAULT gen_random_uuid()", True),
        ("ALTER TABLE t ALTER COLUMN n SET NOT NULL", True),
        ("CREATE INDEX ON t (n)", True),
        ("CREATE INDEX CONCURRENTLY ON t (n)", False),
        ("UPDATE t SET n = n", False),
        ("BEGIN; LOCK TABLE t; UPDATE t SET n = n; COMMIT", True),
        ("BEGIN; UPDATE t SET n = n; LOCK TABLE t; COMMIT", False),
        ("SELECT count(*) FROM t; ALTER TABLE t ADD COLUMN m int", False),
    ],
)
def test_work_that_grows_with_the_table_is_seen_only_under_a_lock(rehearse: Rehearse, change: str, grows: bool) -> None:
    measured = []
    for rows in (100, 10_000):
        with rehearse(TABLES, change).yesterday() as database:
            database.grow(["t"], rows)
            measured.append(locks.footprints(database))
    assert bool(locks.growing(*measured)) is grows


@pytest.mark.parametrize(
    ("timeout", "complains"), [("SET lock_timeout = '50ms'", False), ("SET lock_timeout = 0", True)]
)
@pytest.mark.parametrize(
    "change", ["ALTER TABLE t ADD COLUMN m int", "BEGIN; LOCK TABLE u; ALTER TABLE t ADD COLUMN m int"]
)
def test_neighbours_get_through_when_the_migration_gives_up(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch, change: str, timeout: str, complains: bool
) -> None:
    monkeypatch.setattr(locks, "_WITHOUT_TIMEOUT", 200)
    rehearsal = rehearse(TABLES, f"{timeout}; {change}")
    with rehearsal.yesterday() as database:
        found = locks.footprints(database)
    told = locks.complaints_beside(rehearsal, found)
    assert bool(told) is complains
    if complains:
        assert all("still blocked" in complaint for complaint in told)
        assert {name for name in ("SELECT", "UPDATE", "INSERT") if any(name in c for c in told)} == {
            "SELECT", "UPDATE", "INSERT",
        }  # fmt: skip


def test_a_refused_statement_is_told_with_its_line(rehearse: Rehearse) -> None:
    with rehearse(TABLES, "SELECT 1;\nALTER TABLE missing ADD COLUMN m int;").yesterday() as database:
        with pytest.raises(AssertionError, match=r'line 2: the database refuses .*"missing" does not exist'):
            locks.footprints(database)
        with pytest.raises(AssertionError, match="line 2"):
            database.migrate()


def test_an_ordinary_role_can_rehearse(rehearse: Rehearse, postgres: Server) -> None:
    with psycopg2.connect(postgres.url()) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE ROLE rehearser LOGIN CREATEDB")
    connection.close()
    with open_server(postgres.url().replace("postgres@", "rehearser@")) as server:
        rehearsal = rehearse(TABLES, "SET lock_timeout = '50ms'; ALTER TABLE t ADD COLUMN m int", server)
        with rehearsal.yesterday() as database:
            database.grow(["t"], 10)
            found = locks.footprints(database)
            assert len(database.rows()["t"]) == 10
        assert locks.complaints_beside(rehearsal, found) == []
    with psycopg2.connect(postgres.url()) as connection, connection.cursor() as cursor:
        cursor.execute("DROP ROLE rehearser")
    connection.close()
