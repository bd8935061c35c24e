"""The named situations in which the harness stops or a check cannot be judged.

Each carries one sentence of what happened and one of what to do; the console command prints both and exits
with the situation's code. A situation never reaches a person as a traceback.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar


class Exit(IntEnum):
    """The exit codes of the console command."""

    CONFORMANT = 0
    NOT_CONFORMANT = 1
    USAGE = 2
    COULD_NOT_RUN = 3
    EXPECTATION = 4
    WORSE = 5


class Situation(Exception):
    """A named situation that ends the command: `what` happened and, as `hint`, what to do about it."""

    exit: ClassVar[Exit] = Exit.USAGE

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class UnknownProfile(Situation):
    """No profile of that name or file."""


class BadProfile(Situation):
    """A profile that cannot be read: bad TOML, an unknown key, a value of the wrong type."""


class NothingMatches(Situation):
    """A pattern of ids that selects no requirement of the catalogue."""


class BadCatalogue(Situation):
    """The catalogue and the suites contradict each other."""


class BadHistory(Situation):
    """A file that holds no history."""


class BadOptions(Situation):
    """Options that do not go together or name something that does not exist."""


class TargetNotReady(Situation):
    """The target failed the preflight: heartbeat, accounts or one text round trip. Nothing is judged."""

    exit = Exit.COULD_NOT_RUN


class DatabaseNotReady(Situation):
    """The database that stands behind a target cannot be read."""

    exit = Exit.COULD_NOT_RUN


class ReferenceNotStarted(Situation):
    """The embedded reference server did not come up."""

    exit = Exit.COULD_NOT_RUN


class CouldNotRun(Exception):
    """Raised inside a check: its story could not be told, so nothing is judged. The text is the reason."""
