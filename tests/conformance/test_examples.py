"""What property-based checks try is what they say, and equality is JSON's."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given

from conformance import examples
from conformance.examples import same_json


@given(examples.texts(min_size=2, max_size=8))
def test_a_text_holds_any_character_that_utf8_can_carry_but_nul(text: str) -> None:
    assert text.encode("utf-8").decode("utf-8") == text
    assert "\0" not in text
    assert len(text) >= 2


@given(examples.spoken())
def test_who_speaks_says_something_and_calls_no_tool(message: dict[str, Any]) -> None:
    assert message["role"] == "assistant"
    assert message["content"]
    assert "tool_calls" not in message


@given(examples.calling())
def test_who_calls_gives_each_call_an_id_a_name_and_an_argument_string(message: dict[str, Any]) -> None:
    assert message["tool_calls"]
    for call in message["tool_calls"]:
        assert call["id"]
        assert call["function"]["name"]
        assert isinstance(call["function"]["arguments"], str)


@given(examples.usages())
def test_usage_sums_are_right_where_there_is_a_sum(usage: dict[str, Any]) -> None:
    if "total_tokens" in usage:
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert same_json(json.loads(json.dumps(usage)), usage)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0), ({"a": 1, "b": [2]}, {"b": [2], "a": 1}), (10**400, math.inf), (None, None), (True, True), ("é", "é"),
        ([], []), ({}, {}),
    ],
)  # fmt: skip
def test_what_json_calls_equal_is_equal(one: Any, other: Any) -> None:
    assert same_json(one, other)
    assert same_json(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True), (0, False), (0, None), ("", None), ("1", 1), ([1, 2], [2, 1]), ([1], [1, 1]), ({"a": None}, {}),
        ("é", "e\u0301"), ({}, []), ({"a": 1}, {"a": 2}), ({"a": [{"b": 1}]}, {"a": [{"b": True}]}),
    ],
)  # fmt: skip
def test_what_json_tells_apart_is_not(one: Any, other: Any) -> None:
    assert not same_json(one, other)
    assert not same_json(other, one)
