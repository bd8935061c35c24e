"""Flagged and deleted accounts and blocked addresses, in both families."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

FAMILIES = ["text", "chat"]
_CONTENT: dict[str, dict[str, Any]] = {
    "text": {"prompt": "hello"}, "chat": {"messages": [{"role": "user", "content": "hello"}]}}  # fmt: skip


@pytest.fixture
def moderator(horde: Horde) -> Account:
    return horde.account(moderator=True)


def flag(horde: Horde, moderator: Account, account: Account, *, on: bool = True) -> None:
    assert horde.call("PUT", f"/users/{account.id}", moderator.key, {"flagged": on}).status_code == 200


def refusal(answered: httpx.Response) -> tuple[int, str]:
    return answered.status_code, answered.json()["rc"]


@contextmanager
def elsewhere(horde: Horde, address: str) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=f"{horde.root}/api/v2", transport=transport, timeout=30) as client:
        yield client


@pytest.mark.parametrize("family", FAMILIES)
def test_a_flagged_account_stands_at_the_end_of_the_queue(
    family: str, horde: Horde, moderator: Account, owner: Account
) -> None:
    model, rich, poor = horde.model(), horde.account(), horde.account(kudos=500)
    flag(horde, moderator, rich)
    second = horde.submit(rich.key, family, model, **_CONTENT[family])
    horde.sql("UPDATE users SET kudos = 10 WHERE id = :id", id=rich.id)
    third = horde.submit(rich.key, family, model, **_CONTENT[family])
    first = horde.submit(poor.key, family, model, **_CONTENT[family])
    priorities = [
        horde.sql("SELECT extra_priority FROM waiting_prompts WHERE id = :id", id=request)[0]["extra_priority"]
        for request in (first, second, third)
    ]
    assert priorities == [500, 100000 // 1000, -100]
    horde.pop(owner.key, model)
    assert [horde.status(family, request)["processing"] for request in (first, second, third)] == [1, 0, 0]


def test_a_flagged_owners_worker_gets_nothing_until_the_flag_is_gone(
    horde: Horde, moderator: Account, requester: Account, owner: Account
) -> None:
    model = horde.model()
    requests = [horde.submit(requester.key, family, model) for family in FAMILIES]
    flag(horde, moderator, owner)
    body = {"name": "a flagged worker", "models": [model], "chat_models": [model], "max_length": 512}
    assert refusal(horde.call("POST", "/generate/text/pop", owner.key, body)) == (403, "WorkerFlaggedMaintenance")
    flag(horde, moderator, owner, on=False)
    assert horde.pop(owner.key, model)["id"]
    assert horde.pop(owner.key, model)["id"]
    assert len(requests) == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_a_deleted_account_submits_and_pops_nothing(family: str, horde: Horde, moderator: Account) -> None:
    account, model = horde.account(trusted=True), horde.model()
    horde.submit(account.key, family, model)
    assert horde.pop(account.key, model)["id"]
    assert refusal(horde.call("DELETE", f"/users/{account.id}", horde.account().key)) == (403, "NotModerator")
    assert horde.call("DELETE", f"/users/{account.id}", moderator.key).status_code == 200
    submitted = horde.call("POST", f"/generate/{family}/async", account.key, {**_CONTENT[family], "models": [model]})
    assert refusal(submitted) == (403, "DeletedUser")
    popped = horde.call("POST", "/generate/text/pop", account.key, {"name": "gone", "models": [model]})
    assert refusal(popped) == (403, "DeletedUser")
    assert horde.call("GET", f"/users/{account.id}").json()["deleted"] is True


@pytest.mark.parametrize("family", FAMILIES)
def test_from_a_blocked_address_nothing_is_submitted_and_nothing_popped(
    family: str, horde: Horde, moderator: Account, requester: Account, owner: Account
) -> None:
    address, model = f"127.9.{len(family)}.{requester.id % 250 + 2}", horde.model()
    submit: tuple[str, dict[str, Any]] = (f"/generate/{family}/async", {**_CONTENT[family], "models": [model]})
    pop: tuple[str, dict[str, Any]] = (
        "/generate/text/pop", {"name": f"worker {address}", "models": [model], "chat_models": [model]})  # fmt: skip
    with elsewhere(horde, address) as blocked:

        def call(key: str, route: tuple[str, dict[str, Any]]) -> httpx.Response:
            return blocked.post(route[0], headers={"apikey": key}, json=route[1])

        waiting = call(requester.key, submit).json()["id"]
        assert horde.call("POST", "/operations/ipaddr", moderator.key, {"ipaddr": address, "hours": 1}).is_success
        listed = {
            row["ipaddr"]: row["seconds"] for row in horde.call("GET", "/operations/ipaddr", moderator.key).json()
        }
        assert 3590 < listed[address] <= 3600
        assert refusal(call(requester.key, submit)) == (403, "TimeoutIP")
        assert refusal(call(owner.key, pop)) == (403, "TimeoutIP")
        job = horde.pop(owner.key, model)["id"]
        assert blocked.get(f"/generate/{family}/status/{waiting}").json()["processing"] == 1
        fields = (
            {"generation": "a"} if family == "text" else {"chat": {"message": {"role": "assistant", "content": "a"}}}
        )
        assert call(owner.key, ("/generate/text/submit", {"id": job, **fields})).status_code == 200
        assert horde.call("DELETE", "/operations/ipaddr", moderator.key, {"ipaddr": address}).is_success
        assert call(requester.key, submit).status_code == 202
        assert call(owner.key, pop).json()["id"]


def test_only_moderators_block_addresses_and_only_addresses(horde: Horde, moderator: Account) -> None:
    for method, body in (("GET", None), ("POST", {"ipaddr": "127.9.9.9"}), ("DELETE", {"ipaddr": "127.9.9.9"})):
        assert refusal(horde.call(method, "/operations/ipaddr", horde.account().key, body)) == (403, "NotModerator")
    assert refusal(horde.call("POST", "/operations/ipaddr", moderator.key, {"ipaddr": "nowhere"})) == (
        400,
        "BadRequest",
    )
    assert horde.call("POST", "/operations/ipaddr", moderator.key, {"ipaddr": "::ffff:127.9.9.9"}).is_success
    assert horde.call("DELETE", "/operations/ipaddr", moderator.key, {"ipaddr": "127.9.9.9"}).is_success
    gone = horde.call("DELETE", "/operations/ipaddr", moderator.key, {"ipaddr": "127.9.9.9"})
    assert refusal(gone) == (404, "AddressNotFound")


def test_a_block_ends_by_itself(horde: Horde, moderator: Account, requester: Account) -> None:
    with elsewhere(horde, "127.9.8.7") as blocked:
        horde.call("POST", "/operations/ipaddr", moderator.key, {"ipaddr": "127.9.8.7", "hours": 2})
        horde.sql("UPDATE address_blocks SET until = until - interval '3 hours' WHERE address = '127.9.8.7'")
        body = {"prompt": "hello", "models": [horde.model()]}
        assert blocked.post("/generate/text/async", headers={"apikey": requester.key}, json=body).status_code == 202
        assert all(
            row["ipaddr"] != "127.9.8.7" for row in horde.call("GET", "/operations/ipaddr", moderator.key).json()
        )
