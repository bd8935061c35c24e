"""A small queue where only the API is to be had: submitted, found in the statuses, cancelled, also after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import psycopg2
import pytest

from conformance import profile as profiles
from conformance.accounts import provide
from conformance.actors import Worker
from conformance.client import Client
from conformance.targets import serving
from load import seeding
from load.errors import BadQueue, SeedingFailed
from load.seeding import Description, Expired, Payload, Refused
from load.seeding.content import LEAD

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = profiles.load("reference")
DESCRIPTION = Description(rows=6, users=2, models=2, refused=Refused(rows=4), payload=Payload(bytes=[100, 200]))


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "horde-conformance" / "seeded"


@pytest.fixture
def root(horde_database_url: str) -> Iterator[str]:
    with serving(REFERENCE.server.command, horde_database_url) as url:
        yield url


def waiting(url: str) -> int:
    with psycopg2.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM waiting_prompts WHERE n > 0 AND cancelled_at IS NULL")
        ((count,),) = cursor.fetchall()
    connection.close()
    return int(count)


def test_it_is_the_queue_that_the_database_would_have_and_is_cancelled_afterwards(
    root: str, horde_database_url: str, state: Path
) -> None:
    with seeding.seeded(DESCRIPTION, REFERENCE, url=root) as queue, Client(root, REFERENCE) as client:
        assert waiting(horde_database_url) == 10
        assert queue.way == "calls"
        assert {(c.kind, c.chat): c.rows for c in queue.counts} == {
            ("waiting", True): 3, ("waiting", False): 3, ("refused", True): 2, ("refused", False): 2,
        }  # fmt: skip
        bridge = {"bridge_agent": REFERENCE.workers.validated_bridge}
        worker = Worker(client, provide(client)[0].owners[0], "the worker", {**bridge, **queue.declaration})
        jobs = [worker.pop_job() for _ in range(6)]
        assert worker.pop() is None
        wanted = [row for row in seeding.rows(DESCRIPTION) if row.kind == "waiting"]
        assert [job.family == "chat" for job in jobs] == [row.is_chat for row in wanted]
        said = [job.messages[0]["content"] if job.family == "chat" else job.prompt for job in jobs]
        assert [len(text) - len(LEAD) for text in said] == [row.size for row in wanted]
    assert waiting(horde_database_url) == 0
    assert list(state.iterdir()) == []


KILLED = """
import os, signal, sys
from conformance import profile
from load import seeding
with seeding.seeded(seeding.Description(rows=5), profile.load("reference"), url=sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_run_left_is_cancelled_by_the_next(root: str, horde_database_url: str, state: Path) -> None:
    command = [sys.executable, "-c", KILLED, root]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert waiting(horde_database_url) == 5
    (journal,) = state.iterdir()
    # At another target it is left alone; a line that the kill cut off is passed over.
    journal.write_text(journal.read_text() + '{"url": "ht')
    assert seeding.remove(REFERENCE, url="http://127.0.0.1:1") == []
    assert seeding.remove(REFERENCE, url=root) == [journal.stem]
    assert waiting(horde_database_url) == 0
    assert list(state.iterdir()) == []


def test_an_interrupt_cancels_what_was_queued(root: str, horde_database_url: str, state: Path) -> None:
    with pytest.raises(KeyboardInterrupt), seeding.seeded(DESCRIPTION, REFERENCE, url=root):
        raise KeyboardInterrupt
    assert waiting(horde_database_url) == 0
    assert list(state.iterdir()) == []


@pytest.mark.parametrize(
    ("description", "told"),
    [
        (Description(rows=1, expired=Expired(rows=1)), "expired rows"),
        (Description(rows=1, priorities=(5,)), "priorities"),
        (Description(rows=1, payload=Payload(bytes=9, carried_by=("messages",))), "chosen columns"),
        (Description(rows=1, lifetime_seconds=9), "a lifetime"),
    ],
)
def test_what_cannot_be_submitted_is_refused_before_anything_is(description: Description, told: str) -> None:
    with pytest.raises(BadQueue, match=told), seeding.seeded(description, REFERENCE, url="http://127.0.0.1:1"):
        pytest.fail("it was seeded")


def test_more_than_the_users_may_have_waiting_is_refused(root: str, horde_database_url: str) -> None:
    with (
        pytest.raises(BadQueue, match="for one user, and the target takes"),
        seeding.seeded(Description(rows=100_000), REFERENCE, url=root),
    ):
        pytest.fail("it was seeded")
    assert waiting(horde_database_url) == 0


def test_a_target_that_is_not_there_is_told() -> None:
    with (
        pytest.raises(SeedingFailed, match="gives no accounts"),
        seeding.seeded(Description(rows=1), REFERENCE, url="http://127.0.0.1:1"),
    ):
        pytest.fail("it was seeded")


def test_without_database_and_target_nothing_can_be_seeded() -> None:
    with pytest.raises(BadQueue, match="Neither"), seeding.seeded(Description(rows=1), REFERENCE):
        pytest.fail("it was seeded")
