"""The process that leads a run: it gives shares, begins, merges what is told, judges, and writes the result.

Of processes of other hosts it also asks, ten times a second, what their clocks say, and collects their exchanges.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable
from typing import Any

import gevent
from locust.runners import STATE_MISSING, LocalRunner, MasterRunner

from conformance import accounts as obtaining
from conformance import profile as profiles
from conformance.client import Client
from load.errors import BadPlan
from load.health import Verdict
from load.recording import Histogram
from load.scenarios import plan as plans
from load.scenarios import result as results
from load.scenarios.clocks import Reading, apart
from load.scenarios.exchanges import Collector
from load.scenarios.part import alike
from load.scenarios.plan import Phase, Plan

log = logging.getLogger(__name__)

# Seconds: from the word to begin to the begin; for a preparation; for clocks to be read.
_AHEAD, _PREPARATION, _READING = 0.3, 60.0, 10.0
_GLANCE = 0.1
# Answers of each clock before a run begins.
_READINGS = 5
# Seconds after its end, within which all that a second holds has been told of.
_TOLD_LATE = 2.5
# A plain `locust -f` names no plan: it drives until it is stopped.
_PLAIN_SECONDS = 86400.0

Tell = Callable[[str, dict[str, Any]], None]


class Leader:
    """The process in which all comes together."""

    def __init__(self, environment: Any, here: Tell) -> None:
        self.environment = environment
        # Tells this very process, where it is the one that drives as well.
        self._here = here
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
        self._refused: list[str] = []
        self._clocks: dict[int, list[Reading]] = {index: [] for index in range(len(names))}
        self._collector = Collector(plan.exchanges) if plan.elsewhere and plan.exchanges else None
        self._alike = alike(profiles.load(plan.profile))
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
            self._here(kind, data)
        else:
            self.environment.runner.send_message(kind, data, name)

    def hear(self, kind: str, data: dict[str, Any]) -> None:
        """Take what a process says."""
        if self._gathered is None:
            return
        if kind == "load-ready":
            self._ready.add(data["index"])
            if data["alike"] != self._alike:
                self._refused.append(f"it runs {data['alike']}, and here is {self._alike}")
        elif kind == "load-refused":
            self._refused.append(data["why"])
        elif kind == "load-clock":
            self._clocks[data["index"]].append(Reading(data["sent"], data["told"], time.monotonic()))
        elif kind == "load-exchanges":
            if self._collector is not None:
                self._collector.add(data["index"], data["rows"])
        elif kind == "load-report":
            self._gathered.merged.add(data["rows"])
        else:
            self._gathered.end(data)

    def _watch(self, names: list[str]) -> None:
        gathered = self._gathered
        assert gathered is not None
        plan, everybody = gathered.plan, set(range(len(names)))
        self._wait(names, lambda: everybody - self._ready if not self._refused else set(), _PREPARATION)
        if plan.elsewhere:
            self._wait(names, lambda: {i for i in everybody if len(self._clocks[i]) < _READINGS}, _READING)
        if self._refused:
            self._give_up()
            return
        gathered.begun, moment = time.time() + _AHEAD, time.monotonic() + _AHEAD
        if plan.result is not None:
            # Whoever started us looks at the target's database at the borders of the phases.
            plans.begun_file(plan.result).write_text(repr(gathered.begun), "ascii")
        for index, name in enumerate(names):
            read = self._clocks[index]
            # One whose clock was never read is dead, and will be missed.
            begin = {"moment": moment + apart(read).middle} if read else {"wall": gathered.begun}
            self._tell("load-go", begin, name)
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
            self._ask_for_clocks(names)

    def _ask_for_clocks(self, names: list[str]) -> None:
        if self._gathered is not None and self._gathered.plan.elsewhere:
            for index, name in enumerate(names):
                self._tell("load-clock", {"index": index, "sent": time.monotonic()}, name)

    def _give_up(self) -> None:
        """End a run in which nobody drives as is asked; without a result, whoever started it says what is logged."""
        self._over = True
        log.error("A process that should make the load cannot: %s.", "; ".join(dict.fromkeys(self._refused)))
        gevent.spawn(self.environment.runner.quit)

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
        if self._collector is not None:
            self._collector.close({index: apart(read) for index, read in self._clocks.items() if read})
        missing = set(range(gathered.workers)) - set(gathered.processes)
        early = time.time() < gathered.begun + gathered.plan.seconds - _GLANCE
        result = gathered.result(missing, interrupted=early)
        if gathered.plan.result is not None:
            results.save(result, gathered.plan.result)
        self.environment.process_exit_code = 0 if result.health.verdict is Verdict.VALID else 3
        log.info("The generator: %s. %s", result.health.verdict, " ".join(r.sentence for r in result.health.reasons))
        for one in result.series:
            log.info("%s: %d, service %s, response %s", one.key, one.count, *map(_told, (one.service, one.response)))


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
