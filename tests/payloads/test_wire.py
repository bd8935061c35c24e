"""Bodies are written byte by byte as they are told, and of exactly the size that is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from fixtures.payloads import edges, wire
from fixtures.payloads.wire import Literal, Object

SOUGHT = settings(max_examples=3000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))

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
    assert edge in wire.written(find(wire.strange(), lambda value: edge in wire.written(value), settings=SOUGHT))


BODY = b'{"key": "a value"}'


@pytest.mark.parametrize(
    "harm",
    [
        lambda body: body == b"",
        lambda body: body != BODY and BODY.startswith(body),
        lambda body: b"\xc3" in body,
        lambda body: body.startswith(b"\xef\xbb\xbf"),
        lambda body: body == BODY * 2,
        lambda body: body.decode("utf-16", "replace") == BODY.decode(),
    ],
)
def test_a_body_is_damaged_in_each_way(harm: Callable[[bytes], bool]) -> None:
    assert harm(find(wire.damages(), lambda damage: harm(damage.of(BODY)), settings=SOUGHT).of(BODY))


@given(VALUES, st.floats(0, 1))
def test_a_piece_is_grafted_into_one_place_and_the_value_stays_as_it_was(value: Any, place: float) -> None:
    before = wire.written(value)
    assert wire.written(wire.grafted(value, place, Literal("GRAFT"))).count(b"GRAFT") == 1
    assert wire.written(value) == before


def test_a_piece_may_stand_at_the_top_and_at_the_bottom() -> None:
    value = {"a": [1, {"b": 2}]}
    assert wire.grafted(value, 0, None) is None
    assert wire.grafted(value, 1, None) == {"a": [1, {"b": None}]}
