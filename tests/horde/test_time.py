"""Lifetimes: what the cleaner takes back, what expires, and that late answers change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

LATE = "UPDATE processing_gens SET start_time = start_time - interval '10 minutes' WHERE id = CAST(:id AS uuid)"
EXPIRED = (
    "UPDATE waiting_prompts SET expiry = timezone('utc', now()) - interval '1 minute' WHERE id = CAST(:id AS uuid)"
)
LEFT = """
    SELECT (SELECT count(*) FROM waiting_prompts WHERE id = CAST(:id AS uuid))
           + (SELECT count(*) FROM processing_gens WHERE wp_id = CAST(:id AS uuid)) AS rows
"""
FAMILIES = ["text", "chat"]


def answer(horde: Horde, owner: Account, family: str, job: str) -> str:
    answered = (
        horde.chat_reply(owner.key, job, "late") if family == "chat" else horde.reply(owner.key, job, generation="")
    )
    return str(answered.json().get("rc"))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_generation_past_its_lifetime_goes_back_to_the_queue(
    horde: Horde, requester: Account, owner: Account, family: str
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, family, model)
    first = horde.pop(owner.key, model)
    horde.sql(LATE, id=first["id"])
    assert answer(horde, owner, family, first["id"]) == "AbortedGen"
    horde.until(lambda: bool(horde.status(family, request)["waiting"]))
    assert horde.progress(owner.key, first["id"], "late").json()["rc"] == "AbortedGen"
    second = horde.pop(owner.key, model)
    assert second["id"] != first["id"]
    assert (second["payload"], second.get("chat")) == (first["payload"], first.get("chat"))
    assert horde.status(family, request)["restarted"] == 1
    assert horde.ledger(request, first["id"]) == [(requester.id, -1)]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cancelled_generation_past_its_lifetime_does_not_go_back(
    horde: Horde, requester: Account, owner: Account, family: str
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, family, model)
    job = horde.pop(owner.key, model)["id"]
    horde.cancel(family, request)
    horde.sql(LATE, id=job)
    horde.until(lambda: bool(horde.status(family, request)["done"]))
    assert horde.status(family, request)["waiting"] == 0
    assert horde.pop(owner.key, model)["id"] is None


@pytest.mark.parametrize("family", FAMILIES)
def test_what_has_expired_is_found_nowhere(horde: Horde, requester: Account, owner: Account, family: str) -> None:
    model = horde.model()
    params = {"n": 2, "max_length": 600, "max_context_length": 1024}
    request = horde.submit(requester.key, family, model, params=params)
    job = horde.pop(owner.key, model)["id"]
    horde.sql(EXPIRED, id=request)
    assert horde.call("GET", f"/generate/{family}/status/{request}").status_code == 404
    assert horde.call("GET", f"/generate/{family}/request/{request}", requester.key).status_code == 404
    assert answer(horde, owner, family, job) == "InvalidJobID"
    assert horde.pop(owner.key, model)["id"] is None
    horde.until(lambda: horde.sql(LEFT, id=request)[0]["rows"] == 0)
    hold = horde.sql("SELECT released_at FROM kudos_reservations WHERE business_id = :id", id=f"upfront:{request}")
    assert hold[0]["released_at"] is not None
    assert horde.ledger(request, job) == [(requester.id, -1)]
