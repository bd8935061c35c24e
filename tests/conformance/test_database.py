"""The target's database: what its tables hold, and who waits for whom in it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy

from conformance.database import Database
from conformance.errors import CouldNotRun

LOCK = "SELECT id, said FROM sayings WHERE id = :id FOR UPDATE"


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    database.run("CREATE TABLE sayings (id int, said text, extras jsonb)")
    database.run("""INSERT INTO sayings VALUES (1, 'first', '{"a": ["deep"]}'), (2, NULL, NULL)""")
    yield database
    database.close()


def eventually(look: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not look() and time.monotonic() < deadline:
        time.sleep(0.01)
    return look()


@pytest.mark.parametrize("word", ["first", "deep", "irs"])
def test_a_table_holds_a_word_in_whichever_column(database: Database, word: str) -> None:
    assert database.holding(["sayings"], word) == ["sayings"]


def test_a_table_does_not_hold_what_is_not_there(database: Database) -> None:
    assert database.holding(["sayings", "sayings"], "second") == []
    database.run("DELETE FROM sayings WHERE id = 1")
    assert database.holding(["sayings"], "first") == []


def test_a_table_that_is_not_there_holds_no_answer(database: Database) -> None:
    with pytest.raises(CouldNotRun, match="nowhere"):
        database.holding(["nowhere"], "first")


def test_who_waits_for_a_lock_and_who_waits_behind_them_is_counted(database: Database) -> None:
    with ThreadPoolExecutor(2) as others:
        with database.session() as holder:
            database.rows(LOCK, on=holder, id=1)
            assert database.waiting_behind(holder) == 0
            waiting = [others.submit(database.rows, LOCK, id=1)]
            assert eventually(lambda: database.waiting_behind(holder) == 1)
            waiting.append(others.submit(database.rows, LOCK, id=1))
            assert eventually(lambda: database.waiting_behind(holder) == 2)
            holder.execute(sqlalchemy.text("UPDATE sayings SET said = 'second' WHERE id = 1"))
        assert [future.result() for future in waiting] == [[{"id": 1, "said": "second"}]] * 2


def test_a_lock_of_another_row_is_not_waited_for(database: Database) -> None:
    with database.session() as holder:
        database.rows(LOCK, on=holder, id=1)
        assert database.rows(LOCK, id=2) == [{"id": 2, "said": None}]
        assert database.waiting_behind(holder) == 0
