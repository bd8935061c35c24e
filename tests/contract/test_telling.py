"""Drawn calls carry the check's own names, are the same again for the same seed, and are told as a command."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase

from conformance.actors import Account, Family
from conformance.client import Client, Exchange
from conformance.contract import drawing, judging, operations
from conformance.contract.documents import Document, of_profile
from conformance.contract.drawing import Drawn, Malformed
from conformance.contract.story import Story, Told
from conformance.profile import load
from conformance.stage import Cast, Resources, Stage
from fixtures.nulls.server import Answer, Request, json_answer, serve
from fixtures.payloads.wire import Damage, Literal

REFERENCE = load("reference")
CAST = Cast(
    requesters=[Account("requester", "requester-key", "r#1", "1")], owners=[Account("owner", "owner-key", "o#2", "2")]
)


class Target:
    """Queues and hands out everything, and keeps what it was sent."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        if request.path.endswith("/async"):
            return json_answer(202, {"id": "queued", "kudos": 1})
        return json_answer(200, {"id": "handed out", "ids": ["handed out"], "model": "m"})

    def sent(self) -> Any:
        return json.loads(self.requests[-1].body)

    def key(self) -> str | None:
        return dict(self.requests[-1].headers).get("apikey")


@pytest.fixture
def target() -> Target:
    return Target()


@pytest.fixture
def story(target: Target) -> Iterator[Story]:
    with serve(target.answer) as url, Client(url, REFERENCE) as client:
        yield Story(Stage(Resources(client, CAST, None, seed=1), "a check"), Family.CHAT)


def test_a_drawn_submit_names_the_checks_own_model_and_calls_no_stranger(story: Story, target: Target) -> None:
    drawn = Drawn("submit_chat", {"messages": 5, "models": ["somebody's", 7], "webhook": "https://example.org/"})
    told = story.tell(drawn)
    assert target.sent() == {"messages": 5, "models": [story.model, 7]}
    assert drawn.body["models"] == ["somebody's", 7], "what was drawn stays as it was"
    assert told.content == target.requests[-1].body
    assert story.request is not None
    assert story.request.id == "queued"


def test_a_submit_without_models_and_one_with_something_else_name_it_too(story: Story, target: Target) -> None:
    story.tell(Drawn("submit_chat", {}))
    assert target.sent()["models"] == [story.model]
    story.tell(Drawn("submit_chat", {"models": {"a": 1}}))
    assert target.sent()["models"] == [story.model, {"a": 1}]


def test_a_drawn_pop_is_one_of_the_checks_own_worker(story: Story, target: Target) -> None:
    story.tell(Drawn("pop", {"name": "somebody's worker", "models": ["a"], "chat_models": ["b"], "amount": 3}))
    assert target.sent() == {
        "name": story.worker.name,
        "models": [story.model],
        "chat_models": [story.model],
        "amount": 3,
    }
    story.tell(Drawn("pop", {"name": 5, "chat_models": None}))
    assert target.sent() == {"name": 5, "models": [story.model], "chat_models": None}


def test_a_drawn_reply_is_to_the_job_in_hand_unless_it_is_meant_for_none(story: Story, target: Target) -> None:
    story.tell(story.plain("pop"))
    story.tell(Drawn("progress", {"id": "drawn", "output": ""}))
    assert target.sent()["id"] == "handed out"
    story.tell(Drawn("progress", {"id": "drawn", "output": ""}, own=False))
    assert target.sent()["id"] == "drawn"


def test_a_call_by_id_is_about_the_open_request_unless_it_is_meant_for_none(story: Story, target: Target) -> None:
    story.tell(story.plain("submit_chat"))
    story.tell(Drawn("status_chat", id="drawn"))
    assert target.requests[-1].path.endswith("/chat/status/queued")
    story.tell(Drawn("status_chat", id="drawn", own=False))
    assert target.requests[-1].path.endswith("/chat/status/drawn")


