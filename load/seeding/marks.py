"""The mark that a run leaves on what it writes: in its users' names, which no server changes, and its models'.

A run is eight hexadecimal digits, after `run-` where it is removed at its end and by whoever comes after its death,
or after `kept-` where a person seeded it to stay and removes it when done.
"""

from __future__ import annotations

import re
import secrets

_PREFIX = "horde-load-"


def new(*, kept: bool) -> str:
    """The name of a new run."""
    return f"{'kept' if kept else 'run'}-{secrets.token_hex(4)}"


def is_kept(run: str) -> bool:
    """Whether a run's queue was made to outlive it."""
    return run.startswith("kept-")


def number(run: str) -> int:
    """The run as a signed number of 32 bits, under which the database holds its lock."""
    unsigned = int(run.rpartition("-")[2], 16)
    return unsigned - 2**32 if unsigned >= 2**31 else unsigned


def user(run: str, index: int) -> str:
    """The name of one of a run's users."""
    return f"{_PREFIX}{run}-{index}"


def users(run: str) -> str:
    """A LIKE pattern of a run's users."""
    return f"{_PREFIX}{run}-%"


def all_users() -> str:
    """A LIKE pattern of all runs' users."""
    return f"{_PREFIX}%"


def run_of(name: str) -> str | None:
    """The run that a user of this name belongs to; None for anybody else's."""
    found = re.fullmatch(rf"{_PREFIX}((?:run|kept)-[0-9a-f]{{8}})-\d+", name)
    return found[1] if found else None


def model(run: str) -> str:
    """What the names of a run's models have in them: letters and digits only."""
    return run.replace("-", "")


def models(run: str) -> str:
    """A LIKE pattern of a run's models."""
    return f"%-{model(run)}___-%"
