"""A session's statements: what travels together, and what a failure leaves behind."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg2
import pytest
from psycopg2.extensions import TRANSACTION_STATUS_IDLE

from fixtures.horde import database, schema
from fixtures.horde.settings import Settings
from fixtures.postgres import Server


@pytest.fixture(scope="module")
def store(postgres: Server) -> Iterator[database.Database]:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    store = database.connect(url, Settings())
    yield store
    store.engine.dispose()


def blocked(store: database.Database) -> set[str]:
    with store.session() as session:
        return {row.address for row in session.rows("address_blocks")}


def failing(store: database.Database, *, asked_between: bool) -> None:
    with store.session() as session:
        session.run("block_address", address="10.0.0.1", hours=1)
        session.commit_with_next()
        if asked_between:
            session.rows("address_blocks")
        session.run("block_address", address="10.0.0.2", hours=1)
        raise ZeroDivisionError


@pytest.mark.parametrize(("asked_between", "stands"), [(False, set()), (True, {"10.0.0.1"})])
def test_a_commit_with_the_next_statement_is_made_by_it_and_by_nothing_before(
    store: database.Database, asked_between: bool, stands: set[str]
) -> None:
    with pytest.raises(ZeroDivisionError):
        failing(store, asked_between=asked_between)
    assert {"10.0.0.1", "10.0.0.2"} & blocked(store) == stands


def test_a_commit_at_the_end_is_made_though_nothing_follows(store: database.Database) -> None:
    with store.session() as session:
        session.run("block_address", address="10.0.1.1", hours=1)
        session.commit_with_next()
    assert "10.0.1.1" in blocked(store)


def refused(store: database.Database) -> None:
    with store.session() as session:
        session.run("block_address", address="10.0.2.1", hours=1)
        session.run("grant_role", user_id=-1, role="trusted")
        session.commit_with_next()
        session.rows("address_blocks")


def test_a_failure_in_what_travels_together_undoes_it_and_leaves_no_open_transaction(store: database.Database) -> None:
    with pytest.raises(psycopg2.Error):
        refused(store)
    with store.session() as session:
        session.rows("address_blocks")
        assert session._cursor.connection.info.transaction_status == TRANSACTION_STATUS_IDLE
    assert "10.0.2.1" not in blocked(store)
