"""What a run left: found by its mark, and removed with all that hangs on it."""

from __future__ import annotations

import sqlalchemy

from conformance.profile import Profile
from load.seeding import marks
from load.seeding.database import Database


def remove(database: Database, profile: Profile, run: str) -> int:
    """Remove all rows of a run, in one transaction; how many of all tables went."""
    values = {"mark": marks.users(run), "models": marks.models(run)}
    gone = 0
    with database.transaction() as connection:
        for statement in profile.seeding.remove:
            text = sqlalchemy.text(statement)
            gone += connection.execute(
                text, {name: values[name] for name in values if f":{name}" in statement}
            ).rowcount
    if gone:
        database.maintain(profile.seeding.tidy)
    return gone


def leftovers(database: Database, profile: Profile, *, kept: bool = False) -> list[str]:
    """The runs whose rows are there though nobody holds them: killed ones, and on request those that were kept."""
    with database.transaction() as connection:
        names = connection.execute(sqlalchemy.text(profile.seeding.users), {"mark": marks.all_users()}).scalars()
        found = {run for name in names if (run := marks.run_of(name))}
    return sorted(run for run in found if (kept or not marks.is_kept(run)) and not _lives(database, run))


def remove_leftovers(database: Database, profile: Profile, *, kept: bool = False) -> list[str]:
    """Remove what dead runs left; their names."""
    runs = leftovers(database, profile, kept=kept)
    for run in runs:
        remove(database, profile, run)
    return runs


def _lives(database: Database, run: str) -> bool:
    with database.holding(run) as ours:
        return not ours
