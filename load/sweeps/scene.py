"""The calls by which performance faults are looked for at a server with a queue: prepared, made, and undone."""

from __future__ import annotations

import base64
import json
import random
import secrets
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum

from conformance import accounts
from conformance.client import Client
from load.seeding import Seeded, row
from load.sweeps.cells import Branch, Cell
from load.sweeps.popping import Caller, Popper
from load.sweeps.standing import Standing

# Generations in flight of the stream that is cancelled.
FLYING = 8


class Call(StrEnum):
    """What is called; the first three are pops."""

    EMPTY = "empty pop"
    TEXT = "text job"
    CHAT = "chat job"
    STATUS = "status"
    CANCEL = "cancel"


def cell(payload_bytes: int) -> Cell:
    """Refused rows for several pages, two small requests, a page of candidates that carry a payload, and many more."""
    return Cell(payload_bytes=payload_bytes, waiting=42, refused=60, tail=600)


@dataclass
class Scene:
    """A server, its queue, and whoever calls it: a popper, a requester, and a worker for what the requester submits."""

    standing: Standing
    popper: Popper
    requester: Caller
    worker: Caller
    model: str

    def prepare(self, call: Call) -> str:
        """Make what the call needs; the id that it is about, or nothing."""
        if call is Call.STATUS:
            return self.laden
        return self._in_flight() if call is Call.CANCEL else ""

    def make(self, call: Call, id: str) -> float:
        """Make the call, undo what it did to the queue, and give its seconds."""
        seconds, ids = self.act(call, id)
        self.popper.put_back(ids)
        return seconds

    def act(self, call: Call, id: str) -> tuple[float, tuple[str, ...]]:
        """Make the call: its seconds, and the generations that it was handed."""
        if call is Call.STATUS:
            return self.requester.call("status_chat", kind="status", id=id).seconds, ()
        if call is Call.CANCEL:
            return self.requester.call("cancel_chat", kind="cancel", id=id).seconds, ()
        popped = self.popper.pop(Branch(call.value))
        return popped.seconds, popped.ids

    @property
    def laden(self) -> str:
        """The first chat request of the queue that carries a payload."""
        queue = self._laden
        rows = (row(queue.description, number) for number in range(queue.description.total))
        return str(uuid.UUID(next(one.id for one in rows if one.is_chat)))

    @property
    def _laden(self) -> Seeded:
        """Of refused rows, small requests, laden ones and the tail the third."""
        return self.standing.queues[2]

    def _in_flight(self) -> str:
        """A stream of which every generation was handed out."""
        profile = self.standing.profile
        size = self._laden.description.payload.bytes[0]
        content = base64.b64encode(random.Random(size).randbytes(size))[:size].decode()
        body = {"models": [self.model], "messages": [{"role": "user", "content": content}], "n": FLYING}
        sent = profile.build("submit", {**body, "stream": True, "max_length": 16, "max_context_length": 1024})
        submitted = self.requester.call("submit_chat", _json(sent), kind="submit")
        declared = {
            "name": f"sweep flying {self.model[-12:]}", "models": [self.model], "chat_models": [self.model],
            "accept_text": False, "amount": FLYING, "max_length": 80, "max_context_length": 32768,
            "bridge_agent": profile.workers.validated_bridge,
        }  # fmt: skip
        self.worker.call("pop", _json(profile.build("pop", declared)))
        return str(profile.read("submit", "id", json.loads(submitted.body)))


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


@contextmanager
def played(standing: Standing, url: str | None = None) -> Iterator[Scene]:
    """A scene at a queue's server, or at another one in front of the same database, for the time of a `with` block."""
    profile, where = standing.profile, url or standing.url
    with Client(where, profile) as client:
        cast = accounts.provide(client)[0]
    model = profile.seeding.model.format(known=profile.models.known, unique=secrets.token_hex(6))
    with ExitStack() as stack:
        callers = [Caller(where, profile, one.key) for one in (cast.requesters[0], cast.owners[0])]
        for caller in callers:
            stack.callback(caller.close)
        yield Scene(standing, stack.enter_context(standing.popper(where)), callers[0], callers[1], model)
