"""The user class that every scenario extends, and how the processes of a run speak with each other.

The process that leads (Locust's master, or the only one) reads the plan and sends it to all with their shares. Each
prepares and says that it is ready; then all begin at one moment of wall time. Once a second each sends its times, at
the end what it measured of itself. The leader merges all, judges, and writes the result.
"""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
import time
from typing import Any, ClassVar
from urllib.parse import urlsplit

import gevent
from gevent.event import AsyncResult, Event
from locust import FastHttpUser, constant, events, task
from locust.runners import STATE_MISSING, LocalRunner, MasterRunner, WorkerRunner

from conformance import accounts as obtaining
from conformance import profile as profiles
from conformance.client import Client
from load.arrivals import Share
from load.errors import BadPlan
from load.health import Verdict
from load.recording import Histogram
from load.scenarios import plan as plans
from load.scenarios import result as results
from load.scenarios.calling import Due
from load.scenarios.part import Part
from load.scenarios.people import Crew
from load.scenarios.plan import Phase, Plan

log = logging.getLogger(__name__)

# Seconds: from the word to begin to the begin; the most that clocks of several hosts may differ; for a preparation.
_AHEAD, _APART, _PREPARATION = 0.3, 2.0, 60.0
_GLANCE = 0.1
# Seconds after its end, within which all that a second holds has been told of.
_TOLD_LATE = 2.5
# A plain `locust -f` names no plan: it drives until it is stopped.
_PLAIN_RATE, _PLAIN_SECONDS = 20.0, 86400.0


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
        """Prepare and drive this process's share, once told."""
        told = self.told.get()
        plan = plans.read(told["plan"])
        http = user.client.client.clientpool.get_client(plan.url)
        # The profile's patience, not Locust's minute.
        http._connection_pool.network_timeout = profiles.load(plan.profile).timings.answer  # noqa: SLF001
        show = user.environment.events.request.fire if told["show"] else None
        share = Share(told["index"], told["of"])
        self.part = Part(plan, share, http, urlsplit(plan.url).path.rstrip("/"), self.send, show)
        self.part.prepare(user)
        self.send("load-ready", {"index": share.index})
        ahead = min(max(self.go.get() - time.time(), 0.0), _APART)
        self.part.drive(user, time.monotonic() + ahead)


