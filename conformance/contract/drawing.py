"""Drawing calls from a contract: Schemathesis makes bodies that it allows and bodies that it does not.

What is drawn names nobody's models, workers or requests: the story puts its own in their place. Two things are left
out on purpose: NUL and half surrogates, which have a requirement of their own, and other routes' parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import schemathesis
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from schemathesis.core import NotSet
from schemathesis.errors import SchemathesisError

from conformance.contract.documents import Document, Untrue
from conformance.contract.operations import Operation
from fixtures.payloads.wire import Damage, damages, strange
from fixtures.payloads.wire import Literal as Piece

Key = Literal["own", "wrong", "none"]
_KEYS: tuple[Key, ...] = ("own",) * 10 + ("wrong", "none")

# What stands for a value that the contract leaves open: parts, tools, calls, formats, and what looks like them.
_OPEN: tuple[Any, ...] = (
    {"type": "text", "text": "Words."}, {"type": "image_url", "image_url": {"url": "https://images.example/a.png"}},
    {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}},
    {"id": "call-1", "type": "function", "function": {"name": "find", "arguments": "{"}}, {"type": "json_object"},
    {"type": "json_schema", "json_schema": {"name": "found", "schema": {"type": "object"}}}, {"type": "", "": [{}]},
)  # fmt: skip
_ANYTHING: tuple[Any, ...] = (*_OPEN, None, True, 5, -1.5, "", "words", [], [[]])


@dataclass(frozen=True)
class Drawn:
    """A call as it was drawn. `own` asks for the story's own request or job in the place of the id that was drawn."""

    operation: str
    body: Any = None
    raw: bytes | None = None
    id: str = ""
    own: bool = True
    key: Key = "own"


@dataclass(frozen=True)
class Malformed:
    """A call whose body is spoilt: a piece grafted into it, or damage on its way, or said to be something else."""

    drawn: Drawn
    graft: tuple[float, Piece] | None = None
    damage: Damage | None = None
    content_type: str | None = "application/json"


def schema(document: Document, operations: Mapping[str, Operation], *, sent: bool) -> Any:
    """Schemathesis' view of these operations: of the answers, or with `sent` of what is drawn for them.

    Raises:
        Untrue: the document is no valid contract.
    """
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations.values():
        definition = _sendable(operation.definition) if sent else operation.definition
        shared = document.raw["paths"][operation.path].get("parameters")
        item = paths.setdefault(operation.path, {} if shared is None else {"parameters": shared})
        item[operation.method] = definition
    raw = {**document.raw, "paths": paths}
    for shelf in ("components", "definitions"):
        if sent and shelf in raw:
            raw[shelf] = _closed(raw[shelf])
    # Neither a configuration file of the folder that we are called in, nor a table of all that UTF-8 can encode,
    # which takes seconds to make.
    config = schemathesis.Config()
    config.projects.default.generation.codec = None
    config.projects.default.generation.allow_x00 = False
    try:
        return schemathesis.openapi.from_dict(raw, config=config)
    except SchemathesisError as error:
        raise untrue(document, error) from None


def untrue(document: Document, error: Exception) -> Untrue:
    """What Schemathesis says of a document that it cannot read, in one sentence."""
    return Untrue(f"the contract at {document.place} cannot be read: {' '.join(str(error).split())}")


def _sendable(definition: dict[str, Any]) -> dict[str, Any]:
    """The operation with the parameters of its path and its body alone: headers and queries are the client's."""
    kept = [
        p for p in definition.get("parameters", []) if isinstance(p, dict) and p.get("in") in (None, "path", "body")
    ]
    closed: dict[str, Any] = _closed(
        {key: definition[key] for key in definition if key not in ("parameters", "security")}
    )
    return {**closed, "parameters": _closed(kept)}


def _closed(value: Any) -> Any:
    """The schemas without room for further keys, and with something of the domain where anything is allowed.

    Arbitrary JSON in arbitrary places is slow to draw, and the target throws it away before it does anything.
    """
    if isinstance(value, list):
        return [_closed(member) for member in value]
    if not isinstance(value, dict):
        return value
    closed = {key: _closed(member) for key, member in value.items() if not _is_title(key, member)}
    if closed.get("items") == {}:
        closed["items"] = {"enum": list(_ANYTHING)}
    if closed.get("type") == "object":
        if not closed.get("properties"):
            return {"enum": list(_OPEN)}
        closed["additionalProperties"] = False
    return closed


def _is_title(key: str, member: Any) -> bool:
    return key in ("title", "description", "example", "examples") and not isinstance(member, dict)


def calls(document: Document, view: Any, operation: Operation) -> SearchStrategy[Drawn]:
    """Calls of one operation, most with a body that the contract allows, some with one that it does not.

    Raises:
        Untrue: the document does not say how to call it.
    """
    try:
        described = view[operation.path][operation.method.upper()]
        allowed = described.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
        if not described.body:
            cases = allowed
        else:
            refused = described.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
            cases = st.one_of(allowed, allowed, allowed, allowed, refused)
    except (SchemathesisError, LookupError) as error:
        raise untrue(document, error) from None
    own = st.sampled_from([True] * 6 + [False])
    return st.builds(_drawn, st.just(operation.name), cases, own, st.sampled_from(_KEYS))


def _drawn(operation: str, case: Any, own: bool, key: Key) -> Drawn:
    body = None if isinstance(case.body, NotSet) else case.body
    raw = body if isinstance(body, bytes) else None
    id = next(iter(case.path_parameters.values()), "") if case.path_parameters else ""
    return Drawn(operation, None if raw is not None else body, raw, str(id), own, key)


def unspoilt(drawn: Drawn) -> Malformed:
    """A call of the own key, as it was drawn."""
    return Malformed(replace(drawn, key="own"))


def malformed(drawn: SearchStrategy[Drawn]) -> SearchStrategy[Malformed]:
    """Calls of the own key that are spoilt somewhere."""
    own = drawn.map(lambda call: unspoilt(call).drawn)
    graft = st.tuples(st.floats(0, 1), strange())
    types = st.sampled_from(
        ["application/json", "application/json", "text/plain", "application/json; charset=x", "", None]
    )
    return st.one_of(
        st.builds(Malformed, own, graft),
        st.builds(Malformed, own, st.none(), damages()),
        st.builds(Malformed, own, st.none(), st.none(), types),
    )
