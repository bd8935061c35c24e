"""Actors tell a story only on answers that bear it: on every other the check could not run, and never crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any

import pytest

from conformance.actors import Account, Family, Job, Request, Requester, Worker
from conformance.client import Answer, Client, Exchange
from conformance.errors import CouldNotRun
from conformance.profile import load
from conformance.statuses import Status
from fixtures.nulls.server import json_answer, serve

ID = "11111111-1111-4111-8111-111111111111"
MODEL = "a model"
PROFILE = load("aihorde")
OWNER = Account("owner 0", "owner's key", "owner#1", "1")
ASKER = Account("requester 0", "requester's key", "requester#2", "2")

# A target whose answers these are agrees with everybody and says nothing of use.
SHAPES: list[Any] = [{}, [], "a string", 7, None, True, [[]], {"id": None}]
# What may stand where a number, a list or an id belongs.
ODD: list[Any] = [{}, [], "many", True, {"a": 1}, [None], "NaN"]


Say = Callable[..., Client]


@pytest.fixture(scope="module")
def say() -> Iterator[Say]:
    """Have the server give this answer to everything; gives a client of it. One server for all, as starting costs."""
    said = json_answer(200, {})

    def saying(body: Any, code: int = 200) -> Client:
        nonlocal said
        said = json_answer(code, body)
        return client

    with serve(lambda _: said) as url, Client(url, PROFILE) as client:
        yield saying


def requester(client: Client) -> Requester:
    return Requester(client, ASKER)


def worker(client: Client) -> Worker:
    return Worker(client, OWNER, "a worker", {"models": [MODEL]})


def request(client: Client, family: Family = Family.CHAT) -> Request:
    return Request(ID, family, requester(client), (MODEL,), {})


def job(client: Client) -> Job:
    """A chat job that was handed out at another time."""
    body = {"id": ID, "ids": [ID], "model": MODEL, "chat": {"messages": []}}
    exchange = Exchange("a worker", "pop", "POST", client.url, {}, None, 200, {}, None, started=0.0, ended=0.0)
    return Job(Answer(exchange, client.profile, "job", body, 200), worker(client), ID, (ID,))


TELLING: dict[str, Callable[[Client], object]] = {
    "submit a chat": lambda client: requester(client).submit(Family.CHAT, [MODEL], messages=[]),
    "submit a text": lambda client: requester(client).submit(Family.TEXT, [MODEL], prompt="x"),
    "read the count of finished": lambda client: request(client).status().finished,
    "read the count of those processing": lambda client: request(client).status().processing,
    "read the count of those waiting": lambda client: request(client).status().waiting,
    "read the count of restarts": lambda client: request(client).status().restarted,
    "read the place in the queue": lambda client: request(client).status().queue_position,
    "read whether it is done": lambda client: request(client).status().done,
    "read whether it is faulted": lambda client: request(client).status().faulted,
    "read what it cost": lambda client: request(client).status().kudos,
    "read the generations": lambda client: request(client).status().generations,
    "pop": lambda client: worker(client).pop(),
    "pop a job": lambda client: worker(client).pop_job(),
    "pop a job of a request": lambda client: worker(client).pop_job(request(client)),
    "reply": lambda client: worker(client).reply(job(client)),
    "post progress": lambda client: worker(client).progress(job(client), "so far"),
    "switch maintenance": lambda client: worker(client).set_maintenance(on=True),
    "read the balance": lambda client: requester(client).balance(),
}
BARE: dict[str, Callable[[Client], Answer]] = {
    "submit": lambda client: requester(client).try_submit(Family.CHAT, {"messages": []}),
    "status": lambda client: requester(client).try_status(request(client)),
    "cancel": lambda client: requester(client).try_cancel(request(client)),
    "record": lambda client: requester(client).try_record(request(client)),
    "pop": lambda client: worker(client).try_pop(),
    "reply": lambda client: worker(client).try_reply(job(client), generation="x"),
    "fault": lambda client: worker(client).try_fault(job(client)),
    "progress": lambda client: worker(client).try_progress(job(client), "x"),
}
CARRIED_OUT_ONLY: dict[str, Callable[[Client], object]] = {
    "read the status": lambda client: request(client).status(),
    "cancel": lambda client: request(client).cancel(),
    "fault": lambda client: worker(client).fault(job(client)),
}


@pytest.mark.parametrize("body", SHAPES, ids=repr)
@pytest.mark.parametrize("name", TELLING)
def test_on_an_answer_of_the_wrong_shape_no_story_goes_on(say: Say, name: str, body: Any) -> None:
    handed_out_nothing = name == "pop" and body == {"id": None}
    client = say(body, 202 if name.startswith("submit") else 200)
    with nullcontext() if handed_out_nothing else pytest.raises(CouldNotRun):
        assert TELLING[name](client) is None


@pytest.mark.parametrize("code", [201, 204, 302, 400, 401, 404, 429, 500])
@pytest.mark.parametrize("name", [*TELLING, *CARRIED_OUT_ONLY])
def test_what_is_not_carried_out_stops_the_story(say: Say, name: str, code: int) -> None:
    right = {"id": ID, "ids": [ID], "model": MODEL, "done": True, "kudos": 1, "reward": 1, "generations": []}
    client = say(right, code)
    with pytest.raises(CouldNotRun, match=f"{code}|no answer|does not list"):
        {**TELLING, **CARRIED_OUT_ONLY}[name](client)


@pytest.mark.parametrize("body", ["a string", 7, None, True], ids=repr)
@pytest.mark.parametrize("name", CARRIED_OUT_ONLY)
def test_what_is_neither_object_nor_array_is_not_carried_out(say: Say, name: str, body: Any) -> None:
    client = say(body)
    with pytest.raises(CouldNotRun, match="not carried out"):
        CARRIED_OUT_ONLY[name](client)


@pytest.mark.parametrize(("name", "code"), list(product(BARE, [200, 400, 404, 500])))
def test_the_bare_forms_give_the_answer_whatever_it_is(say: Say, name: str, code: int) -> None:
    client = say({"odd": True}, code)
    answer = BARE[name](client)
    assert (answer.status, answer.body) == (code, {"odd": True})


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    "look",
    [
        lambda status: status.finished,
        lambda status: status.waiting,
        lambda status: status.kudos,
        lambda status: status.generations and status.generations[0].text,
        lambda status: status.partials,
    ],
    ids=["finished", "waiting", "kudos", "generations", "partials"],
)
def test_an_odd_value_in_a_status_is_never_taken_for_a_right_one(
    say: Say, look: Callable[[Status], Any], odd: Any
) -> None:
    names = ("finished", "waiting", "kudos", "generations", "partials")
    client = say(dict.fromkeys(names, odd))
    status = request(client).status()
    try:
        seen = look(status)
    except CouldNotRun:
        return
    assert not seen or seen == [None], f"{odd!r} was read as {seen!r}"


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    ("field", "name"), [("reward", "reply"), ("kudos", "read the balance")], ids=["reward", "balance"]
)
def test_an_amount_that_is_no_number_stops_the_story(say: Say, field: str, name: str, odd: Any) -> None:
    client = say({field: odd})
    with pytest.raises(CouldNotRun):
        TELLING[name](client)


@pytest.mark.parametrize("ids", [7, "text", {"a": 1}, [None], [{}], True], ids=repr)
def test_ids_that_are_no_list_of_ids_are_no_job(say: Say, ids: Any) -> None:
    client = say({"id": ID, "ids": ids, "model": MODEL})
    with pytest.raises(CouldNotRun):
        worker(client).pop()


@pytest.mark.parametrize("id", [7.5, {}, [], True], ids=repr)
def test_an_id_that_is_no_text_is_no_job_and_no_request(say: Say, id: Any) -> None:
    client = say({"id": id, "ids": []})
    with pytest.raises(CouldNotRun):
        worker(client).pop()
    client = say({"id": id}, 202)
    with pytest.raises(CouldNotRun):
        requester(client).submit(Family.CHAT, [MODEL], messages=[])


@pytest.mark.parametrize("said", [None, "true", 1, {}], ids=repr)
def test_only_true_says_that_a_generation_was_cancelled(say: Say, said: Any) -> None:
    client = say({"cancelled": said})
    try:
        cancelled = worker(client).progress(job(client), "so far")
    except CouldNotRun:
        return
    assert not cancelled


# The right shapes


def test_an_empty_pop_hands_out_nothing(say: Say) -> None:
    client = say({"id": None, "ids": [], "skipped": {}})
    assert worker(client).pop() is None
    with pytest.raises(CouldNotRun, match="was handed nothing"):
        worker(client).pop_job()


def test_a_job_of_another_model_is_not_the_requests(say: Say) -> None:
    client = say({"id": ID, "ids": [ID], "model": "another"})
    asked = request(client)
    with pytest.raises(CouldNotRun, match="of 'another'"):
        worker(client).pop_job(asked)
    assert asked.jobs == []


def test_a_hand_out_of_several_is_one_job_for_each(say: Say) -> None:
    other = ID.replace("1", "2")
    client = say({"id": ID, "ids": [ID, other], "model": MODEL, "payload": {"prompt": "x"}})
    asked = request(client, Family.TEXT)
    handed_out = worker(client).pop_job(asked)
    assert [each.id for each in asked.jobs] == [ID, other]
    assert (handed_out.family, handed_out.prompt) == (Family.TEXT, "x")


def test_numbers_of_either_kind_are_amounts(say: Say) -> None:
    for kudos in (3, 3.5, 0, -1.25):
        client = say({"kudos": kudos, "reward": kudos})
        assert requester(client).balance() == kudos
        assert request(client).status().kudos == kudos
        assert worker(client).reply(job(client)) == kudos
