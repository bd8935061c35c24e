"""The proxy is the server behind it until the first text round trip has completed, and 404 ever after."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

from fixtures.nulls import not_found_after_round_trip, nothing_comes_back_after_round_trip
from fixtures.nulls.server import Answer, Request, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

HEARTBEAT = "/api/v2/status/heartbeat"
SUBMIT = "/api/v2/generate/text/submit"
STATUS = "/api/v2/generate/text/status/11111111-1111-4111-8111-111111111111"


@contextmanager
def proxied(status: int = 200) -> Iterator[tuple[httpx.Client, list[Request]]]:
    """Give a client of the proxy, and the requests that the server behind it has seen."""
    seen: list[Request] = []

    def answer(request: Request) -> Answer:
        seen.append(request)
        body = json.dumps({"path": request.path, "body": request.body.decode()}).encode()
        return Answer(status, body, headers=[("Horde-Node", "one"), ("X-Twice", "a"), ("X-Twice", "b")])

    with (
        serve(answer) as upstream,
        not_found_after_round_trip(upstream) as url,
        httpx.Client(base_url=url) as client,
    ):
        yield client, seen


def test_everything_passes_through_before() -> None:
    with proxied(status=202) as (client, seen):
        answer = client.post(f"{HEARTBEAT}?a=1", content=b"body", headers={"apikey": "k", "Content-Type": "text/x"})
        assert answer.status_code == 202
        assert answer.json() == {"path": f"{HEARTBEAT}?a=1", "body": "body"}
        assert answer.headers["horde-node"] == "one"
        assert answer.headers.get_list("x-twice") == ["a", "b"]
    sent = {name.lower(): value for name, value in seen[0].headers}
    assert seen[0].method == "POST"
    assert (sent["apikey"], sent["content-type"]) == ("k", "text/x")


def test_nothing_is_found_after_a_submit_and_a_status() -> None:
    with proxied() as (client, seen):
        assert client.post(SUBMIT, json={}).status_code == 200
        assert client.get(STATUS).status_code == 200, "the status that completes the round trip is still answered"
        passed_on = len(seen)
        for method, path in (("GET", STATUS), ("POST", SUBMIT), ("GET", HEARTBEAT), ("DELETE", "/anything")):
            answer = client.request(method, path)
            assert answer.status_code == 404
            assert answer.json()["rc"] == "RequestNotFound"
        assert len(seen) == passed_on


@pytest.mark.parametrize(
    "requests",
    [
        [("GET", STATUS), ("GET", STATUS)],
        [("GET", STATUS), ("POST", SUBMIT)],
        [("POST", SUBMIT), ("DELETE", STATUS)],
        [("POST", SUBMIT), ("GET", HEARTBEAT)],
        [("POST", SUBMIT.replace("submit", "pop")), ("GET", STATUS)],
    ],
)
def test_what_is_no_round_trip_leaves_the_server_as_it_is(requests: list[tuple[str, str]]) -> None:
    with proxied() as (client, _):
        for method, path in requests:
            client.request(method, path)
        assert client.get(HEARTBEAT).status_code == 200


def test_submits_alone_reach_the_server_where_nothing_comes_back() -> None:
    seen: list[str] = []

    def answer(request: Request) -> Answer:
        seen.append(request.path)
        return Answer(202, b'{"id": "1"}')

    with (
        serve(answer) as upstream,
        nothing_comes_back_after_round_trip(upstream) as url,
        httpx.Client(base_url=url) as client,
    ):
        client.post(SUBMIT, json={})
        client.get(STATUS)
        del seen[:]
        assert client.post("/api/v2/generate/chat/async", json={}).status_code == 202
        popped = client.post("/api/v2/generate/text/pop", json={})
        assert (popped.status_code, popped.json()["id"], popped.json()["ids"]) == (200, None, [])
        assert client.get(STATUS).json()["rc"] == "RequestNotFound"
        assert client.delete(STATUS).status_code == 404
        assert client.post(SUBMIT, json={}).json()["rc"] == "InvalidJobID"
    assert seen == ["/api/v2/generate/chat/async", STATUS], "a cancel is carried out, unseen"


def test_a_refused_submit_completes_nothing() -> None:
    with proxied(status=400) as (client, _):
        client.post(SUBMIT, json={})
        client.get(STATUS)
        assert client.get(HEARTBEAT).status_code == 400


def test_a_server_that_is_gone_is_a_bad_gateway() -> None:
    with serve(lambda _: Answer(200, b"{}")) as upstream:
        pass
    with not_found_after_round_trip(upstream) as url:
        assert httpx.get(url).status_code == 502
