"""Where values stand in a JSON text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.evidence.spans import pieces

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(any_json, st.sampled_from([None, 2]))
def test_every_value_is_found_where_it_stands(value: object, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    found = pieces(text)
    for piece in found:
        assert json.loads(text[piece.start : piece.end]) == piece.value
        inner = value
        for part in piece.path:
            inner = inner[part]  # type: ignore[index]  # the path leads through it
        assert inner == piece.value
        if piece.begin != piece.start:
            assert json.loads("{" + text[piece.begin : piece.end] + "}") == {piece.path[-1]: piece.value}
    assert found[0].path == ()


@pytest.mark.parametrize("text", ["", "{", "no JSON", '{"a": }', "[" * 100_000])
def test_what_is_no_json_has_no_values(text: str) -> None:
    assert pieces(text) == []
