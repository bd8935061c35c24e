"""Which answers decided a failure, and what in them: from the assertion that did not hold and what it looked at.

A check's verdict follows from what it read of the target's answers. So the answers that the failed assertion names,
and the values in them that it compares, tell a target that fails from one that does not.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from conformance.actors import Job
from conformance.client import Answer, Exchange
from conformance.evidence.told import Asked, Call, Sql, Told, calls
from conformance.profile import Profile
from conformance.statuses import Generation, Status

# A value that stands in many answers by chance tells little of where it came from.
_COMMON = 2
# A text of so many characters stands nowhere by chance.
_OWN = 8
_STATUS = "status"


@dataclass(frozen=True)
class Condition:
    """What shows the defect: the answer to `told` holds again what it held, at the place (`status`, or in the body)."""

    told: Told
    asked: Asked | None

    @property
    def place(self) -> str:
        return self.asked.place if self.asked else _STATUS


def conditions(error: BaseException, told: Sequence[Told], profile: Profile) -> list[Condition]:
    """What of the answers decided the failure, in the order in which it was told."""
    frames = _frames(error.__traceback__)
    looked_at = [values for frame, line in frames for values in _looked_at(frame, line) if values]
    for values in looked_at:
        if found := _held(values, told, profile):
            return _ordered([*found, *_rows_read_last(told)])
    return _ordered([*(_mentioned(str(error), told, profile) or _last(told, profile)), *_rows_read_last(told)])


def _frames(trace: TracebackType | None) -> list[tuple[FrameType, int]]:
    """The frames of checks and their helpers, innermost first."""
    frames: list[tuple[FrameType, int]] = []
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("conformance."):
            frames.append((trace.tb_frame, trace.tb_lineno))
        trace = trace.tb_next
    return frames[::-1][:3]


def _looked_at(frame: FrameType, line: int) -> tuple[list[Any], list[Any]]:
    """The values of the names that the statement on a line looks at, and of attributes that stand in them."""
    tree = _statement(frame.f_code.co_filename, line)
    nodes = list(ast.walk(tree)) if tree else []
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    values = [frame.f_locals[name] for name in names if name in frame.f_locals]
    return values, [value for node in nodes if isinstance(node, ast.Attribute) for value in _attribute(node, frame)]


def _attribute(node: ast.Attribute, frame: FrameType) -> list[Any]:
    """What stands in an attribute of a name; not what it would compute."""
    if not isinstance(node.value, ast.Name):
        return []
    held = getattr(frame.f_locals.get(node.value.id), "__dict__", {})
    return [held[node.attr]] if node.attr in held else []


def _statement(file: str, line: int) -> ast.stmt | None:
    """The innermost statement that stands on a line of a file."""
    try:
        module = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(found, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def _held(values: Sequence[Any], told: Sequence[Told], profile: Profile) -> list[Condition]:
    """Of the answers among the values all that was read of them, and of the others where they were read."""
    found: list[Condition] = []
    for value in values:
        exchange = _exchange_of(value)
        if exchange is not None:
            found += _whole(next((c for c in calls(told) if c.exchange is exchange), None), profile)
    return found + [c for value in values for part in _parts(value) for c in _read(part, told, profile)]


def _exchange_of(value: Any) -> Exchange | None:
    if isinstance(value, Job | Status | Generation):
        value = value.answer
    return value.exchange if isinstance(value, Answer) else None


def _parts(value: Any) -> Iterator[Any]:
    """A value and, where it is a list or so of a check, what stands in it."""
    yield value
    if isinstance(value, tuple | list) and len(value) <= 10:
        yield from value


def _whole(call: Call | None, profile: Profile) -> list[Condition]:
    if call is None:
        return []
    asked = call.asked(profile)
    status = call.exchange.status or 0
    if 400 <= status < 500 and call.pieces:
        # Of a refusal a check may look at all that it says.
        asked = [Asked(0, "body", (), call.pieces[0].value)]
    return [Condition(call, None), *(Condition(call, each) for each in asked)]


def _read(value: Any, told: Sequence[Told], profile: Profile) -> list[Condition]:
    """Where a value was read: where it is a rare one, everywhere; otherwise where it was read last."""
    if value is None or isinstance(value, bool) or value in ("", [], {}):
        return []
    exchange = _exchange_of(value)
    if exchange is not None:
        return _whole(next((c for c in calls(told) if c.exchange is exchange), None), profile)
    places = [
        Condition(call, asked) for call in calls(told) for asked in call.asked(profile) if _same(asked.value, value)
    ]
    places += [
        Condition(sql, Asked(0, str(piece.name), piece.path, piece.value))
        for sql in told
        if isinstance(sql, Sql)
        for piece in sql.pieces
        if _same(piece.value, value)
    ]
    if not places and isinstance(value, str) and len(value) >= _OWN:
        places = _anywhere(value, told)
    return places if isinstance(value, str | list | dict | float) else places[-_COMMON:]


def _anywhere(value: str, told: Sequence[Told]) -> list[Condition]:
    """Texts of answers, read or not, that hold a text which is nobody else's; the last of them."""
    return [
        Condition(call, Asked(0, ".".join(map(str, piece.path)), piece.path, piece.value))
        for call in calls(told)
        for piece in call.pieces
        if isinstance(piece.value, str) and value in piece.value
    ][-_COMMON:]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) < 1e-9
    return type(one) is type(other) and bool(one == other)


def _mentioned(sentence: str, told: Sequence[Told], profile: Profile) -> list[Condition]:
    """What was read and stands in the failure's sentence, so far as it is of a length that is nobody else's."""
    return [
        Condition(call, asked)
        for call in calls(told)
        for asked in call.asked(profile)
        if isinstance(asked.value, str) and len(asked.value) >= _OWN and asked.value in sentence
    ]


def _last(told: Sequence[Told], profile: Profile) -> list[Condition]:
    """All that was read of the answer that was read last; without one, of the last answer its status."""
    heard = calls(told)
    read = [call for call in heard if call.exchange.asked]
    last = max(read, key=lambda call: call.exchange.asked[-1][0], default=heard[-1] if heard else None)
    return _whole(last, profile)


def _rows_read_last(told: Sequence[Told]) -> list[Condition]:
    """What was read from the database where that was done last: sums of it are nowhere to be found."""
    last = told[-1] if told else None
    if not isinstance(last, Sql) or not last.reads or not last.pieces:
        return []
    return [Condition(last, Asked(0, "rows", (), last.pieces[0].value))]


def _ordered(found: Sequence[Condition]) -> list[Condition]:
    unique = {(c.told.number, c.place): c for c in found}
    return [unique[key] for key in sorted(unique)]
