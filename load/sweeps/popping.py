"""One client that pops, and puts back what it was handed: a light one, for it shares the machine with the server."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import sqlalchemy

from conformance.profile import Profile
from load.errors import NotMeasurable
from load.seeding import Seeded
from load.sweeps.cells import NOTHING, Branch

# Seconds after which a connection is opened anew, far fewer than any server keeps one.
_STALE = 4.0


class Heard(NamedTuple):
    """An answer: the seconds until all of it was read, and what it is."""

    seconds: float
    sent: float
    status: int
    body: bytes


class Popped(NamedTuple):
    """What a pop brought: seconds, when it was sent and answered, and the generations."""

    seconds: float
    sent: float
    answered: float
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Declared:
    """What our worker declares to have what waits, and the key of its owner."""

    fields: Mapping[str, Any]
    key: str

    @classmethod
    def of(cls, queues: Sequence[Seeded], key: str) -> Declared:
        """Of a worker for several queues at once: each queue's models, and the last one's rules."""
        models = [model for queue in queues for model in queue.models]
        rules = dict(queues[-1].declaration)
        takes_chat = bool(rules["chat_models"])
        return cls({**rules, "models": models, "chat_models": models if takes_chat else []}, key)

    def for_branch(self, branch: Branch, profile: Profile) -> dict[str, Any]:
        """The fields of a pop that goes down this branch."""
        fields: dict[str, Any] = {"bridge_agent": profile.workers.validated_bridge, **self.fields}
        if branch is Branch.UNASKED:
            model = f"{self.fields['models'][0]}-unasked"
            return {**fields, "models": [model], "chat_models": [model], "accept_text": True}
        if branch is Branch.EMPTY:
            # No request is so short.
            return {**fields, "max_length": profile.limits.max_length_minimum}
        if branch is Branch.TEXT:
            return {**fields, "chat_models": [], "accept_text": True}
        return {**fields, "accept_text": False}


class Caller:
    """One connection to a target, and its calls."""

    def __init__(self, url: str, profile: Profile, key: str) -> None:
        parts = urlsplit(url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=60.0)
        self._profile = profile
        self._last = time.perf_counter()
        self._headers = {
            profile.headers.key: key,
            profile.headers.client_agent: profile.client_agent,
            "Content-Type": "application/json",
        }

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def call(self, operation: str, body: bytes | None = None, *, kind: str | None = None, **ids: str) -> Heard:
        """Carry an operation out.

        Raises:
            NotMeasurable: no answer comes, or a refusal.
        """
        method, path = self._profile.route(operation, **ids)
        if time.perf_counter() - self._last > _STALE:
            # Servers hang up on who says nothing for long; the next call opens anew.
            self._connection.close()
        sent = time.perf_counter()
        try:
            self._connection.request(method, path, body, self._headers)
            with self._connection.getresponse() as answer:
                data = answer.read()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise NotMeasurable(f"The target gave no answer to {operation}: {error!r}.", "Does it still run?") from None
        self._last = time.perf_counter()
        heard = Heard(self._last - sent, sent, answer.status, data)
        if heard.status not in self._profile.statuses[kind or operation]:
            raise NotMeasurable(
                f"The target answered {operation} with {heard.status}: {data[:200].decode('utf-8', 'replace')}.",
                "What is measured is what it carries out.",
            )
        return heard


class Popper:
    """Pops on one connection, as one worker for each branch; puts back on another, with the database."""

    def __init__(self, url: str, profile: Profile, declared: Declared, database_url: str | None) -> None:
        self._caller = Caller(url, profile, declared.key)
        self._profile = profile
        self._bodies = {branch: _body(profile, declared, branch) for branch in Branch}
        self._queue = Queue(database_url, profile)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._caller.close()
        self._queue.close()

    def pop(self, branch: Branch) -> Popped:
        """Pop once.

        Raises:
            NotMeasurable: the target refuses it, or hands out what this branch does not bring.
        """
        heard = self._caller.call("pop", self._bodies[branch])
        answer = json.loads(heard.body)
        first = self._profile.read("job", "id", answer)
        ids = self._profile.read("job", "ids", answer) or [first]
        brought = Branch.EMPTY
        if first is not None:
            chat = self._profile.read("job", "chat", answer)
            brought = Branch.TEXT if chat is None else Branch.CHAT
        given = tuple(map(str, ids)) if first is not None else ()
        if brought is not (Branch.EMPTY if branch in NOTHING else branch):
            self.put_back(given)
            raise NotMeasurable(f"A pop brought {brought} instead of {branch}.", "Does nobody else use the target?")
        return Popped(heard.seconds, heard.sent, heard.sent + heard.seconds, given)

    def put_back(self, ids: Sequence[str]) -> None:
        """Make as if these generations had never been handed out."""
        self._queue.put_back(ids)


class Queue:
    """The queue as the database has it: takes back what was handed out."""

    def __init__(self, database_url: str | None, profile: Profile) -> None:
        self._statement = sqlalchemy.text(profile.seeding.put_back)
        self._connection: sqlalchemy.Connection | None = None
        if database_url is not None:
            driven = sqlalchemy.make_url(database_url).set(drivername="postgresql+psycopg2")
            engine = sqlalchemy.create_engine(driven, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
            self._connection = engine.connect()

    def put_back(self, ids: Sequence[str]) -> None:
        """Take generations back from their workers; the queue is what it was before."""
        if ids and self._connection is not None:
            self._connection.execute(self._statement, {"ids": list(ids)})

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()


def can_put_back(profile: Profile, database_url: str | None) -> bool:
    """Whether jobs can be taken back: without that only pops that bring nothing leave a queue what it was."""
    return database_url is not None and bool(profile.seeding.put_back)


def _body(profile: Profile, declared: Declared, branch: Branch) -> bytes:
    fields = {"name": f"sweep {branch} {secrets.token_hex(4)}", **declared.for_branch(branch, profile)}
    return json.dumps(profile.build("pop", fields)).encode()
