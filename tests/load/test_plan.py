"""The plan of the candidates is found, and what it reads from end to end or unpacks is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg2
import pytest

from fixtures.postgres import Server
from fixtures.postgres.embedded import Embedded
from load.probes import journal, plan
from load.probes.facts import NotMeasured
from load.probes.journal import Journal
from load.probes.plan import Plan
from load.probes.reading import Reader

LOGGED = """\
2026-11-30 19:14:09.545 UTC [41] LOG:  statement: PREPARE one AS
\tSELECT 1
2026-11-30 19:14:09.546 UTC [41] DETAIL:  prepare: PREPARE one AS SELECT 1
2026-11-30 19:14:09.547 UTC [42] LOG:  duration: 0.010 ms  plan:
\t{
\t  "Query Text": "SELECT 1",
\t  "Plan": {"Node Type": "Result"}
\t}
2026-11-30 19:14:09.548 UTC [42] ERROR:  no such thing
"""


def test_statements_and_plans_are_read_from_a_log() -> None:
    text, planned = journal.entries(LOGGED)
    assert (text.pid, text.text) == (41, "PREPARE one AS\nSELECT 1")
    assert planned.plan is not None
    assert planned.plan["Plan"] == {"Node Type": "Result"}
    assert journal.preparations([text, planned]) == {"one": "PREPARE one AS\nSELECT 1"}


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("SELECT id FROM work ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED", True),
        ("PREPARE x AS SELECT w.id FROM work w WHERE (w.id) > ($1)\nORDER BY w.id\nLIMIT $2", True),
        ("SELECT count(*) FROM (SELECT * FROM work ORDER BY id LIMIT 200) q WHERE q.id > 1", False),
        ("SELECT id FROM work", False),
        ("SELECT id FROM workers ORDER BY id LIMIT 3", False),
    ],
)
def test_candidates_are_what_is_read_in_an_order_up_to_a_limit(text: str, *, is_one: bool) -> None:
    assert plan.is_candidates(text, "work") is is_one


@pytest.fixture
def reader(database_url: str) -> Iterator[Reader]:
    with Reader(database_url) as opened:
        opened.execute("CREATE TABLE work (id integer PRIMARY KEY, payload text)")
        opened.execute("ALTER TABLE work ALTER payload SET STORAGE EXTERNAL")
        opened.execute("INSERT INTO work SELECT i, repeat('x', 9000) FROM generate_series(1, 50) AS i")
        yield opened


@contextmanager
def heard(postgres: Server, url: str, options: str = "") -> Iterator[tuple[Any, Journal]]:
    """A session as a server has it, opened once all of it is logged."""
    assert isinstance(postgres.provider, Embedded)
    with closing(psycopg2.connect(url, options=options)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            yield cursor, Journal(postgres.provider.log)


def told(postgres: Server, url: str, reader: Reader, *texts: str, options: str = "") -> Plan:
    assert journal.switch_on(reader) is None
    with heard(postgres, url, options) as (cursor, log):
        for text in texts:
            cursor.execute(text)
        found = plan.analysed(reader, log.read(), "work")
    assert isinstance(found, Plan)
    return found


def test_a_page_that_reads_all_and_unpacks_it_is_told(postgres: Server, database_url: str, reader: Reader) -> None:
    texts = ("PREPARE page AS SELECT * FROM work ORDER BY id DESC LIMIT $1", "EXECUTE page(3)")
    off = "-c enable_indexscan=off -c enable_bitmapscan=off"
    found = told(postgres, database_url, reader, *texts, options=off)
    assert found.sequential == ("work",)
    assert found.settings["enable_indexscan"] == "off"
    assert found.unpacks
    # Three values of 9,000 letters, told in whole kB.
    assert found.serialized_bytes == 27 * 1024
    assert len(found.remarks) == 2


def test_a_lean_page_by_an_index_has_no_remarks(postgres: Server, database_url: str, reader: Reader) -> None:
    text = "SELECT id FROM work WHERE id > 7 ORDER BY id LIMIT 3"
    found = told(postgres, database_url, reader, text, options="-c enable_seqscan=off")
    assert (found.sequential, found.unpacks, found.remarks) == ((), False, ())
    assert "work_pkey" in {node.index for node in found.nodes}
    assert found.fingerprint == "SELECT id FROM work WHERE id > ? ORDER BY id LIMIT ?"


def test_without_its_values_a_statement_is_planned_and_not_run(reader: Reader) -> None:
    texts = ("SELECT $1", "SELECT payload FROM work WHERE payload <> $1 ORDER BY payload LIMIT $2")
    found = plan.generic(reader, texts, "work")
    assert isinstance(found, Plan)
    assert (found.way, found.sequential, found.unpacks) == ("generic", ("work",), None)


def test_where_nothing_is_logged_the_plan_is_not_measured(reader: Reader) -> None:
    assert isinstance(plan.analysed(reader, [], "work"), NotMeasured)
    assert isinstance(plan.generic(reader, ["SELECT 1"], "work"), NotMeasured)


def test_a_role_that_may_not_set_it_is_told_so(postgres: Server, database_url: str) -> None:
    name = f"planner_{os.getpid()}"
    with Reader(postgres.url()) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN")
        with Reader(database_url.replace("postgres@", f"{name}@")) as reader:
            refused = journal.switch_on(reader)
        owner.execute(f"DROP ROLE {name}")
    assert isinstance(refused, NotMeasured)
    assert refused.reason
