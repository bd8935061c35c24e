"""Bodies are written byte by byte as they are told, and of exactly the size that is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from fixtures.payloads import edges, wire
from fixtures.payloads.wire import Literal, Object

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), edges.integers(), edges.texts()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(edges.texts(), inner, max_size=3)),
    max_leaves=8,
)


@given(VALUES)
def test_what_json_can_say_is_written_as_json_writes_it(value: Any) -> None:
    assert wire.written(value) == json.dumps(value).encode()


def test_a_literal_stands_as_it_is_and_an_object_repeats_its_keys() -> None:
    body = Object((("a", 1), ("b", [Literal("NaN"), {"c": Literal('"\\ud800"')}]), ("a", 2)))
    assert wire.written(body) == b'{"a": 1, "b": [NaN, {"c": "\\ud800"}], "a": 2}'


@given(wire.surrogates())
def test_half_a_pair_is_valid_json_and_no_unicode(literal: Literal) -> None:
    text = json.loads(wire.written(literal))
    with pytest.raises(UnicodeEncodeError):
        text.encode("utf-8")


@given(wire.repeated({"a": 1, "b": 2}, st.sampled_from([None, "other"])))
def test_of_repeated_keys_the_last_one_counts(body: Object) -> None:
    assert json.loads(wire.written(body)) == {"a": 1, "b": 2}
    assert len(body.members) > 2


@pytest.mark.parametrize("depth", [0, 1, 7, 100_000])
def test_depth_is_as_told(depth: int) -> None:
    assert wire.written(wire.nested(depth)) == b"[" * depth + b"1" + b"]" * depth
    objects = wire.written(wire.nested(depth, opening='{"a":', closing="}"))
    assert objects.count(b"{") == objects.count(b"}") == depth


@given(edges.sizes(70_000))
def test_a_body_is_filled_to_the_byte(octets: int) -> None:
    def body(text: str) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": text}]}

    assume(octets >= len(wire.written(body(""))))
    filled = wire.filled(body, octets)
    assert len(filled) == octets
    assert set(json.loads(filled)["messages"][0]["content"]) <= {"x"}


def test_a_body_that_is_too_large_already_cannot_be_filled() -> None:
    with pytest.raises(ValueError, match="without any text"):
        wire.filled(lambda text: {"content": text}, 5)


@pytest.mark.parametrize("edge", [b"NaN", b"[[[[", b'{"a":{"a":', b"1e400", b"-9223372036854775809"])
def test_the_edge_occurs(edge: bytes) -> None:
    sought = settings(
        max_examples=3000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    assert edge in wire.written(find(wire.strange(), lambda value: edge in wire.written(value), settings=sought))


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: len(body) < 8,
        lambda body: b"\xff" in body and not body.startswith(b"\xff\xfe"),
        lambda body: body.startswith(b"\xef\xbb\xbf"),
        lambda body: body.count(b'"key"') == 2,
    ],
)
def test_a_body_is_damaged_in_each_way(damage: Any) -> None:
    sought = settings(
        max_examples=3000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    assert damage(find(wire.mangled(b'{"key": "a value"}'), damage, settings=sought))
