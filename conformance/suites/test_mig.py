"""MIG: the migration. It runs on databases of the harness's own, made from the profile's baseline."""

from __future__ import annotations

from collections import Counter

import psycopg2
import pytest

from conformance.actors import Family
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.migration import indexes, locks
from conformance.migration.history import History
from conformance.migration.rehearsal import Rehearsal, said
from conformance.stage import Stage

FEW, MANY = 1_000, 100_000


@pytest.fixture
def rehearsal(stage: Stage) -> Rehearsal:
    return Rehearsal(stage.resources.postgres, stage.profile.migration)


@check("MIG-01")
def test_each_table_grows_by_the_profiles_number_of_columns(stage: Stage, rehearsal: Rehearsal) -> None:
    """MIG-01: yesterday's schema is migrated; the profile's tables have grown by its numbers, and no other has."""
    with rehearsal.yesterday() as database:
        today = database.migrate()
        added = today.added_since(database.schema)
        grown = dict(Counter(column.table for column in added))
        stage.note("columns added", {table: grown[table] for table in sorted(grown)})
        assert grown == stage.profile.migration.tables, f"tables grew by {grown} columns"
        lost = [str(column) for column in database.schema.added_since(today)]
        assert not lost, f"columns are gone: {', '.join(lost)}"


@check("MIG-02")
def test_each_added_column_is_nullable_or_has_a_constant_default(rehearsal: Rehearsal) -> None:
    """MIG-02: no added column lacks a value for the rows that are there, and none makes one up for each row.

    A nullable column may have a default that is stable (the time of the migration); a volatile one gives each row
    a value of its own, which only a rewrite can store.
    """
    with rehearsal.yesterday() as database:
        for column in database.migrate().added_since(database.schema):
            assert not column.identity, f"{column} is an identity column"
            assert not column.generated, f"{column} is a generated column"
            assert not column.required, f"{column} is NOT NULL and has no default"
            allowed = {None, "immutable"} if column.not_null else {None, "immutable", "stable"}
            assert column.volatility in allowed, f"{column} has the {column.volatility} default {column.default}"


@check("MIG-03")
def test_no_table_is_rewritten(rehearsal: Rehearsal) -> None:
    """MIG-03: every table, with rows in it, lies in the same file before and after."""
    with rehearsal.yesterday() as database:
        database.sow(5)
        today = database.migrate()
        for table, file in database.schema.files.items():
            assert table in today.files, f"the table {table} is gone"
            assert today.files[table] == file, f"the table {table} was rewritten"


@check("MIG-04")
def test_rows_that_are_there_keep_their_values(rehearsal: Rehearsal) -> None:
    """MIG-04: rows of every table have the same values in yesterday's columns before and after."""
    with rehearsal.yesterday() as database:
        database.sow(5)
        before = database.rows()
        database.migrate()
        after = database.rows()
        for table, rows in before.items():
            assert after[table] == rows, f"rows of {table} have changed"


@check("MIG-04")
def test_rows_that_are_there_read_the_defaults(stage: Stage, rehearsal: Rehearsal) -> None:
    """MIG-04: in rows that are there each added column reads its default, and the discriminator reads false."""
    with rehearsal.yesterday() as database:
        database.sow(5)
        today = database.migrate()
        for column in today.added_since(database.schema):
            if column.volatility in (None, "immutable"):
                other = database.other_than_default(column)
                assert not other, f"{column} reads {other[0]!r} in a row that was there, not {column.default}"
        name = stage.profile.migration.discriminator
        discriminator = today.column(name)
        assert discriminator is not None, f"there is no column {name}"
        read = database.values(discriminator)
        assert read, f"no row of {discriminator.table} was there"
        assert set(read) == {"false"}, f"{name} reads {read[0]!r} in a row that was there"


@check("MIG-05")
def test_the_operation_keys_index_is_unique_partial_and_finished(stage: Stage, rehearsal: Rehearsal) -> None:
    """MIG-05: an index on exactly these columns is unique, partial, valid and ready."""
    with rehearsal.yesterday() as database:
        indexes.operation_key_index(database.migrate(), stage.profile.migration.operation_key_index)


@check("MIG-05")
def test_the_operation_keys_index_admits_what_is_no_repeat(stage: Stage, rehearsal: Rehearsal) -> None:
    """MIG-05: rows of one user without a key stand side by side and outside the index; a key stands once a user."""
    with rehearsal.yesterday() as database:
        database.sow(4)
        today = database.migrate()
        keyed = indexes.Keyed(database, today, stage.profile.migration)
        one, other, third = keyed.rows_of_one_user(3)
        assert keyed.without_key_in_the_index() == 0, "rows without a key stand in the index"
        assert keyed.give_key(one, "same"), "the first row with a key is refused"
        assert not keyed.give_key(other, "same"), "a second row of one user with the same key is admitted"
        assert keyed.give_key(other, "Same"), "another key of the same user is refused"
        assert keyed.give_to_another_user(third, "same"), "the same key of another user is refused"


