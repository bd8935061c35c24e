"""The door of the console command: loading it takes a second, and an interruption meanwhile is a sentence too."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def interrupted(_signal: int, _frame: object) -> NoReturn:
    """Make of SIGTERM what Ctrl-C is, so that both run the same clean-up."""
    raise KeyboardInterrupt


def main() -> NoReturn:
    """Load the command and run it."""
    signal.signal(signal.SIGTERM, interrupted)
    try:
        from conformance import cli  # noqa: PLC0415 - this import is what may be interrupted
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted before anything was started.\n")
        sys.exit(3)
    cli.main()


if __name__ == "__main__":
    main()
