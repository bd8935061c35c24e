from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg2
import pytest

from fixtures.counting.proxy import CountingProxy, ProxyFailed
from fixtures.postgres import open_server
from fixtures.postgres.keeper import free_port

from .conftest import PATIENCE, Hand, connected, opened, start

if TYPE_CHECKING:
    from psycopg2.extensions import connection, cursor

    from fixtures.postgres import Server


def count(postgres: Server, condition: str) -> int:
    with closing(psycopg2.connect(postgres.url())) as client, client.cursor() as asks:
        asks.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {condition}")
        (number,) = asks.fetchone() or (0,)
        return int(number)


def works(proxy: CountingProxy, postgres: Server) -> bool:
    with closing(connected(proxy, postgres)) as client, client.cursor() as asks:
        asks.execute("SELECT 6 * 7")
        return asks.fetchone() == (42,)


def ends(connection: socket.socket) -> bool:
    """Whether the other end closes this connection."""
    connection.settimeout(PATIENCE)
    try:
        while connection.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def test_encryption_is_asked_for_and_refused(proxy: CountingProxy, postgres: Server) -> None:
    with closing(psycopg2.connect(proxy.through(postgres.url()), sslmode="prefer")) as client:
        assert client.info.ssl_in_use is False
    with pytest.raises(psycopg2.OperationalError, match="does not support SSL"):
        psycopg2.connect(proxy.through(postgres.url()), sslmode="require")


def test_a_cancel_reaches_the_query(proxy: CountingProxy, client: connection, postgres: Server) -> None:
    raised: list[BaseException] = []

    def sleep() -> None:
        with client.cursor() as asks:
            try:
                asks.execute("SELECT pg_sleep(600) AS napping")
            except psycopg2.Error as error:
                raised.append(error)

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    while not count(postgres, "query LIKE '%napping%' AND wait_event = 'PgSleep'"):
        pass
    client.cancel()
    sleeper.join(PATIENCE)
    assert isinstance(raised[0], psycopg2.errors.QueryCanceled)
    assert proxy.take().traffic.calls == 1


def test_one_who_does_not_read_holds_nobody_up(proxy: CountingProxy, hand: Hand, postgres: Server) -> None:
    hand.query("SELECT repeat('x', 50000000)")
    while not count(postgres, "wait_event = 'ClientWrite'"):
        pass
    assert works(proxy, postgres)
    hand.answers()
    assert hand.received > 50_000_000


def test_a_client_that_is_killed_amid_a_message_is_gone_for_the_database(
    proxy: CountingProxy, hand: Hand, postgres: Server
) -> None:
    hand.query("SET application_name = 'killed'").answers()
    proxy.take()
    hand.sent = 0
    hand.raw(b"Q" + struct.pack("!I", 1000) + b"SELECT 'and then")
    hand.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    hand.socket.close()
    while count(postgres, "application_name = 'killed'"):
        pass
    assert works(proxy, postgres)
    window = proxy.take()
    assert window.unfinished == 0
    assert window.work[()].whole.sent == hand.sent, "what there was of it counts"


def test_a_session_that_the_database_ends_ends_at_the_client(
    proxy: CountingProxy, asks: cursor, client: connection, postgres: Server
) -> None:
    with closing(psycopg2.connect(postgres.url())) as other, other.cursor() as ends_it:
        ends_it.execute("SELECT pg_terminate_backend(%s, 30000)", (client.info.backend_pid,))
    with pytest.raises(psycopg2.OperationalError):
        asks.execute("SELECT 1")
    assert works(proxy, postgres)
    assert proxy.take().unfinished == 0


def test_a_database_that_is_gone_is_gone_at_once() -> None:
    with open_server() as server, CountingProxy(server.url()) as proxy:
        client = connected(proxy, server)
        server.close()
        with pytest.raises(psycopg2.OperationalError), client.cursor() as asks:
            asks.execute("SELECT 1")
        with pytest.raises(psycopg2.OperationalError):
            connected(proxy, server)
        assert proxy.take().unfinished == 0


@pytest.mark.parametrize("opening", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"\0\0\0\1\0\0\0\0"])
def test_what_is_no_postgresql_is_closed(proxy: CountingProxy, postgres: Server, opening: bytes) -> None:
    with opened(proxy) as stranger:
        stranger.sendall(opening + b"\0" * 8)
        assert ends(stranger)
    assert works(proxy, postgres)


def test_a_message_without_a_right_length_closes_its_connection(
    proxy: CountingProxy, hand: Hand, postgres: Server
) -> None:
    hand.raw(b"Q\0\0\0\1")
    assert ends(hand.socket)
    assert works(proxy, postgres)


def test_the_packet_that_opens_may_come_in_pieces(proxy: CountingProxy) -> None:
    with opened(proxy) as connection:
        hand = Hand(connection)
        question = struct.pack("!II", 8, 80877103)
        connection.sendall(question[:3])
        connection.sendall(question[3:])
        assert connection.recv(1) == b"N"
        start(hand)
        hand.query("SELECT 1").answers()
    window = proxy.take()
    assert (window.traffic.sent, window.traffic.received) == (hand.sent, hand.received)


def test_the_address_may_be_chosen_once(postgres: Server) -> None:
    port = free_port()
    with CountingProxy(postgres.url(), ("127.0.0.1", port)) as proxy:
        assert proxy.port == port
        assert works(proxy, postgres)
        with pytest.raises(ProxyFailed, match=f"127.0.0.1:{port}"):
            CountingProxy(postgres.url(), ("127.0.0.1", port))


def test_an_unknown_host_and_an_unreadable_url_are_situations() -> None:
    with pytest.raises(ProxyFailed, match="cannot listen"):
        CountingProxy("postgresql://nowhere.invalid/horde")
    with pytest.raises(ProxyFailed, match="cannot be read") as failed:
        CountingProxy("postgresql//user:secret@host")
    assert "secret" not in str(failed.value)


def test_a_database_behind_a_folder_of_sockets_is_reached() -> None:
    proxy = CountingProxy("postgresql:///horde?host=/nowhere/at/all&port=5433")
    with proxy, pytest.raises(psycopg2.OperationalError):
        psycopg2.connect(proxy.through("postgresql://postgres@host/horde"))


def test_a_proxy_that_was_killed_says_so(postgres: Server) -> None:
    with CountingProxy(postgres.url()) as proxy:
        os.kill(proxy.pid, signal.SIGKILL)
        with pytest.raises(ProxyFailed, match="has ended"):
            proxy.take()


OWNER = """
import sys
from fixtures.counting.proxy import CountingProxy
proxy = CountingProxy(sys.argv[1])
print(proxy.pid, proxy.port, flush=True)
sys.stdin.read()
"""


def test_the_proxy_goes_with_an_owner_that_is_killed(postgres: Server) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-P", "-c", OWNER, postgres.url()], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    pid, port = map(int, json.loads(f"[{owner.stdout.readline().decode().replace(' ', ',')}]"))
    gone = os.pidfd_open(pid)
    owner.kill()
    owner.wait()
    assert select.select([gone], [], [], PATIENCE)[0], "it still runs"
    os.close(gone)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), PATIENCE)
