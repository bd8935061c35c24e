"""What keeping exchanges costs, in blocks of one process: `load.sessions.cost` starts it and reads what it prints.

Eight users call back to back, so that the process is at its ceiling. Blocks of so many calls come in pairs, one that
keeps its exchanges and writes them and one that does not, in shuffled order.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from pathlib import Path
from random import Random

import gevent
import typer
from geventhttpclient import HTTPClient

from conformance import profile as profiles
from load.arrivals import Share, stream
from load.recording import Recorder
from load.scenarios import plan as plans
from load.scenarios.calling import Caller, Due
from load.scenarios.exchanges import Keeper
from load.scenarios.mixed import Mixed
from load.scenarios.people import Crew, payload
from load.scenarios.plan import Plan

_USERS = 8
# Blocks that are thrown away at the beginning: connections are opened in them.
_WARM_UP = 2


class Blocks:
    """One process's people, who call in blocks with or without a keeper."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        profile, shared = profiles.load(plan.profile), payload(plan)
        http = HTTPClient.from_url(plan.url, concurrency=_USERS, network_timeout=profile.timings.answer)
        self._keeper = Keeper(folder, 0, shared)
        self._callers = {
            keeps: Caller(http, "", profile, Recorder(), self._keeper if keeps else None) for keeps in (True, False)
        }
        self._crew = Crew(plan, profile, Share(), self._callers[False], shared)

    def block(self, calls: int, *, keeps: bool) -> tuple[float, float]:
        """Seconds of CPU and of the clock that one call takes."""
        caller = self._crew.caller = self._callers[keeps]
        before, cpu, wall = caller.recorder.recorded, time.process_time(), time.monotonic()
        until = before + calls
        gevent.joinall([gevent.spawn(self._use, until) for _ in range(_USERS)], raise_error=True)
        if keeps:
            self._keeper.flush()
        caller.recorder.take(wall)
        made = caller.recorder.recorded - before
        return (time.process_time() - cpu) / made, (time.monotonic() - wall) / made

    def _use(self, until: int) -> None:
        while self._crew.caller.recorder.recorded < until:
            # The player's people are the crew's; of itself it needs nothing.
            Mixed.arrive(None, self._crew, Due("steady", time.monotonic()))  # type: ignore[arg-type]


def pairs(blocks: Blocks, calls: int, count: int, draw: Random) -> list[list[list[float]]]:
    """Of each pair: CPU and clock of a call without keeping, and with it."""
    for _ in range(_WARM_UP):
        for keeps in (True, False):
            blocks.block(calls, keeps=keeps)
    # As every process of a load does.
    gc.collect()
    gc.freeze()
    measured = []
    for _ in range(count):
        first = draw.random() < 1 / 2
        found = {keeps: list(blocks.block(calls, keeps=keeps)) for keeps in (first, not first)}
        measured.append([found[False], found[True]])
    return measured


def main() -> None:
    """Read a plan from standard input, and print the pairs as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--pairs", type=int, required=True)
    options = parser.parse_args()
    plan = plans.read(sys.stdin.read())
    assert plan.exchanges is not None
    measured = pairs(Blocks(plan, plan.exchanges), options.calls, options.pairs, stream(plan.seed, "keeping"))
    typer.echo(json.dumps(measured))


if __name__ == "__main__":
    main()
