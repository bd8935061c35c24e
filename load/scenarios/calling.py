"""One call on the target: sent as bytes made beforehand, timed, and told to whom it concerns."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.client import Answer, Exchange
from conformance.profile import Profile
from load.recording import Key, Outcome, Recorder
from load.scenarios.exchanges import Keeper


def _exchange_of(status: int) -> Exchange:
    """What an answer is read from, which keeps what was asked of it: one of its own each, or they would pile up."""
    return Exchange("", "", "", "", {}, None, status, {}, None, 0.0, 0.0)


@dataclass(frozen=True)
class Called:
    """What came of a call: `told` is the answer's JSON, None where none came."""

    profile: Profile
    outcome: Outcome
    told: Any

    @property
    def done(self) -> bool:
        return self.outcome is Outcome.DONE

    def read(self, kind: str, name: str) -> Any:
        """A field of ours in the answer."""
        return self.profile.read(kind, name, self.told)


@dataclass(frozen=True)
class Due:
    """When a call was due, in seconds of `time.monotonic()`, and in which phase."""

    phase: str
    moment: float

    def now(self) -> Due:
        """A further call of the same arrival: due as soon as the one before was answered."""
        return Due(self.phase, time.monotonic())


class Caller:
    """Makes the calls of one process, over the connections of one user of Locust."""

    def __init__(
        self,
        http: Any,
        path: str,
        profile: Profile,
        recorder: Recorder,
        keeper: Keeper | None = None,
        show: Callable[..., None] | None = None,
    ) -> None:
        self.profile = profile
        self.recorder = recorder
        self._http, self._path, self._keeper, self._show = http, path, keeper, show
        self._headers: dict[str, dict[str, str]] = {}
        self.answered = 0

    def call(
        self, operation: str, due: Due, actor: str, key: str, body: bytes | None = None,
        name: Callable[[Called], str] | str = "", **ids: str,
    ) -> Called:  # fmt: skip
        """Carry out one operation.

        Args:
            operation: a name in the profile's routes; what stands before its first `_` is the answer's kind.
            name: of its series, where it is not the operation's; it may depend on what came.
            ids: values for the route's placeholders.
        """
        method, route = self.profile.route(operation, **ids)
        sent = time.monotonic()
        try:
            status, received, error = self._exchange(method, self._path + route, key, body)
        except BaseException:
            # Ended with its process: it may have taken effect, which a history must not be silent about.
            if self._keeper is not None:
                ended = time.monotonic()
                self._keeper.add(actor, operation, method, route, key, body, None, None, sent, ended, "Ended")
            raise
        ended = time.monotonic()
        called = self._read(operation.partition("_")[0], status, received)
        told = name if isinstance(name, str) else name(called)
        self.recorder.add(Key(due.phase, told or operation, called.outcome), due.moment, sent, ended)
        self.answered += status is not None
        if self._keeper is not None:
            self._keeper.add(actor, operation, method, route, key, body, status, received, sent, ended, error)
        if self._show is not None:
            self._show(
                request_type=method, name=told or operation, response_time=(ended - sent) * 1000,
                response_length=len(received or b""), exception=None if status is not None else error, context={},
            )  # fmt: skip
        return called

    def _exchange(
        self, method: str, path: str, key: str, body: bytes | None
    ) -> tuple[int | None, bytes | None, str | None]:
        headers = self._headers.get(key)
        if headers is None:
            names = self.profile.headers
            headers = {names.key: key, names.client_agent: self.profile.client_agent}
            headers["Content-Type"] = "application/json"
            self._headers[key] = headers
        try:
            response = self._http.request(method, path, body, headers)
            return response.status_code, bytes(response.read()), None
        except Exception as error:  # noqa: BLE001 (whatever the connection has: no answer came)
            return None, None, _named(error)

    def _read(self, kind: str, status: int | None, received: bytes | None) -> Called:
        if status is None:
            return Called(self.profile, Outcome.LOST, None)
        try:
            told = json.loads(received or b"null")
        except ValueError:
            told = None
        return Called(self.profile, outcome(Answer(_exchange_of(status), self.profile, kind, told, status)), told)


def outcome(answer: Answer) -> Outcome:
    """How a call ended, by the profile."""
    if answer.accepted:
        return Outcome.DONE
    if answer.crashed:
        return Outcome.CRASHED
    profile = answer.profile
    if answer.limited or (profile.errors.too_many_codes and answer.too_many):
        return Outcome.LIMITED
    if _asks_beforehand(answer):
        return Outcome.UPFRONT
    if answer.not_found or answer.job_not_found:
        return Outcome.GONE
    return Outcome.REFUSED


def _asks_beforehand(answer: Answer) -> bool:
    pattern, message = answer.profile.errors.upfront_amount, answer.message
    return bool(pattern) and isinstance(message, str) and re.search(pattern, message) is not None


def _named(error: Exception) -> str:
    """The error by the names that the client of the suites has, by which a history is read."""
    name = "ConnectError" if isinstance(error, ConnectionRefusedError) else "ReadError"
    if isinstance(error, TimeoutError):
        name = "ReadTimeout"
    return f"{name}: {error}"
