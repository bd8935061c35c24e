"""Many actors who use a target at once, for a history to be recorded of them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from conformance.actors import Family, Job, Request, Worker
from conformance.errors import CouldNotRun
from conformance.stage import Stage

# Of sixteen, as many ask and as many work.
_REQUESTERS, _WORKERS = 6, 10
# How often a request is cancelled, or a generation given up.
_DISTURBED = 0.1
# Seconds; whatever happens, a run ends.
_LONGEST = 120.0


@dataclass
class Play:
    """Requesters and workers of both families on one model, until there were enough calls."""

    stage: Stage
    calls: int
    seed: int
    model: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.model = self.model or self.stage.model()
        self.began, self.deadline = len(self.stage.client.recorder.exchanges), time.monotonic() + _LONGEST

    def run(self) -> None:
        """Let all act at once; then one worker takes what is left, and every status is read."""
        acts: list[Callable[[int], None]] = [*[self._request] * _REQUESTERS, *[self._work] * _WORKERS]
        with ThreadPoolExecutor(len(acts)) as pool:
            for future in [pool.submit(act, place) for place, act in enumerate(acts)]:
                future.result()
        worker = self.stage.chat_worker(self.model)
        while (job := worker.pop()) is not None and time.monotonic() < self.deadline:
            self._answer(job, random.Random(self.seed))

    def _goes_on(self) -> bool:
        enough = len(self.stage.client.recorder.exchanges) - self.began >= self.calls
        if enough or time.monotonic() > self.deadline:
            self.over.set()
        return not self.over.is_set()

    def _request(self, place: int) -> None:
        draw = random.Random(f"{self.seed}/{place}")
        while self._goes_on():
            family = draw.choice(list(Family))
            fields: dict[str, Any] = {"n": draw.choice([1, 1, 2, 3]), "max_length": 80}
            if family is Family.CHAT:
                fields["stream"] = draw.random() < 0.5
            with suppress(CouldNotRun):
                self._follow(self.stage.submit(family, self.model, requester=place % 3, **fields), draw)

    def _follow(self, request: Request, draw: random.Random) -> None:
        for _ in range(draw.randrange(2, 5)):
            request.status()
            if draw.random() < _DISTURBED:
                request.cancel()
        request.status()

    def _work(self, place: int) -> None:
        draw = random.Random(f"{self.seed}/{place}")
        kinds: list[Callable[[], Worker]] = [
            lambda: self.stage.chat_worker(self.model),
            lambda: self.stage.text_worker(self.model),
            lambda: self.stage.chat_worker(self.model, accept_text=False),
        ]
        worker = kinds[place % 3]()
        while self._goes_on():
            with suppress(CouldNotRun):
                job = worker.pop(amount=draw.choice([1, 1, 1, 2]))
                if job is not None:
                    self._answer(job, draw)

    def _answer(self, job: Job, draw: random.Random) -> None:
        for one in job.each():
            if one.family is Family.CHAT and draw.random() < 0.5:
                one.worker.try_progress(one, "x" * draw.randrange(1, 400))
            if draw.random() < _DISTURBED:
                one.worker.try_fault(one)
            else:
                # Refused where a cancel was first.
                with suppress(CouldNotRun):
                    one.worker.reply(one, f"Said of {draw.random()} {'y' * draw.randrange(300)}")
