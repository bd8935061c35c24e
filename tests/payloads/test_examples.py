"""What property-based checks try is what they say."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from fixtures.payloads import examples


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
    assert json.loads(json.dumps(usage)) == usage
