"""What a row says: its conversation or prompt, with the payload where the description wants it."""

from __future__ import annotations

import json
import math
from typing import NamedTuple

from load.seeding.description import Carrier, Description
from load.seeding.rows import Row
from load.seeding.text import pool

# Stands before each payload, and alone where there is none: nothing is submitted without a word.
LEAD = "Go on: "
_CUT = "\x00"


class Content(NamedTuple):
    """A row's texts; what a text row does not have is None. Token estimates and counts are left to the writer."""

    prompt: str
    messages: str | None
    chat_extras: str | None
    gen_payload: str


class Composer:
    """Cuts payloads out of the pool and sets them into their places, which are written once."""

    def __init__(self, description: Description, chat_prompt: str) -> None:
        self._pool = pool(description.seed, description.payload.incompressible)
        self._carriers = frozenset(description.payload.carriers)
        self._chat_prompt = chat_prompt.replace("{content}", _CUT)
        self._messages = _cut(json.dumps([{"role": "user", "content": LEAD + _CUT}]))
        self._gen_payload = _cut(json.dumps({"prompt": LEAD + _CUT}))
        self._prompt = {True: _cut(self._chat_prompt.replace(_CUT, LEAD + _CUT)), False: _cut(LEAD + _CUT)}
        self._extras = _cut(json.dumps(tools(_CUT)))

    def content(self, row: Row) -> Content:
        """What one row says."""
        payload = self._pool[row.offset : row.offset + row.size]
        given = self._given
        return Content(
            prompt=given("prompt", self._prompt[row.is_chat], payload),
            messages=given("messages", self._messages, payload) if row.is_chat else None,
            chat_extras=self._chat_extras(payload) if row.is_chat else None,
            gen_payload=given("gen_payload", self._gen_payload, payload),
        )

    def said(self, row: Row) -> str:
        """What a natural row says, without the form that its family gives it."""
        return LEAD + self._pool[row.offset : row.offset + row.size]

    def _given(self, carrier: Carrier, place: tuple[str, str], payload: str) -> str:
        return (payload if carrier in self._carriers else "").join(place)

    def _chat_extras(self, payload: str) -> str:
        return payload.join(self._extras) if "chat_extras" in self._carriers else "{}"


def tools(payload: str) -> dict[str, object]:
    """Extras that carry a payload: one tool's description."""
    parameters = {"type": "object", "properties": {"word": {"type": "string"}}}
    function = {"name": "look_up", "description": LEAD + payload, "parameters": parameters}
    return {"tools": [{"type": "function", "function": function}]}


def tokens(characters: int, per_token: int) -> int:
    """The estimate of a text's tokens, unbounded."""
    return math.ceil(characters / per_token)


def _cut(text: str) -> tuple[str, str]:
    before, _, after = text.replace(json.dumps(_CUT)[1:-1], _CUT).partition(_CUT)
    return before, after
