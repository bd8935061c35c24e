"""What a check told its target and heard of it, in order: calls, and statements on the database."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

from conformance.client import Exchange, Question
from conformance.evidence.spans import Path, Piece, pieces
from conformance.profile import Profile


@dataclass(frozen=True)
class Asked:
    """A value that the check read at a place of an answer; `path` is None where the answer has no such place."""

    moment: int
    place: str
    path: Path | None
    value: Any


@dataclass(frozen=True)
class Call:
    """An exchange; `number` is its place among the check's calls in the script, from 1."""

    number: int
    exchange: Exchange

    @property
    def text(self) -> str:
        """The answer's body, on one line."""
        return (self.exchange.response_body or "").replace("\n", "")

    @cached_property
    def pieces(self) -> list[Piece]:
        return pieces(self.text)

    def asked(self, profile: Profile) -> list[Asked]:
        """What the check read of the answer, each place once, as it was read last."""
        read = [self._placed(question, profile) for question in self.exchange.asked]
        return list({asked.place: asked for asked in read}.values())

    def _placed(self, question: Question, profile: Profile) -> Asked:
        moment, kind, name, data, value = question
        within = self._where(data)
        inner = (profile.answer[kind][name] if kind else name).split(".")
        place = ".".join(map(str, (*(within or ()), *inner)))
        path = None if within is None else (*within, *inner)
        known = path is not None and any(piece.path == path for piece in self.pieces)
        return Asked(moment, place, path if known else None, value)

    def _where(self, data: Any) -> Path | None:
        """The outermost place at which the answer holds this object."""
        if not isinstance(data, dict):
            return None
        return next((piece.path for piece in self.pieces if piece.value == data), None)


@dataclass(frozen=True)
class Sql:
    """A statement with its values; of one that was read, `rows` are its rows as PostgreSQL writes them as JSON."""

    number: int
    statement: str
    values: Mapping[str, Any]
    reads: bool
    rows: str = ""

    @property
    def text(self) -> str:
        """The rows, on one line."""
        return self.rows.replace("\n", "")

    @cached_property
    def pieces(self) -> list[Piece]:
        return pieces(self.text)


Told = Call | Sql


def plain(value: Any) -> str:
    """A value as one would write it in JSON, for people."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, TypeError):
        return str(value)


def as_postgres(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as PostgreSQL writes them with `json_agg`."""
    members = ([f"{json.dumps(name)}:{_value(value)}" for name, value in row.items()] for row in rows)
    return "[" + ", \n ".join("{" + ",".join(row) + "}" for row in members) + "]"


def _value(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime):
        return json.dumps(value.isoformat())
    return plain(value if value is None or isinstance(value, bool | int | float | str | list | dict) else str(value))


def calls(told: Sequence[Told]) -> list[Call]:
    """The exchanges among what was told."""
    return [one for one in told if isinstance(one, Call)]
