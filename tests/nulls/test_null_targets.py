"""Each null target is the broken server that its docstring says, on a real socket, and is gone afterwards."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import httpx
import pytest

from fixtures import nulls

ANSWERING = sorted(set(nulls.NULL_TARGETS) - {"closed_port", "hanging_socket", "dripping"})
EXPECTED_STATUS = {"always_500": 500, "always_429": 429}


def test_the_registry_names_each_target_as_it_is_called() -> None:
    assert {name: target.__name__ for name, target in nulls.NULL_TARGETS.items()} == {
        name: name for name in nulls.NULL_TARGETS
    }
    assert len(nulls.NULL_TARGETS) == 9


@pytest.mark.parametrize("name", sorted(nulls.NULL_TARGETS))
def test_each_target_says_in_one_line_what_sort_of_broken_server_it_is(name: str) -> None:
    doc = inspect.getdoc(nulls.NULL_TARGETS[name])
    assert doc
    assert len(doc.splitlines()) == 1


def test_a_closed_port_refuses() -> None:
    with nulls.closed_port() as url, pytest.raises(httpx.ConnectError):
        httpx.get(url)


def test_a_hanging_socket_connects_and_stays_silent() -> None:
    # The short read timeout is the observation, not a measure of speed: the connection stands, no byte comes.
    with nulls.hanging_socket() as url, pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json={}, timeout=httpx.Timeout(30, read=0.3))


@pytest.mark.parametrize("name", ANSWERING)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_an_answering_target_treats_every_method_and_path_alike(name: str, method: str) -> None:
    with nulls.NULL_TARGETS[name]() as url, httpx.Client(base_url=url) as client:
        for path in ("/", "/api/v2/status/heartbeat", "/api/v2/generate/text/status/%00?x=1"):
            answer = client.request(method, path)
            assert answer.status_code == EXPECTED_STATUS.get(name, 200)
            assert answer.content


@pytest.mark.parametrize("name", ANSWERING)
def test_a_connection_is_kept_over_several_requests(name: str) -> None:
    with nulls.NULL_TARGETS[name]() as url:
        connection = HTTPConnection(urlsplit(url).netloc, timeout=30)
        connection.request("POST", "/a", body=b'{"one": 1}')
        connection.getresponse().read()
        first = connection.sock
        connection.request("GET", "/b")
        connection.getresponse().read()
        assert connection.sock is first
        assert first is not None
        connection.close()


@pytest.mark.parametrize("name", sorted(set(nulls.NULL_TARGETS) - {"closed_port"}))
def test_a_target_is_gone_at_its_end_with_its_open_connections(name: str) -> None:
    with httpx.Client(timeout=httpx.Timeout(30, read=0.3)) as client:
        with nulls.NULL_TARGETS[name]() as url:
            try:
                client.get(url)
            except httpx.ReadTimeout:
                assert name in ("hanging_socket", "dripping")
        with pytest.raises(httpx.TransportError):
            client.get(url)


def test_a_dripping_answer_begins_and_does_not_end() -> None:
    with nulls.dripping() as url, httpx.stream("GET", url, timeout=30) as answer:
        assert answer.status_code == 200
        drops = answer.iter_raw()
        assert (next(drops), next(drops)) == (b" ", b" ")


def test_a_rate_limit_asks_for_patience() -> None:
    with nulls.always_429() as url:
        assert httpx.get(url).headers["retry-after"] == "60"


def test_an_empty_object_is_all_that_the_stub_says() -> None:
    with nulls.empty_object() as url:
        assert httpx.post(url, json={"prompt": "x"}).json() == {}


def test_a_page_is_no_json() -> None:
    with nulls.html() as url:
        answer = httpx.get(url)
        assert answer.headers["content-type"].startswith("text/html")
        with pytest.raises(ValueError, match="Expecting value"):
            answer.json()


def test_an_echo_gives_back_the_body() -> None:
    body = {"messages": [{"role": "user", "content": "hé 🙂"}], "n": 1}
    with nulls.echo() as url:
        assert httpx.post(url, json=body).json() == body
        assert httpx.post(url, content=b"\xffnot json").json() == "�not json"


def test_no_answer_of_the_wrong_type_is_an_object() -> None:
    with nulls.wrong_type() as url, httpx.Client(base_url=url) as client:
        answers = [client.get("/").json() for _ in range(8)]
    assert answers == [[], "text", 1, None] * 2


def test_a_target_answers_many_clients_at_once() -> None:
    with nulls.empty_object() as url, ThreadPoolExecutor(16) as clients:
        assert list(clients.map(lambda _: httpx.get(url).status_code, range(64))) == [200] * 64
