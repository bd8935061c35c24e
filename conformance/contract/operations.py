"""Finding the profile's routes in a document, whatever it calls them, and following its links between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from conformance.actors import Family
from conformance.client import Answer
from conformance.contract.documents import Document, Untrue, at
from conformance.profile import Profile, dig


@dataclass(frozen=True)
class Operation:
    """One of the profile's operations as a document describes it: `path` and `method` are its keys there."""

    name: str
    path: str
    method: str
    definition: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True)
class Link:
    """Where an answer leads by a link of its document: an operation of the profile, with an id."""

    name: str
    operation: str
    id: str


def names(profile: Profile, family: Family) -> tuple[str, ...]:
    """The operations of one family that the profile's target has."""
    record = "request_record" if family is Family.TEXT else "chat_request_record"
    own = ["submit", "status", "cancel", *(["record"] if record in profile.capabilities else [])]
    streamed = family is Family.CHAT and "streaming" in profile.capabilities
    return (*(f"{act}_{family}" for act in own), "pop", "reply", *(["progress"] if streamed else []))


def described(document: Document, profile: Profile, family: Family) -> dict[str, Operation]:
    """Each operation of the family as the document describes it.

    Raises:
        Untrue: it leaves one out.
    """
    known = {(method, _shape(base + path)): (path, method, definition)
             for base in _bases(document.raw) for path, method, definition in _all(document.raw)}  # fmt: skip
    found: dict[str, Operation] = {}
    for name in names(profile, family):
        method, route = profile.route(name)
        entry = known.get((method.lower(), _shape(route.partition("?")[0])))
        if entry is None:
            raise Untrue(f"the contract at {document.place} leaves out {method} {route}")
        found[name] = Operation(name, *entry)
    return found


def _all(raw: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in raw["paths"].items():
        for method, definition in item.items() if isinstance(item, dict) else ():
            if isinstance(definition, dict):
                yield path, method.lower(), definition


def _bases(raw: dict[str, Any]) -> set[str]:
    """What may stand before a document's paths: nothing, Swagger's base path, a server's path."""
    servers = raw.get("servers") if isinstance(raw.get("servers"), list) else []
    urls = [str(server.get("url", "")) for server in servers or [] if isinstance(server, dict)]
    return {base.rstrip("/") for base in ("", str(raw.get("basePath", "")), *(urlsplit(url).path for url in urls))}


def _shape(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", path).rstrip("/")


def links(document: Document, operations: dict[str, Operation], source: str, answer: Answer) -> list[Link]:
    """Where this answer leads by the document's links to other operations of the profile.

    Raises:
        Untrue: a link names no operation of the document, or nothing of the answer.
    """
    response = dig(operations[source].definition, f"responses.{answer.status}", {})
    response = _resolved(document, response)
    by_target = {(o.path, o.method): o for o in operations.values()}
    found = []
    for name, link in (response.get("links") or {}).items():
        whole = _resolved(document, link)
        target = by_target.get(_target(document, f"the link {name!r} of {operations[source]}", whole))
        if target is not None and "{" in target.path:
            found.append(Link(name, target.name, _value(name, whole, answer)))
    return found


def _resolved(document: Document, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    return at(document.raw, value["$ref"]) or {} if "$ref" in value else value


def _target(document: Document, what: str, link: dict[str, Any]) -> tuple[str, str]:
    if "operationRef" in link:
        steps = str(link["operationRef"]).split("/")
        path, method = unquote(steps[-2] if len(steps) > 1 else "").replace("~1", "/").replace("~0", "~"), steps[-1]
        known = [(p, m) for p, m, _ in _all(document.raw) if (p, m) == (path, method)]
    else:
        known = [(p, m) for p, m, d in _all(document.raw) if d.get("operationId") == link.get("operationId", ...)]
    if not known:
        raise Untrue(f"{what} leads to no operation of the contract")
    return known[0]


def _value(name: str, link: dict[str, Any], answer: Answer) -> str:
    for expression in (link.get("parameters") or {}).values():
        value = expression
        if isinstance(expression, str) and expression.startswith("$response.body"):
            value = at(answer.body, expression.removeprefix("$response.body"))
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    raise Untrue(f"the link {name!r} names nothing of the answer to {answer}")
