"""A queue into the target's tables by COPY: one transaction, counted before it is committed."""

from __future__ import annotations

import io
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg2
import sqlalchemy
from psycopg2 import sql

from conformance.profile import Profile
from load.errors import BadQueue, SeedingFailed, WrongCounts
from load.seeding import disk, marks
from load.seeding.database import Database, queries
from load.seeding.description import Description
from load.seeding.rows import Kind, expected
from load.seeding.seeded import TARGET, Counted, Seeded, Stored
from load.seeding.writing import Piece, Run, Writer

# The users of a queue can pay for all of it.
_KUDOS = 10_000_000


def seed(database: Database, description: Description, profile: Profile, run: str, room: disk.Room) -> Seeded:
    """Write a queue for a run that is held; afterwards it stands, or nothing of it does.

    Raises:
        BadQueue: the target has no column that is to carry the payload.
        QueueTooLarge: there is no room for it.
        SeedingFailed: the database refuses it.
        WrongCounts: what a SELECT counts is not what was described.
    """
    _check_carriers(description, profile)
    estimated = disk.check(description, profile, room)
    models = model_names(description, profile, run)
    keys = tuple(secrets.token_urlsafe(24) for _ in range(description.users))
    offered = declaration(description, models)
    with database.transaction() as connection:
        users = _users(connection, profile, run, keys)
        now: datetime = connection.execute(sqlalchemy.text(queries["now"])).scalar_one()
        tables = {"table": profile.seeding.table, "models_table": profile.seeding.models_table}
        connection.execute(sqlalchemy.text(queries["trust"]), tables)
        writer = Writer(description, profile, Run(users, (*models, f"{models[0]}-refused"), now))
        size, generating, writing = _copy(connection, writer, profile)
        counts = _counted(connection, description, profile, run, offered)
    database.maintain(profile.seeding.settle)
    return Seeded(
        run=run, way="copy", description=description, counts=counts, bytes_given=size, bytes_estimated=estimated,
        seconds_generating=generating, seconds_writing=writing, stored=_stored(database, profile, run, writer),
        models=models, keys=keys, declaration=offered,
    )  # fmt: skip


def _check_carriers(description: Description, profile: Profile) -> None:
    columns = profile.seeding.carriers
    if description.payload.carried_by == "natural":
        return
    missing = [carrier for carrier in description.payload.carriers if not columns[carrier]]
    if missing:
        raise BadQueue(
            f"The target has no column for {' and '.join(missing)}, which the queue's payload is carried by.",
            f"There is one for {', '.join(carrier for carrier in columns if columns[carrier])}.",
        )


def model_names(description: Description, profile: Profile, run: str) -> tuple[str, ...]:
    """The models of a run: its own, with a known price."""
    known, template = profile.models.known, profile.seeding.model
    return tuple(
        template.format(known=known, unique=f"{marks.model(run)}{number:03}") for number in range(description.models)
    )


def declaration(description: Description, models: tuple[str, ...]) -> dict[str, Any]:
    """What a worker declares to have the rows that wait, and only those."""
    by_family = description.refused.rows > 0 and description.refused.by == "family"
    only_text = by_family and description.chat_share == 0
    return {
        "models": list(models),
        "chat_models": [] if only_text else list(models),
        "accept_text": not by_family or only_text,
        "max_length": description.max_length,
        "max_context_length": description.max_context_length,
        "nsfw": description.refused.by != "nsfw",
    }


def _users(connection: sqlalchemy.Connection, profile: Profile, run: str, keys: tuple[str, ...]) -> list[str]:
    statement = sqlalchemy.text(profile.seeding.add_user)
    return [
        str(connection.execute(statement, {"name": marks.user(run, number), "key": key, "kudos": _KUDOS}).scalar_one())
        for number, key in enumerate(keys)
    ]


# ---------------------------------------------------------------------------------------- the rows


