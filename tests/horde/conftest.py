"""A running reference server on a fresh database, and the calls of requesters and workers."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from sqlalchemy import Engine, create_engine, text

from fixtures.horde import database, schema

if TYPE_CHECKING:
    from fixtures.postgres import Server

BRIDGE = "KoboldCppEmbedWorker:2:https://example.org"
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Account:
    key: str
    id: int
    alias: str


@dataclass(frozen=True)
class Horde:
    """A server and its database, with the words in which tests speak to it."""

    root: str
    client: httpx.Client
    engine: Engine

    def call(self, method: str, path: str, key: str | None = None, body: Any = None, **more: Any) -> httpx.Response:
        if body is not None:
            more["json"] = body
        return self.client.request(method, path, headers={"apikey": key} if key else {}, **more)

    def account(self, **fields: Any) -> Account:
        name = f"user{next(_numbers)}"
        body = {"username": name, "oauth_id": f"{name}_oid", "moderator": False, "trusted": False, "kudos": 100000}
        made = self.call("POST", "/dev/test-user", body=body | fields).json()
        return Account(made["api_key"], int(made["user_id"]), made["alias"])

    def model(self) -> str:
        """A model of this test's own, priced as a known one of 13 B."""
        return f"test/model-13b-t{next(_numbers)}-Q8"

    def submit(self, key: str, family: str, model: str, **fields: Any) -> str:
        text: dict[str, Any] = {"prompt": "p" * 400}
        chat: dict[str, Any] = {"messages": [{"role": "user", "content": "p" * 394}]}
        common: dict[str, Any] = {"params": {"max_length": 80, "max_context_length": 1024}, "models": [model]}
        body = common | (text if family == "text" else chat) | fields
        answered = self.call("POST", f"/generate/{family}/async", key, body)
        assert answered.status_code == 202, answered.text
        return str(answered.json()["id"])

    def pop(self, key: str, model: str, **fields: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"name": self.worker_name(key), "models": [model], "chat_models": [model]}
        body |= {"bridge_agent": BRIDGE, "max_length": 4096, "max_context_length": 8192}
        answered = self.call("POST", "/generate/text/pop", key, body | fields)
        assert answered.status_code == 200, answered.text
        return dict(answered.json())

    def worker_name(self, key: str) -> str:
        """The name of the worker with which an account pops, unless it says another."""
        return f"worker {zlib.crc32(key.encode())}"

    def reply(self, key: str, job: str, **fields: Any) -> httpx.Response:
        return self.call("POST", "/generate/text/submit", key, {"id": job} | fields)

    def chat_reply(self, key: str, job: str, content: str, **fields: Any) -> httpx.Response:
        chat = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"} | fields
        return self.reply(key, job, chat=chat)

    def progress(self, key: str, job: str, output: str) -> httpx.Response:
        return self.call("POST", "/generate/text/progress", key, {"id": job, "output": output})

    def status(self, family: str, request: str) -> dict[str, Any]:
        return dict(self.call("GET", f"/generate/{family}/status/{request}").json())

    def cancel(self, family: str, request: str) -> dict[str, Any]:
        return dict(self.call("DELETE", f"/generate/{family}/status/{request}").json())

    def sql(self, statement: str, **values: Any) -> list[dict[str, Any]]:
        with self.engine.begin() as connection:
            result = connection.execute(text(statement), values)
            return [dict(row) for row in result.mappings()] if result.returns_rows else []

    def ledger(self, *jobs: str) -> list[tuple[int, float]]:
        rows = self.sql(
            "SELECT user_id, amount FROM kudos_ledger WHERE job_id = ANY (CAST(:jobs AS uuid[])) ORDER BY id",
            jobs=list(jobs),
        )
        return [(row["user_id"], float(row["amount"])) for row in rows]

    def balance(self, account: Account) -> float:
        return float(self.call("GET", "/find_user", account.key).json()["kudos"])

    def until(self, seen: Callable[[], bool]) -> None:
        """Wait for what the cleaner does, 10 s at most."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if seen():
                return
            time.sleep(0.01)
        pytest.fail("the awaited state did not come within 10 s")


@contextmanager
def running(url: str, **settings: Any) -> Iterator[Horde]:
    """The server as its own process on a prepared database."""
    command = [sys.executable, "-P", "-m", "fixtures.horde", "--database-url", url, "--settings", json.dumps(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        root = process.stdout.readline().split()[-1]
        engine = create_engine(database.sqlalchemy_url(url))
        try:
            with httpx.Client(base_url=f"{root}/api/v2", timeout=30) as client:
                yield Horde(root, client, engine)
        finally:
            engine.dispose()
            process.terminate()
        assert process.wait(timeout=10) == 0


@pytest.fixture(scope="session")
def horde(postgres: Server) -> Iterator[Horde]:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    with running(url, cleaner_interval=0.05) as server:
        yield server


@pytest.fixture
def serve() -> Callable[..., Any]:
    """What starts another server, for a `with`."""
    return running


@pytest.fixture
def requester(horde: Horde) -> Account:
    return horde.account()


@pytest.fixture
def owner(horde: Horde) -> Account:
    return horde.account(trusted=True)
