"""Each lane has accounts of its own, and there are no more lanes than the listed keys suffice for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance import accounts, catalogue, run
from conformance.client import Client
from conformance.profile import load
from fixtures.nulls.server import Request, json_answer, serve

REFERENCE = load("reference")
LISTED = REFERENCE.model_copy(update={"accounts": REFERENCE.accounts.model_copy(update={"method": "listed"})})


@pytest.fixture
def url() -> Iterator[str]:
    made: list[Request] = []

    def answer(request: Request) -> Any:
        made.append(request)
        known = {"api_key": f"key {len(made)}", "alias": f"a#{len(made)}", "user_id": len(made)}
        return json_answer(200, {**known, "username": f"a#{len(made)}", "id": len(made)})

    with serve(answer) as url:
        yield url


@pytest.mark.parametrize(("requesters", "owners", "lanes"), [(3, 2, 1), (5, 4, 1), (6, 4, 2), (12, 5, 2), (99, 99, 4)])
def test_listed_keys_make_as_many_lanes_as_they_suffice_for(
    requesters: int, owners: int, lanes: int, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORDE_REQUESTER_KEYS", ",".join(f"requester {i}" for i in range(requesters)))
    monkeypatch.setenv("HORDE_OWNER_KEYS", ",".join(f"owner {i}" for i in range(owners)))
    with Client(url, LISTED) as client:
        casts = accounts.provide(client, lanes=4)
    assert [(len(cast.requesters), len(cast.owners)) for cast in casts] == [(3, 2)] * lanes
    keys = [account.key for cast in casts for account in (*cast.requesters, *cast.owners)]
    assert len(set(keys)) == len(keys), "an account serves in one lane"


def test_accounts_that_are_made_are_of_one_lane_each(url: str) -> None:
    with Client(url, REFERENCE) as client:
        casts = accounts.provide(client, lanes=3)
    keys = [account.key for cast in casts for account in (*cast.requesters, *cast.owners, *cast.untrusted)]
    assert len(casts) == 3
    assert len(set(keys)) == len(keys)


def test_few_rows_make_one_lane_and_many_as_many_as_the_profile_allows() -> None:
    assert run.lanes({"FAM-01"}, REFERENCE) == 1
    assert run.lanes(set(catalogue.requirements()), REFERENCE) == REFERENCE.accounts.lanes
    without_chat = REFERENCE.with_capabilities(without=frozenset({"chat"}))
    assert run.lanes({f"FAM-{i:02}" for i in range(1, 12)}, without_chat) == 1, "what is not declared takes no lane"
