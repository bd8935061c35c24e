from __future__ import annotations

import io
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg2
import pytest

from fixtures.counting.meter import NO_STATEMENT, START_UP, Traffic

if TYPE_CHECKING:
    from psycopg2.extensions import connection, cursor

    from fixtures.counting.proxy import CountingProxy
    from fixtures.postgres import Server

    from .conftest import Hand


def seen(proxy: CountingProxy) -> Traffic:
    return proxy.take().traffic


def test_every_byte_of_a_query_is_counted_each_way(proxy: CountingProxy, hand: Hand) -> None:
    for _ in range(7):
        hand.query("SELECT repeat('x', 1000)").answers()
    assert seen(proxy) == Traffic(7, hand.sent, hand.received)


def test_the_same_query_costs_the_same_each_time(proxy: CountingProxy, asks: cursor) -> None:
    windows = set()
    for number in range(10, 15):
        asks.execute("SELECT %s, repeat('x', 5000)", (number,))
        window = proxy.take()
        windows.add((window.kinds, window.traffic.sent, window.traffic.received))
    assert len(windows) == 1
    ((kinds, _, received),) = windows
    assert kinds == {("SELECT ?, repeat(?)",)}
    assert 5000 < received < 5200


def test_a_window_holds_what_ended_in_it_and_nothing_else(proxy: CountingProxy, asks: cursor) -> None:
    asks.execute("SELECT 1")
    assert proxy.take().traffic.calls == 1
    assert proxy.take().work == {}