@check("MIG-05")
def test_the_worker_lists_have_their_indexes(stage: Stage, rehearsal: Rehearsal) -> None:
    """MIG-05: each of the worker's lists has a finished index on exactly the worker, over all its rows."""
    with rehearsal.yesterday() as database:
        today = database.migrate()
        for wanted in stage.profile.migration.worker_indexes:
            indexes.whole_index(today, wanted)


@check("MIG-06")
def test_running_the_file_again_does_no_harm(rehearsal: Rehearsal) -> None:
    """MIG-06: after a second run schema, files and rows are what they were after the first."""
    with rehearsal.yesterday() as database:
        database.sow(5)
        once = database.migrate()
        rows = database.rows()
        twice = database.migrate()
        assert twice.shape() == once.shape(), "the second run changed the schema"
        assert twice.files == once.files, "the second run rewrote a table"
        assert database.rows() == rows, "the second run changed rows"


@check("MIG-06")
def test_a_run_that_broke_off_can_be_begun_again(rehearsal: Rehearsal) -> None:
    """MIG-06: wherever a run broke off, running the whole file afterwards leads to the same schema."""
    with rehearsal.yesterday() as database:
        once = database.migrate()
    for done in range(1, len(rehearsal.script.statements)):
        with rehearsal.yesterday() as database:
            database.migrate(done)
            again = database.migrate()
            where = rehearsal.script.at(rehearsal.script.statements[done])
            assert again.shape() == once.shape(), f"begun again after it broke off before {where}, it differs"


@check("MIG-07")
def test_yesterdays_inserts_still_work(rehearsal: Rehearsal) -> None:
    """MIG-07: INSERTs that know nothing of the new columns do afterwards what they did before."""
    with rehearsal.yesterday() as database:
        database.sow(3)
        expected = database.rows()
        database.sow_sparse(3)
    with rehearsal.yesterday() as database:
        database.migrate()
        try:
            database.insert(3)
            assert database.rows() == expected, "they leave other rows than before"
            database.insert_sparse(3)
        except psycopg2.Error as error:
            raise AssertionError(f"an INSERT that worked before is refused: {said(error)}") from None


@check("MIG-08", both=True)
def test_requests_from_before_the_migration_finish_after_it(stage: Stage, rehearsal: Rehearsal, family: Family) -> None:
    """MIG-08: one request waits and one is in flight when the server goes; migrated and back, both finish.

    The chat half is served by a worker that declares chat as well, the text half by one that never mentions it.
    """
    with History(stage, rehearsal) as history:
        with history.yesterdays_server() as before:
            model = before.model()
            worker = before.text_worker(model)
            in_flight = before.text(model)
            job = worker.pop_job(in_flight)
            waiting = before.text(model)
        history.migrate()
        with history.todays_server() as after:
            worker = after.again(worker, chat_models=[model] if family is Family.CHAT else None)
            reply = worker.try_reply(job, generation="From before.")
            assert reply.accepted, f"the reply to what was in flight is refused: {reply}"
            assert after.has_finished(in_flight), "what was in flight is not finished"
            popped = worker.try_pop()
            assert popped.accepted, f"yesterday's worker is refused: {popped}"
            next_job = worker.job_in(popped)
            assert next_job is not None, "what was waiting is not handed out"
            reply = worker.try_reply(next_job, generation="From after.")
            assert reply.accepted, f"the reply to what was waiting is refused: {reply}"
            assert after.has_finished(waiting), "what was waiting is not finished"


@check("MIG-09")
def test_work_under_a_lock_does_not_grow_with_the_table(rehearsal: Rehearsal) -> None:
    """MIG-09: while it shuts others out of a table, no statement touches more blocks of 100,000 rows than of 1,000."""
    with rehearsal.yesterday() as database:
        tables = {table for footprint in locks.footprints(database) for table in footprint.shut}
    if not tables:
        raise CouldNotRun("the migration takes no lock that shuts anybody out")
    measured = []
    for rows in (FEW, MANY):
        with rehearsal.yesterday() as database:
            database.grow(tables, rows)
            measured.append(locks.footprints(database))
    assert not (told := locks.growing(*measured)), "; ".join(told)


@check("MIG-10")
def test_pops_and_submits_wait_no_longer_than_the_lock_timeout(rehearsal: Rehearsal) -> None:
    """MIG-10: where the migration has to wait for a table, a pop's and a submit's statements get through behind it."""
    with rehearsal.yesterday() as database:
        found = locks.footprints(database)
    if not any(footprint.newly for footprint in found):
        raise CouldNotRun("the migration takes no lock that shuts anybody out")
    assert not (told := locks.complaints_beside(rehearsal, found)), "; ".join(told)
