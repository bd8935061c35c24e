"""Each column that the migration adds is written by a route, and a later answer depends on what was written.

Two scenes are played alike; in the second the column's value is changed by hand before the observation. A column
that nothing reads would let both observations be equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.horde import schema

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

CONVERSATION = [{"role": "user", "content": "say something " * 40}]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {}}}]
PHRASE = [{"role": "user", "content": "this is a forbidden phrase, is it not"}]
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "chat_requests.md"


@dataclass
class Scene:
    """A chat request brought to some point, and who took part."""

    horde: Horde
    requester: Account
    owner: Account
    model: str
    request: str = ""
    generation: str = ""

    def submit(self, **fields: Any) -> Scene:
        self.request = self.horde.submit(
            self.requester.key, "chat", self.model, **({"messages": CONVERSATION} | fields)
        )
        return self

    def pop(self, **fields: Any) -> dict[str, Any]:
        job = self.horde.pop(self.owner.key, self.model, **fields)
        self.generation = job["id"] or self.generation
        return job

    def in_flight(self, **fields: Any) -> Scene:
        self.submit(**fields).pop()
        return self

    def posted(self, output: str) -> Scene:
        self.in_flight(stream=True)
        assert self.horde.progress(self.owner.key, self.generation, output).status_code == 200
        return self

    def replied(self, content: str, **fields: Any) -> Scene:
        self.in_flight()
        assert self.horde.chat_reply(self.owner.key, self.generation, content, **fields).status_code == 200
        return self

    def cancelled(self, **fields: Any) -> Scene:
        self.horde.cancel("chat", (self.posted("x" * 160) if fields.get("stream") else self.in_flight()).request)
        return self

    def faulted(self) -> Scene:
        self.in_flight().fault()
        return self

    def fault(self) -> None:
        self.horde.reply(self.owner.key, self.generation, generation="", state="faulted")

    def submit_with_key(self) -> Any:
        body = {"messages": CONVERSATION, "models": [self.model], "operation_key": "an operation"}
        return self.horde.call("POST", "/generate/chat/async", self.requester.key, body)

    def keyed(self) -> Scene:
        self.request = self.submit_with_key().json()["id"]
        return self

    def flag(self) -> Scene:
        self.horde.sql("INSERT INTO user_roles VALUES (:id, 'flagged')", id=self.requester.id)
        return self

    # What is observed

    @property
    def status(self) -> dict[str, Any]:
        return self.horde.status("chat", self.request)

    def record(self) -> dict[str, Any]:
        return dict(self.horde.call("GET", f"/generate/chat/request/{self.request}", self.requester.key).json())

    def worker(self) -> dict[str, Any]:
        row = self.horde.sql("SELECT id FROM workers WHERE user_id = :id", id=self.owner.id)[0]
        return dict(self.horde.call("GET", f"/workers/{row['id']}").json())

    def silent_since_an_hour(self) -> bool:
        self.horde.sql(
            "UPDATE workers SET last_check_in = last_check_in - interval '1 hour' WHERE user_id = :id", id=self.owner.id
        )
        return bool(self.worker()["online"])

    def possible(self, family: str) -> bool:
        request = self.horde.submit(self.requester.key, family, self.model)
        return bool(self.horde.status(family, request)["is_possible"])

    def late_reply(self) -> int:
        self.horde.cancel("chat", self.request)
        return self.horde.chat_reply(self.owner.key, self.generation, "late").status_code

    def waiting_after_fault(self) -> int:
        self.fault()
        return int(self.status["waiting"])

    def reward(self) -> float:
        return float(self.horde.chat_reply(self.owner.key, self.generation, "x" * 80).json()["reward"])

    def kudos_after_cancel(self) -> float:
        self.horde.cancel("chat", self.request)
        return float(self.status["kudos"])


@dataclass(frozen=True)
class Case:
    """How a column is written, what it is changed to by hand, and what must differ then."""

    scene: Callable[[Scene], object]
    other: str
    observe: Callable[[Scene], object]


def _of_worker(figure: str, scene: Callable[[Scene], object]) -> Case:
    return Case(scene, "99", lambda s: s.worker()["chat"][figure])


def _of_partial(field: str, other: str) -> Case:
    return Case(lambda s: s.posted("x" * 160), other, lambda s: s.status["partials"][0][field])


def _of_cancelled(field: str, other: str) -> Case:
    return Case(lambda s: s.cancelled(stream=True), other, lambda s: s.status["cancelled_generations"][0][field])


def _of_reply(field: str, other: str) -> Case:
    return Case(
        lambda s: s.replied("hello", usage={"total_tokens": 3}),
        other,
        lambda s: s.status["generations"][0]["chat"][field],
    )


EARLIER = "timezone('utc', now()) - interval '1 hour'"

CASES = {
    "waiting_prompts.is_chat": Case(lambda s: s.submit(), "false", lambda s: len(s.status)),
    "waiting_prompts.messages": Case(
        lambda s: s.submit(), """'[{"role": "user", "content": "other"}]'""", lambda s: s.pop()["chat"]["messages"]
    ),
    "waiting_prompts.chat_extras": Case(lambda s: s.submit(tools=TOOLS), "'{}'", lambda s: s.pop()["chat"]["tools"]),
    "waiting_prompts.stream": Case(lambda s: s.in_flight(stream=True), "false", lambda s: s.late_reply()),
    "waiting_prompts.operation_key": Case(
        lambda s: s.keyed(), "'another'", lambda s: s.submit_with_key().json()["id"] == s.request
    ),
    "waiting_prompts.operation_fingerprint": Case(
        lambda s: s.keyed(), "'another'", lambda s: s.submit_with_key().status_code
    ),
    "waiting_prompts.prompt_tokens": Case(lambda s: s.in_flight(), "20", lambda s: s.reward()),
    "waiting_prompts.message_count": Case(lambda s: s.submit(), "7", lambda s: s.status["message_count"]),
    "waiting_prompts.payload_bytes": Case(lambda s: s.submit(), "7", lambda s: s.record()["payload_bytes"]),
    "waiting_prompts.submitted_chat": Case(
        lambda s: s.flag().submit(messages=PHRASE), "NULL", lambda s: s.record()["messages"]
    ),
    "waiting_prompts.cancelled_at": Case(lambda s: s.cancelled(), "NULL", lambda s: s.waiting_after_fault()),
    "waiting_prompts.settled_by_cancel": Case(
        lambda s: s.cancelled(stream=True), "7", lambda s: s.status["settled_by_cancel"]
    ),
    "workers.chat_models": Case(lambda s: s.pop(), "NULL", lambda s: s.possible("chat")),
    "workers.accept_text": Case(lambda s: s.pop(accept_text=False), "true", lambda s: s.possible("text")),
    "workers.chat_declared_at": Case(lambda s: s.pop(), EARLIER, lambda s: s.possible("chat")),
    "workers.chat_fulfilments": _of_worker("fulfilled", lambda s: s.replied("hello")),
    "workers.chat_empty_replies": _of_worker("empty_replies", lambda s: s.replied("")),
    "workers.chat_faults": _of_worker("faults", lambda s: s.faulted()),
    "workers.chat_settled_by_cancel": _of_worker("settled_by_cancel", lambda s: s.cancelled(stream=True)),
    "workers.chat_tokens": _of_worker("tokens", lambda s: s.replied("hello")),
    "workers.last_progress_at": Case(lambda s: s.posted("x"), "NULL", lambda s: s.silent_since_an_hour()),
    "processing_gens.is_chat": Case(
        lambda s: s.in_flight(),
        "false",
        lambda s: s.horde.chat_reply(s.owner.key, s.generation, "hello").status_code,
    ),
    "processing_gens.chat_message": _of_reply("message", "'{}'"),
    "processing_gens.finish_reason": _of_reply("finish_reason", "'length'"),
    "processing_gens.usage": _of_reply("usage", "NULL"),
    "processing_gens.posted_output": _of_partial("output", "'y'"),
    "processing_gens.posted_tokens": Case(lambda s: s.posted("x" * 160), "21", lambda s: s.kudos_after_cancel()),
    "processing_gens.posted_at": _of_partial("posted_at", "'2020-01-01'"),
    "processing_gens.progress_posts": _of_partial("posts", "7"),
    "processing_gens.first_output_at": _of_partial("first_output_at", "NULL"),
    "processing_gens.settled_at": _of_cancelled("settled_at", "'2020-01-01'"),
    "processing_gens.settled_tokens": _of_cancelled("tokens", "7"),
    "processing_gens.charge": _of_cancelled("kudos", "7"),
    "processing_gens.empty_reply": Case(lambda s: s.replied(""), "false", lambda s: s.status["empty_replies"]),
}
# What is shown of a moment differs between two scenes by itself; it is compared with the moment set by hand instead.
MOMENTS = {"posted_at", "first_output_at", "settled_at"}
KEYS = {"waiting_prompts": "id", "workers": "user_id", "processing_gens": "id"}


def added_columns() -> dict[str, set[str]]:
    """The columns that the migration's text adds, by table."""
    added: dict[str, set[str]] = {}
    for table, columns in re.findall(r"ALTER TABLE (\w+)(.*?);", schema.migration(), re.DOTALL):
        added[table] = set(re.findall(r"ADD COLUMN IF NOT EXISTS (\w+)", columns))
    return added


