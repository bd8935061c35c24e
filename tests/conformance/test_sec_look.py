"""The look for secrets finds them in headers, bodies and deliveries, however written, and asks for its control."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from conformance.actors import Account
from conformance.client import Exchange
from conformance.errors import CouldNotRun
from conformance.profile import load
from conformance.receiver import Delivery
from conformance.suites.sec_scenes import Secret, delivered, keep_quiet, keys_of, names_of, told

KEY = "aB3_-xyz+/ é0"
NOTHING = Exchange("somebody", "status", "GET", "http://x/", {}, None, 200, {}, "", 0.0, 0.0)


def answer(body: str = "", **headers: str) -> Exchange:
    return replace(NOTHING, response_body=body, response_headers=headers)


WAYS: dict[str, Exchange] = {
    "in a text": answer(f"Not Found: {KEY}"),
    "in another case": answer(KEY.upper()),
    "in JSON": answer(json.dumps({"message": f"unknown key {KEY}"})),
    "as a name in JSON": answer(json.dumps([{"a": {KEY: 1}}])),
    "in escapes": answer('{"m": "' + "".join(f"\\u{ord(c):04x}" for c in KEY) + '"}'),
    "percent-encoded": answer("Location: /x?key=aB3_-xyz%2B%2F%20%C3%A90"),
    "in base64": answer(base64.b64encode(f"{KEY}:".encode()).decode()),
    "in a header": answer("{}", **{"X-Call": f"apikey={KEY}"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_key_is_found_wherever_it_is_told(way: str) -> None:
    assert told(WAYS[way]).holds(KEY)
    with pytest.raises(AssertionError, match="tells the API key of owner"):
        keep_quiet([told(WAYS[way])], keys_of(Account("owner", KEY, "owner#1", "1")), control="nothing")


@pytest.mark.parametrize("body", ["", "aB3_-xyz", '{"message": "aB3", "rest": "_-xyz+/ é0"}', "[" * 100_000])
def test_what_is_not_told_is_not_found(body: str) -> None:
    assert not told(answer(body)).holds(KEY)


def test_a_delivery_is_looked_into_as_an_answer_is() -> None:
    raw: Any = json.dumps({"text": "words"})
    delivery = Delivery([("Authorization", f"Bearer {KEY}")], raw, json.loads(raw), load("reference"))
    assert delivered(delivery).holds(KEY)
    assert delivered(delivery).holds("WORDS")


def test_a_look_that_does_not_find_its_control_judges_nothing() -> None:
    with pytest.raises(CouldNotRun, match="not found either"):
        keep_quiet([told(answer("{}"))], [Secret("a secret", KEY)], control="words")
    keep_quiet([told(answer("{}")), told(answer('{"text": "words"}'))], [Secret("a secret", KEY)], control="words")


def test_a_short_name_is_looked_for_with_its_number_only() -> None:
    assert {secret.text for secret in names_of(Account("r", KEY, "Al#12345", "12345"))} == {"Al#12345"}
    assert {secret.text for secret in names_of(Account("r", KEY, "Alfonso#1", "1"))} == {"Alfonso#1", "Alfonso"}
