"""Yesterday's database and the migration that is judged on it.

The baseline and the migration are run statement by statement in autocommit, as psql does, on databases that the
harness makes for itself; a target's own database is never touched.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import psycopg2

from conformance import migration_files as files

if TYPE_CHECKING:
    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

    from conformance.profile import Migration as Settings
    from fixtures.postgres import Server


def parse(settings: Settings) -> None:
    """Read both files and split them into statements. Raises BadMigration."""
    files.read(settings.baseline)
    files.read(settings.file)


def check(server: Server, settings: Settings) -> None:
    """Let the server parse both files, and run the baseline; leaves nothing behind. Raises BadMigration."""
    name = server.create_database()
    try:
        with closing(connect(server.url(name))) as connection:
            for path in (settings.baseline, settings.file):
                files.parse(files.read(path), connection)
            _baseline(files.read(settings.baseline), connection)
    finally:
        server.drop_database(name)


def build(url: str, settings: Settings) -> None:
    """Make an empty database today's: baseline, then migration. Raises BadMigration, StatementRefused."""
    with closing(connect(url)) as connection:
        _baseline(files.read(settings.baseline), connection)
    # The baseline may have left settings of its own in its session, as a dump does.
    with closing(connect(url)) as connection:
        files.run(files.read(settings.file), connection)


def connect(url: str) -> Connection:
    """A connection in autocommit, as psql's is."""
    connection = psycopg2.connect(url)
    connection.autocommit = True
    return connection


def _baseline(script: files.Script, connection: Connection) -> None:
    try:
        files.run(script, connection)
    except files.StatementRefused as refusal:
        raise files.BadMigration(
            f"The baseline does not run on an empty database: {refusal}.",
            "Give the schema as it stood before the migration, made by `pg_dump --schema-only --no-owner`.",
        ) from None
