"""The door of the console command: loading it takes a second, and an interruption meanwhile is a sentence too."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import typer


def interrupted(_signal: int, _frame: object) -> NoReturn:
    """Make of SIGTERM what Ctrl-C is, so that both run the same clean-up."""
    raise KeyboardInterrupt


def main() -> NoReturn:
    """Load the command and run it."""
    signal.signal(signal.SIGTERM, interrupted)
    try:
        from conformance import cli  # noqa: PLC0415 - this import is what may be interrupted

        join_load(cli.app, sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted before anything was started.\n")
        sys.exit(3)
    cli.main()


def join_load(app: typer.Typer, arguments: list[str]) -> None:
    """Join the sub-command of the other room, whose libraries take half a second that no other command pays."""
    if arguments[:1] == ["load"]:
        from load.cli import app as load  # noqa: PLC0415
    else:
        load = type(app)(callback=lambda: None)
    app.add_typer(load, name="load", help="Load a server and say what may be believed of it.")


if __name__ == "__main__":
    main()
