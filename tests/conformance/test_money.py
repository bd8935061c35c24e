"""Money: exact on a ledger, and over HTTP as exact as the profile's rounding allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy

from conformance.actors import Account, Family, Job, Request, Requester, Worker
from conformance.client import Answer, Client, Exchange
from conformance.database import Database
from conformance.errors import CouldNotRun
from conformance.money import Money
from conformance.profile import Profile, load
from fixtures.nulls.server import json_answer, serve

REQUEST, FIRST, SECOND, STRANGE = (f"{n}1111111-1111-4111-8111-111111111111" for n in range(4))
ASKER = Account("requester 0", "requester's key", "requester#2", "2")
OWNER = Account("owner 0", "owner's key", "owner#1", "1")


def profile(rounding: float, ledger: str) -> Profile:
    base = load("aihorde")
    return base.model_copy(
        update={
            "timings": base.timings.model_copy(update={"settlement": 0.0, "balance": 0.0}),
            "money": base.money.model_copy(update={"rounding": rounding}),
            "database": base.database.model_copy(update={"ledger": ledger}),
        }
    )


class Bank:
    """A target that shows what this says: a request's kudos and an account's balance."""

    def __init__(self) -> None:
        self.shown: Any = {"kudos": 0}


@pytest.fixture
def bank() -> Bank:
    return Bank()


@pytest.fixture
def client(bank: Bank) -> Iterator[Client]:
    with (
        serve(lambda _: json_answer(200, bank.shown)) as url,
        Client(url, profile(0.5, load("reference").database.ledger)) as client,
    ):
        yield client


@pytest.fixture
def ledger(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    with database.session() as session:
        session.execute(
            sqlalchemy.text("CREATE TABLE kudos_ledger (id serial, user_id int, amount numeric(20, 2), job_id uuid)")
        )
    yield database
    database.close()


def post(ledger: Database, user: Account, amount: float, job: str) -> None:
    ledger.run(
        "INSERT INTO kudos_ledger (user_id, amount, job_id) VALUES (:user, :amount, CAST(:job AS uuid))",
        user=int(user.id),
        amount=amount,
        job=job,
    )


def story(client: Client) -> tuple[Request, Job, Job]:
    """A request of which two generations were handed out."""
    answer = Answer(Exchange("", "", "", "", {}, None, 200, {}, None, 0.0, 0.0), client.profile, "job", {}, 200)
    worker = Worker(client, OWNER, "a worker", {})
    first, second = (Job(answer, worker, id, (id,)) for id in (FIRST, SECOND))
    request = Request(REQUEST, Family.TEXT, Requester(client, ASKER), (), {}, [first, second])
    return request, first, second


# On the ledger


def test_what_a_request_cost_is_what_its_requester_lost_for_it(client: Client, ledger: Database) -> None:
    request, _, _ = story(client)
    for amount, job in [(-1, REQUEST), (-7.53, FIRST), (-3.61, SECOND), (-99, STRANGE)]:
        post(ledger, ASKER, amount, job)
    post(ledger, OWNER, 6.53, FIRST)
    assert Money(client, ledger).charged(request) == pytest.approx(12.14)


def test_what_was_paid_is_what_the_owner_gained_for_these_jobs(client: Client, ledger: Database) -> None:
    _, first, second = story(client)
    for user, amount, job in [(OWNER, 3.26, FIRST), (OWNER, 3.27, FIRST), (ASKER, -7.53, FIRST), (OWNER, 2.61, SECOND)]:
        post(ledger, user, amount, job)
    money = Money(client, ledger)
    assert money.exact
    assert money.paid(first) == pytest.approx(6.53)
    assert money.paid(first, second) == pytest.approx(9.14)


def test_each_movement_is_seen_in_its_order(client: Client, ledger: Database) -> None:
    request, _, _ = story(client)
    for amount, job in [(-1, REQUEST), (-7.53, FIRST), (-7.53, FIRST)]:
        post(ledger, ASKER, amount, job)
    assert Money(client, ledger).movements(request) == pytest.approx([-1, -7.53, -7.53])


def test_nothing_posted_is_nothing_charged(client: Client, ledger: Database) -> None:
    request, first, _ = story(client)
    assert Money(client, ledger).charged(request) == Money(client, ledger).paid(first) == 0.0


def test_on_the_ledger_a_hundredth_is_a_difference(client: Client, ledger: Database) -> None:
    money = Money(client, ledger)
    assert money.same(6.53, 6.53)
    assert money.same(0.1 + 0.2, 0.3), "binary noise is none"
    assert not money.same(6.53, 6.54)
    assert not money.same(6.53, 6.54, movements=5), "exact stays exact, however many movements"


# Over HTTP


def test_over_http_the_rounding_of_each_movement_of_both_amounts_is_allowed(client: Client) -> None:
    money = Money(client, None)
    assert not money.exact
    assert money.same(7.0, 8.0), "each may be half a kudo off"
    assert not money.same(7.0, 8.01)
    assert money.same(7.0, 9.0, movements=2)
    assert not money.same(7.0, 9.01, movements=2)
    assert money.same(9.0, 7.0, movements=2), "whichever is the greater"


def test_a_target_without_rounding_and_ledger_is_exact_to_the_hundredth() -> None:
    with Client("http://127.0.0.1:1", profile(0.0, "")) as client:
        assert Money(client, None).same(6.53, 6.53)
        assert not Money(client, None).same(6.53, 6.54)


def test_a_database_without_a_ledger_is_no_ledger(ledger: Database) -> None:
    with Client("http://127.0.0.1:1", profile(0.5, "")) as client:
        assert not Money(client, ledger).exact


def test_the_status_says_what_a_request_cost(client: Client, bank: Bank) -> None:
    bank.shown = {"kudos": 9.0}
    assert Money(client, None).charged(story(client)[0]) == 9.0


def test_the_balance_says_what_an_owner_was_paid_since_it_was_opened(client: Client, bank: Bank) -> None:
    _, first, _ = story(client)
    money = Money(client, None)
    bank.shown = {"kudos": 100}
    money.open(OWNER)
    bank.shown = {"kudos": 107}
    money.open(OWNER)
    assert money.paid(first) == 7.0, "opening twice does not forget the first balance"


def test_a_balance_that_was_not_opened_says_nothing(client: Client) -> None:
    with pytest.raises(CouldNotRun, match="not read before"):
        Money(client, None).paid(story(client)[1])


def test_single_movements_are_not_seen_over_http(client: Client) -> None:
    with pytest.raises(CouldNotRun, match="ledger"):
        Money(client, None).movements(story(client)[0])
