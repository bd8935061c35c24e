"""A locustfile that spoils its own process in the way that the environment names; no test, but what tests run."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import gevent
from gevent.monkey import get_original
from locust.runners import WorkerRunner

from load.scenarios import driving, part, pop_scan

_REAL_SLEEP, _REAL_TIME = get_original("time", "sleep"), time.time


class Sabotaged(pop_scan.PopScan):
    """Pops as ever."""


def hog() -> None:
    """Use a core up."""
    while True:
        until = time.monotonic() + 0.01
        while time.monotonic() < until:
            pass
        gevent.sleep(0)


def block() -> None:
    """Stop the loop for a fifth of a second, as a driver does that knows nothing of it."""
    while True:
        gevent.sleep(0.5)
        _REAL_SLEEP(0.2)


def step() -> None:
    """Let the wall clock step once the run has begun."""
    while driving.STAND.part is None or not driving.STAND.part.begun:
        gevent.sleep(0.1)
    gevent.sleep(1)
    time.time = lambda: _REAL_TIME() + 5


def lock_step() -> None:
    """Let all users begin at once."""
    together = random.Random(1)
    together.random = lambda: 0.0  # type: ignore[method-assign]
    vars(part)["stream"] = lambda *_: together


def late() -> None:
    """Say that users were spawned when Locust's leader no longer waits for it, which is after a second."""
    runner: Any = WorkerRunner
    says = runner.spawning_complete

    def says_late(*arguments: Any) -> None:
        gevent.sleep(2)
        says(*arguments)

    runner.spawning_complete = says_late


gevent.spawn(globals()[os.environ["SABOTAGE"]])