def test_the_migration_adds_12_9_and_13_columns_and_each_has_its_case() -> None:
    added = added_columns()
    assert {table: len(columns) for table, columns in added.items()} == {
        "waiting_prompts": 12,
        "workers": 9,
        "processing_gens": 13,
    }
    assert {f"{table}.{column}" for table, columns in added.items() for column in columns} == set(CASES)


@pytest.mark.parametrize("column", CASES)
def test_a_column_is_written_by_a_route_and_read_by_a_later_one(horde: Horde, column: str) -> None:
    table, name = column.split(".")
    case = CASES[column]
    played, changed = (Scene(horde, horde.account(), horde.account(trusted=True), horde.model()) for _ in range(2))
    case.scene(played)
    case.scene(changed)
    assert written(horde, table, name, played) not in (None, default(horde, table, name))
    alter(horde, table, name, case.other, changed)
    observed, observed_changed = case.observe(played), case.observe(changed)
    assert observed != observed_changed
    if name in MOMENTS:
        assert not str(observed).startswith("2020")
        assert observed_changed is None or str(observed_changed).startswith("2020")


def test_the_reference_documents_exactly_these_columns() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \|([^|]+)\|([^|]+)\|([^|]+)\|$", REFERENCE.read_text("utf-8"), re.MULTILINE)
    assert [row[0] for row in rows] == list(CASES)
    for column, written_by, read_by, requirement in rows:
        assert written_by.strip(), column
        assert read_by.strip(), column
        assert re.search(r"[A-Z]{3}-\d\d", requirement), column


