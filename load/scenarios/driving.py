"""The user class that every scenario extends, and how the processes of a run speak with each other.

The process that leads (Locust's master, or the only one) reads the plan and sends it to all with their shares. Each
prepares and says that it is ready; then all begin at one moment. Once a second each sends its times, at the end what
it measured of itself. The leader merges all, judges, and writes the result.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from typing import Any, ClassVar
from urllib.parse import urlsplit

import gevent
from gevent.event import AsyncResult, Event
from locust import FastHttpUser, constant, events, task
from locust.runners import MasterRunner, WorkerRunner

from conformance import profile as profiles
from load.arrivals import Share
from load.scenarios import plan as plans
from load.scenarios.calling import Due
from load.scenarios.leading import Leader
from load.scenarios.part import Part, alike
from load.scenarios.people import Crew

log = logging.getLogger(__name__)

# Seconds until the begin, at most.
_AHEAD = 2.0
# Arrivals a second, where no plan is given.
_PLAIN_RATE = 20.0


class LoadUser(FastHttpUser):
    """One user of a scenario. In an open loop the first of a process makes all arrivals; others only stand by."""

    abstract = True
    scenario: ClassVar[str]
    concurrency = 4096
    wait_time = constant(0)

    def prepare(self, crew: Crew) -> None:
        """What has to be there before the first arrival."""

    def arrive(self, crew: Crew, due: Due) -> None:
        """One arrival, due then."""
        raise NotImplementedError

    @task
    def drive(self) -> None:
        """Take the lead of this process, or stand by, until the run is stopped."""
        if STAND.led_by is None:
            STAND.led_by = self
            STAND.follow(self)
        Event().wait()


class Stand:
    """Where one process stands: what it was told, and what it says."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.led_by: LoadUser | None = None
        self.part: Part | None = None
        self.told: AsyncResult = AsyncResult()
        self.go: AsyncResult = AsyncResult()
        self.send: Any = None

    def follow(self, user: LoadUser) -> None:
        """Prepare and drive this process's share, once told; one that cannot says why."""
        try:
            self._prepare(user, self.told.get())
        except Exception as error:
            self.send("load-refused", {"why": f"{type(error).__name__}: {error}"})
            raise
        assert self.part is not None
        go = self.go.get()
        ahead = go["moment"] - time.monotonic() if "moment" in go else go["wall"] - time.time()
        self.part.drive(user, time.monotonic() + min(max(ahead, 0.0), _AHEAD))

    def _prepare(self, user: LoadUser, told: dict[str, Any]) -> None:
        plan = plans.read(told["plan"])
        http = user.client.client.clientpool.get_client(plan.url)
        # The profile's patience, not Locust's minute.
        http._connection_pool.network_timeout = profiles.load(plan.profile).timings.answer  # noqa: SLF001
        show = user.environment.events.request.fire if told["show"] else None
        share = Share(told["index"], told["of"])
        self.part = Part(plan, share, http, urlsplit(plan.url).path.rstrip("/"), self.send, show)
        self.part.prepare(user)
        self.send("load-ready", {"index": share.index, "alike": alike(self.part.profile)})


STAND = Stand()


def _heard(kind: str, data: dict[str, Any]) -> None:
    """What a process that drives is told."""
    if kind == "load-begin":
        STAND.told.set(data)
    elif kind == "load-clock":
        STAND.send("load-clock", {**data, "told": time.monotonic()})
    else:
        STAND.go.set(data)


def _options(parser: Any) -> None:
    parser.add_argument("--rate", type=float, default=_PLAIN_RATE, help="arrivals a second, where no plan is given")
    parser.add_argument("--profile-name", default="reference", help="the target's profile, where no plan is given")


def _join(environment: Any, runner: Any, **_: Any) -> None:
    """Take this process's place: one that drives, one that leads, or both."""
    leader = Leader(environment, _heard)
    # Imports took seconds in which the loop did not run; timers that are set now would run out as much too early.
    gevent.get_hub().loop.update_now()
    if isinstance(runner, WorkerRunner):
        STAND.send = runner.send_message
        for kind in ("load-begin", "load-clock", "load-go"):
            runner.register_message(kind, lambda msg, **_: _heard(msg.type, msg.data))
    else:
        STAND.send = leader.hear
        if isinstance(runner, MasterRunner):
            for kind in ("load-ready", "load-refused", "load-clock", "load-exchanges", "load-report", "load-end"):
                runner.register_message(kind, lambda msg, **_: leader.hear(msg.type, msg.data))
        environment.events.spawning_complete.add_listener(lambda **_: leader.ask())
        environment.events.quitting.add_listener(lambda **_: leader.leave())
    environment.events.test_start.add_listener(lambda **_: _anew())
    environment.events.test_stop.add_listener(lambda **_: _end(leader))
    if plans.LED in os.environ:
        gevent.spawn(_end_with_parent)


def _end(leader: Leader) -> None:
    if STAND.part is not None:
        STAND.part.end()
    if not leader.environment.parsed_options.headless:
        # On the page somebody pressed "stop": all that drove have told.
        leader.finish()


def _end_with_parent() -> None:
    """Who started us holds the other end of our standard input; when that is gone, even killed, so are we."""
    gevent.get_hub().wait(gevent.get_hub().loop.io(sys.stdin.fileno(), 1))
    log.info("Who started this process is gone.")
    os.kill(os.getpid(), signal.SIGTERM)


def _anew() -> None:
    send = STAND.send
    STAND.clear()
    STAND.send = send


# Locust's hooks have no types.
_HOOKS: Any = events
_HOOKS.init.add_listener(_join)
_HOOKS.init_command_line_parser.add_listener(_options)
