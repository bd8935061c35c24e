"""The requesters and workers of one process: what they say was put into bytes before the run began."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

from conformance.actors import Account, Family
from conformance.profile import Profile
from load.arrivals import Share, stream
from load.scenarios.calling import Called, Caller, Due
from load.scenarios.plan import Plan

# Of each owner in each process: as many pops of one owner may be under way without one waiting for another's row.
_WORKERS = 16
_MARK = "@mark@"
_MAX_LENGTH = 80
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."
_ROOMY = 1 << 20


@dataclass(frozen=True)
class Asked:
    """A request that was queued."""

    id: str
    family: Family
    requester: Account


@dataclass(frozen=True)
class Held:
    """A generation that a worker holds."""

    id: str
    family: Family
    worker: Declared


@dataclass(frozen=True)
class Declared:
    """A worker with what it declares: `takes` is chat, text or both; its pop is made of bytes."""

    name: str
    owner: Account
    takes: str
    body: bytes


@dataclass
class Crew:
    """All people of one process. What they draw depends on the plan's seed and the process's index alone."""

    plan: Plan
    profile: Profile
    share: Share
    caller: Caller
    payload: bytes
    draw: random.Random = field(init=False)
    asked: deque[Asked] = field(default_factory=deque)
    held: deque[Held] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.draw = stream(self.plan.seed, "crew", self.share.index)
        self._numbers = count()
        self._requesters = cycle(self.plan.requesters)
        models = self.plan.models
        self._submits = {(family, model): self._submit(family, model) for family in Family for model in models}
        self._workers: dict[tuple[str, str], Callable[[], Declared]] = {}
        self.reply_of = {family: self._reply(family) for family in Family}

    # What they do: each makes one call.

    def submit(self, due: Due, family: Family, model: str = "", requester: Account | None = None) -> Asked | None:
        """Queue a request of one generation; None where it was not accepted."""
        requester = requester or next(self._requesters)
        head, tail = self._submits[family, model or self.draw.choice(self.plan.models)]
        # As wide for all: what a request costs goes by its length.
        mark = f"{self.share.index:04d}{next(self._numbers):010d}".encode()
        body = b"".join((head, mark, tail))
        called = self.caller.call(f"submit_{family}", due, requester.role, requester.key, body)
        if not called.done:
            return None
        return Asked(str(called.read("submit", "id")), family, requester)

    def pop(self, due: Due, takes: str = "both", model: str = "") -> Held | None:
        """Pop as a worker that takes chat, text or both, for one model or for all of one owner's; None for nothing."""
        worker = self.worker(takes, model)

        def name(called: Called) -> str:
            return f"pop {takes}: {_brought(called)}"

        called = self.caller.call("pop", due, worker.name, worker.owner.key, worker.body, name)
        if not called.done or called.read("job", "id") is None:
            return None
        return Held(str(called.read("job", "id")), Family(_brought(called)), worker)

    def reply(self, due: Due, held: Held) -> Called:
        head, tail = self.reply_of[held.family]
        body = b"".join((head, held.id.encode(), tail))
        return self.caller.call("reply", due, held.worker.name, held.worker.owner.key, body)

    def progress(self, due: Due, held: Held, output: str) -> Called:
        body = json.dumps(self.profile.build("progress", {"id": held.id, "output": output})).encode()
        return self.caller.call("progress", due, held.worker.name, held.worker.owner.key, body)

    def status(self, due: Due, asked: Asked) -> Called:
        return self._of(asked, "status", due)

    def cancel(self, due: Due, asked: Asked) -> Called:
        return self._of(asked, "cancel", due)

    def _of(self, asked: Asked, kind: str, due: Due) -> Called:
        requester = asked.requester
        return self.caller.call(f"{kind}_{asked.family}", due, requester.role, requester.key, id=asked.id)

    # What they say.

    def family(self) -> Family:
        """One of the two, chat as often as the plan says."""
        return Family.CHAT if self.draw.random() < self.plan.chat_share else Family.TEXT

    def worker(self, takes: str, model: str = "") -> Declared:
        """The next of the workers that declare this."""
        found = self._workers.get((takes, model))
        if found is None:
            turn = cycle(self._declared(takes, model))
            found = self._workers[takes, model] = lambda: next(turn)
        return found()

    def _declared(self, takes: str, model: str) -> Sequence[Declared]:
        made: list[Declared] = []
        for number in range(_WORKERS):
            for owner in self.plan.owners:
                models = self.served(owner)
                if model:
                    models = [model] if model in models or model not in self.plan.models else []
                if not models:
                    continue
                # A name is its owner's alone, also in a later run with other owners.
                name = f"load {owner.id} {self.share.index} {takes} {number} {models[0] if model else ''}".strip()[:100]
                made.append(Declared(name, owner, takes, self._pop(name, takes, models)))
        return made

    def served(self, owner: Account) -> list[str]:
        """The models that this owner's workers serve."""
        owners = self.plan.owners
        return [model for place, model in enumerate(self.plan.models) if owners[place % len(owners)] == owner]

    def _pop(self, name: str, takes: str, models: Sequence[str]) -> bytes:
        declared: dict[str, Any] = {
            "name": name,
            "models": list(models),
            "bridge_agent": self.profile.workers.validated_bridge,
            "max_length": self.profile.limits.max_length_maximum,
            "max_context_length": _ROOMY,
        }
        if takes != "text":
            declared["chat_models"] = list(models)
        if takes == "chat":
            declared["accept_text"] = False
        return json.dumps(self.profile.build("pop", declared)).encode()

    def _submit(self, family: Family, model: str) -> tuple[bytes, bytes]:
        words = f"{_MARK} {self.payload.decode('ascii')}"
        fields: dict[str, Any] = {"models": [model], "n": 1, "max_length": _MAX_LENGTH}
        if family is Family.CHAT:
            fields |= {"messages": [{"role": "user", "content": words}], "stream": True}
        else:
            fields["prompt"] = words
        return _halves(self.profile.build("submit", fields))

    def _reply(self, family: Family) -> tuple[bytes, bytes]:
        said = "What was asked for, in as many words as it takes. " * 4
        fields: dict[str, Any] = {"id": _MARK, "generation": said}
        if family is Family.CHAT:
            fields |= {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        return _halves(self.profile.build("reply", fields))


def payload(plan: Plan) -> bytes:
    """The bytes that all requests of a run carry: letters without a pattern, the same in JSON as they are."""
    return bytes(stream(plan.seed, "payload").choices(_LETTERS, k=plan.payload_bytes))


def _halves(body: dict[str, Any]) -> tuple[bytes, bytes]:
    head, _, tail = json.dumps(body).encode().partition(_MARK.encode())
    return head, tail


def _brought(called: Called) -> str:
    """What a pop brought: nothing, or a job of a family."""
    if not called.done:
        return "refused"
    if called.read("job", "id") is None:
        return "nothing"
    return "text" if called.read("job", "chat") is None else "chat"