def place(table: str, scene: Scene) -> dict[str, Any]:
    ids = {"waiting_prompts": scene.request, "workers": scene.owner.id, "processing_gens": scene.generation}
    return {"id": ids[table]}


def written(horde: Horde, table: str, name: str, scene: Scene) -> Any:
    cast = ":id" if table == "workers" else "CAST(:id AS uuid)"
    rows = horde.sql(f"SELECT {name} AS value FROM {table} WHERE {KEYS[table]} = {cast}", **place(table, scene))
    return rows[0]["value"]


def alter(horde: Horde, table: str, name: str, other: str, scene: Scene) -> None:
    cast = ":id" if table == "workers" else "CAST(:id AS uuid)"
    other = other.replace(":", r"\:")
    horde.sql(f"UPDATE {table} SET {name} = {other} WHERE {KEYS[table]} = {cast}", **place(table, scene))


def default(horde: Horde, table: str, name: str) -> Any:
    """The value that a row from before the migration reads."""
    expression = horde.sql(
        "SELECT column_default FROM information_schema.columns WHERE table_name = :table AND column_name = :name",
        table=table,
        name=name,
    )[0]["column_default"]
    return horde.sql(f"SELECT {expression.replace(':', chr(92) + ':')} AS value")[0]["value"] if expression else None
