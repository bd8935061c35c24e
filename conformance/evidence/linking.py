"""How the calls of a story hang together: what one says again of what another was answered."""

from __future__ import annotations

import shlex

from conformance.evidence.deciding import Condition
from conformance.evidence.naming import Capture, Names, new
from conformance.evidence.told import Call, Sql, Told


def kept_beside(call: Call, capture: Capture, names: Names) -> str | None:
    """How a value of a list of everybody's is kept: by a text of this story that stands in the same object."""
    if call.exchange.operation != "workers":
        return None
    value = next((p for p in call.pieces if names.values.get(str(p.value)) == capture.name), None)
    beside = [p for p in call.pieces if value and p.path[:-1] == value.path[:-1] and p.begin < p.start]
    said = [names.put(call.text[p.begin : p.end]) for p in beside if isinstance(p.value, str) and p is not value]
    known = next((text for text in said if "@new" in text), None)
    return known and f"keep_beside {capture.name} {call.number} {capture.member} {shlex.quote(known)}"


def new_id(call: Call) -> str:
    """The id that a submit was answered with."""
    return next((str(p.value) for p in call.pieces if p.path == ("id",) and new(p.value)), "")


def repeats(other: Told, call: Call) -> bool:
    """Whether a submit says again what another said."""
    if not isinstance(other, Call) or not call.exchange.operation.startswith("submit"):
        return False
    one, two = call.exchange, other.exchange
    return one is not two and (one.url, one.request_body, dict(one.request_headers)) == (
        two.url,
        two.request_body,
        dict(two.request_headers),
    )


def said_by(one: Told) -> str:
    """All that a call or a statement says."""
    if isinstance(one, Sql):
        return f"{one.statement} {dict(one.values)}"
    headers = "\n".join(one.exchange.request_headers.values())
    return f"{one.exchange.url}\n{one.exchange.request_body}\n{headers}"


def decided_by(condition: Condition) -> str:
    """The value that decided."""
    if condition.asked is None or condition.asked.path is None:
        return ""
    return next((str(p.value) for p in condition.told.pieces if p.path == condition.asked.path), "")
