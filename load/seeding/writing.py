"""Rows as PostgreSQL's COPY reads them (text format), in pieces of some megabytes. Pure: no database is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from conformance.errors import BadProfile
from conformance.profile import Profile
from load.seeding.content import Composer, tokens
from load.seeding.description import Carrier, Description
from load.seeding.rows import Kind, Row, rows

# Bytes of a piece: large enough that a COPY's beginning costs nothing, small enough to hold several in memory.
PIECE = 8 * 1024 * 1024
# Between one row's creation and the next one's: a million rows are ten seconds old.
STEP = timedelta(microseconds=10)
# How long ago the life of the expired rows ended, at least.
_OVER = timedelta(seconds=60)

NULL = r"\N"
# What differs from row to row; the rest is written into the line's template once.
_VARYING = (
    "id", "user", "prompt", "messages", "chat_extras", "gen_payload", "priority", "created", "expiry",
    "prompt_tokens", "payload_bytes",
)  # fmt: skip
_FIXED = (
    "is_chat", "n", "max_length", "max_context_length", "nsfw", "message_count", "client_agent", "job_lifetime",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """What a run adds to the rows: the users' ids, the models' names (the last: one not served), and the time now."""

    users: Sequence[str]
    models: Sequence[str]
    now: datetime


@dataclass(frozen=True)
class Piece:
    """Some rows, as bytes for COPY: the requests and, of the other table, their models."""

    rows: int
    requests: bytes
    models: bytes


class Writer:
    """Writes the rows of a description in the columns that a profile names, for one run.

    Raises BadProfile where a column's template names a value that there is not.
    """

    def __init__(self, description: Description, profile: Profile, run: Run) -> None:
        self.description, self.run = description, run
        self.lifetime = timedelta(seconds=description.lifetime_seconds or profile.timings.request_lifetime)
        self._given: dict[Carrier, int] = {"messages": 0, "chat_extras": 0, "prompt": 0, "gen_payload": 0}
        self._total = description.total
        self._composer = Composer(description, profile.seeding.chat_prompt)
        self._per_token = profile.tokens.characters
        self._lines = {
            (chat, kind): _line(profile.seeding.columns, fixed(description, profile, kind=kind, chat=chat))
            for chat in (True, False)
            for kind in Kind
        }
        self._models = _line(profile.seeding.models_columns, {}, ("id", "model"))

    def pieces(self) -> Iterator[Piece]:
        """All rows, the oldest first; what the carriers are given is counted on the way."""
        lines: list[str] = []
        models: list[str] = []
        size = 0
        for row in rows(self.description):
            line = self.line(row)
            lines.append(line)
            models.append(self._models.format(row.id, self.run.models[row.model]))
            size += len(line)
            if size >= PIECE:
                yield _piece(lines, models)
                lines, models, size = [], [], 0
        if lines:
            yield _piece(lines, models)

    def line(self, row: Row) -> str:
        """One row of the table of requests, with its end of line."""
        said = self._composer.content(row)
        created = self.run.now - STEP * (self._total - row.number)
        if row.kind is Kind.EXPIRED:
            created -= self.lifetime + _OVER
        values = (
            row.id,
            self.run.users[row.user],
            said.prompt,
            NULL if said.messages is None else said.messages,
            NULL if said.chat_extras is None else said.chat_extras,
            said.gen_payload,
            row.priority,
            created,
            created + self.lifetime,
            tokens(len(said.prompt), self._per_token),
            NULL if said.messages is None else len(said.messages) + len(said.chat_extras or ""),
        )
        given = self._given
        given["prompt"] += len(said.prompt)
        given["gen_payload"] += len(said.gen_payload)
        if said.messages is not None:
            given["messages"] += len(said.messages)
            given["chat_extras"] += len(said.chat_extras or "")
        return self._lines[row.is_chat, row.kind].format(*values)

    def given(self, carrier: Carrier) -> int:
        """Bytes given to a carrying column so far: payloads, and the little that stands around them."""
        return self._given[carrier]


def fixed(description: Description, profile: Profile, *, kind: Kind, chat: bool) -> dict[str, str]:
    """The values that all rows of a kind and family share; a refused row breaks one rule, and only that."""
    broken = description.refused.by if kind is Kind.REFUSED else None
    values = (
        "t" if chat else "f",
        description.n,
        description.max_length * (2 if broken == "max_length" else 1),
        # A row that asks for more tokens still asks for no more than its context has.
        description.max_context_length * (2 if broken == "max_context_length" else 1),
        "t" if broken == "nsfw" else "f",
        1 if chat else NULL,
        escaped(profile.client_agent),
        round(profile.timings.job_lifetime),
    )
    return {name: str(value) for name, value in zip(_FIXED, values, strict=True)}


def escaped(text: str) -> str:
    """A value as COPY's text format wants it."""
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _line(columns: Mapping[str, str], values: Mapping[str, str], varying: Sequence[str] = _VARYING) -> str:
    """A line's template for str.format, whose numbered places are the varying values."""

    def place(found: re.Match[str]) -> str:
        name = found[1]
        if name in varying:
            return f"\x02{varying.index(name)}\x03"
        if name in values:
            return values[name]
        raise BadProfile(
            f"The profile's [seeding] has a column with a value that there is not: {{{name}}}.",
            f"There are {', '.join('{' + known + '}' for known in (*varying, *values))}.",
        )

    written = "\t".join(re.sub(r"\{(\w+)\}", place, escaped(template)) for template in columns.values())
    return written.replace("{", "{{").replace("}", "}}").replace("\x02", "{").replace("\x03", "}") + "\n"


def _piece(lines: list[str], models: list[str]) -> Piece:
    return Piece(len(lines), "".join(lines).encode("ascii"), "".join(models).encode("ascii"))
