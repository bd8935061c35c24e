"""A queue in the reference's tables: as if submitted, handed out like any, counted, measured, and gone afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg2
import pytest

from conformance import profile as profiles
from conformance.accounts import provide
from conformance.actors import Account, Family, Requester, Worker
from conformance.client import Client
from conformance.targets import serving
from load import seeding
from load.errors import BadQueue, QueueTooLarge, SeedingFailed, WrongCounts
from load.seeding import Description, Expired, Payload, Refused, disk
from load.seeding.content import LEAD

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = profiles.load("reference")
TABLES = ("waiting_prompts", "wp_models", "processing_gens", "kudos_ledger", "kudos_reservations", "text_gen_stats")
# When and of whom a request is, and where it stands, is its own.
OWN = {"id", "user_id", "created", "expiry", "extra_priority"}


def sql(url: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(statement, values)
        found = cursor.fetchall() if cursor.description else []
    connection.close()
    return found


def left(url: str) -> dict[str, int]:
    """Rows of the tables that a queue touches, and users besides the one who is always there."""
    counted = {table: sql(url, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}
    return counted | {"users": sql(url, "SELECT count(*) FROM users WHERE id <> 0")[0][0]}


NOTHING = {**dict.fromkeys(TABLES, 0), "users": 0}


@contextmanager
def playing(url: str) -> Iterator[Client]:
    command = (*REFERENCE.server.command, "--settings", '{{"cleaner_interval": 3600}}')
    with serving(command, url) as root, Client(root, REFERENCE) as client:
        yield client


def worker(client: Client, owner: Account, queue: seeding.Seeded, name: str = "the worker") -> Worker:
    bridge = {"bridge_agent": REFERENCE.workers.validated_bridge, "threads": 1}
    return Worker(client, owner, name, {**bridge, **queue.declaration})


@pytest.mark.parametrize("family", ["chat", "text"])
def test_a_row_is_in_each_column_what_its_own_submit_would_have_written(
    horde_database_url: str, family: Family
) -> None:
    url, family = horde_database_url, Family(family)
    description = Description(rows=1, chat_share=family is Family.CHAT, payload=Payload(bytes=3000))
    with playing(url) as client, seeding.seeded(description, REFERENCE, database_url=url) as queue:
        written = row_of(url, queue.run)
        said = str(written["prompt"]).removeprefix("user: ")
        assert said.startswith(LEAD)
        assert len(said) == len(LEAD) + 3000
        requester = Requester(client, provide(client)[0].requesters[0])
        content: dict[str, Any] = (
            {"messages": [{"role": "user", "content": said}]} if family is Family.CHAT else {"prompt": said}
        )
        request = requester.submit(family, queue.models, n=1, max_length=80, max_context_length=1024, **content)
        submitted = row_of_id(url, request.id)
        assert {k: v for k, v in written.items() if k not in OWN} == {
            k: v for k, v in submitted.items() if k not in OWN
        }
        assert written["expiry"] - written["created"] == pytest.approx(submitted["expiry"] - submitted["created"])
        models = "SELECT model FROM wp_models WHERE wp_id = %s"
        assert sql(url, models, written["id"]) == sql(url, models, request.id)


def row_of(url: str, run: str) -> dict[str, Any]:
    return _row(url, "user_id IN (SELECT id FROM users WHERE oauth_id LIKE %s)", f"horde-load-{run}-%")


def row_of_id(url: str, request: str) -> dict[str, Any]:
    return _row(url, "id = %s", request)


def _row(url: str, where: str, value: str) -> dict[str, Any]:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM waiting_prompts WHERE {where}", (value,))
        assert cursor.description is not None
        (found,) = cursor.fetchall()
        row = dict(zip([column.name for column in cursor.description], found, strict=True))
    connection.close()
    # A tenth of a second of a clock's reading decides nothing here.
    row["created"], row["expiry"] = (row[name].timestamp() for name in ("created", "expiry"))
    return row


@pytest.mark.parametrize("rule", ["max_length", "max_context_length", "nsfw", "model"])
def test_a_worker_has_what_waits_and_neither_what_it_refuses_nor_what_expired(
    horde_database_url: str, rule: str
) -> None:
    url = horde_database_url
    description = Description(
        rows=4, chat_share=0.5, models=2, users=2, refused=Refused(rows=30, by=rule), expired=Expired(rows=5),
        payload=Payload(bytes=(10, 20)),
    )  # fmt: skip
    with playing(url) as client, seeding.seeded(description, REFERENCE, database_url=url) as queue:
        popping = worker(client, provide(client)[0].owners[0], queue)
        jobs = [popping.pop_job() for _ in range(description.rows)]
        wanted = [row for row in seeding.rows(description) if row.kind == "waiting"]
        assert [job.family is Family.CHAT for job in jobs] == [row.is_chat for row in wanted]
        assert [job.model for job in jobs] == [queue.models[row.model] for row in wanted]
        assert popping.pop() is None
        popping.reply(jobs[0])
        popping.reply(jobs[1])
    # The other worker of no queue has its kudos still, and so its entry in the ledger.
    assert left(url)["waiting_prompts"] == left(url)["processing_gens"] == left(url)["wp_models"] == 0
    assert sql(url, "SELECT count(*) FROM users WHERE oauth_id LIKE 'horde-load-%%'") == [(0,)]
    assert sql(url, "SELECT count(*) FROM text_gen_stats") == [(0,)]


@pytest.mark.parametrize(("share", "family"), [(0, Family.TEXT), (1, Family.CHAT)])
def test_the_head_of_the_line_is_of_the_family_that_the_worker_does_not_take(
    horde_database_url: str, share: int, family: Family
) -> None:
    url = horde_database_url
    description = Description(rows=1, chat_share=share, refused=Refused(rows=40, by="family"))
    with playing(url) as client, seeding.seeded(description, REFERENCE, database_url=url) as queue:
        owner = provide(client)[0].owners[0]
        popping = worker(client, owner, queue)
        assert popping.pop_job().family is family
        assert popping.pop() is None
        both = popping.pop_job(accept_text=True, chat_models=list(queue.models))
        assert both.family is family.other


def test_counts_sizes_and_times_are_told(horde_database_url: str) -> None:
    description = Description(
        rows=200, chat_share=0.25, users=3, refused=Refused(rows=8), expired=Expired(rows=4),
        payload=Payload(bytes="4 KiB"),
    )  # fmt: skip
    with seeding.seeded(description, REFERENCE, database_url=horde_database_url) as queue:
        counted = {(count.kind, count.chat): count.rows for count in queue.counts}
        assert counted == {
            ("waiting", True): 50, ("waiting", False): 150, ("refused", True): 2, ("refused", False): 6,
            ("expired", True): 1, ("expired", False): 3,
        }  # fmt: skip
        assert left(horde_database_url)["wp_models"] == 212
        stored = {column.carrier: column for column in queue.stored}
        assert set(stored) == {"messages", "prompt"}
        assert (stored["messages"].rows, stored["prompt"].rows) == (53, 212)
        given = "SELECT sum(octet_length(messages::text)), sum(octet_length(prompt)) FROM waiting_prompts"
        assert sql(horde_database_url, given) == [(stored["messages"].bytes_given, stored["prompt"].bytes_given)]
        assert stored["prompt"].bytes_given > 212 * 4096
        assert stored["prompt"].achieved == pytest.approx(1, abs=0.01)
        assert all(column.out_of_line == column.rows and column.exact for column in queue.stored)
        assert queue.bytes_given > 265 * 4096
        assert queue.seconds_generating > 0 < queue.seconds_writing
        assert queue.remarks == ()
        assert "MB/s" in queue.summary
        assert seeding.Seeded.model_validate_json(queue.model_dump_json()) == queue
    assert left(horde_database_url) == NOTHING


def test_the_dial_turns_what_is_stored_and_a_collapsed_payload_is_told(horde_database_url: str) -> None:
    achieved = []
    for share in (0.0, 0.25, 0.5, 1.0):
        payload = Payload(bytes=16384, incompressible=share, carried_by=("messages",))
        description = Description(rows=20, chat_share=1, payload=payload)
        with seeding.seeded(description, REFERENCE, database_url=horde_database_url) as queue:
            (column,) = queue.stored
            achieved.append(column.achieved)
            assert bool(queue.remarks) == (share == 0.0)
            assert (column.in_line == 20) == (share == 0.0)
    assert achieved == pytest.approx([0.01, 0.30, 0.58, 1.0], abs=0.05)


def test_each_carrier_carries_alone(horde_database_url: str) -> None:
    sizes = "SELECT max(octet_length(messages::text)), max(octet_length(chat_extras::text)), max(octet_length(prompt))"
    for place, carrier in enumerate(("messages", "chat_extras", "prompt")):
        description = Description(rows=2, chat_share=1, payload=Payload(bytes=5000, carried_by=(carrier,)))
        with seeding.seeded(description, REFERENCE, database_url=horde_database_url):
            ((*found,),) = sql(horde_database_url, f"{sizes} FROM waiting_prompts")
        assert found.pop(place) >= 5000
        assert max(found) < 100


def test_a_queue_larger_than_the_disk_is_refused_before_its_first_row(horde_database_url: str) -> None:
    description = Description(rows=100_000_000, payload=Payload(bytes="1 MiB"))
    with (
        pytest.raises(QueueTooLarge, match=r"needs about \d+ GiB|needs about [\d.]+ TiB"),
        seeding.seeded(description, REFERENCE, database_url=horde_database_url),
    ):
        pytest.fail("it was seeded")
    assert left(horde_database_url) == NOTHING


def test_where_the_disk_is_not_ours_to_see_a_limit_holds() -> None:
    def unseen(path: str) -> int:
        raise FileNotFoundError(path)

    here, there = "postgresql://u@127.0.0.1/d", "postgresql://u@database.example/d"
    assert disk.room(here, "/data", 5, lambda _: 7).bytes == 7
    assert disk.room(here, None, 5, lambda _: 7).bytes == 5
    assert disk.room(here, "/data", 5, unseen).bytes == 5
    assert disk.room(there, "/data", 5, lambda _: 7).bytes == 5
    with pytest.raises(QueueTooLarge, match="largest_bytes"):
        disk.check(Description(rows=10), REFERENCE, disk.room(there, None, 5))


@pytest.mark.parametrize(("rows", "size"), [(3000, 0), (1500, 4096), (60, 262_144)])
def test_the_estimate_is_enough_and_not_far_too_much(horde_database_url: str, rows: int, size: int) -> None:
    used = "SELECT pg_total_relation_size('waiting_prompts') + pg_total_relation_size('wp_models')"
    ((before,),) = sql(horde_database_url, used)
    description = Description(rows=rows, payload=Payload(bytes=size))
    with seeding.seeded(description, REFERENCE, database_url=horde_database_url) as queue:
        taken = sql(horde_database_url, used)[0][0] - before
        # Half of it is the log's.
        assert 0.9 * taken <= queue.bytes_estimated / 2 <= 3 * taken


def test_an_error_or_an_interrupt_in_the_block_removes_the_queue(horde_database_url: str) -> None:
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error), seeding.seeded(Description(rows=3), REFERENCE, database_url=horde_database_url):
            raise error
        assert left(horde_database_url) == NOTHING


KILLED = """
import os, signal, sys
from conformance import profile
from load import seeding
from load.seeding import copying
url, when = sys.argv[1:]
dies = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
if when == "in it":
    copying._counted = dies
