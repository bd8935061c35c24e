"""The one HTTP client: speaks the profile's protocol and records every exchange with its times."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self
from urllib.parse import urlsplit

from conformance.connections import INVALID, LOST, REFUSED, UNREACHED, Connections, Unanswered
from conformance.errors import CouldNotRun
from conformance.profile import Profile, dig

# What a server that goes away under a call, or has gone, looks like; one that only takes its time is not among them.
_LOST = frozenset({REFUSED, LOST})
# A clock of what is asked, which no two questions share.
_moments = itertools.count()
# What calls that never left this machine ended with.
_UNSENT = frozenset({REFUSED, UNREACHED, INVALID})


# What a check asked of an answer: the moment, the kind of the place and its name (without a kind the place itself),
# what it was read from, what it found.
Question = tuple[int, str, str, Any, Any]


@dataclass(frozen=True)
class Exchange:
    """One call and its answer. Times are seconds of the monotonic clock; `status` is None where no answer came.

    A body that is no UTF-8 stands beside its text as the bytes that it is. `asked` is what was read of the answer,
    `address` the one of this machine's that the call came from, where it matters.
    """

    actor: str
    operation: str
    method: str
    url: str
    request_headers: Mapping[str, str]
    request_body: str | None
    status: int | None
    response_headers: Mapping[str, str]
    response_body: str | None
    started: float
    ended: float
    error: str | None = None
    request_bytes: bytes | None = None
    response_bytes: bytes | None = None
    address: str | None = None
    asked: list[Question] = field(default_factory=list, compare=False, repr=False)

    @property
    def lost(self) -> bool:
        """Whether no answer came because there was, or was no longer, a server at the other end."""
        return self.error is not None and self.error.partition(":")[0] in _LOST

    @property
    def unsent(self) -> bool:
        """Whether the call never left this machine."""
        return self.error is not None and self.error.partition(":")[0] in _UNSENT


@dataclass(frozen=True)
class Answer:
    """What a target answered to one operation; suites ask it questions and never see a status code."""

    exchange: Exchange
    profile: Profile
    kind: str
    body: Any
    status: int

    @property
    def accepted(self) -> bool:
        """Carried out: one of the profile's statuses for this operation, and a JSON object or array."""
        return self.status in self.profile.statuses[self.kind] and isinstance(self.body, dict | list)

    @property
    def refused(self) -> bool:
        """A refusal: any 4xx save 429 (which says *later*, not *no*)."""
        return 400 <= self.status < 500 and self.status != 429

    @property
    def limited(self) -> bool:
        """Still refused for its rate after the profile's patience: neither carried out nor refused."""
        return self.status == 429

    @property
    def crashed(self) -> bool:
        """A 5xx."""
        return self.status >= 500

    @property
    def code(self) -> Any:
        """The error's code at the profile's place, or None."""
        return self._said(self.profile.errors.code)

    @property
    def message(self) -> Any:
        """The error's sentence at the profile's place, or None."""
        return self._said(self.profile.errors.message)

    def _said(self, place: str) -> Any:
        value = dig(self.body, place)
        self.exchange.asked.append((next(_moments), "", place, self.body, value))
        return value

    @property
    def unknown_key(self) -> bool:
        """The refusal that the profile gives for a key that nobody has."""
        return self.status in self.profile.statuses["unknown_key"]

    @property
    def missing_key(self) -> bool:
        """The refusal that the profile gives for a call without a key."""
        return self.status in self.profile.statuses["missing_key"]

    def _missing(self, codes: tuple[str, ...]) -> bool:
        return self.status in self.profile.statuses["not_found"] and (not codes or self.code in codes)

    @property
    def not_found(self) -> bool:
        """The answer that the profile gives for a request that does not exist."""
        return self._missing(self.profile.errors.not_found_codes)

    @property
    def too_many(self) -> bool:
        """Refused because too much of the account's waits: by its code where the profile names one, also as a 429."""
        codes = self.profile.errors.too_many_codes
        return 400 <= self.status < 500 and self.code in codes if codes else self.refused

    @property
    def job_not_found(self) -> bool:
        """The answer that the profile gives for a generation that does not exist."""
        return self._missing(self.profile.errors.job_not_found_codes)

    @property
    def header_names(self) -> frozenset[str]:
        """The header names, in lower case, save those that the profile calls incidental."""
        return frozenset(h.lower() for h in self.exchange.response_headers) - set(self.profile.headers.incidental)

    def read(self, name: str, default: Any = None) -> Any:
        """A field of ours, read where the profile has it."""
        return self.look(self.kind, name, self.body, default)

    def look(self, kind: str, name: str, data: Any, default: Any = None) -> Any:
        """A field of ours of a part of this answer, such as one generation of a status."""
        value = self.profile.read(kind, name, data, default)
        self.exchange.asked.append((next(_moments), kind, name, data, value))
        return value

    def need(self, name: str) -> Any:
        """A field of ours that the story cannot go on without.

        Raises:
            CouldNotRun: it is not there.
        """
        value = self.read(name)
        if value is None:
            raise CouldNotRun(f"the answer to {self} has no {name}")
        return value

    def number(self, name: str) -> float:
        """A field of ours that must be a number, as amounts and rewards are.

        Raises:
            CouldNotRun: it is not there, or something else.
        """
        value = self.need(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise CouldNotRun(f"{name} in the answer to {self} is {value!r}, not a number")
        return float(value)

    def id(self, name: str) -> str:
        """A field of ours that must be an id: a text or a whole number.

        Raises:
            CouldNotRun: it is not there, or something else.
        """
        return as_id(self.need(name), self)

    def __str__(self) -> str:
        said = f" {self.code}" if self.code else ""
        return f"{self.exchange.method} {self.exchange.url} → {self.status}{said}"


def as_id(value: Any, answer: Answer) -> str:
    """The id that a value of this answer is; a `CouldNotRun` where it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise CouldNotRun(f"{value!r} in the answer to {answer} is no id")
    return str(value)


@dataclass
class Recorder:
    """The exchanges of one check, in the order in which they ended; safe to use from several threads.

    `on_behalf` is added to the name under which its calls are made: the ids that the check judges. Of what comes after
    more bytes than a check needs, only the beginnings of the bodies are kept.
    """

    exchanges: list[Exchange] = field(default_factory=list)
    on_behalf: str = ""
    _held: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, exchange: Exchange) -> None:
        with self._lock:
            self._held += len(exchange.request_body or "") + len(exchange.response_body or "")
            self.exchanges.append(exchange if self._held <= _HELD else _beginning(exchange))

    def take(self) -> list[Exchange]:
        """The exchanges so far; the recorder begins anew."""
        with self._lock:
            taken, self.exchanges, self._held = self.exchanges, [], 0
        return taken


# Characters of bodies that are kept of one check; and of a body, once these are used up.
_HELD = 256 * 1024 * 1024
_BEGINNING = 2000


def _beginning(exchange: Exchange) -> Exchange:
    return replace(
        exchange,
        request_body=exchange.request_body and exchange.request_body[:_BEGINNING],
        response_body=exchange.response_body and exchange.response_body[:_BEGINNING],
        request_bytes=None,
        response_bytes=None,
    )


class Client:
    """Calls operations of a profile on one target. Safe to use from several threads.

    `address` is the one of this machine's that calls come from, where it matters.
    """

    def __init__(self, url: str, profile: Profile, address: str | None = None) -> None:
        self.url = url.rstrip("/")
        self.address = address
        self.profile = profile
        self.recorder = Recorder()
        # A moment of the monotonic clock after which no call begins or goes on; None for no such moment.
        self.deadline: float | None = None
        self._connections = Connections(self.url, address)

    @contextmanager
    def elsewhere(self, address: str) -> Iterator[Client]:
        """A client like this one whose calls come from another address of this machine, into the same record.

        Raises:
            CouldNotRun: the target is not on loopback, where alone we have addresses to choose from.
        """
        if urlsplit(self.url).hostname != "127.0.0.1":
            raise CouldNotRun("an address of one's own is to be had on loopback only")
        with Client(self.url, self.profile, address) as client:
            client.recorder, client.deadline = self.recorder, self.deadline
            yield client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connections.close()

    def call(
        self,
        operation: str,
        *,
        kind: str,
        actor: str,
        key: str | None = None,
        body: Any = None,
        raw: bytes | None = None,
        content_type: str | None = "application/json",
        path: str | None = None,
        timeout: float | None = None,
        **ids: str,
    ) -> Answer:
        """Carry out one operation and give the answer, whatever it is.

        Args:
            operation: a name in the profile's routes.
            kind: the answer's kind: a name in the profile's statuses and answer fields.
            actor: who calls, for the record.
            key: the API key to send; None sends none.
            body: JSON-serialisable; raw: bytes to send as they are instead.
            content_type: what the body is said to be; None says nothing.
            path: a path to use instead of the route's (base path included), for spellings of ids.
            ids: values for the route's placeholders, used as they are.

        Raises:
            CouldNotRun: no answer came: refused, reset, timed out.
        """
        method, route = self.profile.route(operation, **ids)
        headers = {self.profile.headers.client_agent: self.profile.client_agent + self.recorder.on_behalf}
        if key is not None:
            headers[self.profile.headers.key] = key
        content = raw
        if raw is None and body is not None:
            content = json.dumps(body, ensure_ascii=True).encode()
        if content is not None and content_type is not None:
            headers["Content-Type"] = content_type
        place = path if path is not None else route
        url = self.url + place
        patience = self.profile.rate_limit.longest_wait
        for tries_left in range(self.profile.rate_limit.retries, -1, -1):
            limit = timeout or self.profile.timings.answer
            if self.deadline is not None:
                left = self.deadline - time.monotonic()
                if left <= 0:
                    raise CouldNotRun(f"no time is left for {method} {url}")
                limit, patience = min(limit, left), min(patience, left)
            answer = self._once(operation, kind, actor, method, place, headers, content, limit)
            wait = _time_to_wait(answer) if answer.limited else None
            if wait is None or wait > patience or not tries_left:
                return answer
            patience -= wait
            time.sleep(wait)
        return answer

    def _once(
        self,
        operation: str,
        kind: str,
        actor: str,
        method: str,
        place: str,
        headers: Mapping[str, str],
        content: bytes | None,
        limit: float,
    ) -> Answer:
        url = self.url + place
        asked = partial(
            Exchange,
            actor=actor,
            operation=operation,
            method=method,
            url=url,
            request_headers=dict(headers),
            request_body=None if content is None else content.decode("utf-8", "backslashreplace"),
            request_bytes=_no_text(content),
            address=self.address,
            started=time.monotonic(),
        )
        try:
            received = self._connections.call(method, place, content, headers, limit)
        except Unanswered as reason:
            self.recorder.add(
                asked(status=None, response_headers={}, response_body=None, ended=time.monotonic(), error=str(reason))
            )
            raise CouldNotRun(f"no answer to {method} {url}: {reason}") from None
        exchange = asked(
            status=received.status,
            response_headers=received.headers,
            response_body=received.body.decode("utf-8", "backslashreplace"),
            response_bytes=_no_text(received.body),
            ended=time.monotonic(),
        )
        self.recorder.add(exchange)
        return Answer(exchange, self.profile, kind, _json(received.body), received.status)


def _no_text(content: bytes | None) -> bytes | None:
    """The bytes of a body that is no UTF-8."""
    if content is None or content.isascii():
        return None
    try:
        content.decode()
    except UnicodeDecodeError:
        return content
    return None


def _json(received: bytes) -> Any:
    try:
        return json.loads(received)
    except (ValueError, RecursionError):
        return None


def _time_to_wait(answer: Answer) -> float | None:
    """Seconds that a refusal for its rate asks us to wait; None where it names no time in seconds."""
    for name, value in answer.exchange.response_headers.items():
        if name.lower() == "retry-after":
            try:
                return max(0.05, float(value))
            except ValueError:
                return None
    return None
