"""The receiver of webhooks: a server of the harness's on loopback that records what it is told."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from conformance.errors import CouldNotRun
from conformance.profile import Profile
from fixtures.nulls.server import Answer, Request, json_answer, serve


@dataclass(frozen=True)
class Delivery:
    """One call of the target's: the header fields, the bytes as text, and what they are as JSON (None: no JSON)."""

    headers: list[tuple[str, str]]
    raw: str
    body: Any
    profile: Profile

    def read(self, name: str) -> Any:
        """A field of ours of the delivered generation."""
        return self.profile.read("delivery", name, self.body)


class Receiver:
    """What was delivered so far. `refusing` more deliveries are answered with 500; none gets lost."""

    def __init__(self, profile: Profile, refusing: int = 0) -> None:
        self.url = ""
        self._profile = profile
        self._refusing = refusing
        # Whoever finds the port by chance, or an earlier run's target, is not taken for a delivery.
        self.path = f"/{secrets.token_hex(8)}"
        self._deliveries: list[Delivery] = []
        self._refused: list[Delivery] = []
        self._told = threading.Condition()

    def __call__(self, request: Request) -> Answer:
        if not request.path.endswith(self.path):
            return json_answer(404, {"message": "not ours"})
        raw = request.body.decode("utf-8", "backslashreplace")
        with self._told:
            refused = len(self._refused) < self._refusing
            kept = self._refused if refused else self._deliveries
            kept.append(Delivery(request.headers, raw, _json(raw), self._profile))
            self._told.notify_all()
        return json_answer(500 if refused else 200, {})

    @property
    def deliveries(self) -> list[Delivery]:
        """What was taken, in the order in which it came."""
        with self._told:
            return list(self._deliveries)

    @property
    def refused(self) -> list[Delivery]:
        """What was refused, in the order in which it came."""
        with self._told:
            return list(self._refused)

    def wait_for(self, count: int) -> list[Delivery]:
        """The deliveries once there are so many, or those that came within the profile's time."""
        deadline = time.monotonic() + self._profile.webhook.patience
        with self._told:
            while len(self._deliveries) < count and (left := deadline - time.monotonic()) > 0:
                self._told.wait(left)
            return list(self._deliveries)


@contextmanager
def receiving(profile: Profile, *, refusing: int = 0) -> Iterator[Receiver]:
    """A receiver whose `url` is what a submit names; it is gone when the block ends.

    Args:
        profile: says under which address the target reaches it.
        refusing: so many deliveries are answered with 500 before one is taken.

    Raises:
        CouldNotRun: the profile says no address, or its port is taken.
    """
    if not profile.webhook.url:
        raise CouldNotRun("the profile does not say under which address the target reaches our receiver")
    receiver = Receiver(profile, refusing)
    with ExitStack() as stack:
        try:
            served = stack.enter_context(serve(receiver, profile.webhook.port))
        except OSError as problem:
            raise CouldNotRun(f"no receiver could be started on port {profile.webhook.port}: {problem}") from None
        receiver.url = profile.webhook.url.replace("{port}", served.rpartition(":")[2]) + receiver.path
        yield receiver


def _json(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
