"""A command of the load room that is run by its module: what goes wrong is a sentence here too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

import typer

from conformance.errors import CouldNotRun, Exit, Situation
from fixtures.postgres import PostgresError


def run(command: Callable[..., None]) -> NoReturn:
    """Run a command on this process's arguments and end with its exit code."""
    try:
        typer.run(command)
    except (Situation, PostgresError) as situation:
        sys.stderr.write(f"{situation}\n{situation.hint}\n")
        sys.exit(getattr(situation, "exit", Exit.COULD_NOT_RUN))
    except CouldNotRun as reason:
        sys.stderr.write(f"Not measured: {reason}\n")
        sys.exit(Exit.COULD_NOT_RUN)
    sys.exit(0)
