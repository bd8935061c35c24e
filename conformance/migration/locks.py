"""What a migration shuts out while it runs: which tables, at the cost of how many blocks, and for how long."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg2
from psycopg2 import errors
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

from conformance.errors import CouldNotRun
from conformance.migration import catalog, files
from conformance.migration.rehearsal import Database, connect, said
from conformance.migration.rows import FIRST, Numbers, Sower

if TYPE_CHECKING:
    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

    from conformance.migration.rehearsal import Rehearsal

# Seconds for a statement to begin to wait; it is watched, so a fast machine waits for nothing.
_PATIENCE = 30.0
# Milliseconds beyond the lock timeout before a neighbour's wait counts as too long: it is judged on a busy machine.
_GRACE = 20_000
# And where the session has no lock timeout at all, only a statement's own could end the wait.
_WITHOUT_TIMEOUT = 5_000
# Blocks by which a look-up in a deeper tree may differ: a level or two for each of a few indexes.
_DESCENT = 12
_NOT_IN_A_TRANSACTION = "25001"
_CONTROLS = ("BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE")


@dataclass(frozen=True)
class Footprint:
    """What one statement of a migration did: the tables that it shut out others from, the blocks that it touched.

    `newly` are those that no earlier statement of the same transaction had shut already.
    """

    index: int
    statement: files.Statement
    shut: tuple[str, ...]
    newly: tuple[str, ...]
    blocks: int


def footprints(database: Database) -> list[Footprint]:
    """Run the migration, each statement in a transaction of its own that is looked at before it commits.

    A lock *shuts out* when those who write rows must wait for it. What cannot run in a transaction (CREATE INDEX
    CONCURRENTLY) takes no such lock by its nature and is left out.

    Raises:
        AssertionError: the database refuses a statement.
    """
    found: list[Footprint] = []
    with closing(connect(database.url)) as connection:
        # A worker process of a parallel index build would count its blocks for itself.
        _run(connection, "SET max_parallel_maintenance_workers = 0")
        for index, statement in enumerate(database.script.statements):
            try:
                earlier = found[-1].shut if found else ()
                footprint = _step(database, connection, index, statement, earlier)
            except files.StatementRefused as refusal:
                raise AssertionError(str(refusal)) from None
            if footprint is not None:
                found.append(footprint)
    return found


def _step(
    database: Database, connection: Connection, index: int, statement: files.Statement, earlier: tuple[str, ...]
) -> Footprint | None:
    idle = connection.info.transaction_status == TRANSACTION_STATUS_IDLE
    own = idle and not statement.text.upper().startswith(_CONTROLS)
    if own:
        _run(connection, "BEGIN")
    before = None if idle and not own else _blocks(connection)
    try:
        files.run_one(database.script, statement, connection)
    except files.StatementRefused as refusal:
        if not (own and refusal.code == _NOT_IN_A_TRANSACTION):
            raise
        _run(connection, "ROLLBACK")
        files.run_one(database.script, statement, connection)
        return None
    if connection.info.transaction_status == TRANSACTION_STATUS_IDLE:
        return None
    known = database.schema.files
    shut = tuple(row["name"] for row in catalog.query(connection, "shutting_locks") if row["name"] in known)
    touched = _blocks(connection) - before if before is not None else 0
    if own:
        _run(connection, "COMMIT")
    newly = tuple(table for table in shut if own or table not in earlier)
    return Footprint(index, statement, shut, newly, touched)


def _blocks(connection: Connection) -> int:
    # The count goes on from transaction to transaction until it is published: only a difference means something.
    return int(catalog.query(connection, "blocks_touched")[0]["blocks"])


def growing(few: list[Footprint], many: list[Footprint]) -> list[str]:
    """The statements that touched more blocks of many rows than of few while they shut others out."""
    small = {footprint.index: footprint.blocks for footprint in few}
    return [
        f"{f.statement} shuts out {', '.join(f.shut)} and touches {f.blocks} blocks, of few rows {small[f.index]}"
        for f in many
        if f.shut and f.blocks > small[f.index] + _DESCENT
    ]


def complaints_beside(rehearsal: Rehearsal, found: list[Footprint]) -> list[str]:
    """Complaints of pops and submits beside the migration while somebody's open transaction makes it wait.

    For each statement that shuts out a table: another transaction has written to the table and stays open, the
    statement waits for it, and a pop's and a submit's statements come and wait behind that. Each must get through
    within the migration's lock timeout, with the first transaction still open.
    """
    situations = [(footprint, table) for footprint in found for table in footprint.newly]
    with ThreadPoolExecutor(max_workers=max(1, len(situations))) as pool:
        complaints = pool.map(lambda s: _beside(rehearsal, *s), situations)
        return [complaint for some in complaints for complaint in some]


def _beside(rehearsal: Rehearsal, footprint: Footprint, table: str) -> list[str]:
    with rehearsal.yesterday() as database, ExitStack() as stack:
        database.sow(2)
        migrator, holder = (stack.enter_context(closing(connect(database.url))) for _ in range(2))
        database.run_on(migrator, database.script.statements[: footprint.index])
        timeout = _lock_timeout(migrator)
        patience = timeout + _GRACE if timeout else _WITHOUT_TIMEOUT
        _run(holder, "BEGIN", f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")
        step = threading.Thread(target=_try, args=(migrator, footprint.statement.text))
        step.start()
        try:
            if not _waits(database, migrator, step):
                return []
            neighbours = _statements(database, table)
            where = f"{database.script.at(footprint.statement)}, waits for a lock on {table}"
            with ThreadPoolExecutor(max_workers=len(neighbours)) as pool:
                waits = {name: pool.submit(_wait, database.url, sql, patience) for name, sql in neighbours.items()}
                told = {name: wait.result() for name, wait in waits.items()}
            return [f"while {where}, {name} {said}" for name, said in told.items() if said]
        finally:
            _run(holder, "ROLLBACK")
            step.join()


def _statements(database: Database, table: str) -> dict[str, str]:
    """What a pop and a submit do to a table, as the locks see it."""
    column = database.schema.columns[table][0].quoted
    sower = Sower(database.schema)
    parents = sower.everywhere(2)
    return {
        "a pop's SELECT": f"SELECT {column} FROM {table} LIMIT 1",
        "a pop's UPDATE": f"UPDATE {table} SET {column} = {column} WHERE false",
        "a submit's INSERT": sower.insert(table, Numbers(1, FIRST + 2), parents),
    }


def _wait(url: str, statement: str, patience: int) -> str | None:
    """Run a statement of a neighbour; what to complain of, or None when it got through in time."""
    with closing(connect(url)) as connection:
        try:
            _run(connection, f"SET statement_timeout = {patience}", statement)
        except errors.QueryCanceled:
            return f"was still blocked after {patience / 1000:.0f} s"
        except errors.IntegrityError:
            return None  # it got through; that two rows name one parent is of no interest here
        except psycopg2.Error as error:
            raise CouldNotRun(f"a neighbour's statement is refused: {said(error)}") from None
    return None


def _waits(database: Database, migrator: Connection, step: threading.Thread) -> bool:
    """Whether the step comes to wait for a lock; it may also end without. Raises CouldNotRun if it does neither."""
    deadline = time.monotonic() + _PATIENCE
    pid = migrator.info.backend_pid
    while step.is_alive() and time.monotonic() < deadline:
        if catalog.query(database.connection, "waits", pid=pid)[0]["waits"]:
            return True
        time.sleep(0.005)
    if step.is_alive():
        raise CouldNotRun(f"the migration neither waits for a lock nor ends within {_PATIENCE:.0f} s")
    return False


def _lock_timeout(connection: Connection) -> int:
    """The session's lock timeout in milliseconds; 0 means that it waits for ever."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting::integer FROM pg_settings WHERE name = 'lock_timeout'")
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _try(connection: Connection, statement: str) -> None:
    # Giving up is what it should do; who waits behind it tells whether it did.
    with suppress(psycopg2.Error):
        _run(connection, statement)


def _run(connection: Connection, *statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
