from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import psycopg2
import pytest

from fixtures.postgres import PREFIX, DatabaseRefused, NotOurs, open_server
from fixtures.postgres.keeper import free_port
from fixtures.postgres.server import Server

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_fresh_database_is_empty_and_recognisable(postgres: Server) -> None:
    name = postgres.create_database()
    assert name.startswith(PREFIX)
    assert tables(postgres.url(name)) == []
    postgres.drop_database(name)


def test_copies_of_a_template_are_independent(server: Server) -> None:
    template = server.make_template("one table", make_table)
    first, second = server.create_database(template), server.create_database(template)
    run(server.url(first), "INSERT INTO t VALUES (2)")
    assert rows(server.url(first), "SELECT * FROM t ORDER BY 1") == [(1,), (2,)]
    assert rows(server.url(second), "SELECT * FROM t") == [(1,)]


def test_a_template_is_built_once(server: Server) -> None:
    built: list[str] = []
    threads = [threading.Thread(target=server.make_template, args=("once", built.append)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert server.make_template("other", built.append) != server.make_template("once", built.append)


def test_a_template_whose_connections_were_left_open_can_be_copied(server: Server) -> None:
    left_open = []
    template = server.make_template("left open", lambda url: left_open.append(psycopg2.connect(url)))
    server.create_database(template)
    left_open[0].close()


def test_a_template_that_failed_to_build_is_dropped_and_tried_again(server: Server) -> None:
    before = databases(server)
    with pytest.raises(psycopg2.Error):
        server.make_template("broken", lambda url: run(url, "SELECT nonsense"))
    assert databases(server) == before
    assert server.make_template("broken", make_table) in databases(server)


def test_a_database_in_use_is_dropped_all_the_same(server: Server) -> None:
    name = server.create_database()
    connection = psycopg2.connect(server.url(name))
    server.drop_database(name)
    assert name not in databases(server)
    connection.close()


def test_a_database_of_somebody_else_is_never_dropped(server: Server, postgres: Server) -> None:
    run(postgres.url(), f"CREATE DATABASE {PREFIX}of_another_run")
    with pytest.raises(NotOurs, match="of_another_run"):
        server.drop_database(f"{PREFIX}of_another_run")
    assert f"{PREFIX}of_another_run" in databases(postgres)
    run(postgres.url(), f"DROP DATABASE {PREFIX}of_another_run")


def test_by_url_closing_drops_what_was_made_and_nothing_else(postgres: Server) -> None:
    before = databases(postgres)
    with open_server(postgres.url()) as guest:
        assert not guest.is_embedded
        guest.create_database(guest.make_template("one table", make_table))
        guest.drop_database(guest.create_database())
        assert len(databases(postgres)) == len(before) + 2
    assert databases(postgres) == before


def test_by_url_the_drivers_name_of_sqlalchemy_is_understood(postgres: Server) -> None:
    with open_server(postgres.url().replace("postgresql:", "postgresql+psycopg2:")) as guest:
        assert rows(guest.url(), "SELECT 1") == [(1,)]


def test_by_url_the_database_named_is_the_one_to_administer_from(postgres: Server, database_url: str) -> None:
    with open_server(database_url) as guest:
        assert guest.url(guest.provider.maintenance_database) == database_url
        assert guest.create_database() in databases(postgres)


def test_a_url_where_nobody_listens_is_refused_with_a_hint() -> None:
    url = f"postgresql://somebody:secret@127.0.0.1:{free_port()}/postgres"
    with pytest.raises(DatabaseRefused, match="no connection to") as caught, open_server(url):
        pass
    assert "secret" not in str(caught.value)
    assert "check host" in caught.value.hint


@pytest.mark.parametrize("url", ["", "no url", "mysql://root@localhost/db", "postgresql://h:port/db"])
def test_what_is_no_url_of_a_postgres_is_refused(url: str) -> None:
    with pytest.raises(DatabaseRefused, match="URL") as caught, open_server(url):
        pass
    assert "postgresql://" in caught.value.hint


def test_an_unknown_database_of_a_url_is_refused(postgres: Server) -> None:
    url = postgres.url("no_such_database")
    with pytest.raises(DatabaseRefused, match="no_such_database"), open_server(url):
        pass


def test_a_role_that_may_not_create_databases_is_refused(postgres: Server) -> None:
    run(postgres.url(), "CREATE ROLE onlooker LOGIN")
    url = postgres.url().replace("postgres@", "onlooker@")
    with pytest.raises(DatabaseRefused, match="may not create databases") as caught, open_server(url):
        pass
    assert "CREATEDB" in caught.value.hint
    run(postgres.url(), "DROP ROLE onlooker")


def test_an_unknown_extension_is_refused(server: Server) -> None:
    with pytest.raises(DatabaseRefused, match="no_such_extension"):
        server.create_database(extensions=["no_such_extension"])


@pytest.fixture(params=["embedded", "by url"])
def server(request: pytest.FixtureRequest, postgres: Server) -> Iterator[Server]:
    if request.param == "by url":
        with open_server(postgres.url()) as guest:
            yield guest
    else:
        # The session's server with a ledger of its own, so that a test's templates are the test's.
        own = Server(postgres.provider)
        yield own
        own._drop_all()


def make_table(url: str) -> None:
    run(url, "CREATE TABLE t AS SELECT 1 AS n")


def databases(server: Server) -> list[str]:
    return [str(name) for (name,) in rows(server.url(), "SELECT datname FROM pg_database ORDER BY 1")]


def tables(url: str) -> list[tuple[object, ...]]:
    return rows(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(url)
    try:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()
    finally:
        connection.close()


def run(url: str, statement: str) -> None:
    connection = psycopg2.connect(url)
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
    finally:
        connection.close()
