"""What the project's own tests stand on: one PostgreSQL a session, one fresh database a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fixtures.horde import schema
from fixtures.postgres import Server, open_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with open_server() as server:
        yield server


@pytest.fixture
def database_url(postgres: Server) -> Iterator[str]:
    name = postgres.create_database()
    yield postgres.url(name)
    postgres.drop_database(name)


@pytest.fixture
def horde_database_url(postgres: Server) -> Iterator[str]:
    name = postgres.create_database(postgres.make_template("horde", schema.prepare))
    yield postgres.url(name)
    postgres.drop_database(name)
