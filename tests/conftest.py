"""What the project's own tests stand on: one PostgreSQL a session, one fresh database a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hypothesis
import pytest

from fixtures.horde import schema
from fixtures.postgres import Server, open_server

if TYPE_CHECKING:
    from collections.abc import Iterator


# How fast a busy machine makes examples says nothing about what they are examples of.
hypothesis.settings.register_profile("project", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("project")


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
