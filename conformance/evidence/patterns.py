"""What a script expects of an answer: a status, a piece of its text, with anything in the place of what is new."""

from __future__ import annotations

import re
import shlex

from conformance.evidence.deciding import Condition
from conformance.evidence.naming import Names, new
from conformance.evidence.spans import Piece
from conformance.evidence.told import Call, Sql, Told

_LONGEST_TEXT = 6000
_SEVERAL = 2


def lines_of(condition: Condition, names: Names) -> list[str]:
    """The lines of a script that go on only where an answer holds again what it held."""
    told, number = condition.told, condition.told.number
    if condition.asked is None:
        assert isinstance(told, Call)
        status = told.exchange.status
        return [f"answered {number} {status if status is not None else '000'}"]
    if condition.asked.path is None:
        member = f'"{last_name(condition.asked.place)}":'
        return [] if member in told.text else [f"lacks {number} {shlex.quote(member)}"]
    if isinstance(told, Sql) and condition.asked.path == ():
        # In whichever order: it is that of ids, which are new each time.
        rows = [_pattern(p, told, names) for p in told.pieces if len(p.path) == 1]
        return [*(f"holds {number} {shlex.quote(row)}" for row in dict.fromkeys(rows)), f"rows {number} {len(rows)}"]
    piece = next(p for p in told.pieces if p.path == condition.asked.path)
    return [f"holds {number} {shlex.quote(_pattern(piece, told, names))}"]


def _pattern(piece: Piece, told: Told, names: Names) -> str:
    """What finds a piece of text again, with anything in the place of what is new each time."""
    begin = _begin(piece, told)
    text = told.text[begin : piece.end]
    text = re.sub(r'(id": ?)(\d+)(?=[,}])', lambda found: found[1] + names.number(found[2]), text)
    text = re.sub(r'"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*"', '"\0"', names.put(text))
    if new(piece.value) and text.count("@") < 2:
        text = told.text[begin : piece.start] + '"\0"'
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "\0", text)
    pattern = re.sub(r"[\\\[\].*^$]", lambda found: "\\" + found[0], text)
    if len(pattern) > _LONGEST_TEXT:
        pattern = _unsplit(pattern[: _LONGEST_TEXT // 2]) + ".*" + pattern[-_LONGEST_TEXT // 2 :].lstrip("\\")
    if isinstance(piece.value, int | float):
        # The whole number, and no longer one.
        pattern += "[],}]"
    return pattern.replace('"\0"', '"[^"][^"]*"').replace("\0", '[^"]*')


def _begin(piece: Piece, told: Told) -> int:
    """Where a piece of text begins that finds this value, and none of the same name elsewhere."""
    member = f'"{piece.name}":'
    # A name that is none of the protocol's is this story's own.
    if not re.fullmatch(r"\w+", piece.name or "") or told.text.count(member) < _SEVERAL:
        return piece.begin
    around = next((p for p in told.pieces if p.path and p.path == piece.path[:-1]), None)
    if around is not None:
        return around.begin if isinstance(around.path[-1], str) else _begin(around, told)
    before = [p.begin for p in told.pieces if len(p.path) == len(piece.path) and p.begin < piece.begin]
    return max(before, default=piece.begin)


def _unsplit(pattern: str) -> str:
    return pattern.rstrip("\\")


def last_name(place: str) -> str:
    """The last of dotted names."""
    return place.rpartition(".")[2]
