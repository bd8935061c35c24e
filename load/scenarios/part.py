"""One process's part of a load run: it drives, measures, and says what it measured."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from array import array
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Protocol

import gevent
import numpy as np
from gevent.lock import Semaphore
from gevent.pool import Pool

from conformance import profile as profiles
from conformance.profile import Profile
from load.arrivals import Gaps, Share, schedule, stream
from load.health import PhaseCounts, Process, dispersion
from load.recording import Key, Outcome, Recorder, bucketed
from load.scenarios.calling import Caller, Due
from load.scenarios.exchanges import Keeper
from load.scenarios.people import Crew, payload
from load.scenarios.plan import Plan
from load.scenarios.timing import Probe, Timer

# Seconds for chains of calls that are under way when the last phase ends, beyond one answer's patience.
_GRACE = 2.0
# Seconds between two reports.
_REPORT = 1.0

Send = Callable[[str, dict[str, Any]], None]


class Player(Protocol):
    """A scenario: what it does beforehand, and at each arrival."""

    def prepare(self, crew: Crew) -> None: ...
    def arrive(self, crew: Crew, due: Due) -> None: ...


class Part:
    """Drives one process's share of a plan with a player, over an HTTP client; `send` takes its messages."""

    def __init__(
        self, plan: Plan, share: Share, http: Any, path: str, send: Send, show: Callable[..., None] | None
    ) -> None:
        self.plan, self.share, self._send = plan, share, send
        self.profile = profiles.load(plan.profile)
        shared = payload(plan)
        to = self._send_exchanges if plan.elsewhere else None
        self._keeper = Keeper(plan.exchanges, share.index, shared, to) if plan.exchanges else None
        self._caller = Caller(http, path, self.profile, Recorder(), self._keeper, show)
        self.crew = Crew(plan, self.profile, share, self._caller, shared)
        self._began: list[array[float]] = [array("d") for _ in plan.phases]
        self._lateness: array[float] = array("d")
        self._due = self._users = 0
        self._ended = False
        self._turn = Semaphore()
        self.begun = 0.0

    def prepare(self, player: Player) -> None:
        """What has to be there before the first arrival; its calls are in no series."""
        player.prepare(self.crew)
        self._caller.recorder = Recorder()
        self._caller.answered = 0
        # What was imported stays: the collector need not stop the loop to look through all of it, again and again.
        gc.collect()
        gc.freeze()

    def drive(self, player: Player, begun: float) -> None:
        """Let arrivals come from `begun` (`time.monotonic()`) on until the last phase is over, and say what was."""
        self.begun = begun
        self._probe = Probe(self.plan, begun, self.share.index)
        probe, reporter = gevent.spawn(self._probe.run), gevent.spawn(self._report)
        pool = Pool(self.plan.in_flight)
        try:
            if self.plan.loop == "open":
                self._open(player, pool)
            else:
                self._closed(player, pool)
            probe.join(timeout=self.plan.seconds + _GRACE)
            pool.join(timeout=self.profile.timings.answer + _GRACE)
        finally:
            pool.kill(timeout=1)
            gevent.killall([probe, reporter])
            self.end()

    def _open(self, player: Player, pool: Pool) -> None:
        timer, end = Timer(), self.begun + self.plan.seconds
        for place, start in schedule(self.plan.stretches, self.plan.gaps, seed=self.plan.seed, share=self.share):
            behind = time.monotonic() >= end
            if not behind:
                timer.sleep_until(self.begun + start)
            self._due += 1
            # At the very end, what is left was due and did not begin.
            if not behind:
                pool.spawn(self._arrive, player, place, self.begun + start)

    def _closed(self, player: Player, pool: Pool) -> None:
        for number in range(self.share.index, self.plan.users, self.share.of):
            pool.spawn(self._use, player, number)

    def _use(self, player: Player, number: int) -> None:
        """One user of a closed loop: it waits for each answer, and is never late by its own schedule."""
        timer, draw, at = Timer(), stream(self.plan.seed, "user", number), self.begun
        for place, (phase, stretch) in enumerate(zip(self.plan.phases, self.plan.stretches, strict=True)):
            end = self.begun + stretch.end
            mean = self.plan.users / phase.rate if phase.rate else phase.seconds
            # Users who began together would stay together, for each waits as long as the others.
            at = self.begun + stretch.begin + draw.random() * mean
            while (at := max(at, time.monotonic())) < end:
                timer.sleep_until(at)
                self._due += 1
                self._arrive(player, place, at)
                at += mean if self.plan.gaps is Gaps.CONSTANT else draw.expovariate(1 / mean)

    def _arrive(self, player: Player, place: int, intended: float) -> None:
        now = time.monotonic()
        phase = self.plan.phases[place]
        self._began[place].append(now)
        if phase.counts:
            self._lateness.append(now - intended)
        try:
            player.arrive(self.crew, Due(phase.name, intended))
        except Exception:
            # A target whose answers no scenario can go on with: counted, and told where Locust tells it.
            key = Key(phase.name, "scenario", Outcome.CRASHED)
            self._caller.recorder.add(key, intended, now, time.monotonic())
            raise

    def _report(self) -> None:
        while True:
            gevent.sleep(_REPORT)
            self._tell()

    def _tell(self) -> None:
        self._probe.look_at_the_clock()
        if self._keeper is not None:
            self._keeper.flush()
        self._send("load-report", {"rows": self._caller.recorder.take(self.begun)})

    def end(self) -> None:
        """Say all that was not said yet, once."""
        with self._turn:
            if self._ended or not self.begun:
                return
            self._ended = True
            self._tell()
            if self._keeper is not None:
                self._keeper.close()
            self._send("load-end", self._said())

    def _send_exchanges(self, rows: bytes) -> None:
        self._send("load-exchanges", {"index": self.share.index, "rows": rows})

    def _said(self) -> dict[str, Any]:
        lags, lateness = np.array(self._probe.lags), np.array(self._lateness)
        facts = Process(
            index=self.share.index,
            pid=os.getpid(),
            wall=self._probe.wall,
            cpu=self._probe.cpu,
            waited=self._probe.waited,
            lag_median=_quantile(lags, 0.5),
            lag_tail=_quantile(lags, 0.99),
            lateness_median=_quantile(lateness, 0.5),
            due=self._due,
            begun=sum(map(len, self._began)),
            recorded=self._caller.recorder.recorded,
            clock_step=self._probe.clock_step,
            phases=tuple(self._phases()),
        )
        return {
            "facts": facts.model_dump(),
            "answered": self._caller.answered,
            "lag": bucketed(lags).model_dump(),
            "lateness": bucketed(lateness).model_dump(),
        }

    def _phases(self) -> list[PhaseCounts]:
        return [
            PhaseCounts(phase=phase.name, windows=windows, dispersion=found)
            for phase, began in zip(self.plan.phases, self._began, strict=True)
            if phase.counts
            for windows, found in [dispersion(list(began))]
        ]


def alike(profile: Profile) -> str:
    """What has to be the same in all processes of a run, to be compared and to be read."""
    # A set's order is each process's own.
    whole = json.dumps(profile.model_dump(), sort_keys=True, default=_listed)
    said = hashlib.sha256(whole.encode()).hexdigest()[:8]
    python = ".".join(map(str, sys.version_info[:2]))
    return f"version {version('horde-conformance')} on Python {python} with the profile {profile.name} ({said})"


def _listed(value: Any) -> list[Any] | str:
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


def _quantile(times: Any, share: float) -> float:
    return float(np.quantile(times, share)) if len(times) else 0.0
