"""What happens at once happens once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.horde.conftest import Account, Horde


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_concurrent_pops_hand_each_generation_out_once(horde: Horde, requester: Account) -> None:
    owner, model = horde.account(trusted=True), horde.model()
    params = {"n": 2, "max_length": 80, "max_context_length": 1024}
    requests = [horde.submit(requester.key, family, model, params=params) for family in ["chat", "text"] * 6]

    def work(number: int) -> list[str]:
        jobs: list[str] = []
        while job := horde.pop(owner.key, model, name=f"{owner.id}-{number}")["id"]:
            jobs.append(job)
        return jobs

    handed = [job for jobs in at_once(*(partial(work, number) for number in range(8))) for job in jobs]
    assert len(handed) == len(set(handed)) == 24
    families = ["chat", "text"] * 6
    states = [horde.status(family, request) for family, request in zip(families, requests, strict=True)]
    assert all((state["processing"], state["waiting"]) == (2, 0) for state in states)


def test_sixteen_submits_with_one_key_make_one_request(horde: Horde, requester: Account) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "models": [horde.model()], "operation_key": "once"}
    answers = at_once(*[lambda: horde.call("POST", "/generate/chat/async", requester.key, body)] * 16)
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert horde.balance(requester) == 99999


@pytest.mark.parametrize("attempt", range(5))
def test_a_cancel_and_a_reply_settle_once_between_them(
    horde: Horde, requester: Account, owner: Account, attempt: int
) -> None:
    model = f"{horde.model()}-{attempt}"
    request = horde.submit(requester.key, "chat", model, stream=True)
    job = horde.pop(owner.key, model)["id"]
    at_once(
        lambda: horde.cancel("chat", request),
        lambda: horde.chat_reply(owner.key, job, "x" * 200),
        lambda: horde.progress(owner.key, job, "x" * 120),
        lambda: horde.chat_reply(owner.key, job, "x" * 200),
        lambda: horde.cancel("chat", request),
    )
    moved = horde.ledger(job)
    assert sorted(user for user, _ in moved) == sorted([requester.id, owner.id])
    state = horde.status("chat", request)
    assert (state["done"], state["processing"], state["finished"] + state["settled_by_cancel"]) == (True, 0, 1)


def test_accounts_that_serve_each_other_do_not_block_each_other(horde: Horde) -> None:
    first, second = horde.account(trusted=True), horde.account(trusted=True)
    model = horde.model()

    def live(requester: Account, owner: Account, number: int) -> str:
        mine = f"{model}-{owner.id}-{number}"
        request = horde.submit(requester.key, "chat", mine)
        job = horde.pop(owner.key, mine, name=f"w{owner.id}-{number}")["id"]
        assert horde.chat_reply(owner.key, job, f"for {request}").status_code == 200
        return str(horde.status("chat", request)["generations"][0]["text"] == f"for {request}")

    pairs = [(first, second), (second, first)] * 16
    calls = [partial(live, *pair, number) for number, pair in enumerate(pairs)]
    assert at_once(*calls) == ["True"] * 32
    assert horde.balance(first) + horde.balance(second) == pytest.approx(200000 - 2 * 32)