def test_a_result_larger_than_any_buffer_arrives_unchanged_and_counted(proxy: CountingProxy, asks: cursor) -> None:
    size = 20_000_000
    asks.execute("SELECT repeat('0123456789', %s)", (size // 10,))
    assert asks.fetchone() == ("0123456789" * (size // 10),)
    assert 0 < seen(proxy).received - size < 200


def test_a_statement_larger_than_any_buffer_arrives_unchanged_and_counted(proxy: CountingProxy, asks: cursor) -> None:
    size = 3_000_000
    asks.execute("SELECT md5(%s) = md5(repeat('0123456789', %s))", ("0123456789" * (size // 10), size // 10))
    assert asks.fetchone() == (True,)
    window = proxy.take()
    assert 0 < window.traffic.sent - size < 200
    assert len(window.statements) == 1


def test_a_prepared_statement_is_known_by_its_name(proxy: CountingProxy, hand: Hand) -> None:
    hand.parse("doubled", "SELECT $1::int * 2 AS doubled").sync().answers()
    before = proxy.take()
    assert before.statements["SELECT ?::int * ? AS doubled"].calls == 0
    hand.sent = hand.received = 0
    for number in range(5):
        hand.run("doubled", str(number)).sync().answers()
    window = proxy.take()
    assert window.traffic == Traffic(5, hand.sent, hand.received)
    assert window.statements["SELECT ?::int * ? AS doubled"].calls == 5


def test_each_statement_of_a_pipeline_has_its_own_rows(proxy: CountingProxy, hand: Hand) -> None:
    hand.parse("small", "SELECT 1").parse("large", "SELECT repeat('x', 9000)")
    for _ in range(3):
        hand.run("small").run("large")
    hand.sync().answers()
    window = proxy.take()
    assert window.traffic == Traffic(1, hand.sent, hand.received)
    small, large = window.statements["SELECT ?"], window.statements["SELECT repeat(?)"]
    assert (small.calls, large.calls) == (3, 3)
    assert small.received < 200
    assert 27_000 < large.received < 27_200


def test_what_a_failed_pipeline_passed_over_gets_no_bytes(proxy: CountingProxy, hand: Hand) -> None:
    hand.parse("bad", "SELECT 1 / $1::int").parse("good", "SELECT repeat('x', 9000)").sync().answers()
    proxy.take()
    hand.sent = hand.received = 0
    hand.run("bad", "0").run("good").sync()
    hand.run("good").sync()
    assert b"E" in hand.answers(2)
    window = proxy.take()
    assert (window.traffic.sent, window.traffic.received) == (hand.sent, hand.received)
    assert window.statements["SELECT repeat(?)"].calls == 2, "it was asked for twice"
    assert 9000 < window.statements["SELECT repeat(?)"].received < 9100, "and answered once"
    assert window.statements["SELECT ? / ?::int"].received > 50, "the error is the first one's"


def test_prepare_and_execute_in_sql_are_one_statement(proxy: CountingProxy, asks: cursor) -> None:
    asks.execute("PREPARE tripled AS SELECT $1::int * 3")
    proxy.take()
    for number in range(4):
        asks.execute("EXECUTE tripled(%s)", (number,))
    assert {name: part.calls for name, part in proxy.take().statements.items()} == {"SELECT ?::int * ?": 4}


def test_a_transaction_is_one_kind_of_work(proxy: CountingProxy, client: connection) -> None:
    client.autocommit = False
    for _ in range(3):
        with client, client.cursor() as asks:
            for number in range(2):
                asks.execute("SELECT %s", (number,))
            asks.execute("SELECT 'done'::text")
    window = proxy.take()
    assert window.kinds == {("BEGIN", "SELECT ?", "SELECT ?::text", "COMMIT")}
    (work,) = window.work.values()
    assert (work.whole.calls, work.statements["SELECT ?"].calls) == (3, 6)
    assert sum(part.sent for part in work.statements.values()) == work.whole.sent
    assert sum(part.received for part in work.statements.values()) == work.whole.received


def test_a_transaction_that_is_not_over_is_said_to_be(proxy: CountingProxy, client: connection) -> None:
    client.autocommit = False
    with client.cursor() as asks:
        asks.execute("SELECT 1")
    window = proxy.take(patience=0)
    assert (window.unfinished, window.work) == (1, {})
    client.rollback()
    window = proxy.take()
    assert window.unfinished == 0
    assert window.kinds == {("BEGIN", "SELECT ?", "ROLLBACK")}


def test_a_look_waits_for_what_is_under_way(proxy: CountingProxy, asks: cursor, postgres: Server) -> None:
    lock = "SELECT pg_advisory_lock(811), pg_advisory_unlock(811)"
    with closing(psycopg2.connect(postgres.url())) as holder, holder.cursor() as holds:
        holds.execute("SELECT pg_advisory_lock(811)")
        waiting = threading.Thread(target=asks.execute, args=(lock,))
        waiting.start()
        while True:
            holds.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
            if holds.fetchone() == (1,):
                break
        threading.Thread(target=holds.execute, args=("SELECT pg_advisory_unlock(811)",)).start()
        window = proxy.take(patience=30)
        waiting.join()
    assert (window.unfinished, window.traffic.calls) == (0, 1)


def test_two_clients_at_once_are_both_counted(proxy: CountingProxy, postgres: Server) -> None:
    rounds, sizes = 40, (100, 30_000)

    def ask(size: int) -> None:
        with closing(psycopg2.connect(proxy.through(postgres.url()))) as client:
            client.autocommit = True
            with client.cursor() as asks:
                for _ in range(rounds):
                    asks.execute(f"SELECT repeat('x', {size}) AS of_{size}")

    def alone(size: int) -> dict[str, Traffic]:
        ask(size)
        return proxy.take().without([]).statements

    expected = {**alone(sizes[0]), **alone(sizes[1])}
    threads = [threading.Thread(target=ask, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statements = proxy.take().without([]).statements
    assert statements == expected
    assert [part.calls for part in statements.values() if part.received] == [rounds, rounds]


def test_a_copy_is_counted_with_its_rows(proxy: CountingProxy, asks: cursor) -> None:
    asks.execute("CREATE TEMPORARY TABLE t (line text)")
    proxy.take()
    asks.copy_expert("COPY t FROM STDIN", io.StringIO("0123456789\n" * 10_000))
    into = proxy.take()
    asks.copy_expert("COPY t TO STDOUT", io.StringIO())
    out = proxy.take()
    assert into.kinds == {("COPY t FROM STDIN",)}
    assert out.kinds == {("COPY t TO STDOUT",)}
    assert 110_000 < into.traffic.sent < 112_000
    assert 110_000 < out.traffic.received < 170_000


def test_a_copy_that_fails_leaves_nothing_open(proxy: CountingProxy, asks: cursor) -> None:
    asks.execute("CREATE TEMPORARY TABLE t (number int)")
    with pytest.raises(psycopg2.DataError):
        asks.copy_expert("COPY t FROM STDIN", io.StringIO("no number\n" * 50_000))
    assert proxy.take().unfinished == 0
    asks.execute("SELECT 1")
    assert proxy.take(patience=1).kinds >= {("SELECT ?",)}


def test_a_copy_by_the_extended_protocol_ends(proxy: CountingProxy, hand: Hand) -> None:
    hand.query("CREATE TEMPORARY TABLE t (line text)").answers()
    hand.parse("copy", "COPY t FROM STDIN").run("copy").sync()
    hand.message(b"d", b"a line\n").message(b"c").sync().answers()
    window = proxy.take()
    assert window.unfinished == 0
    assert (window.traffic.sent, window.traffic.received) == (hand.sent, hand.received)


def test_opening_a_connection_is_a_kind_of_its_own(proxy: CountingProxy, postgres: Server) -> None:
    with closing(psycopg2.connect(proxy.through(postgres.url()))):
        window = proxy.take()
    assert window.kinds == {(START_UP,)}
    assert window.without([]).work == {}


def test_what_was_seen_uncalled_is_left_out_as_a_whole(proxy: CountingProxy, client: connection) -> None:
    client.autocommit = False

    def clean() -> None:
        with client, client.cursor() as asks:
            asks.execute("SELECT 'overdue'::text")

    def call() -> None:
        with client, client.cursor() as asks:
            asks.execute("SELECT 42")

    clean()
    background = proxy.take().kinds
    call()
    alone = proxy.take()
    clean()
    call()
    clean()
    assert proxy.take().without(background) == alone


def test_a_notification_belongs_to_no_statement(proxy: CountingProxy, hand: Hand, postgres: Server) -> None:
    hand.query("LISTEN news").answers()
    proxy.take()
    with closing(psycopg2.connect(postgres.url())) as other, other, other.cursor() as tells:
        tells.execute("NOTIFY news, 'something happened'")
    hand.received = 0
    assert hand.answer() == b"A"
    window = proxy.take()
    assert window.work.keys() == {(NO_STATEMENT,)}
    assert window.traffic == Traffic(0, 0, hand.received)
