"""The scenes of the REQ suites: bytes, sizes, and conversations in an order that makes sense."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from conformance import profile as profiles
from conformance.client import Client
from conformance.stage import Cast, Resources, Stage
from conformance.suites import req_scenes, test_req_bodies, test_req_rewrites, test_req_sampling, test_req_storage
from fixtures.nulls.server import json_answer, serve


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Client("http://127.0.0.1:9", profiles.load("reference")) as client:
        yield Stage(Resources(client, Cast([], []), None, seed=1), "a check")


def test_raw_fields_stand_in_a_body_byte_for_byte(stage: Stage) -> None:
    body = req_scenes.on_the_wire(stage, {"models": ["m"], "n": 2}, messages=b'[{"a": 1, "a": 2.0}]', max_length=b"NaN")
    assert b'[{"a": 1, "a": 2.0}]' in body
    assert b'"max_length": NaN' in body
    assert json.loads(body)["params"]["n"] == 2


@pytest.mark.parametrize("size", [6000, 65_537])
def test_a_body_is_of_exactly_the_size_that_is_asked_for(stage: Stage, size: int) -> None:
    body, messages = test_req_bodies._body_of(stage, "m", size)
    assert len(body) == size
    assert json.loads(body)["messages"] == messages


@settings(max_examples=20)
@given(req_scenes.conversations())
def test_results_in_a_conversation_answer_the_calls_before_them(messages: list[dict[str, Any]]) -> None:
    assert messages[0]["role"] in ("system", "user")
    asked: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == asked.pop(0)
        else:
            asked = [call["id"] for call in message.get("tool_calls", [])]


def test_one_of_everything_is_json_and_has_every_role() -> None:
    messages = req_scenes.one_of_everything()
    assert json.loads(json.dumps(messages)) == messages
    assert {message["role"] for message in messages} == {"system", "user", "assistant", "tool"}


def test_what_is_spoken_is_every_string_content_and_every_text_part_in_order() -> None:
    messages = [
        req_scenes.user("a"),
        req_scenes.user([req_scenes.text_part("b"), req_scenes.IMAGE]),
        req_scenes.calls(),
    ]
    assert test_req_storage._spoken(messages) == ["a", "b"]


@pytest.mark.parametrize("prompt", ["user: b\nuser: a", "user: a", "", None])
def test_a_prompt_without_the_texts_in_their_order_is_no_rendering(prompt: str | None) -> None:
    messages = [req_scenes.user("a"), req_scenes.user("b")]
    test_req_storage._assert_rendered(messages, "user: a\nuser: b")
    with pytest.raises(AssertionError):
        test_req_storage._assert_rendered(messages, prompt)


def test_every_string_of_a_job_is_read() -> None:
    job = [{"role": "user", "content": [{"type": "text", "text": "a"}]}, None, 1, "b"]
    assert sorted(test_req_rewrites._strings(job)) == ["a", "b", "text", "user"]


def test_every_value_of_a_range_is_tried(stage: Stage) -> None:
    tried = test_req_sampling._within(stage)
    for name, field in stage.profile.sampling.items():
        assert all(value in [params[name] for params in tried] for value in field.within), name
    assert [len(params["stop_sequence"]) for params in tried].count(stage.profile.limits.stop_sequences) == 1
    outside = test_req_sampling._outside(stage)
    assert {name for params in outside for name in params} == set(stage.profile.sampling)


def test_a_profile_that_names_sampling_fields_has_no_others(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[sampling]\nheat = { within = [0, 1], outside = [2] }\n", "utf-8")
    assert list(profiles.load(str(mine)).sampling) == ["heat"]


def test_what_is_hung_up_on_is_broken_where_the_right_call_is_answered(stage: Stage) -> None:
    with serve(lambda _: json_answer(200, {})) as url, Client(url, stage.profile) as client:

        def right() -> Any:
            return client.call("heartbeat", kind="heartbeat", actor="somebody")

        def silent() -> Any:
            return stage.client.call("heartbeat", kind="heartbeat", actor="somebody")

        with pytest.raises(AssertionError, match="a body is not answered"):
            test_req_bodies._answered(silent, "a body", control=right)
