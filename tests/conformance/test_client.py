"""The client tells the truth about a call: what came back, when, or why nothing did."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from conformance.client import Answer, Client, Exchange
from conformance.errors import CouldNotRun
from conformance.profile import Profile, load
from fixtures import nulls
from fixtures.nulls.server import Answer as Reply
from fixtures.nulls.server import Request, json_answer, serve

ID = "11111111-1111-4111-8111-111111111111"
PROFILE = load("aihorde")


def impatient(*, answer: float = 10.0, retries: int = 3, longest_wait: float = 5.0) -> Profile:
    timings = PROFILE.timings.model_copy(update={"answer": answer})
    rate = PROFILE.rate_limit.model_copy(update={"retries": retries, "longest_wait": longest_wait})
    return PROFILE.model_copy(update={"timings": timings, "rate_limit": rate})


@contextmanager
def answering(*replies: Reply, profile: Profile | None = None) -> Iterator[tuple[Client, list[Request]]]:
    """A client of a server that gives these replies in turn, the last one for ever; and what the server was asked."""
    asked: list[Request] = []

    def answer(request: Request) -> Reply:
        asked.append(request)
        return replies[min(len(asked), len(replies)) - 1]

    with serve(answer) as url, Client(url, profile or impatient()) as client:
        yield client, asked


def status(client: Client, **options: Any) -> Answer:
    return client.call("status_chat", kind="status", actor="requester 0", id=ID, **options)


def only_exchange(client: Client) -> Exchange:
    (exchange,) = client.recorder.take()
    return exchange


# No answer


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (nulls.closed_port, "ConnectError"),
        (nulls.hanging_socket, "ReadTimeout"),
        (nulls.dripping, "ReadTimeout"),
    ],
)
def test_no_answer_could_not_run_and_says_why(target: Callable[[], AbstractContextManager[str]], reason: str) -> None:
    with target() as url, Client(url, impatient(answer=0.3)) as client:
        with pytest.raises(CouldNotRun, match=f"no answer to GET {url}/api/v2/.*: {reason}"):
            status(client)
        exchange = only_exchange(client)
    assert exchange.status is None
    assert exchange.error is not None
    assert exchange.error.startswith(reason)
    assert exchange.ended >= exchange.started


@pytest.mark.parametrize("url", ["http://..../", "http://xn--/"])
def test_a_host_that_no_name_can_be_is_no_answer(url: str) -> None:
    with Client(url, impatient()) as client, pytest.raises(CouldNotRun, match="no answer to GET http://"):
        status(client)


def test_a_key_that_http_has_no_letters_for_is_no_answer() -> None:
    with Client("http://127.0.0.1:1", impatient()) as client:
        with pytest.raises(CouldNotRun, match="InvalidCall"):
            status(client, key="ключ")
        assert only_exchange(client).status is None


def test_one_calls_own_time_goes_before_the_profiles() -> None:
    with nulls.hanging_socket() as url, Client(url, impatient(answer=3600)) as client, pytest.raises(CouldNotRun):
        status(client, timeout=0.2)


def test_an_answer_of_two_lengths_is_none() -> None:
    half = Reply(200, b"", headers=[("Content-Length", "999")])
    with answering(half) as (client, _), pytest.raises(CouldNotRun, match="no answer to GET"):
        status(client)


# The rate limit

DONE = json_answer(200, {"done": True})


def later(told: str) -> Reply:
    return Reply(429, b'{"message": "2 per 1 second"}', headers=[("Retry-After", told)])


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that the client would have made, in seconds."""
    made: list[float] = []
    monkeypatch.setattr("conformance.client.time.sleep", made.append)
    return made


def test_a_time_to_wait_is_honoured_and_the_call_made_again(waits: list[float]) -> None:
    with answering(later("2"), later("1.5"), DONE) as (client, asked):
        answer = status(client)
        tries = client.recorder.take()
    assert answer.accepted
    assert answer.need("done") is True
    assert waits == [2.0, 1.5]
    assert [exchange.status for exchange in tries] == [429, 429, 200], "every try is on the record"
    assert len({(request.method, request.path, request.body) for request in asked}) == 1


