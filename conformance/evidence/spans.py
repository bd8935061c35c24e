"""Where in a JSON text a value stands: a script that has no JSON reader looks for the piece of text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]

_SPACE = " \t\r\n"
_READER = json.JSONDecoder()


@dataclass(frozen=True)
class Piece:
    """A value's piece of text; `begin` is that of its name where it is a member of an object."""

    path: Path
    begin: int
    start: int
    end: int
    value: Any

    @property
    def name(self) -> str | None:
        """The name of the member that it is, or that the innermost object around its array has it in."""
        return next((part for part in reversed(self.path) if isinstance(part, str)), None)


def pieces(text: str) -> list[Piece]:
    """Every value of a JSON text with its place, outer ones first; none where the text is no JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return []
    found: list[Piece] = []
    _read(text, _skip(text, 0), None, (), found)
    return sorted(found, key=lambda piece: (piece.begin, len(piece.path)))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _read(text: str, at: int, begin: int | None, path: Path, found: list[Piece]) -> int:
    """Read the value at a place and give where it ends."""
    start = at
    if text[at] == "{":
        at = _skip(text, at + 1)
        while text[at] != "}":
            member = at
            name, at = _string(text, at)
            at = _read(text, _skip(text, _skip(text, at) + 1), member, (*path, name), found)
            at = _after(text, at)
        at += 1
    elif text[at] == "[":
        at, index = _skip(text, at + 1), 0
        while text[at] != "]":
            at, index = _after(text, _read(text, at, None, (*path, index), found)), index + 1
        at += 1
    elif text[at] == '"':
        _, at = _string(text, at)
    else:
        while at < len(text) and text[at] not in ",]}" + _SPACE:
            at += 1
    found.append(Piece(path, start if begin is None else begin, start, at, json.loads(text[start:at])))
    return at


def _string(text: str, at: int) -> tuple[str, int]:
    value, end = _READER.raw_decode(text, at)
    return str(value), end


def _after(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at
