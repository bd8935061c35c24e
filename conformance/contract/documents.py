"""Finding the document: the target's own where it publishes one, else the profile's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from conformance.client import Answer, Client
from conformance.contract import ours
from conformance.profile import Profile


class Untrue(AssertionError):
    """The contract is not what it claims to be: no document, a route that it leaves out, a link that leads nowhere."""


@dataclass(frozen=True)
class Document:
    """An OpenAPI or Swagger document; `place` is its path, or says that it is ours."""

    place: str
    raw: dict[str, Any]


def find(client: Client) -> Document:
    """The first document at the profile's paths, or ours where there is none.

    Raises:
        Untrue: what stands there is published as a contract and is none.
        CouldNotRun: the target does not answer.
    """
    for path in client.profile.contract.paths:
        # Any GET: what is asked for is the path, from the target's root.
        answer = client.call("heartbeat", kind="heartbeat", actor="reader of the contract", path=path)
        found = _document(path, answer)
        if found is not None:
            return found
    return of_profile(client.profile)


def of_profile(profile: Profile) -> Document:
    """Our own contract for the protocol of this profile."""
    return Document("the profile", ours.document(profile))


def _document(path: str, answer: Answer) -> Document | None:
    if answer.status != 200:
        return None
    if answer.body is None and "json" in answer.exchange.response_headers.get("content-type", ""):
        raise Untrue(f"what stands at {path} is no JSON")
    if not isinstance(answer.body, dict) or not {"openapi", "swagger"} & answer.body.keys():
        return None
    document = Document(path, answer.body)
    if not isinstance(document.raw.get("paths"), dict):
        raise Untrue(f"the contract at {path} has no paths")
    for reference in _references(document.raw):
        if not reference.startswith("#") or at(document.raw, reference) is None:
            raise Untrue(f"the contract at {path} is not whole: it refers to {reference}")
    return document


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer, as in `#/paths/~1x`, leads to; None where there is nothing."""
    for step in pointer.removeprefix("#").split("/")[1:]:
        step = unquote(step).replace("~1", "/").replace("~0", "~")  # noqa: PLW2901 - the same step, unescaped
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return None
    return value


def _references(value: Any) -> Iterator[str]:
    """Every reference of a document, whole or broken."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "$ref" and isinstance(member, str):
                yield member
            else:
                yield from _references(member)
    elif isinstance(value, list):
        for member in value:
            yield from _references(member)