def _copy(connection: sqlalchemy.Connection, writer: Writer, profile: Profile) -> tuple[int, float, float]:
    """Bytes given, seconds to make them, and seconds until the database had them."""
    seeding = profile.seeding
    into = _copy_statement(seeding.table, tuple(seeding.columns))
    models_into = _copy_statement(seeding.models_table, tuple(seeding.models_columns))
    pieces, size, generating, writing = writer.pieces(), 0, 0.0, 0.0
    with _cursor(connection) as cursor:
        while True:
            begun = time.perf_counter()
            piece: Piece | None = next(pieces, None)
            made = time.perf_counter()
            generating += made - begun
            if piece is None:
                return size, generating, writing
            for statement, data in ((into, piece.requests), (models_into, piece.models)):
                cursor.copy_expert(statement, io.BytesIO(data), size=1024 * 1024)
                size += len(data)
            writing += time.perf_counter() - made


def _copy_statement(table: str, columns: tuple[str, ...]) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    return sql.SQL("COPY {table} ({names}) FROM STDIN").format(table=sql.Identifier(*table.split(".")), names=names)


@contextmanager
def _cursor(connection: sqlalchemy.Connection) -> Iterator[Any]:
    """The driver's own cursor in the same transaction: SQLAlchemy knows no COPY."""
    driver = connection.connection.driver_connection
    assert driver is not None
    with driver.cursor() as cursor:
        try:
            yield cursor
        except psycopg2.errors.UniqueViolation:
            raise SeedingFailed(
                "Rows of this queue are there already: it was seeded before, or stands for another run just now.",
                "Remove it, or give the queue another seed.",
            ) from None
        except psycopg2.Error as error:
            raise SeedingFailed(
                f"The database refuses a row of the queue: {str(error).splitlines()[0].rstrip('.')}.",
                "Do the profile's [seeding] columns suit the target's tables?",
            ) from None


# ---------------------------------------------------------------------------------------- what is there


def _counted(
    connection: sqlalchemy.Connection, description: Description, profile: Profile, run: str, offered: dict[str, Any]
) -> tuple[Counted, ...]:
    """What a SELECT counts of a run's rows, which is what was described. Raises WrongCounts."""
    statement = sqlalchemy.text(profile.seeding.counts)
    rows = connection.execute(statement, {"mark": marks.users(run), **offered})
    there = {(str(row.kind), bool(row.chat)): int(row.rows) for row in rows}
    wanted = {(str(kind), chat): number for (kind, chat), number in expected(description).items()}
    if there != wanted:
        raise WrongCounts(
            f"The database counts {_told(there) or 'no rows'} where the queue has {_told(wanted)}.",
            "Does the profile's [seeding] write and count the same? Nothing of the queue is left.",
        )
    return tuple(Counted(kind=Kind(kind), chat=chat, rows=number) for (kind, chat), number in sorted(there.items()))


def _told(numbers: dict[tuple[str, bool], int]) -> str:
    return ", ".join(f"{n} {'chat' if chat else 'text'} {kind}" for (kind, chat), n in sorted(numbers.items()))


def _stored(database: Database, profile: Profile, run: str, writer: Writer) -> tuple[Stored, ...]:
    """How the carrying columns stand in the table; nothing is read out of line for it."""
    exact = database.row(queries["version"])["version"] >= 170000
    query = queries["stored" if exact else "stored_before_17"]
    columns = profile.seeding.carriers
    values = {"mark": marks.users(run)} | ({} if exact else {"target": TARGET})
    return tuple(
        Stored(
            carrier=carrier, column=column, rows=row["rows"], bytes_given=writer.given(carrier),
            bytes_stored=row["bytes"], out_of_line=row["out_of_line"], exact=exact,
        )
        for carrier in writer.description.payload.carriers
        if (column := columns[carrier])
        for row in [database.row(query.format(column=f'seeded."{column}"', rows=profile.seeding.rows), **values)]
    )  # fmt: skip
