"""The money steps of the recorded exchange, to the cent, in both families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

# The rendering of this conversation has the 400 characters of the text prompt: "user: " and 394 more.
FAMILIES = ["text", "chat"]


def answer(horde: Horde, owner: Account, family: str, job: str, text: str, **fields: Any) -> Any:
    chat = {"chat": {"message": {"role": "assistant", "content": text}}} if family == "chat" else {}
    return horde.reply(owner.key, job, generation=text, **chat, **fields)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("characters", "reward"), [(200, 6.53), (0, 2.61)])
def test_a_reply_charges_the_reward_and_one(
    horde: Horde, requester: Account, owner: Account, family: str, characters: int, reward: float
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, family, model)
    assert horde.status(family, request)["kudos"] == 1
    job = horde.pop(owner.key, model)["id"]
    assert answer(horde, owner, family, job, "x" * characters).json() == {"reward": reward}
    assert horde.status(family, request)["kudos"] == round(2 + reward, 2)
    assert sorted(horde.ledger(request, job)) == sorted(
        [(requester.id, -1), (owner.id, reward), (requester.id, round(-reward - 1, 2))]
    )
    assert horde.balance(requester) == pytest.approx(100000 - 2 - reward)
    assert horde.balance(owner) == pytest.approx(100000 + reward)
    assert answer(horde, owner, family, job, "again").json()["rc"] == "DuplicateGen"
    assert len(horde.ledger(request, job)) == 3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cancel_moves_nothing_and_what_is_in_flight_may_still_be_paid(
    horde: Horde, requester: Account, owner: Account, family: str
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, family, model, params={"n": 2, "max_length": 80, "max_context_length": 1024})
    job = horde.pop(owner.key, model)["id"]
    before = horde.cancel(family, request)
    assert (before["processing"], before["waiting"], before["done"]) == (1, 1, False)
    assert horde.ledger(request, job) == [(requester.id, -1)]
    assert horde.pop(owner.key, model)["id"] is None
    assert answer(horde, owner, family, job, "late text " * 8).json() == {"reward": 2.61}
    assert horde.status(family, request)["done"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fault_costs_nothing_and_three_of_them_fault_the_request(
    horde: Horde, requester: Account, owner: Account, family: str
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, family, model)
    jobs = []
    for _ in range(3):
        jobs.append(horde.pop(owner.key, model)["id"])
        assert horde.reply(owner.key, jobs[-1], generation="", state="faulted").json() == {"reward": 0.0}
        assert answer(horde, owner, family, jobs[-1], "real").json()["rc"] == "AbortedGen"
    horde.until(lambda: bool(horde.status(family, request)["faulted"]))
    state = horde.status(family, request)
    assert (state["done"], state["restarted"], state["waiting"], state["is_possible"]) == (True, 3, 0, False)
    assert horde.ledger(request, *jobs) == [(requester.id, -1)]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"state": "censored"}, "censored"),
        ({"state": "csam"}, "csam"),
        ({"gen_metadata": [{"type": "censorship", "value": "csam"}]}, "csam"),
    ],
)
def test_a_censored_reply_is_paid_in_full_and_charged_the_fee(
    horde: Horde, requester: Account, owner: Account, family: str, fields: dict[str, Any], state: str
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, family, model)
    job = horde.pop(owner.key, model)["id"]
    assert answer(horde, owner, family, job, "c" * 200, **fields).json() == {"reward": 6.53}
    assert sorted(horde.ledger(job)) == sorted([(owner.id, 6.53), (requester.id, -1)])
    assert horde.status(family, request)["generations"][0]["state"] == state


@pytest.mark.parametrize("family", FAMILIES)
def test_600_tokens_are_held_for_and_a_cancel_leaves_no_hold(horde: Horde, family: str) -> None:
    poor, rich = horde.account(kudos=30), horde.account(kudos=1000)
    long = {"params": {"max_length": 600, "max_context_length": 1024}}
    content = {"prompt": "p"} if family == "text" else {"messages": [{"role": "user", "content": "p"}]}
    body = {"models": [horde.model()]} | content | long
    refused = horde.call("POST", f"/generate/{family}/async", poor.key, body)
    assert (refused.status_code, refused.json()["rc"]) == (403, "KudosUpfront")
    assert "371.43" in refused.json()["message"]
    lowered = horde.call("POST", f"/generate/{family}/async", poor.key, body | {"allow_downgrade": True}).json()["id"]
    row = horde.sql("SELECT max_length, things FROM waiting_prompts WHERE id = CAST(:id AS uuid)", id=lowered)[0]
    assert str(row["max_length"]) in refused.json()["message"]
    assert 256 <= row["max_length"] <= 512
    assert row["things"] == 600
    request = horde.submit(rich.key, family, horde.model(), **long)
    hold = "SELECT remaining_amount, released_at FROM kudos_reservations WHERE business_id = :id"
    held = horde.sql(hold, id=f"upfront:{request}")[0]
    assert (float(held["remaining_amount"]), held["released_at"]) == (370.43, None)
    horde.cancel(family, request)
    assert horde.sql(hold, id=f"upfront:{request}")[0]["released_at"] is not None


def test_half_of_an_untrusted_owners_reward_waits_in_escrow(horde: Horde, requester: Account) -> None:
    owner, model = horde.account(trusted=False), horde.model()
    horde.submit(requester.key, "chat", model)
    job = horde.pop(owner.key, model)["id"]
    assert horde.chat_reply(owner.key, job, "x" * 200).json() == {"reward": 6.53}
    rows = horde.sql(
        "SELECT escrow, amount FROM kudos_ledger WHERE job_id = CAST(:id AS uuid) AND user_id = :user ORDER BY escrow",
        id=job,
        user=owner.id,
    )
    assert [(row["escrow"], float(row["amount"])) for row in rows] == [(False, 3.27), (True, 3.26)]


def test_no_movement_leaves_a_balance_under_the_floor(horde: Horde) -> None:
    poor = horde.account(kudos=25)
    request = horde.submit(poor.key, "chat", horde.model())
    assert horde.balance(poor) == 25
    assert horde.ledger(request) == [(poor.id, -1), (poor.id, 1)]


@pytest.mark.parametrize(
    ("posted", "tokens"), [(None, 20), (4, 20), (76, 20), (80, 20), (81, 21), (200, 50), (320, 80), (4000, 80)]
)
def test_a_streamed_cancel_settles_on_the_posted_output(
    horde: Horde, requester: Account, owner: Account, posted: int | None, tokens: int
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, "chat", model, stream=True)
    job = horde.pop(owner.key, model)["id"]
    if posted is not None:
        assert horde.progress(owner.key, job, "x" * posted).json() == {"cancelled": False}
    horde.cancel("chat", request)
    settled = horde.ledger(job)
    paid = dict(settled)[owner.id]
    assert sorted(settled) == sorted([(owner.id, paid), (requester.id, round(-paid - 1, 2))])
    assert horde.status("chat", request)["cancelled_generations"][0]["tokens"] == tokens
    twin = horde.submit(requester.key, "text", model)
    twin_job = horde.pop(owner.key, model)["id"]
    assert horde.reply(owner.key, twin_job, generation="x" * tokens * 4).json() == {"reward": paid}
    assert horde.status("text", twin)["done"]


def test_after_a_streamed_cancel_nothing_pays_or_queues_again(horde: Horde, requester: Account, owner: Account) -> None:
    model = horde.model()
    params = {"n": 3, "max_length": 80, "max_context_length": 1024}
    request = horde.submit(requester.key, "chat", model, stream=True, params=params)
    job = horde.pop(owner.key, model)["id"]
    horde.cancel("chat", request)
    settled = horde.ledger(request, job)
    assert horde.progress(owner.key, job, "more").json() == {"cancelled": True}
    assert horde.chat_reply(owner.key, job, "late").json()["rc"] == "AbortedGen"
    assert horde.reply(owner.key, job, generation="", state="faulted").json()["rc"] == "AbortedGen"
    horde.cancel("chat", request)
    assert horde.pop(owner.key, model)["id"] is None
    assert horde.ledger(request, job) == settled
    state = horde.status("chat", request)
    assert (state["done"], state["waiting"], state["processing"], state["partials"]) == (True, 0, 0, [])


def test_an_operation_key_makes_one_request_charged_once(horde: Horde, requester: Account) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "models": [horde.model()], "operation_key": "one"}
    first = horde.call("POST", "/generate/chat/async", requester.key, body)
    again = horde.call("POST", "/generate/chat/async", requester.key, body)
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert horde.balance(requester) == 99999
    other = horde.call("POST", "/generate/chat/async", requester.key, body | {"models": [horde.model()]})
    assert (other.status_code, other.json()["rc"]) == (409, "OperationKeyConflict")
    text = {"prompt": "hi", "models": body["models"], "operation_key": "one"}
    crossed = horde.call("POST", "/generate/text/async", requester.key, text)
    assert crossed.status_code == 409
    assert first.json()["id"] not in crossed.text
    anonymous = {horde.call("POST", "/generate/chat/async", "0000000000", body).json()["id"] for _ in range(2)}
    assert len(anonymous) == 2
    assert horde.call("POST", "/generate/chat/async", requester.key, body | {"dry_run": True}).status_code == 200
