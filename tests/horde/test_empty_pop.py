"""A pop for which nothing waits does not read the queue: counted in rows and blocks, at few rows and at many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg2
import pytest

from fixtures.horde import database

# Both have indexes of two levels, so that a probe touches the same number of blocks.
FEW, MANY = 1_000, 10_000
FOREIGN = "foreign"
NOBODY = "00000000-0000-0000-0000-000000000000"
ASK = """
    WITH asked AS (
        INSERT INTO waiting_prompts (id, user_id, prompt, params, n, jobs, things, is_chat, names_models)
        SELECT gen_random_uuid(), 0, 'p', '{}', %(n)s, 1, 80, i %% 2 = 0, %(names_models)s
        FROM generate_series(1, %(rows)s) AS i
        RETURNING id
    )
    INSERT INTO wp_models (wp_id, model) SELECT asked.id, %(model)s FROM asked WHERE %(model)s IS NOT NULL
"""
POP = {
    "after_priority": 2**62, "after_created": "-infinity", "after_id": NOBODY, "users": [1], "prioritised": False,
    "takes_chat": True, "takes_text": True, "max_length": 512, "max_context_length": 2048, "nsfw": True,
    "trusted": True, "validated": True, "fast": True, "maintenance": False, "owner_id": 1, "softprompts": [],
    "worker_id": NOBODY, "page": 20,
}  # fmt: skip


@dataclass(frozen=True)
class Read:
    """What a page of candidates found, the rows that it read of the queue and of who asked for a model, and blocks."""

    found: int
    queued: int
    asked: int
    blocks: int


class Queue:
    """A database whose connection is the server's: planned once, for whatever is there then."""

    def __init__(self, connection: Any) -> None:
        self._cursor = connection.cursor()
        statement = database._statement(database.queries["candidates"])
        self._execute = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement.execute}"
        self._cursor.execute(statement.prepare)

    def ask(self, rows: int, model: str | None = FOREIGN, *, n: int = 1, names_models: bool | None = True) -> None:
        """Requests for a model, of which so many generations wait; afterwards vacuum and statistics know of them."""
        values = {"rows": rows, "model": model, "n": n, "names_models": names_models}
        self._cursor.execute(ASK, values)
        self._cursor.execute("VACUUM (ANALYZE) waiting_prompts, wp_models")

    def page(self, *models: str) -> Read:
        """The first page of a worker that serves these as text and as chat; read twice, for the first one plans."""
        values = POP | {"models": list(models), "chat_models": list(models)}
        for _ in range(2):
            self._cursor.execute(self._execute, values)
        (plan,) = self._cursor.fetchone()[0]
        return Read(
            int(plan["Plan"]["Actual Rows"]),
            rows_of(plan["Plan"], "ix_waiting_prompts_active_queue"),
            rows_of(plan["Plan"], "ix_wp_models_model"),
            plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"],
        )


def rows_of(plan: dict[str, Any], index: str) -> int:
    """The rows that were read by an index, also those that were left then."""
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])
        for node in nodes(plan)
        if node.get("Index Name") == index
    )


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from nodes(part)


@pytest.fixture
def queue(horde_database_url: str) -> Iterator[Queue]:
    connection = psycopg2.connect(horde_database_url, options=database._PLANNING)
    connection.autocommit = True
    try:
        yield Queue(connection)
    finally:
        connection.close()


def behind(queue: Queue, *models: str) -> list[Read]:
    """What a page reads behind few requests for another model, and behind many."""
    queue.ask(FEW)
    few = queue.page(*models)
    queue.ask(MANY - FEW)
    return [few, queue.page(*models)]


@pytest.mark.parametrize("taken", [0, 1, 199])
def test_a_worker_whose_models_nobody_waits_for_reads_no_queue(queue: Queue, taken: int) -> None:
    queue.ask(FEW, "another")
    queue.ask(taken, "served", n=0)
    few, many = behind(queue, "served", "served too")
    assert few == many
    assert (few.found, few.queued) == (0, 0)
    assert few.asked == taken


def test_what_is_looked_at_before_the_queue_is_bounded(queue: Queue) -> None:
    queue.ask(FEW)
    queue.ask(200, "served", n=0)
    few = queue.page("served")
    queue.ask(MANY, "served", n=0)
    many = queue.page("served")
    assert (few.queued, few.asked) == (many.queued, many.asked) == (FEW, 200)


@pytest.mark.parametrize(
    ("model", "names_models"), [("served", True), (None, False), ("served", None), (None, None)]
)  # fmt: skip
def test_one_request_that_the_worker_may_have_opens_the_queue(
    queue: Queue, model: str | None, names_models: bool | None
) -> None:
    queue.ask(FEW)
    queue.ask(199, "served", n=0)
    assert queue.page("served").queued == 0
    queue.ask(1, model, names_models=names_models)
    opened = queue.page("served")
    assert (opened.found, opened.queued) == (1, FEW + 1)


@pytest.mark.parametrize("depth", [FEW, MANY])
def test_a_request_that_every_model_serves_is_looked_for_by_index(queue: Queue, depth: int) -> None:
    queue.ask(depth, None, n=0, names_models=False)
    queue.ask(depth)
    assert queue.page("served").queued == 0
