"""What property-based checks try: strategies for texts, messages, tool calls and usage, and equality as JSON.

Strings are any Unicode scalar values but NUL: control characters, other planes, what normalisation would change.
"""

from __future__ import annotations

import json
import math
import string
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Message = dict[str, Any]

# Strings that careless handling changes: escapes, normalisation, trimming, markup, other planes, number-likes.
_DELICATE = (
    " ", "\n", " leading and trailing ", "tab\tand\r\nlines\u2028", 'quotes " and \\ and \\u0041',
    "e\u0301 \u00e9 \ufb01 \u212b", "\U0001f469\u200d\U0001f680 \U00020000 \uffff", "\ufeffbom", "\u202eright to left",
    "\x01\x1f\x7f\x85", "<b>&amp;</b>%00", "null", "{}", "0", "\ufffd", "''; --", "%s {0} :id",
)  # fmt: skip

# Argument strings that look like JSON, nearly are, or are not: none may be parsed and written anew.
_ARGUMENTS = (
    "", "{}", " {} ", '{"b": 1, "a": 2}', '{"a":1,"a":2}', '{"a": 1.0, "b": 1e2}', '{"a": 1,}', '{"a": "\\u00e9"}',
    "{'a': 1}", "NaN", "[1, 2", "no JSON at all", "1", '"text"', "null", '{"a": "line\nbreak"}',
    '{"n": 12345678901234567890}',
)  # fmt: skip


def texts(*, min_size: int = 0, max_size: int = 60) -> SearchStrategy[str]:
    """Any Unicode scalar values but NUL, at least `min_size` code points."""
    delicate = [text for text in _DELICATE if len(text) >= min_size]
    written = st.lists(_characters(), min_size=min_size, max_size=max_size).map("".join)
    return st.one_of(written, st.sampled_from(delicate))


def _characters() -> SearchStrategy[str]:
    # Plain ranges, by the length of their UTF-8: Hypothesis' own characters first make a table of all of Unicode,
    # which takes seconds.
    ranges = ((0x01, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF))
    return st.one_of(*(st.integers(first, last) for first, last in ranges)).map(chr)


def spoken() -> SearchStrategy[Message]:
    """An assistant's message that says something, with or without a name and a refusal; no tool calls."""
    return st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": texts(min_size=1)},
        optional={"name": texts(min_size=1, max_size=20), "refusal": st.one_of(st.none(), texts())},
    )


def calling() -> SearchStrategy[Message]:
    """An assistant's message that calls one to four tools; its content is null, empty or some words."""
    return st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.one_of(st.none(), texts(max_size=20)),
            "tool_calls": st.lists(_tool_call(), min_size=1, max_size=4),
        }
    )


def _tool_call() -> SearchStrategy[Message]:
    arguments = st.one_of(texts(), st.sampled_from(_ARGUMENTS), _json_texts())
    letters = st.sampled_from(string.ascii_letters + string.digits + "_-")
    name = st.lists(letters, min_size=1, max_size=64).map("".join)
    return st.fixed_dictionaries(
        {
            "id": texts(min_size=1, max_size=40),
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": name, "arguments": arguments}),
        }
    )


def _json_texts() -> SearchStrategy[str]:
    objects = st.dictionaries(texts(max_size=8), st.one_of(st.integers(), texts(max_size=8), st.none()), max_size=3)
    return st.builds(json.dumps, objects, indent=st.sampled_from([None, 2]), ensure_ascii=st.booleans())


def usages() -> SearchStrategy[dict[str, Any]]:
    """Usage as a worker may report it: whole or in part, zero or large, with or without details; sums are right."""
    tokens = st.integers(0, 2**31 - 1)
    details = st.fixed_dictionaries({"cached_tokens": tokens})
    return st.one_of(
        st.fixed_dictionaries({"completion_tokens": tokens}, optional={"prompt_tokens": tokens}),
        st.builds(_whole_usage, tokens, tokens, st.none() | details),
    )


def _whole_usage(prompt: int, completion: int, details: dict[str, int] | None) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return usage if details is None else {**usage, "prompt_tokens_details": details}


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