with seeding.seeded(seeding.Description(rows=50), profile.load("reference"), database_url=url):
    print("stands", flush=True)
    sys.stdin.read() if when == "alive" else dies()
"""


def test_what_a_killed_run_left_is_removed_by_the_next_and_a_living_one_is_left_alone(
    horde_database_url: str, tmp_path: Path
) -> None:
    url = horde_database_url
    command = [sys.executable, "-c", KILLED, url]
    living = subprocess.Popen([*command, "alive"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tmp_path)
    assert living.stdout is not None
    assert living.stdin is not None
    with living:
        assert living.stdout.readline() == b"stands\n"
        assert seeding.leftovers(REFERENCE, url) == []
        # The same rows cannot stand twice: the second run is refused, and takes nothing of the first with it.
        with (
            pytest.raises(SeedingFailed, match="there already"),
            seeding.seeded(Description(rows=50), REFERENCE, database_url=url),
        ):
            pytest.fail("it was seeded")
        assert left(url)["waiting_prompts"] == 50
        living.stdin.close()
    assert left(url) == NOTHING
    assert subprocess.run([*command, "in it"], check=False).returncode == -signal.SIGKILL
    assert left(url) == NOTHING
    assert subprocess.run([*command, "afterwards"], check=False).returncode == -signal.SIGKILL
    assert left(url)["waiting_prompts"] == 50
    assert len(seeding.leftovers(REFERENCE, url)) == 1
    with seeding.seeded(Description(rows=2, seed=2), REFERENCE, database_url=url):
        assert left(url)["waiting_prompts"] == 2
    assert left(url) == NOTHING


def test_what_was_seeded_to_stay_stays_until_it_is_asked_away(horde_database_url: str) -> None:
    kept = seeding.seed(Description(rows=5), REFERENCE, horde_database_url)
    with seeding.seeded(Description(rows=2, seed=2), REFERENCE, database_url=horde_database_url):
        assert left(horde_database_url)["waiting_prompts"] == 7
    assert left(horde_database_url)["waiting_prompts"] == 5
    assert seeding.leftovers(REFERENCE, horde_database_url, kept=False) == []
    assert seeding.remove(REFERENCE, database_url=horde_database_url) == [kept.run]
    assert left(horde_database_url) == NOTHING


def test_wrong_counts_are_told_and_nothing_stays(horde_database_url: str) -> None:
    mine = REFERENCE.seeding.model_copy(update={"columns": {**REFERENCE.seeding.columns, "is_chat": "f"}})
    wrong = REFERENCE.model_copy(update={"seeding": mine})
    with pytest.raises(WrongCounts, match="counts 4 text waiting where the queue has 2 text waiting, 2 chat waiting"):
        seeding.seed(Description(rows=4), wrong, horde_database_url)
    assert left(horde_database_url) == NOTHING


def test_a_column_that_the_target_does_not_have_is_told(horde_database_url: str) -> None:
    description = Description(rows=1, payload=Payload(bytes=10, carried_by=("gen_payload",)))
    with pytest.raises(BadQueue, match="no column for gen_payload"):
        seeding.seed(description, REFERENCE, horde_database_url)


def test_a_database_that_is_not_there_is_told() -> None:
    with pytest.raises(SeedingFailed, match="The database refuses"):
        seeding.seed(Description(rows=1), REFERENCE, "postgresql://nobody@127.0.0.1:1/nothing")


@pytest.mark.parametrize("name", seeding.built_in())
def test_each_example_is_read(name: str) -> None:
    assert seeding.example(name).total > 0
