"""A call is made once, and what is not a whole answer is told as what it is."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from conformance.connections import Connections, Unanswered

PATIENCE = 20.0
Say = Callable[[socket.socket], None]


@contextmanager
def serving(*turns: Say) -> Iterator[tuple[Connections, list[bytes]]]:
    """A server that says one thing to each connection, and what was asked of it."""
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)

        def serve() -> None:
            for say in turns:
                with listener.accept()[0] as connection:
                    connection.settimeout(PATIENCE)
                    asked.append(connection.recv(65536))
                    say(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        connections = Connections(f"http://127.0.0.1:{listener.getsockname()[1]}/base")
        try:
            yield connections, asked
        finally:
            connections.close()
            thread.join(PATIENCE)
    assert not thread.is_alive()


def saying(*answers: bytes) -> Say:
    """Give these answers, each to a call of its own, and hang up."""

    def say(connection: socket.socket) -> None:
        for place, answer in enumerate(answers):
            if place:
                connection.recv(65536)
            connection.sendall(answer)

    return say


def whole(body: bytes, *headers: bytes) -> bytes:
    return b"\r\n".join([b"HTTP/1.1 200 OK", b"Content-Length: %d" % len(body), *headers, b"", body])


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"{}"),
        CHUNKED + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}",
    ],
    ids=["length", "chunks", "until it hangs up"],
)
def test_a_whole_answer_is_read_however_its_end_is_told(answer: bytes) -> None:
    with serving(saying(answer)) as (connections, asked):
        received = connections.call("GET", "/path", None, {"Name": "value"}, PATIENCE)
    assert (received.status, received.body) == (200, b"{}")
    assert asked[0].startswith(b"GET /base/path HTTP/1.1\r\n")
    assert b"\r\nName: value\r\n" in asked[0]


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"{}").replace(b"2", b"999", 1).replace(b"Length: 2", b"Length: 999"),
        CHUNKED + b"5\r\n{",
        CHUNKED + b"1\r\n{\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"no HTTP at all\r\n\r\n",
        b"",
    ],
    ids=["half a body", "half a chunk", "no last chunk", "half a head", "another protocol", "nothing"],
)
def test_half_an_answer_is_none(answer: bytes) -> None:
    with serving(saying(answer)) as (connections, _), pytest.raises(Unanswered, match=r"^ConnectionLost: "):
        connections.call("GET", "/path", None, {}, PATIENCE)


def test_a_connection_is_kept_for_the_next_call() -> None:
    with serving(saying(whole(b"1"), whole(b"2"))) as (connections, _):
        bodies = [connections.call("GET", "/path", None, {}, PATIENCE).body for _ in range(2)]
    assert bodies == [b"1", b"2"]


def test_a_connection_that_the_server_closed_is_not_taken_again() -> None:
    closed = threading.Event()

    def once(connection: socket.socket) -> None:
        saying(whole(b"1"))(connection)
        connection.shutdown(socket.SHUT_RDWR)
        closed.set()

    with serving(once, saying(whole(b"2"))) as (connections, asked):
        first = connections.call("GET", "/path", None, {}, PATIENCE)
        assert closed.wait(PATIENCE)
        second = connections.call("POST", "/path", b"body", {}, PATIENCE)
    assert (first.body, second.body, len(asked)) == (b"1", b"2", 2)


def test_a_call_whose_connection_breaks_is_not_made_again() -> None:
    with serving(saying(whole(b"1"), b""), saying(whole(b"2"))) as (connections, asked):
        connections.call("GET", "/path", None, {}, PATIENCE)
        with pytest.raises(Unanswered, match=r"^ConnectionLost: "):
            connections.call("POST", "/path", b"body", {}, PATIENCE)
        assert len(asked) == 1, "a second call was made of one"
        connections.call("GET", "/path", None, {}, PATIENCE)


def test_the_refusal_of_a_body_before_its_end_is_heard() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"

    def refuse(connection: socket.socket) -> None:
        connection.sendall(refusal)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    with serving(refuse) as (connections, _):
        assert connections.call("POST", "/path", b"x" * 4_000_000, {}, PATIENCE).status == 413


def test_names_of_headers_are_in_lower_case_and_repeated_ones_joined() -> None:
    with serving(saying(whole(b"", b"X-One: a", b"x-one: b"))) as (connections, _):
        assert connections.call("GET", "/path", None, {}, PATIENCE).headers["x-one"] == "a, b"


@pytest.mark.parametrize("path", ["/a\r\nX: y", "/\x00", "/\x7f"])
def test_a_path_with_control_characters_is_no_call(path: str) -> None:
    with pytest.raises(Unanswered, match=r"^InvalidCall: "):
        Connections("http://127.0.0.1:1").call("GET", path, None, {}, PATIENCE)


def test_other_characters_of_a_path_are_escaped_and_escapes_stay() -> None:
    with serving(saying(whole(b""))) as (connections, asked):
        connections.call("GET", "/é/%2f %", None, {}, PATIENCE)
    assert asked[0].startswith(b"GET /base/%C3%A9/%2f%20% HTTP/1.1")


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unanswered, match=r"^ConnectError: "):
        Connections(f"http://127.0.0.1:{port}").call("GET", "/", None, {}, PATIENCE)