class Leader:
    """The process in which all comes together."""

    def __init__(self, environment: Any) -> None:
        self.environment = environment
        self._gathered: results.Gathered | None = None
        self._over = False

    def ask(self) -> None:
        """Give each process its share of the plan, and see the run through."""
        if self._gathered is not None and not self._over:
            # Of a run that goes on somebody changed the number of users on the page.
            return
        runner = self.environment.runner
        plan, show = self._plan()
        names = _members(runner)
        self._ready: set[int] = set()
        self._over, self._beaten = False, -1
        # One that went before it began is missed like one that went later.
        self._gathered = results.Gathered(plan, max(len(names), self.environment.parsed_options.expect_workers))
        for index, name in enumerate(names):
            told = {"plan": plan.model_dump_json(), "index": index, "of": len(names), "show": show}
            self._tell("load-begin", told, name)
        runner.greenlet.spawn(self._watch, names)

    def _plan(self) -> tuple[Plan, bool]:
        plan = plans.from_environment()
        if plan is not None:
            return plan, False
        return _plain(self.environment), True

    def _tell(self, kind: str, data: dict[str, Any], name: str) -> None:
        if isinstance(self.environment.runner, LocalRunner):
            _heard(kind, data)
        else:
            self.environment.runner.send_message(kind, data, name)

    def hear(self, kind: str, data: dict[str, Any]) -> None:
        """Take what a process says."""
        if self._gathered is None:
            return
        if kind == "load-ready":
            self._ready.add(data["index"])
        elif kind == "load-report":
            self._gathered.merged.add(data["rows"])
        else:
            self._gathered.end(data)

    def _watch(self, names: list[str]) -> None:
        gathered = self._gathered
        assert gathered is not None
        plan, everybody = gathered.plan, set(range(len(names)))
        self._wait(names, lambda: everybody - self._ready, _PREPARATION)
        gathered.begun = time.time() + _AHEAD
        if plan.result is not None:
            # Whoever started us looks at the target's database at the borders of the phases.
            plans.begun_file(plan.result).write_text(repr(gathered.begun), "ascii")
        for name in names:
            self._tell("load-go", {"wall": gathered.begun}, name)
        patience = profiles.load(plan.profile).timings.answer
        self._wait(names, lambda: everybody - set(gathered.processes), plan.seconds + patience + 10)
        self.finish()
        # From a greenlet of its own: the runner kills those of its group.
        headless = self.environment.parsed_options.headless
        gevent.spawn(self.environment.runner.quit if headless else self.environment.runner.stop)

    def _wait(self, names: list[str], pending: Any, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while pending() - self._missing(names) and time.monotonic() < deadline:
            gevent.sleep(_GLANCE)
            self._beat()

    def _beat(self) -> None:
        """Tell who started us, once a second, how many calls ended in that second, by outcome."""
        gathered = self._gathered
        if gathered is None or gathered.plan.beats is None or not gathered.begun:
            return
        # Of the last second that every process has told of.
        second = math.floor(time.time() - gathered.begun - _TOLD_LATE)
        if second > self._beaten:
            self._beaten = second
            with gathered.plan.beats.open("a", encoding="ascii") as file:
                file.write(json.dumps({"second": second, "counts": gathered.merged.count(second)}) + "\n")

    def _missing(self, names: list[str]) -> set[int]:
        """Those who gave no sign of life for some seconds, or went."""
        if not isinstance(self.environment.runner, MasterRunner):
            return set()
        clients = self.environment.runner.clients
        lost = {i for i, n in enumerate(names) if n not in clients or clients[n].state == STATE_MISSING}
        return lost - set(self._gathered.processes if self._gathered else ())

    def leave(self) -> None:
        """Before Locust ends: let all tell what they measured, for a run that was cut short too."""
        self.environment.runner.quit()
        self.finish()

    def finish(self) -> None:
        """Judge and write the result, once."""
        gathered = self._gathered
        if gathered is None or self._over:
            return
        self._over = True
        missing = set(range(gathered.workers)) - set(gathered.processes)
        early = time.time() < gathered.begun + gathered.plan.seconds - _GLANCE
        result = gathered.result(missing, interrupted=early)
        if gathered.plan.result is not None:
            results.save(result, gathered.plan.result)
        self.environment.process_exit_code = 0 if result.health.verdict is Verdict.VALID else 3
        log.info("The generator: %s. %s", result.health.verdict, " ".join(r.sentence for r in result.health.reasons))
        for one in result.series:
            log.info("%s: %d, service %s, response %s", one.key, one.count, *map(_told, (one.service, one.response)))


STAND = Stand()


def _told(encoded: str) -> str:
    found = Histogram.decode(encoded).quantiles((0.5, 0.9, 0.99))
    return " ".join(f"p{share * 100:g} {seconds * 1000:.2f} ms" for share, seconds in found.items())


def _members(runner: Any) -> list[str]:
    """The processes that drive, in the order of their indexes."""
    if isinstance(runner, LocalRunner):
        return [runner.client_id]
    # Locust takes users for spawned a second after it asked for them, whether or not a busy worker has said so.
    alive = (client.id for client in runner.clients.all if client.state != STATE_MISSING)
    return sorted(alive, key=runner.get_worker_index)


def _plain(environment: Any) -> Plan:
    """A plan for a plain `locust -f`: the profile `reference`, on accounts that the target makes."""
    user, options = environment.user_classes[0], environment.parsed_options
    if not environment.host:
        raise BadPlan("No target is named.", "Give --host, or fill it in on the page.")
    profile = profiles.load(options.profile_name)
    with Client(environment.host, profile) as client:
        cast = obtaining.provide(client, 1)[0]
    models = [
        profile.models.template.format(known=profile.models.known, unique=f"load{place:04d}", alias=owner.alias)
        for place, owner in enumerate(cast.owners)
    ]
    return Plan(
        scenario=user.scenario,
        url=environment.host,
        profile=options.profile_name,
        phases=(Phase(name="steady", seconds=_PLAIN_SECONDS, rate=options.rate),),
        requesters=tuple(cast.requesters),
        owners=tuple(cast.owners),
        models=tuple(models),
    )


def _heard(kind: str, data: dict[str, Any]) -> None:
    """What a process that drives is told."""
    if kind == "load-begin":
        STAND.told.set(data)
    else:
        STAND.go.set(data["wall"])


def _options(parser: Any) -> None:
    parser.add_argument("--rate", type=float, default=_PLAIN_RATE, help="arrivals a second, where no plan is given")
    parser.add_argument("--profile-name", default="reference", help="the target's profile, where no plan is given")


def _join(environment: Any, runner: Any, **_: Any) -> None:
    """Take this process's place: one that drives, one that leads, or both."""
    leader = Leader(environment)
    # Imports took seconds in which the loop did not run; timers that are set now would run out as much too early.
    gevent.get_hub().loop.update_now()
    if isinstance(runner, WorkerRunner):
        STAND.send = runner.send_message
        for kind in ("load-begin", "load-go"):
            runner.register_message(kind, lambda msg, **_: _heard(msg.type, msg.data))
    else:
        STAND.send = leader.hear
        if isinstance(runner, MasterRunner):
            for kind in ("load-ready", "load-report", "load-end"):
                runner.register_message(kind, lambda msg, **_: leader.hear(msg.type, msg.data))
        environment.events.spawning_complete.add_listener(lambda **_: leader.ask())
        environment.events.quitting.add_listener(lambda **_: leader.leave())
    environment.events.test_start.add_listener(lambda **_: _anew())
    environment.events.test_stop.add_listener(lambda **_: _end(leader))
    if plans.VARIABLE in os.environ:
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
