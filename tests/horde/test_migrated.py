"""Rows from before the migration, and the server as a process."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import jsonschema
import pytest

from fixtures.horde import schema

USER = "INSERT INTO users (id, username, oauth_id, api_key, kudos) VALUES (:id, :name, :name, :key, 1000)"
REQUEST = """
    INSERT INTO waiting_prompts (id, user_id, prompt, params, n, jobs, things, max_length, max_context_length)
    VALUES (CAST(:id AS uuid), 900, repeat('p', 400), '{"max_length": 80}', :n, 1, 80, 80, 1024)
"""
WORKER = "INSERT INTO workers (id, user_id, name, bridge_agent) VALUES (CAST(:id AS uuid), 901, 'old', 'TabbyAPI:1:x')"
GENERATION = """
    INSERT INTO processing_gens (id, wp_id, worker_id, model)
    VALUES (CAST(:id AS uuid), CAST(:wp_id AS uuid), CAST(:worker_id AS uuid), 'test/model-13b')
"""


def test_requests_from_before_the_migration_finish_after_it(database_url: str, serve: Callable[..., Any]) -> None:
    schema.apply(database_url, schema.baseline())
    queued, flying, job, worker = (str(uuid.uuid4()) for _ in range(4))
    schema.apply(database_url, f"INSERT INTO users (id, username, oauth_id, api_key, kudos) VALUES "
                 f"(900, 'a', 'a', '{_hash('a')}', 1000), (901, 'b', 'b', '{_hash('b')}', 1000);"
                 "INSERT INTO user_roles VALUES (901, 'trusted')")  # fmt: skip
    for statement in (
        REQUEST.replace(":id", f"'{queued}'").replace(":n", "1"),
        REQUEST.replace(":id", f"'{flying}'").replace(":n", "0"),
        WORKER.replace(":id", f"'{worker}'"),
        GENERATION.replace(":id", f"'{job}'").replace(":wp_id", f"'{flying}'").replace(":worker_id", f"'{worker}'"),
    ):
        schema.apply(database_url, statement)
    schema.apply(database_url, schema.migration())
    schema.apply(database_url, schema.migration())
    with serve(database_url) as horde:
        assert horde.reply("b", job, generation="x" * 200).json() == {"reward": 6.53}
        popped = horde.pop("b", "test/model-13b", name="old")
        assert popped["payload"]["prompt"] == "p" * 400
        assert horde.reply("b", popped["id"], generation="x" * 200).json() == {"reward": 6.53}
        assert horde.status("text", queued)["done"]
        assert horde.status("text", flying)["done"]
        assert horde.call("GET", f"/generate/chat/status/{queued}").status_code == 404


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def test_statements_are_split_outside_quotes_and_comments() -> None:
    script = "SELECT 1; -- a; comment\nDO $$ BEGIN; END $$; /* b; */ SELECT ';', \";\";\n"
    assert schema.statements(script) == ["SELECT 1", "DO $$ BEGIN; END $$", "SELECT ';', \";\""]


@pytest.mark.parametrize(("url", "settings", "code"), [
    ("postgresql://127.0.0.1:1/none", "{}", 3), ("postgresql://127.0.0.1:1/none", '{"tpyo": 1}', 2)
])  # fmt: skip
def test_what_cannot_be_used_is_one_sentence(url: str, settings: str, code: int) -> None:
    ended = start("--database-url", url, "--settings", settings)
    _, said = ended.communicate(timeout=20)
    assert ended.returncode == code
    assert "Traceback" not in said


@pytest.mark.parametrize("ending", ["stdin", "SIGTERM", "SIGINT"])
def test_the_server_ends_with_its_owner(database_url: str, ending: str) -> None:
    schema.prepare(database_url)
    process = start("--database-url", database_url, "--end-with-stdin")
    assert process.stdin
    assert process.stdout
    url = process.stdout.readline().split()[-1]
    assert httpx.get(f"{url}/api/v2/status/heartbeat").json()["db_connection"] is True
    if ending == "stdin":
        process.stdin.close()
    else:
        process.send_signal(getattr(signal, ending))
    assert process.wait(timeout=10) == 0
    process.stdin.close()
    process.stdout.close()


def start(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "fixtures.horde", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_the_contract_is_published_and_answers_keep_to_it(database_url: str, serve: Callable[..., Any]) -> None:
    schema.prepare(database_url)
    with serve(database_url) as horde:
        published = httpx.get(f"{horde.root}/openapi.json").json()
        account = horde.account(trusted=True, moderator=True)
        request = horde.submit(account.key, "chat", "test/model-13b", stream=True)
        job = horde.pop(account.key, "test/model-13b")
        horde.progress(account.key, job["id"], "so far")
        told = {
            ("/generate/chat/status/{request_id}", "get", "200"): horde.status("chat", request),
            ("/generate/text/pop", "post", "200"): job,
            ("/generate/chat/request/{request_id}", "get", "200"): horde.call(
                "GET", f"/generate/chat/request/{request}", account.key
            ).json(),
            ("/workers", "get", "200"): horde.call("GET", "/workers").json(),
            ("/find_user", "get", "200"): horde.call("GET", "/find_user", account.key).json(),
            ("/generate/text/status/{request_id}", "get", "404"): horde.status("text", request),
        }
    for (path, method, status), value in told.items():
        answers = published["paths"][f"/api/v2{path}"][method]["responses"][status]
        shape = answers["content"]["application/json"]["schema"]
        jsonschema.validate(value, shape | {"components": published["components"]})
    body = published["paths"]["/api/v2/generate/chat/async"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/ChatRequest"}
    assert "messages" in published["components"]["schemas"]["ChatRequest"]["required"]
