"""Every edge that is promised really occurs, and every strategy gives what its name says."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fixtures.payloads import edges, examples

SOUGHT = settings(max_examples=3000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def bidirectional(text: str) -> set[str]:
    return {unicodedata.bidirectional(letter) for letter in text}


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def argument_strings(message: dict[str, Any]) -> list[str]:
    return [call["function"]["arguments"] for call in message["tool_calls"]]


@pytest.mark.parametrize(
    ("strategy", "edge"),
    [
        (edges.combining(), lambda text: any(map(unicodedata.combining, text))),
        (edges.combining(), lambda text: unicodedata.normalize("NFC", text) != text),
        (edges.right_to_left(), lambda text: bidirectional(text) & {"R", "AL"}),
        (edges.right_to_left(), lambda text: "RLO" in bidirectional(text) and "PDF" not in bidirectional(text)),
        (edges.controls(), lambda text: any(letter < " " for letter in text)),
        (edges.controls(), lambda text: "\ufffe" in text),
        (edges.with_nul(), lambda text: text.startswith("\0") and len(text) > 1),
        (edges.names(), lambda name: len(name) == 64),
        (edges.texts(), lambda text: text == ""),
        (edges.integers(), lambda number: number == 2**63),
        (edges.integers(), lambda number: number == -(2**31) - 1),
        (edges.integers(), lambda number: number >= 10**309),
        (edges.sizes(5000), lambda size: size == 1),
        (edges.sizes(5000), lambda size: size == 5000),
        (edges.sizes(5000), lambda size: size == 4097),
        (examples.parts(), lambda parts: {part["type"] for part in parts} == {"text", "image_url"}),
        (examples.calling(), lambda message: message["content"] is None),
        (examples.calling(), lambda message: not all(map(is_json, argument_strings(message)))),
        (examples.asked(), lambda message: message["content"] == ""),
        (examples.asked(), lambda message: "name" in message),
        (examples.conversations(), lambda messages: {m["role"] for m in messages} >= {"user", "assistant", "tool"}),
        (examples.tools(), lambda tools: len(tools) > 1),
    ],
)  # fmt: skip
def test_the_edge_occurs(strategy: SearchStrategy[Any], edge: Callable[[Any], bool]) -> None:
    assert edge(find(strategy, edge, settings=SOUGHT))


@given(st.one_of(edges.combining(), edges.right_to_left(), edges.controls(), edges.texts(), edges.names()))
def test_a_text_that_is_no_nul_can_be_sent_and_stored(text: str) -> None:
    assert "\0" not in text
    assert text.encode("utf-8").decode("utf-8") == text


@given(edges.with_nul())
def test_a_text_with_nul_has_one(text: str) -> None:
    assert "\0" in text


@given(st.integers(1, 10**6).flatmap(lambda limit: st.tuples(st.just(limit), edges.sizes(limit))))
def test_no_size_is_over_the_limit(drawn: tuple[int, int]) -> None:
    limit, size = drawn
    assert 1 <= size <= limit


def test_there_is_no_size_without_a_limit() -> None:
    with pytest.raises(ValueError, match="no size"):
        edges.sizes(0)


@settings(max_examples=25, deadline=None)
@given(examples.conversations())
def test_a_conversation_begins_with_somebody_who_asks(messages: list[dict[str, Any]]) -> None:
    assert messages[0]["role"] in {"user", "system"}
    assert len(messages) <= 6
