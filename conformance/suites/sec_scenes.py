"""What the SEC suite tells alike: a look into what was told for what may not be in it, and people with addresses."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from conformance.actors import Account, Requester, Worker
from conformance.client import Exchange
from conformance.errors import CouldNotRun
from conformance.receiver import Delivery
from conformance.stage import Stage

# A name shorter than this may stand somewhere by chance; then it is looked for with its number only.
_TELLING = 6


@dataclass(frozen=True)
class Told:
    """Something that was told to somebody: its headers and its body, read as text, and all strings of its JSON."""

    where: str
    text: str

    def holds(self, secret: str) -> bool:
        """Whether the secret stands in it: as it is in either case, percent-encoded, or in base64."""
        return any(spelling in self.text for spelling in _spellings(secret))


def told(exchange: Exchange) -> Told:
    """What an answer tells, its headers included."""
    body = exchange.response_body or ""
    return Told(f"{exchange.method} {exchange.url} → {exchange.status}", _text(exchange.response_headers.items(), body))


def delivered(delivery: Delivery) -> Told:
    """What a webhook was told, its headers included."""
    return Told("the webhook", _text(delivery.headers, delivery.raw))


def _text(headers: Iterable[tuple[str, str]], body: str) -> str:
    lines = [f"{name}: {value}" for name, value in headers]
    try:
        inside = "\n".join(_strings(json.loads(body)))
    except (ValueError, RecursionError):
        inside = ""
    return "\n".join([*lines, body, inside]).casefold()


def _strings(value: Any) -> Iterator[str]:
    """Every name and every text in a JSON value, without the escapes that hid it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield name
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _spellings(secret: str) -> set[str]:
    plain = secret.encode()
    # Only whole groups of three bytes look the same whatever follows them.
    coded = base64.b64encode(plain[: len(plain) // 3 * 3]).decode()
    return {spelling.casefold() for spelling in (secret, quote(secret, safe=""), coded) if spelling}


@dataclass(frozen=True)
class Secret:
    """Something that may not be told, and how to speak of it."""

    what: str
    text: str


def keys_of(*accounts: Account) -> list[Secret]:
    """The accounts' API keys."""
    return [Secret(f"the API key of {account.role}", account.key) for account in accounts]


def names_of(account: Account) -> list[Secret]:
    """The account's name with its number and, where that is telling, alone."""
    name = account.alias.rpartition("#")[0] or account.alias
    return [
        Secret(f"the name of {account.role}", spelling)
        for spelling in {account.alias, name}
        if len(spelling) >= _TELLING
    ]


def keep_quiet(all_told: Iterable[Told], secrets: Iterable[Secret], *, control: str) -> None:
    """None of this tells a secret. The control: the same look finds what must have been told, if only once.

    Raises:
        AssertionError: a secret was told.
        CouldNotRun: the look does not find the control either, so that it is blind.
    """
    looked_at, secrets = list(all_told), list(secrets)
    for each in looked_at:
        for secret in secrets:
            assert not each.holds(secret.text), f"{each.where} tells {secret.what}"
    if not any(each.holds(control) for each in looked_at):
        raise CouldNotRun(f"what must have been told, {control!r}, is not found either")


@dataclass
class People:
    """A requester and an owner's worker, and the addresses that they call from, where these are theirs alone."""

    requester: Requester
    worker: Worker
    addresses: dict[str, list[Secret]] = field(default_factory=dict)


@contextmanager
def people(stage: Stage, worker: Worker) -> Iterator[People]:
    """The first requester and the worker's owner, each calling from an address of their own.

    On a target that is not on this machine nobody knows the address that it sees, and none is looked for.
    """
    with ExitStack() as stack:
        try:
            ours, theirs = (stack.enter_context(stage.elsewhere()) for _ in range(2))
        except CouldNotRun as reason:
            stage.note("addresses were not looked for", str(reason))
            yield People(stage.requester(), worker)
            return
        addresses = {
            "requester": [Secret("the requester's address", str(ours.address))],
            "owner": [Secret("the address of the worker's owner", str(theirs.address))],
        }
        there = Worker(theirs, worker.owner, worker.name, worker.declaration)
        yield People(Requester(ours, stage.requester().account), there, addresses)