def test_the_wait_is_a_real_one() -> None:
    with answering(later("0.05"), DONE) as (client, _):
        status(client)
        refused, carried_out = client.recorder.take()
    assert carried_out.started - refused.ended >= 0.05


def test_a_body_is_sent_again_whole(waits: list[float]) -> None:
    with answering(later("1"), json_answer(202, {"id": ID})) as (client, asked):
        client.call("submit_chat", kind="submit", actor="requester 0", body={"messages": ["é"]})
    assert [json.loads(request.body) for request in asked] == [{"messages": ["é"]}] * 2
    assert waits == [1.0]


def test_the_tries_are_bounded_and_nobody_waits_after_the_last(waits: list[float]) -> None:
    with answering(later("1"), profile=impatient(retries=4)) as (client, asked):
        answer = status(client)
    assert len(asked) == 5
    assert waits == [1.0] * 4
    assert answer.limited
    assert not answer.refused, "later is not no"
    assert not answer.accepted


def test_the_waits_of_one_call_are_bounded_together(waits: list[float]) -> None:
    with answering(later("2"), profile=impatient(retries=1000, longest_wait=5)) as (client, _):
        assert status(client).limited
    assert waits == [2.0, 2.0]


@pytest.mark.parametrize("told", ["3600", "inf", "Fri, 31 Dec 2099 23:59:59 GMT", "soon", ""])
def test_a_wait_that_is_too_long_or_no_number_is_not_begun(told: str, waits: list[float]) -> None:
    with answering(later(told)) as (client, asked):
        assert status(client).limited
    assert len(asked) == 1
    assert waits == []


@pytest.mark.parametrize("told", ["0", "-5", "nan"])
def test_a_senseless_wait_is_a_short_one(told: str, waits: list[float]) -> None:
    with answering(later(told), DONE) as (client, _):
        assert status(client).accepted
    assert waits == [0.05]


def test_a_limit_without_a_time_is_given_back_at_once() -> None:
    with answering(Reply(429, b"{}")) as (client, asked):
        assert status(client).limited
    assert len(asked) == 1


def test_a_deadline_of_the_run_goes_before_every_patience(waits: list[float]) -> None:
    with answering(later("2"), profile=impatient(longest_wait=60)) as (client, _):
        client.deadline = time.monotonic() + 1
        assert status(client).limited, "the wait would end after the deadline"
        client.deadline = time.monotonic()
        with pytest.raises(CouldNotRun, match="no time is left"):
            status(client)
    assert waits == []


# What came back


def test_a_redirect_is_not_followed() -> None:
    elsewhere = Reply(302, b"", headers=[("Location", "/api/v2/status/heartbeat")])
    with answering(elsewhere, DONE) as (client, asked):
        answer = status(client)
    assert len(asked) == 1
    assert answer.status == 302
    said = ("accepted", "refused", "crashed", "not_found")
    assert [name for name in said if getattr(answer, name)] == []


@pytest.mark.parametrize(
    "body",
    [b'{"done": tr', b"", b"<html>It works.</html>", b"\xff\xfe{}", b'{"done": true} and more', b"[" * 100_000],
)
def test_what_is_no_json_is_no_body_and_not_accepted(body: bytes) -> None:
    with answering(Reply(200, body)) as (client, _):
        answer = status(client)
        exchange = only_exchange(client)
    assert answer.status == 200
    assert answer.body is None
    assert not answer.accepted
    assert answer.read("done", "nothing") == "nothing"
    assert exchange.response_body is not None, "what came stays on the record"


@pytest.mark.parametrize("body", [b'"a string"', b"1", b"null", b"true"])
def test_neither_a_word_nor_a_number_is_an_answer(body: bytes) -> None:
    with answering(Reply(200, body)) as (client, _):
        answer = status(client)
    assert not answer.accepted
    assert answer.read("done") is None
    assert answer.code is None


@pytest.mark.parametrize(
    ("code", "what"), [(400, "refused"), (404, "refused"), (429, "limited"), (500, "crashed"), (503, "crashed")]
)
def test_each_status_is_one_thing(code: int, what: str) -> None:
    with answering(Reply(code, b"{}")) as (client, _):
        answer = status(client)
    assert [name for name in ("accepted", "refused", "limited", "crashed") if getattr(answer, name)] == [what]


