"""A proxy in front of the session's PostgreSQL, and a client that speaks the protocol by hand and counts."""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import psycopg2
import pytest

from fixtures.counting.proxy import CountingProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg2.extensions import connection, cursor

    from fixtures.postgres import Server

PATIENCE = 30.0
PROTOCOL = 196608


@pytest.fixture
def proxy(postgres: Server) -> Iterator[CountingProxy]:
    with CountingProxy(postgres.url()) as proxy:
        yield proxy


@dataclass
class Hand:
    """A connection on which messages are sent one by one; it counts every byte of its own, each way."""

    socket: socket.socket
    sent: int = 0
    received: int = 0

    def message(self, type_: bytes, body: bytes = b"") -> Self:
        return self.raw(type_ + struct.pack("!I", len(body) + 4) + body)

    def raw(self, data: bytes) -> Self:
        self.socket.sendall(data)
        self.sent += len(data)
        return self

    def query(self, text: str) -> Self:
        return self.message(b"Q", text.encode() + b"\0")

    def parse(self, name: str, text: str) -> Self:
        return self.message(b"P", f"{name}\0{text}\0".encode() + struct.pack("!H", 0))

    def run(self, name: str, *values: str, portal: str = "") -> Self:
        """Bind and execute a prepared statement."""
        texts = b"".join(struct.pack("!I", len(value)) + value.encode() for value in values)
        counts = struct.pack("!H", 0), struct.pack("!H", len(values)), struct.pack("!H", 0)
        self.message(b"B", f"{portal}\0{name}\0".encode() + counts[0] + counts[1] + texts + counts[2])
        return self.message(b"E", portal.encode() + b"\0" + struct.pack("!I", 0))

    def sync(self) -> Self:
        return self.message(b"S")

    def answers(self, syncs: int = 1) -> bytes:
        """Read until the server was ready so often; the types of what it said."""
        types = b""
        while types.count(b"Z") < syncs:
            types += self.answer()
        return types

    def answer(self) -> bytes:
        """Read one message; its type."""
        type_, length = struct.unpack("!cI", self._exactly(5))
        self._exactly(length - 4)
        return bytes(type_)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece, "the connection ended"
            data += piece
        self.received += size
        return data


@pytest.fixture
def hand(proxy: CountingProxy) -> Iterator[Hand]:
    with opened(proxy) as hand_socket:
        hand = Hand(hand_socket)
        start(hand)
        proxy.take()
        hand.sent = hand.received = 0
        yield hand


def opened(proxy: CountingProxy) -> socket.socket:
    return socket.create_connection((proxy.host, proxy.port), PATIENCE)


def start(hand: Hand) -> None:
    body = struct.pack("!I", PROTOCOL) + b"user\0postgres\0database\0postgres\0\0"
    hand.raw(struct.pack("!I", len(body) + 4) + body)
    hand.answers()


@pytest.fixture
def client(proxy: CountingProxy, postgres: Server) -> Iterator[connection]:
    """A connection through the proxy, in autocommit, whose opening is not in the figures."""
    with closing(connected(proxy, postgres)) as client:
        proxy.take()
        yield client


def connected(proxy: CountingProxy, postgres: Server) -> connection:
    client = psycopg2.connect(proxy.through(postgres.url()))
    client.autocommit = True
    return client


@pytest.fixture
def asks(client: connection) -> Iterator[cursor]:
    with client.cursor() as asks:
        yield asks
