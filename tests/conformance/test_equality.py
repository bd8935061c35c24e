"""Equality is JSON's."""

from __future__ import annotations

import math
from typing import Any

import pytest

from conformance.equality import same_json


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
