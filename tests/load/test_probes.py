"""Each probe sees what happens in a real database, and says so where it may not."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from fixtures.counting.proxy import CountingProxy
from fixtures.postgres import Server
from load.probes import processes, statements, storage
from load.probes.facts import NotMeasured
from load.probes.reading import Reader
from load.probes.sampler import longest_chain, sample
from load.probes.sampling import Sample, Sampler, sampled, samples
from load.probes.watching import Costs, watching

# Longer than a page's fourth and without a pattern: it stands out of line.
RANDOM = "(SELECT string_agg(md5(i::text || 'x'), '') FROM generate_series(1, 500) AS i)"


@pytest.fixture(scope="module")
def admin_url(postgres: Server) -> Iterator[str]:
    name = postgres.create_database(extensions=["pg_stat_statements"])
    yield postgres.url(name)
    postgres.drop_database(name)


@contextmanager
def connected(url: str) -> Iterator[Any]:
    with closing(psycopg2.connect(url)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor


@pytest.fixture
def table(database_url: str) -> str:
    with connected(database_url) as cursor:
        cursor.execute("CREATE TABLE work (id integer, payload text) WITH (autovacuum_enabled = off)")
        cursor.execute("ALTER TABLE work ALTER payload SET STORAGE EXTERNAL")
        cursor.execute(f"INSERT INTO work SELECT i, {RANDOM} FROM generate_series(1, 3) AS i")
        cursor.execute("SELECT pg_stat_force_next_flush()")
    return database_url


def told(cursor: Any) -> Callable[[], None]:
    """A session that tells what it did at once."""
    return lambda: cursor.execute("SELECT pg_stat_force_next_flush()")


def costs(url: str, admin_url: str | None, *texts: str, through: CountingProxy | None = None) -> Costs:
    server_url = through.through(url) if through else url
    with connected(server_url) as cursor, watching(url, admin_url=admin_url, proxy=through) as watch:
        with watch.calls(len(texts), told=told(cursor)) as watched:
            for text in texts:
                cursor.execute(text)
                cursor.fetchall()
        assert watched.costs is not None
        return watched.costs


def test_what_is_read_out_of_line_is_seen_and_what_is_not_is_nothing(table: str, admin_url: str) -> None:
    eager = costs(table, admin_url, "SELECT * FROM work", "SELECT * FROM work")
    assert isinstance(eager.out_of_line, tuple)
    (work,) = eager.out_of_line
    # Two calls of three rows, each value in eight pieces, of which a block holds four.
    assert (work.table, work.reads, work.written, work.tidied) == ("work", 6, 0, 0)
    assert work.blocks >= 6 * 2
    lean = costs(table, admin_url, "SELECT id FROM work")
    assert isinstance(lean.out_of_line, tuple)
    assert [one.reads for one in lean.out_of_line] == [0]
    assert lean.per_call["blocks out of line"] == 0


def test_a_payload_that_is_written_again_is_seen(table: str, admin_url: str) -> None:
    text = "UPDATE work SET payload = payload || 'x' WHERE id = 1 RETURNING 1"
    rewritten = costs(table, admin_url, text)
    touched = costs(table, admin_url, "UPDATE work SET id = id WHERE id = 1 RETURNING 1")
    assert rewritten.per_call["pieces written out of line"] >= 8
    assert touched.per_call["pieces written out of line"] == 0


def test_statements_are_told_by_fingerprint_under_whatever_name(table: str, admin_url: str) -> None:
    with connected(table) as cursor, watching(table, admin_url=admin_url) as watch:
        for name in ("one", "two"):
            cursor.execute(f"PREPARE {name} AS SELECT id FROM work WHERE id < $1")
        with watch.calls(4, told=told(cursor)) as watched:
            for text in ("EXECUTE one(3)", "EXECUTE two(9)", "SELECT id FROM work WHERE id < 2"):
                cursor.execute(text)
    assert watched.costs is not None
    assert isinstance(watched.costs.statements, tuple)
    found = {one.fingerprint: (one.calls, one.rows) for one in watched.costs.statements}
    assert found["SELECT id FROM work WHERE id < ?"] == (3, 2 + 3 + 1)
    # What the probes asked is not among it.
    assert not [name for name in found if "pg_statio" in name or "pg_stat_statements" in name]


def test_bytes_and_statements_of_the_wire(table: str, admin_url: str) -> None:
    with CountingProxy(table) as proxy:
        watched = costs(table, admin_url, "SELECT * FROM work", through=proxy)
    # Three payloads of 16,000 letters; the order to tell is a statement as well.
    assert 48_000 < watched.per_call["bytes from the database"] < 50_000
    assert not isinstance(watched.wire, NotMeasured)
    assert watched.wire.journeys == 1


def test_the_costs_travel_as_json(table: str, admin_url: str) -> None:
    found = costs(table, admin_url, "SELECT 1")
    assert Costs.model_validate_json(found.model_dump_json()) == found


def test_what_cannot_be_had_is_told_and_is_no_zero(table: str) -> None:
    # Here the extension is not installed, there is no proxy, and no server of ours.
    found = costs(table, None, "SELECT 1")
    told = {fact.not_measured: fact.reason for fact in found.not_measured}
    assert "pg_stat_statements" in told["statements"]
    assert "proxy" in told["bytes"]
    assert "statements" not in found.per_call
    assert "bytes from the database" not in found.per_call


def test_without_a_database_nothing_of_it_is_measured() -> None:
    with watching(None, server=os.getpid()) as watch, watch.calls(1) as watched:
        sum(range(100_000))
    assert watched.costs is not None
    assert {fact.not_measured for fact in watched.costs.not_measured} == {"statements", "values out of line", "bytes"}
    assert not isinstance(watched.costs.cpu, NotMeasured)
    assert watched.costs.cpu.server_seconds
    assert watched.costs.cpu.database_seconds is None


@pytest.fixture
def stranger(postgres: Server) -> Iterator[Callable[[str], str]]:
    """A role without privileges, and the URL of a database as it sees it."""
    name = f"stranger_{os.getpid()}"
    with connected(postgres.url()) as cursor:
        cursor.execute(f"CREATE ROLE {name} LOGIN")
        yield lambda url: url.replace("postgres@", f"{name}@")
        cursor.execute(f"DROP ROLE {name}")


def test_a_role_without_privileges_is_told_what_to_ask_for(
    table: str, admin_url: str, stranger: Callable[[str], str]
) -> None:
    with (
        connected(table) as cursor,
        watching(stranger(table), admin_url=stranger(admin_url)) as watch,
        watch.calls(1, told=lambda: None) as watched,
    ):
        cursor.execute("SELECT id FROM work")
    assert watched.costs is not None
    assert isinstance(watched.costs.statements, NotMeasured)
    assert "pg_read_all_stats" in watched.costs.statements.reason


def test_a_database_that_is_gone_is_not_measured() -> None:
    with Reader("postgresql://nobody@127.0.0.1:1/nothing") as reader:
        assert isinstance(storage.look(reader), NotMeasured)
        looked = statements.look(reader, "nothing")
        assert isinstance(looked, NotMeasured)
        assert isinstance(processes.look(None, reader, "nothing"), NotMeasured)


def test_statements_that_were_forgotten_are_not_counted(admin_url: str) -> None:
    with Reader(admin_url) as reader:
        before = statements.look(reader, reader.database)
        reader.execute("SELECT pg_stat_statements_reset()")
        found = statements.between(before, statements.look(reader, reader.database))
    assert isinstance(found, NotMeasured)
    assert "forgot" in found.reason


def test_cpu_time_of_backends_is_read_where_they_run_here(table: str) -> None:
    name = table.rpartition("/")[2]
    with connected(table) as cursor, Reader(table) as reader:
        before = processes.look(os.getpid(), reader, name)
        cursor.execute("SELECT count(*) FROM generate_series(1, 300000)")
        found = processes.between(before, processes.look(os.getpid(), reader, name))
    assert not isinstance(found, NotMeasured)
    assert found.database_seconds
    assert found.ended == 0


# ---------------------------------------------------------------------------------------- the sampler


def test_the_longest_chain_is_counted_once_around_a_circle() -> None:
    assert longest_chain({}) == 0
    assert longest_chain({2: [1], 3: [2], 4: [2, 3], 9: [8]}) == 3
    assert longest_chain({1: [2], 2: [1]}) == 2


def test_a_chain_of_sessions_that_wait_is_seen(table: str) -> None:
    update = "UPDATE work SET id = id WHERE id = 1"
    with closing(psycopg2.connect(table)) as holder, closing(psycopg2.connect(table)) as waiting, Reader(table) as eye:
        holder.cursor().execute(update)
        pid = waiting.info.backend_pid
        thread = threading.Thread(target=lambda: waiting.cursor().execute(update))
        thread.start()
        seen: dict[str, Any] = {}
        while not seen.get("blocked"):
            seen = sample(eye, 0)
        holder.rollback()
        thread.join(10)
        waiting.rollback()
    told = Sample.model_validate({"at": 1.0, "took_seconds": 0.1, **seen})
    assert [(one.pid, one.by) for one in told.blocked] == [(pid, (holder_pid(told),))]
    assert told.longest_chain == 1
    assert told.locks_awaited
    assert any(name.startswith("Lock: ") for name in told.waits)
    assert told.states["active"] >= 1


def holder_pid(told: Sample) -> int:
    ((by,),) = {one.by for one in told.blocked}
    return by


def test_it_samples_until_it_is_closed(table: str, tmp_path: Path) -> None:
    with sampled(table, tmp_path / "samples.jsonl", interval=0.02) as sampler:
        assert sampler is not None
        while len(found := read(sampler.file)) < 3:
            pass
        pid = sampler.pid
    assert all(one.failed is None for one in found)
    assert [one.at for one in found] == sorted(one.at for one in found)
    assert not alive(pid)
    sampler.close()


def read(file: Path) -> list[Sample]:
    found = samples(file)
    return [] if isinstance(found, NotMeasured) else found


def test_a_database_that_cannot_be_sampled_is_told(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    with Sampler("postgresql://nobody@127.0.0.1:1/nothing", file, interval=0.02):
        while not file.exists() or not file.read_text("utf-8").endswith("\n"):
            pass
    found = samples(file)
    assert isinstance(found, NotMeasured)
    assert "Connection refused" in found.reason


def test_without_a_database_nothing_is_sampled(tmp_path: Path) -> None:
    with sampled(None, tmp_path / "samples.jsonl") as sampler:
        assert sampler is None
    assert isinstance(samples(tmp_path / "samples.jsonl"), NotMeasured)


OWNER = """
import pathlib, sys
from load.probes.sampling import Sampler
sampler = Sampler(sys.argv[1], pathlib.Path(sys.argv[2]), interval=0.05)
print(sampler.pid, flush=True)
sys.stdin.read()
"""


def test_it_ends_with_an_owner_that_is_killed(table: str, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    owner = subprocess.Popen(
        [sys.executable, "-P", "-c", OWNER, table, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    while not read(file):
        pass
    watched = os.pidfd_open(pid)
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert select.select([watched], [], [], 20)[0]
    os.close(watched)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    whole = {"at": 1.0, "took_seconds": 0.1, "deadlocks": 2}
    file.write_text(f"{json.dumps(whole)}\n{json.dumps(whole)[:-5]}", encoding="utf-8")
    assert [one.deadlocks for one in read(file)] == [2]
