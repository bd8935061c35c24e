"""Shared keys: what they may spend, that both they and their account pay, and that they open nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import httpx

    from tests.horde.conftest import Account, Horde

FAMILIES = ["text", "chat"]
_CONTENT: dict[str, dict[str, Any]] = {
    "text": {"prompt": "p" * 400}, "chat": {"messages": [{"role": "user", "content": "p" * 394}]}}  # fmt: skip


def shared(horde: Horde, account: Account, **fields: Any) -> str:
    made = horde.call("PUT", "/sharedkeys", account.key, fields)
    assert made.status_code == 200, made.text
    return str(made.json()["id"])


def details(horde: Horde, key: str) -> dict[str, Any]:
    return dict(horde.call("GET", f"/sharedkeys/{key}").json())


def refusal(answered: httpx.Response) -> tuple[int, str]:
    return answered.status_code, answered.json()["rc"]


def submit(horde: Horde, key: str, family: str, model: str, **fields: Any) -> httpx.Response:
    params = {"max_length": 80, "max_context_length": 1024}
    body = {**_CONTENT[family], "models": [model], "params": params} | fields
    return horde.call("POST", f"/generate/{family}/async", key, body)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_the_key_and_its_account_pay(family: str, horde: Horde, requester: Account, owner: Account) -> None:
    key, model = shared(horde, requester, kudos=100, name="a friend's"), horde.model()
    request = submit(horde, key, family, model).json()["id"]
    assert (details(horde, key)["kudos"], horde.balance(requester)) == (99, 99999)
    job = horde.pop(owner.key, model)["id"]
    chat = {"chat": {"message": {"role": "assistant", "content": "x" * 200}}} if family == "chat" else {}
    reward = horde.reply(owner.key, job, generation="x" * 200, **chat).json()["reward"]
    assert details(horde, key) == {
        "id": key, "username": requester.alias, "name": "a friend's", "kudos": pytest.approx(98 - reward),
        "utilized": pytest.approx(2 + reward), "expiry": None, "max_text_tokens": -1}  # fmt: skip
    assert horde.balance(requester) == pytest.approx(99998 - reward)
    assert horde.status(family, request)["kudos"] == pytest.approx(2 + reward)


def test_a_key_never_falls_below_nothing_and_without_a_limit_never_falls(
    horde: Horde, requester: Account, owner: Account
) -> None:
    for kudos, left in ((2, 0), (-1, -1)):
        key, model = shared(horde, requester, kudos=kudos), horde.model()
        submit(horde, key, "chat", model, stream=True)
        horde.pop(owner.key, model)
        row = horde.sql("SELECT id FROM waiting_prompts WHERE sharedkey_id = :key", key=key)[0]
        horde.cancel("chat", str(row["id"]))
        assert details(horde, key)["kudos"] == left
        assert details(horde, key)["utilized"] > 2


@pytest.mark.parametrize("family", FAMILIES)
def test_an_empty_or_expired_key_submits_nothing(family: str, horde: Horde, requester: Account) -> None:
    model, empty, old = horde.model(), shared(horde, requester, kudos=0), shared(horde, requester, expiry=1)
    assert refusal(submit(horde, empty, family, model)) == (403, "SharedKeyEmpty")
    assert submit(horde, old, family, model).status_code == 202
    horde.sql("UPDATE user_sharedkeys SET expiry = expiry - interval '2 days' WHERE id = :id", id=old)
    assert refusal(submit(horde, old, family, model)) == (403, "SharedKeyExpired")
    assert refusal(submit(horde, "12345678-1234-4123-8123-123456789abc", family, model)) == (401, "InvalidAPIKey")
    downgraded = submit(horde, empty, family, model, allow_downgrade=True).json()["id"]
    row = horde.sql("SELECT user_id, sharedkey_id, extra_priority FROM waiting_prompts WHERE id = :id", id=downgraded)
    assert row == [{"user_id": 0, "sharedkey_id": None, "extra_priority": -50}]
    horde.cancel(family, downgraded)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_key_bounds_what_one_request_may_ask(family: str, horde: Horde, requester: Account) -> None:
    model, short = horde.model(), shared(horde, requester, max_text_tokens=79)
    assert refusal(submit(horde, short, family, model)) == (400, "BadRequest")
    assert submit(horde, short, family, model, params={"max_length": 79}).status_code == 202
    poor, params = shared(horde, requester, kudos=10), {"max_length": 600, "max_context_length": 2048}
    assert refusal(submit(horde, poor, family, model, params=params)) == (403, "SharedKeyInsufficientKudos")
    request = submit(horde, poor, family, model, params=params, allow_downgrade=True).json()["id"]
    row = horde.sql("SELECT max_length <= 512 AS lower, extra_priority FROM waiting_prompts WHERE id = :id", id=request)
    assert row == [{"lower": True, "extra_priority": -50}]
    rich = shared(horde, requester, kudos=10000)
    assert submit(horde, rich, family, model, params=params).status_code == 202


@pytest.mark.parametrize("family", FAMILIES)
def test_who_shares_an_account_sees_nothing_of_its_requests(family: str, horde: Horde, requester: Account) -> None:
    mine, other, model = shared(horde, requester), shared(horde, requester), horde.model()
    first = submit(horde, mine, family, model, operation_key="k")
    assert submit(horde, mine, family, model, operation_key="k").json()["id"] == first.json()["id"]
    for key in (other, requester.key):
        assert refusal(submit(horde, key, family, model, operation_key="k")) == (409, "OperationKeyConflict")
        record = horde.call("GET", f"/generate/{family}/request/{first.json()['id']}", key)
        assert refusal(record) == (403, "NotRequestOwner")
    assert horde.call("GET", f"/generate/{family}/request/{first.json()['id']}", mine).status_code == 200


def test_a_shared_key_opens_nothing_else(horde: Horde, owner: Account) -> None:
    key, model = shared(horde, owner), horde.model()
    body = {"name": "a borrowed worker", "models": [model]}
    assert refusal(horde.call("POST", "/generate/text/pop", key, body)) == (401, "InvalidAPIKey")
    shown = horde.call("GET", "/find_user", key).json()
    assert shown["username"] == owner.alias
    assert shown["sharedkey_ids"] == []
    assert horde.call("GET", "/find_user", owner.key).json()["sharedkey_ids"] == [key]
    assert horde.call("GET", f"/users/{owner.id}").json()["sharedkey_ids"] == []
    assert refusal(horde.call("PATCH", f"/sharedkeys/{key}", key, {"kudos": -1})) == (401, "InvalidAPIKey")


def test_a_deleted_or_flagged_accounts_key_acts_as_the_account(horde: Horde, requester: Account) -> None:
    key, model, moderator = shared(horde, requester), horde.model(), horde.account(moderator=True)
    horde.call("PUT", f"/users/{requester.id}", moderator.key, {"flagged": True})
    assert refusal(submit(horde, key, "chat", model, messages=[{"role": "user", "content": "?"}])) == (
        400, "CorruptPrompt")  # fmt: skip
    horde.call("DELETE", f"/users/{requester.id}", moderator.key)
    assert refusal(submit(horde, key, "chat", model)) == (403, "DeletedUser")


def test_its_owner_alone_changes_and_deletes_a_key(horde: Horde, requester: Account) -> None:
    key = shared(horde, requester, kudos=7, expiry=3, name="first")
    stranger = horde.account()
    assert refusal(horde.call("PATCH", f"/sharedkeys/{key}", stranger.key, {"kudos": 9})) == (403, "NotOwner")
    assert refusal(horde.call("DELETE", f"/sharedkeys/{key}", stranger.key)) == (403, "NotOwner")
    assert refusal(horde.call("PATCH", f"/sharedkeys/{key}", requester.key, {})) == (400, "BadRequest")
    before = details(horde, key)
    changed = horde.call("PATCH", f"/sharedkeys/{key}", requester.key, {"kudos": 9, "max_text_tokens": 99}).json()
    assert changed == before | {"kudos": 9, "max_text_tokens": 99}
    assert horde.call("PATCH", f"/sharedkeys/{key}", requester.key, {"expiry": -1}).json()["expiry"] is None
    request = submit(horde, key, "chat", horde.model()).json()["id"]
    assert horde.call("DELETE", f"/sharedkeys/{key}", requester.key).json() == {"message": "OK"}
    assert refusal(horde.call("GET", f"/sharedkeys/{key}")) == (404, "SharedKeyNotFound")
    assert horde.status("chat", request)["waiting"] == 1


def test_an_account_has_so_many_keys_and_the_anonymous_none(horde: Horde, requester: Account) -> None:
    keys = [shared(horde, requester) for _ in range(10)]
    assert refusal(horde.call("PUT", "/sharedkeys", requester.key, {})) == (403, "TooManySharedKeys")
    horde.call("DELETE", f"/sharedkeys/{keys[0]}", requester.key)
    assert shared(horde, requester) not in keys
    assert refusal(horde.call("PUT", "/sharedkeys", "0000000000", {})) == (403, "AnonForbidden")
    for wrong in ({"kudos": -2}, {"expiry": "soon"}, {"name": "x"}, {"max_text_tokens": 1.5}):
        assert horde.call("PUT", "/sharedkeys", requester.key, wrong).status_code == 400
