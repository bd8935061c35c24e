"""Equality as JSON: what a target may change of a value on its way, and what it may not."""

from __future__ import annotations

import math
from typing import Any


def same_json(one: Any, other: Any) -> bool:
    """Equal as JSON: arrays in order, objects unordered, strings by code point, numbers as doubles."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    if _is_number(one) and _is_number(other):
        return _double(one) == _double(other)
    return type(one) is type(other) and bool(one == other)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        # As a JSON reader of doubles reads it.
        return math.inf if number > 0 else -math.inf