def test_not_found_needs_the_profiles_code() -> None:
    found_nothing = json_answer(404, {"rc": "RequestNotFound", "message": "No such request."})
    no_route = json_answer(404, {"message": "The requested URL was not found on the server."})
    no_job = json_answer(404, {"rc": "InvalidJobID"})
    with answering(found_nothing, no_route, no_job) as (client, _):
        answers = [status(client) for _ in range(3)]
    assert [answer.not_found for answer in answers] == [True, False, False]
    assert [answer.job_not_found for answer in answers] == [False, False, True]
    assert (answers[0].code, answers[0].message) == ("RequestNotFound", "No such request.")
    assert str(answers[0]).endswith("→ 404 RequestNotFound")


def test_what_a_story_needs_must_be_there() -> None:
    with answering(json_answer(200, {"done": False, "finished": 0, "kudos": None})) as (client, _):
        answer = status(client)
    assert answer.need("done") is False
    assert answer.need("finished") == 0
    for missing in ("kudos", "waiting"):
        with pytest.raises(CouldNotRun, match=f"no {missing}"):
            answer.need(missing)


def test_header_names_are_compared_without_the_incidental_ones() -> None:
    plain = Reply(200, b"{}", headers=[("X-Own", "1")])
    busy = Reply(200, b"{}", headers=[("x-own", "2"), ("X-RateLimit-Limit", "9"), ("traceparent", "00-0")])
    with answering(plain, busy) as (client, _):
        first, second = status(client), status(client)
    assert first.header_names == second.header_names
    assert "x-own" in first.header_names
    assert not first.header_names & {"date", "server", "x-ratelimit-limit", "traceparent"}


# What is sent, and what is kept


def test_the_key_and_the_agent_go_out_under_the_profiles_names() -> None:
    with answering(json_answer(202, {"id": ID})) as (client, asked):
        client.call("submit_chat", kind="submit", actor="requester 0", key="k1", body={"messages": []})
        client.call("submit_chat", kind="submit", actor="requester 0", body={"messages": []})
    first, second = ({name.lower(): value for name, value in request.headers} for request in asked)
    assert first["apikey"] == "k1"
    assert first["client-agent"].startswith("horde-conformance:")
    assert "apikey" not in second, "no key is no header, not an empty one"
    assert (asked[0].method, asked[0].path) == ("POST", "/api/v2/generate/chat/async")


def test_raw_bytes_and_odd_paths_go_out_as_they_are() -> None:
    with answering(json_answer(400, {})) as (client, asked):
        client.call("submit_chat", kind="submit", actor="requester 0", raw=b'{"a": "\xff"}')
        client.call("status_chat", kind="status", actor="requester 0", path="/api/v2/generate/chat/status/%7Bx%7D")
    assert asked[0].body == b'{"a": "\xff"}'
    assert asked[1].path == "/api/v2/generate/chat/status/%7Bx%7D"


@pytest.mark.parametrize("path", ["/api/v2/generate/chat/status/\x00", "/api/v2/generate/chat/status/a b\r\nX: y"])
def test_a_path_that_is_none_stops_the_story_and_not_the_harness(path: str) -> None:
    with answering(json_answer(404, {})) as (client, _), pytest.raises(CouldNotRun):
        client.call("status_chat", kind="status", actor="requester 0", path=path)


def test_every_exchange_is_recorded_with_its_times() -> None:
    with answering(json_answer(202, {"id": ID}), DONE) as (client, _):
        client.call("submit_chat", kind="submit", actor="requester 0", key="k1", body={"messages": ["☃"]})
        status(client)
        submitted, read = client.recorder.take()
        assert client.recorder.take() == [], "taken is taken"
    assert (submitted.actor, submitted.operation, submitted.method) == ("requester 0", "submit_chat", "POST")
    assert submitted.request_headers["apikey"] == "k1"
    assert json.loads(submitted.request_body or "") == {"messages": ["☃"]}
    assert json.loads(submitted.response_body or "") == {"id": ID}
    assert (submitted.status, read.status) == (202, 200)
    assert read.request_body is None
    assert submitted.started <= submitted.ended <= read.started <= read.ended
    assert read.response_headers["content-type"] == "application/json"