def test_keys_are_the_checks_own_a_strangers_or_none(story: Story, target: Target) -> None:
    seen = []
    for operation in ("submit_chat", "pop"):
        for key in ("own", "wrong", "none"):
            story.tell(Drawn(operation, {}, key=key))
            seen.append(target.key())
    assert (seen[0], seen[3], seen[2], seen[5]) == ("requester-key", "owner-key", None, None)
    assert seen[1] is not None
    assert seen[1] not in story.keys


def test_a_spoilt_call_is_spoilt_after_the_checks_own_names_are_in_it(story: Story, target: Target) -> None:
    told = story.tell(Malformed(Drawn("pop", {"name": "n"}), graft=(0.99, Literal("NaN"))))
    assert told.content == f'{{"name": "{story.worker.name}", "models": [NaN]}}'.encode()
    story.tell(Malformed(Drawn("pop", {"name": "n"}), damage=Damage("cut", 0.0, b"")))
    assert target.requests[-1].body == b""
    story.tell(Malformed(Drawn("pop", {}), content_type="text/plain"))
    assert dict(target.requests[-1].headers)["Content-Type"] == "text/plain"


# Drawing


def drawn(operation: str, document: Document, seed: int) -> list[Drawn]:
    described = operations.described(document, REFERENCE, Family.CHAT)
    calls = drawing.calls(document, drawing.schema(document, described, sent=True), described[operation])
    kept: list[Drawn] = []
    settled = hypothesis.settings(
        max_examples=12, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    hypothesis.seed(seed)(settled(hypothesis.given(calls)(lambda call: kept.append(call))))()  # noqa: PLW0108 - it reads code
    return kept


def test_the_same_seed_draws_the_same_and_another_something_else() -> None:
    document = of_profile(REFERENCE)
    assert drawn("submit_chat", document, 1) == drawn("submit_chat", document, 1)
    assert drawn("submit_chat", document, 1) != drawn("submit_chat", document, 2)


def test_what_is_drawn_is_allowed_or_not_and_holds_no_nul() -> None:
    calls = [call for seed in range(5) for call in drawn("submit_chat", of_profile(REFERENCE), seed)]
    bodies = [call.body for call in calls if isinstance(call.body, dict)]
    assert any(isinstance(body.get("messages"), list) and body["messages"] for body in bodies)
    assert len(bodies) < len(calls), "some are not even objects"
    assert "\\u0000" not in json.dumps(bodies)
    assert {call.key for call in calls} == {"own", "wrong", "none"}


# Telling which call it was


def exchange(method: str = "POST", key: str = "secret") -> Exchange:
    headers = {"apikey": key, "Client-Agent": "it's us"}
    return Exchange("a", "pop", method, "http://target/x?a=1&b='2'", headers, None, 500, {}, "", 0, 0)


def arrives(command: str) -> bytes:
    """What curl would be given on its standard input."""
    shell = ["sh", "-c", "curl() { cat; }; " + command]
    return subprocess.run(shell, capture_output=True, check=True, input=b"").stdout


def test_the_command_is_quoted_and_holds_no_key_of_ours() -> None:
    command = judging.curl(exchange(), b'{"a": "it\'s"}', {"secret"})
    assert "secret" not in command
    words = shlex.split(command)
    assert words[:5] == ["curl", "-sS", "-X", "POST", "http://target/x?a=1&b='2'"]
    assert words[5:9] == ["-H", "apikey: $KEY", "-H", "Client-Agent: it's us"]
    assert words[9:] == ["--data-raw", '{"a": "it\'s"}']


def test_a_wrong_key_is_told_as_it_is() -> None:
    assert "apikey: wrong" in judging.curl(exchange(key="wrong"), None, {"secret"})


@pytest.mark.parametrize("content", [b"\x00\xff\n", b"100% \\ 'quoted'\n", "é😀\t".encode(), bytes(range(256))])
def test_bytes_that_no_argument_can_hold_come_through_a_pipe(content: bytes) -> None:
    assert arrives(judging.curl(exchange(), content, {"secret"})) == content


def test_what_was_told_is_what_was_sent(story: Story) -> None:
    told: Told = story.tell(Malformed(Drawn("pop", None, b"\x00\xff")))
    assert told.content == b"\x00\xff"
