"""Queues of any shape, by one description; gone when they are no longer needed, also after a kill."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

from conformance.profile import Profile
from load.errors import BadQueue
from load.seeding import calling, copying, disk, marks, removing
from load.seeding.database import Database, queries
from load.seeding.description import Description, Expired, Payload, Refused, parse, read
from load.seeding.rows import Kind, Row, row, rows
from load.seeding.seeded import Counted, Seeded, Stored

__all__ = [
    "Counted",
    "Description",
    "Expired",
    "Kind",
    "Payload",
    "Refused",
    "Row",
    "Seeded",
    "Stored",
    "built_in",
    "example",
    "leftovers",
    "parse",
    "read",
    "remove",
    "row",
    "rows",
    "seed",
    "seeded",
]


@contextmanager
def seeded(
    description: Description, profile: Profile, *, database_url: str | None = None, url: str | None = None
) -> Iterator[Seeded]:
    """A queue for the time of a `with` block, by COPY where there is a database and the profile can write to it.

    What killed runs left is removed first. Afterwards nothing of the queue is left, whatever was made of it: its
    requests, their models and generations, its users.

    Raises:
        BadQueue: the target cannot have this queue.
        QueueTooLarge: there is no room for it; no row was written.
        SeedingFailed, WrongCounts: it did not come to stand; nothing of it is left.
    """
    if database_url is None or not profile.seeding.table:
        with calling.seeded(description, profile, _needed(url)) as queue:
            yield queue
        return
    database = Database(database_url)
    removing.remove_leftovers(database, profile)
    run = marks.new(kept=False)
    with database.holding(run):
        try:
            yield copying.seed(database, description, profile, run, _room(database, profile))
        finally:
            removing.remove(database, profile, run)


def seed(description: Description, profile: Profile, database_url: str) -> Seeded:
    """Write a queue that stays until somebody asks for its removal. Raises as `seeded`."""
    _check_table(profile)
    database = Database(database_url)
    run = marks.new(kept=True)
    with database.holding(run):
        try:
            return copying.seed(database, description, profile, run, _room(database, profile))
        except BaseException:
            removing.remove(database, profile, run)
            raise


def leftovers(profile: Profile, database_url: str, *, kept: bool = True) -> list[str]:
    """The runs whose queues stand though nobody uses them: killed ones and, unless told not to, those kept."""
    _check_table(profile)
    return removing.leftovers(Database(database_url), profile, kept=kept)


def remove(
    profile: Profile, *, database_url: str | None = None, url: str | None = None, kept: bool = True
) -> list[str]:
    """Remove what dead runs left and, unless told not to, what was seeded to stay; the names of the runs."""
    if database_url is None:
        return calling.remove_leftovers(profile, _needed(url))
    _check_table(profile)
    return removing.remove_leftovers(Database(database_url), profile, kept=kept)


def built_in() -> list[str]:
    """The names of the descriptions that come with the harness."""
    return sorted(f.name.removesuffix(".toml") for f in (files(__package__) / "queues").iterdir())


def example(name: str) -> Description:
    """A description that comes with the harness.

    Raises:
        BadQueue: there is none of that name.
    """
    if name not in built_in():
        raise BadQueue(
            f"There is no queue {name!r}.", f"There are {', '.join(built_in())}; or give a TOML file's path."
        )
    return parse((files(__package__) / "queues" / f"{name}.toml").read_text("utf-8"), name)


def _room(database: Database, profile: Profile) -> disk.Room:
    directory = database.row(queries["data_directory"])["directory"]
    return disk.room(database.url, directory, profile.seeding.largest_bytes)


def _check_table(profile: Profile) -> None:
    if not profile.seeding.table:
        raise BadQueue(
            f"The profile {profile.name!r} does not say how a queue is written into the target's database.",
            "Fill in its [seeding], or give the target's URL alone: small queues can be submitted.",
        )


def _needed(url: str | None) -> str:
    if url is None:
        raise BadQueue(
            "Neither a database that the profile can write to nor a target's URL is given.",
            "Give --database-url with a profile that has [seeding], or --target.",
        )
    return url
