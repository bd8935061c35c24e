"""Figures are read where the profile has them; a target that shows none tells no story."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conformance import figures
from conformance.actors import Account, Worker
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import load
from fixtures.nulls.server import json_answer, serve

OWNER = Account("owner 0", "owner's key", "owner#1", "1")

Say = Callable[[Any], Client]


@pytest.fixture(scope="module")
def say() -> Iterator[Say]:
    """Have a server give this answer to everything; gives a client of it."""
    said: Any = None

    def saying(body: Any) -> Client:
        nonlocal said
        said = body
        return client

    with serve(lambda _: json_answer(200, said)) as url, Client(url, load("aihorde")) as client:
        yield saying


def worker(client: Client) -> Worker:
    return Worker(client, OWNER, "a worker", {})


def test_an_account_s_records_are_numbers_by_their_place(say: Say) -> None:
    records = {"usage": {"tokens": 160}, "request": {"text": 3, "image": 0}, "since": "ever", "trusted": True}
    assert figures.of_account(say({"records": records}), OWNER) == {
        "usage.tokens": 160.0,
        "request.text": 3.0,
        "request.image": 0.0,
    }


def test_a_worker_is_found_by_its_name(say: Say) -> None:
    others = [{"name": "another", "requests_fulfilled": 9, "kudos_rewards": 9.0}]
    mine = {"name": "a worker", "requests_fulfilled": 2, "kudos_rewards": 13.06}
    assert figures.of_worker(worker(say([*others, mine]))) == {"fulfilled": 2.0, "kudos": 13.06}


def test_a_model_counts_nothing_until_the_statistics_name_it(say: Say) -> None:
    client = say({"day": {"a.model::owner#1": 4}, "month": {"another": 7}})
    assert figures.of_model(client, "a.model::owner#1") == 4.0
    assert figures.of_model(client, "another") == 0.0


@pytest.mark.parametrize("body", [{}, [], None, "a string", {"records": 7, "day": 7}, [{"name": "another"}], [[]]])
def test_a_target_that_shows_no_figures_tells_no_story(say: Say, body: Any) -> None:
    client = say(body)
    for look in (
        lambda: figures.of_account(client, OWNER),
        lambda: figures.of_worker(worker(client)),
        lambda: figures.of_model(client, "a model"),
    ):
        with pytest.raises(CouldNotRun):
            look()
