"""The price of a dry run and the limit of a body, in both families."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

FAMILIES = ["text", "chat"]
LIMIT = 8 * 1024 * 1024


def content(family: str, words: str) -> dict[str, Any]:
    return {"prompt": words} if family == "text" else {"messages": [{"role": "user", "content": words}]}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("models", "params", "price"),
    [
        (["test/model-13b"], {"n": 1}, 25),
        (["test/model-13b"], {"n": 3}, 73),
        ([], {"n": 1}, 25),
        (["test/model-13b-t1-Q8", "an unknown model"], {"n": 1}, 25),
        (["an unknown model"], {"n": 1}, 4),
        (["conformance/behemoth-123b"], {"n": 1}, 341),
    ],
)
def test_a_dry_run_has_its_price_and_queues_nothing(
    family: str, models: list[str], params: dict[str, int], price: int, horde: Horde, requester: Account
) -> None:
    body = {**content(family, "hello"), "models": models, "dry_run": True}
    body |= {"params": {"max_length": 80, "max_context_length": 1024, **params}, "operation_key": "a dry run"}
    answered = horde.call("POST", f"/generate/{family}/async", requester.key, body)
    assert (answered.status_code, answered.json()) == (200, {"kudos": float(price)})
    assert horde.sql("SELECT 1 FROM waiting_prompts WHERE user_id = :id", id=requester.id) == []
    assert horde.balance(requester) == 100000


@pytest.mark.parametrize("family", FAMILIES)
def test_a_dry_run_is_neither_free_of_a_key_nor_of_the_rules(family: str, horde: Horde, requester: Account) -> None:
    body = {**content(family, "hello"), "dry_run": True, "params": {"max_length": 512, "max_context_length": 80}}
    refused = horde.call("POST", f"/generate/{family}/async", requester.key, body)
    assert (refused.status_code, refused.json()["rc"]) == (400, "TokenOverflow")
    assert horde.call("POST", f"/generate/{family}/async", "no key", body).status_code == 401


def padded(family: str, model: str, size: int) -> bytes:
    """A submit's body of exactly that many bytes."""
    bare = {"models": [model], "params": {"max_length": 80}}
    words = "x" * (size - len(json.dumps({**content(family, ""), **bare}).encode()))
    return json.dumps({**content(family, words), **bare}).encode()


@pytest.mark.parametrize(("family", "chunked"), [("text", False), ("chat", True)])
def test_a_body_of_exactly_the_limit_is_taken_and_one_byte_more_is_not(
    family: str, chunked: bool, horde: Horde, requester: Account, owner: Account
) -> None:
    def submit(size: int) -> Any:
        raw = padded(family, model, size)
        assert len(raw) == size
        return horde.client.post(
            f"/generate/{family}/async",
            content=pieces(raw) if chunked else raw,
            headers={"apikey": requester.key, "Content-Type": "application/json"},
        )

    model = horde.model()
    refused = submit(LIMIT + 1)
    assert (refused.status_code, refused.json()["rc"]) == (413, "PayloadTooLarge")
    assert horde.pop(owner.key, model)["id"] is None
    assert submit(LIMIT).status_code == 202
    job = horde.pop(owner.key, model)
    words = job["payload"]["prompt"] if family == "text" else job["chat"]["messages"][0]["content"]
    assert len(words) > LIMIT - 200


def pieces(raw: bytes) -> Iterator[bytes]:
    for start in range(0, len(raw), 65536):
        yield raw[start : start + 65536]
