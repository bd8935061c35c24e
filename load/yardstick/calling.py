"""One client that calls and waits for the answer, with as little between as can be."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from conformance import accounts
from conformance.actors import Account
from conformance.client import Client
from conformance.profile import Profile
from load.errors import CouldNotCount


@dataclass(frozen=True)
class Call:
    """One call in bytes."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]


class Line:
    """One connection that calls and waits for the answer; light, so that little of a call's time is its own."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)

    def close(self) -> None:
        self._connection.close()

    def make(self, call: Call) -> tuple[float, dict[str, Any]]:
        """The seconds that a call took, and its answer.

        Raises:
            CouldNotCount: it was refused.
        """
        began = time.perf_counter()
        self._connection.request(call.method, call.path, call.body, call.headers)
        answer = self._connection.getresponse()
        said = answer.read()
        took = time.perf_counter() - began
        if answer.status >= 300:
            raise CouldNotCount(f"{call.method} {call.path} → {answer.status}.", said[:200].decode("utf-8", "replace"))
        return took, json.loads(said)


@dataclass(frozen=True)
class Caller:
    """What calls are made of: the profile and the accounts that make them."""

    profile: Profile
    owner: Account
    requesters: Sequence[Account]

    def pop(self, name: str, models: Sequence[str]) -> Call:
        """A pop of both families for these models."""
        declared = {
            "name": name, "models": list(models), "chat_models": list(models), "bridge_agent":
            self.profile.workers.validated_bridge, "max_length": self.profile.limits.max_length_maximum,
            "max_context_length": 65536,
        }  # fmt: skip
        return self._call("pop", self.owner.key, declared)

    def submit(self, requester: Account, model: str) -> Call:
        """A submit of a short text request."""
        return self._call("submit_text", requester.key, {"prompt": "Go on: once upon a time", "models": [model]})

    def cancel(self, request: str) -> Call:
        method, path = self.profile.route("cancel_text", id=request)
        return Call(method, path, b"", self._headers(""))

    def _call(self, operation: str, key: str, fields: dict[str, Any]) -> Call:
        method, path = self.profile.route(operation)
        shape = operation.partition("_")[0]
        return Call(method, path, json.dumps(self.profile.build(shape, fields)).encode(), self._headers(key))

    def _headers(self, key: str) -> dict[str, str]:
        names = self.profile.headers
        return {
            **({names.key: key} if key else {}), names.client_agent: self.profile.client_agent,
            "Content-Type": "application/json",
        }  # fmt: skip


def caller(profile: Profile, url: str) -> Caller:
    """A caller with accounts that the target gives.

    Raises:
        TargetNotReady: it gives none.
    """
    with Client(url, profile) as client:
        (cast,) = accounts.provide(client)
    return Caller(profile, cast.owners[0], cast.requesters)
