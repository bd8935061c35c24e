"""Which worker gets what, and what neither family's routes say of the other's."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

OTHER = {"text": "chat", "chat": "text"}


@pytest.mark.parametrize("family", OTHER)
@pytest.mark.parametrize(("method", "route"), [("GET", "status"), ("DELETE", "status"), ("GET", "request")])
def test_the_other_familys_id_is_as_unknown_as_any(
    horde: Horde, requester: Account, family: str, method: str, route: str
) -> None:
    request, unknown = horde.submit(requester.key, family, horde.model()), str(uuid.uuid4())
    crossed = horde.call(method, f"/generate/{OTHER[family]}/{route}/{request}", requester.key)
    missing = horde.call(method, f"/generate/{OTHER[family]}/{route}/{unknown}", requester.key)
    assert (crossed.status_code, crossed.json()["rc"]) == (404, "RequestNotFound")
    assert crossed.text.replace(request, unknown) == missing.text
    assert set(crossed.headers) == set(missing.headers)
    assert horde.call(method, f"/generate/{family}/{route}/{request}", requester.key).status_code == 200


@pytest.mark.parametrize(
    "spelling",
    ["", "x" * 10240, "%00", "{{{id}}}", "urn:uuid:{id}", "%20{id}", "{id}%20", "{bare}", "{id}/", "%FF{id}"],
)
@pytest.mark.parametrize("route", ["status", "request"])
def test_no_spelling_of_an_id_breaks_a_route(horde: Horde, requester: Account, route: str, spelling: str) -> None:
    request = horde.submit(requester.key, "chat", horde.model())
    spelt = spelling.format(id=request, bare=request.replace("-", ""))
    for family in OTHER:
        answered = horde.call("GET", f"/generate/{family}/{route}/{spelt}", requester.key)
        assert (answered.status_code, answered.json()["rc"]) == (404, "RequestNotFound")
    assert horde.call("GET", f"/generate/chat/{route}/{request.upper()}", requester.key).status_code == 200


def test_a_generations_id_is_no_requests_id_and_the_reverse(horde: Horde, requester: Account, owner: Account) -> None:
    model = horde.model()
    request = horde.submit(requester.key, "chat", model)
    job = horde.pop(owner.key, model)["id"]
    assert horde.call("GET", f"/generate/chat/status/{job}").status_code == 404
    assert horde.chat_reply(owner.key, request, "x").json()["rc"] == "InvalidJobID"
    assert horde.progress(owner.key, request, "x").json()["rc"] == "InvalidJobID"


def test_a_worker_gets_the_families_that_it_declares(horde: Horde, requester: Account, owner: Account) -> None:
    model = horde.model()
    chat, text = (horde.submit(requester.key, family, model) for family in ("chat", "text"))
    nothing = {"chat_models": None, "accept_text": False}
    assert horde.pop(owner.key, model, **nothing)["id"] is None
    text_job = horde.pop(owner.key, model, chat_models=[])
    assert "chat" not in text_job
    assert text_job["payload"]["prompt"]
    assert horde.status("text", text)["processing"] == 1
    assert horde.pop(owner.key, model, chat_models=[])["id"] is None
    chat_job = horde.pop(owner.key, model, accept_text=False)
    assert "prompt" not in chat_job["payload"]
    assert chat_job["chat"]["messages"] == [{"role": "user", "content": "p" * 394}]
    assert horde.status("chat", chat)["processing"] == 1


def test_a_chat_job_has_a_model_declared_for_chat(horde: Horde, requester: Account, owner: Account) -> None:
    served, spoken = horde.model(), horde.model()
    horde.submit(requester.key, "chat", served)
    horde.submit(requester.key, "chat", served, models=[served, spoken])
    elsewhere = horde.model()
    job = horde.pop(owner.key, served, models=[served, spoken], chat_models=[spoken, elsewhere])
    assert job["model"] == spoken
    assert horde.pop(owner.key, served, models=[served, spoken], chat_models=[spoken])["id"] is None
    assert horde.pop(owner.key, served, models=[served, spoken], chat_models=[elsewhere])["id"] is None


@pytest.mark.parametrize("declaration", [{"chat_models": "all"}, {"chat_models": [1]}, {"accept_text": "no"}])
def test_a_malformed_declaration_is_refused(horde: Horde, owner: Account, declaration: dict[str, Any]) -> None:
    body = {"name": f"w{owner.id}", "models": ["test/model-13b"]} | declaration
    assert horde.call("POST", "/generate/text/pop", owner.key, body).status_code == 400


@pytest.mark.parametrize("family", OTHER)
@pytest.mark.parametrize(
    ("asked", "refusing", "reason"),
    [
        ({}, {"max_length": 79}, "max_length"),
        ({}, {"max_context_length": 1023}, "max_context_length"),
        ({"validated_backends": True}, {"bridge_agent": "unknown:0:unknown"}, "bridge_version"),
        ({"softprompt": "a voice"}, {"softprompts": ["another"]}, "matching_softprompt"),
        ({"nsfw": True}, {"nsfw": False}, "nsfw"),
        ({}, {"blacklist": ["PPPP"]}, "blacklist"),
        ({"slow_workers": False}, {}, "performance"),
    ],
)
def test_a_rule_refuses_both_families_alike_and_says_why(
    horde: Horde, requester: Account, family: str, asked: dict[str, Any], refusing: dict[str, Any], reason: str
) -> None:
    owner, model = horde.account(trusted=True), horde.model()
    horde.submit(requester.key, family, model, **asked)
    answered = horde.pop(owner.key, model, **refusing)
    assert answered["id"] is None
    assert answered["skipped"] == {reason: 1}
    horde.sql("UPDATE workers SET speed = 1000 WHERE user_id = :id", id=owner.id)
    admitting = {"softprompts": ["a voice"], "blacklist": []}
    assert horde.pop(owner.key, model, **admitting)["id"] is not None


@pytest.mark.parametrize("family", OTHER)
def test_trust_and_lists_decide_both_families_alike(horde: Horde, requester: Account, family: str) -> None:
    owner, stranger, model = horde.account(trusted=True), horde.account(), horde.model()
    for account in (owner, stranger):
        horde.pop(account.key, model)
    ids = [horde.call("GET", "/find_user", account.key).json()["worker_ids"][0] for account in (owner, stranger)]
    horde.submit(requester.key, family, model, trusted_workers=True)
    horde.submit(requester.key, family, model, workers=[ids[0]])
    horde.submit(requester.key, family, model, workers=[ids[1]], worker_blacklist=True)
    refused = horde.pop(stranger.key, model)
    assert (refused["id"], refused["skipped"]) == (None, {"untrusted": 1, "worker_id": 2})
    assert all(horde.pop(owner.key, model)["id"] for _ in range(3))


@pytest.mark.parametrize("family", OTHER)
def test_a_worker_in_maintenance_serves_its_owner_alone(
    horde: Horde, requester: Account, owner: Account, family: str
) -> None:
    model = horde.model()
    horde.pop(owner.key, model)
    worker = horde.call("GET", "/find_user", owner.key).json()["worker_ids"][0]
    body = {"maintenance": True, "maintenance_msg": "back soon"}
    assert horde.call("PUT", f"/workers/{worker}", owner.key, body).json() == body
    horde.submit(requester.key, family, model)
    pop = {"name": horde.worker_name(owner.key), "models": [model], "chat_models": [model], "max_context_length": 8192}
    refused = horde.call("POST", "/generate/text/pop", owner.key, pop)
    assert (refused.status_code, refused.json()) == (403, {"message": "back soon", "rc": "WorkerMaintenance"})
    own = horde.submit(owner.key, family, model)
    assert horde.pop(owner.key, model)["id"]
    assert horde.status(family, own)["processing"] == 1


@pytest.mark.parametrize("family", OTHER)
def test_the_owners_and_priority_users_requests_come_first(horde: Horde, owner: Account, family: str) -> None:
    rich, friend, model = horde.account(kudos=900000), horde.account(kudos=100), horde.model()
    first = horde.submit(rich.key, family, model)
    second = horde.submit(friend.key, family, model)
    horde.pop(owner.key, model, priority_usernames=[friend.alias])
    assert (horde.status(family, first)["processing"], horde.status(family, second)["processing"]) == (0, 1)
    third = horde.submit(owner.key, family, model)
    horde.pop(owner.key, model)
    assert horde.status(family, third)["processing"] == 1


def test_amount_hands_out_generations_of_one_request(horde: Horde, requester: Account, owner: Account) -> None:
    model = horde.model()
    params = {"n": 3, "max_length": 80, "max_context_length": 1024}
    request = horde.submit(requester.key, "chat", model, params=params)
    job = horde.pop(owner.key, model, amount=2)
    assert len(set(job["ids"])) == 2
    assert job["id"] == job["ids"][0]
    assert horde.chat_reply(owner.key, job["ids"][1], "second").status_code == 200
    state = horde.status("chat", request)
    assert (state["finished"], state["processing"], state["waiting"]) == (1, 1, 1)
    assert state["generations"][0]["chat"]["message"]["content"] == "second"


@pytest.mark.parametrize("depth", [19, 20, 21, 220, 221])
def test_rows_that_a_worker_may_not_have_hide_nothing_behind_them(
    horde: Horde, requester: Account, owner: Account, depth: int
) -> None:
    model = horde.model()
    ahead = horde.submit(requester.key, "chat", model)
    horde.sql(
        """
        WITH copies AS (
            INSERT INTO waiting_prompts
            SELECT (jsonb_populate_record(w, jsonb_build_object('id', gen_random_uuid()))).*
            FROM waiting_prompts w, generate_series(2, :depth) WHERE w.id = CAST(:id AS uuid) RETURNING id)
        INSERT INTO wp_models SELECT copies.id, :model FROM copies
        """,
        id=ahead,
        depth=depth,
        model=model,
    )
    text = horde.submit(horde.account(kudos=100).key, "text", model)
    assert horde.pop(owner.key, model, chat_models=[])["payload"]["prompt"]
    assert horde.status("text", text)["processing"] == 1


def test_a_flagged_accounts_text_is_rewritten_for_the_worker_and_kept_for_the_record(horde: Horde) -> None:
    requester, owner, model = horde.account(), horde.account(trusted=True), horde.model()
    horde.sql("INSERT INTO user_roles VALUES (:id, 'flagged')", id=requester.id)
    messages = [
        {"role": "system", "content": "a forbidden phrase here"},
        {
            "role": "user",
            "content": [{"type": "text", "text": "split forbid"}, {"type": "text", "text": "den phrase end"}],
        },
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"x": "forbidden_phrase"}'}}]},
    ]
    request = horde.submit(requester.key, "chat", model, messages=messages)
    sent = horde.pop(owner.key, model)["chat"]["messages"]
    assert sent[0]["content"] == "a [removed] here"
    assert [part["text"] for part in sent[1]["content"]] == ["split [removed]", " end"]
    assert sent[2]["tool_calls"][0]["function"]["arguments"] == '{"x": "[removed]"}'
    prompt = horde.sql("SELECT prompt FROM waiting_prompts WHERE id = CAST(:id AS uuid)", id=request)[0]["prompt"]
    assert "forbidden" not in prompt
    record = horde.call("GET", f"/generate/chat/request/{request}", requester.key)
    assert record.json()["messages"] == messages
    assert record.headers["cache-control"] == "private, no-store"
