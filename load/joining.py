"""The other end of a run that is made from several hosts: processes that join the one that leads, run after run."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from load import scenarios
from load.errors import GeneratorNotStarted
from load.running import Meeting, locusts, worker

_EVERY = Path(scenarios.__file__).with_name("every.py")


def join(place: Meeting, processes: int, *, started: Callable[[list[int]], None] | None = None) -> None:
    """Let processes of this host make their share of one run, and wait until it is over.

    Args:
        place: where the process that leads is, or will be within five minutes.
        processes: how many.
        started: is told the processes' ids.

    Raises:
        GeneratorNotStarted: nobody led, or one of the processes died.
    """
    command = ["-f", str(_EVERY), *worker(place)]
    with (
        tempfile.TemporaryDirectory(prefix="horde-load-") as folder,
        locusts([command] * processes, Path(folder), {}) as running,
    ):
        if started is not None:
            started([process.popen.pid for process in running])
        for process in running:
            process.popen.wait()
        died = [process for process in running if process.popen.returncode]
        if died:
            said = died[0].said().strip().splitlines()[-1:] or ["nothing was said"]
            raise GeneratorNotStarted(
                f"{len(died)} of {processes} processes made no load for {place.host}:{place.port}: {said[0]}",
                "Is a run led there, and its port open?",
            )


def join_command(
    place: Annotated[str, typer.Argument(metavar="HOST:PORT", help="Where `load run --listen` waits.")],
    processes: Annotated[int, typer.Option(min=1, help="Processes of this host that make the load.")] = 1,
) -> None:
    """Make load for a session that another host leads, until nobody leads one for five minutes, or Ctrl-C."""
    meeting, runs = Meeting.read(place), 0
    while True:
        sys.stderr.write(f"{processes} processes wait for {place}, which has led {runs} runs.\n")
        join(meeting, processes)
        runs += 1
