"""Each way to assert an absence: the claim broken fails, the control failing is not judged, both right pass."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance import absence
from conformance.actors import Account, Family, Job, Request, Requester, Worker
from conformance.client import Answer, Client, Exchange
from conformance.errors import CouldNotRun
from conformance.profile import load

PROFILE = load("aihorde")
CLIENT = Client("http://127.0.0.1:1", PROFILE)
ASKER = Requester(CLIENT, Account("requester 0", "a key", "requester#1", "1"))
WORKER = Worker(CLIENT, Account("owner 0", "another key", "owner#2", "2"), "a worker", {})


def answer(status: int, body: Any = None, kind: str = "status") -> Answer:
    exchange = Exchange("an actor", "an operation", "GET", "http://a.b/c", {}, None, status, {}, json.dumps(body), 0, 0)
    return Answer(exchange, PROFILE, kind, body, status)


FOUND = answer(200, {"done": False})
NOT_FOUND = answer(404, {"message": "nothing of this id", "rc": "RequestNotFound"})
NO_SUCH_JOB = answer(404, {"message": "no job of this id", "rc": "InvalidJobID"})
NO_ROUTE = answer(404, {"message": "no such page"})
DENIED = answer(403, {"message": "not yours", "rc": "NotRequestOwner"})
CRASHED = answer(500, {"message": "Internal Server Error"})
LIMITED = answer(429, {"message": "2 per 1 second"})
PAGE = answer(200, None)


class Control:
    """A control that gives an answer, and remembers that it was asked."""

    def __init__(self, gives: Answer) -> None:
        self.gives = gives
        self.asked = 0

    def __call__(self) -> Answer:
        self.asked += 1
        return self.gives


Helper = Callable[..., None]


@pytest.mark.parametrize(
    ("helper", "claim"),
    [
        (absence.not_found, NOT_FOUND),
        (absence.no_such_job, NO_SUCH_JOB),
        (absence.refused, DENIED),
        (absence.refused, NOT_FOUND),
    ],
)
def test_a_claim_that_holds_beside_its_control_passes(helper: Helper, claim: Answer) -> None:
    control = Control(FOUND)
    helper(claim, control=control)
    assert control.asked == 1


@pytest.mark.parametrize(
    ("helper", "broken"),
    [
        *((absence.not_found, broken) for broken in (FOUND, DENIED, CRASHED, NO_SUCH_JOB, NO_ROUTE, PAGE)),
        *((absence.no_such_job, broken) for broken in (FOUND, DENIED, CRASHED, NOT_FOUND, NO_ROUTE, PAGE)),
        *((absence.refused, broken) for broken in (FOUND, CRASHED, PAGE)),
    ],
)
def test_a_broken_claim_fails_with_a_sentence_whatever_its_control_says(helper: Helper, broken: Answer) -> None:
    with pytest.raises(AssertionError, match=r"expected .*, got GET http://a\.b/c → \d{3}"):
        helper(broken, control=Control(NOT_FOUND))


@pytest.mark.parametrize("missing", [NOT_FOUND, DENIED, CRASHED, LIMITED, PAGE])
@pytest.mark.parametrize(
    ("helper", "claim"),
    [(absence.not_found, NOT_FOUND), (absence.no_such_job, NO_SUCH_JOB), (absence.refused, DENIED)],
)
def test_a_claim_without_its_control_is_not_judged(helper: Helper, claim: Answer, missing: Answer) -> None:
    with pytest.raises(CouldNotRun, match="control"):
        helper(claim, control=Control(missing))


def test_a_refusal_for_its_rate_is_no_refusal() -> None:
    with pytest.raises(CouldNotRun, match="rate"):
        absence.refused(LIMITED, control=Control(FOUND))


MODEL, ANOTHER_MODEL = "a model", "another model"


def request(*models: str) -> Request:
    return Request("an id", Family.CHAT, ASKER, models, {})


def job(model: str) -> Job:
    return Job(answer(200, {"id": "1", "ids": ["1", "2"], "model": model}, kind="job"), WORKER, "1", ("1", "2"))


@pytest.mark.parametrize("got", [None, job(ANOTHER_MODEL)])
def test_who_receives_nothing_of_a_request_is_told_by_its_models(got: Job | None) -> None:
    asked = request(MODEL)
    right = job(MODEL)
    assert absence.receives_nothing(lambda: got, of=asked, control=lambda: right) is right
    assert [one.id for one in asked.jobs] == ["1", "2"], "the control's generations are the request's"


@pytest.mark.parametrize(("models", "got"), [((MODEL,), job(MODEL)), ((), job(ANOTHER_MODEL))])
def test_a_request_that_is_handed_out_wrongly_fails_and_says_why(models: tuple[str, ...], got: Job) -> None:
    with pytest.raises(AssertionError, match="a worker was handed chat request an id, although it sleeps"):
        absence.receives_nothing(lambda: got, of=request(*models), control=lambda: job(MODEL), because="it sleeps")


@pytest.mark.parametrize("right", [None, job(ANOTHER_MODEL)])
def test_a_request_that_nobody_is_handed_is_not_judged(right: Job | None) -> None:
    asked = request(MODEL)
    with pytest.raises(CouldNotRun, match="control"):
        absence.receives_nothing(lambda: None, of=asked, control=lambda: right)
    assert asked.jobs == []


class Counter:
    """A state that acts may change."""

    def __init__(self) -> None:
        self.value = 0

    def seen(self) -> int:
        return self.value

    def move(self) -> None:
        self.value += 1

    def rest(self) -> None:
        pass


def test_an_act_that_changes_nothing_passes_where_its_control_does_change_it() -> None:
    state = Counter()
    absence.changes_nothing(state.rest, seen=state.seen, control=state.move)
    assert state.value == 1, "the control was done, and once"


def test_an_act_that_changes_what_is_seen_fails_and_says_what() -> None:
    state = Counter()
    with pytest.raises(AssertionError, match="changed from 0 to 1"):
        absence.changes_nothing(state.move, seen=state.seen, control=state.move)


def test_an_act_that_changes_nothing_before_a_blind_look_is_not_judged() -> None:
    state = Counter()
    with pytest.raises(CouldNotRun, match="control"):
        absence.changes_nothing(state.rest, seen=state.seen, control=state.rest)


def test_what_is_over_is_left_alone_where_the_look_told_it_from_earlier() -> None:
    state = Counter()
    earlier = state.seen()
    state.move()
    absence.leaves_alone(state.rest, seen=state.seen, unlike=earlier)


def test_what_is_over_and_changed_fails_and_says_what() -> None:
    state = Counter()
    earlier = state.seen()
    state.move()
    with pytest.raises(AssertionError, match="changed from 1 to 2"):
        absence.leaves_alone(state.move, seen=state.seen, unlike=earlier)


def test_a_look_that_tells_nothing_from_earlier_is_not_judged() -> None:
    state = Counter()
    with pytest.raises(CouldNotRun, match="control"):
        absence.leaves_alone(state.rest, seen=state.seen, unlike=state.seen())


def at_once(look: Callable[[], bool]) -> bool:
    return look()


def test_what_was_there_and_goes_has_vanished() -> None:
    there = ["a word"]
    absence.vanishes(there.clear, seen=lambda: list(there), patience=at_once)


def test_what_goes_later_has_vanished_within_the_patience() -> None:
    there = ["a word", "another"]

    def thrice(look: Callable[[], bool]) -> bool:
        return any(look() or bool(there and not there.pop()) for _ in range(3))

    absence.vanishes(lambda: None, seen=lambda: list(there), patience=thrice)


def test_what_stays_fails_and_says_what() -> None:
    with pytest.raises(AssertionError, match="still there: 'a word'"):
        absence.vanishes(lambda: None, seen=lambda: "a word", patience=at_once)


def test_what_was_never_there_does_not_vanish() -> None:
    with pytest.raises(CouldNotRun, match="before"):
        absence.vanishes(lambda: None, seen=list, patience=at_once)


def test_an_act_that_the_target_put_off_for_its_rate_is_not_judged() -> None:
    state = Counter()
    earlier = state.seen()
    with pytest.raises(CouldNotRun, match="refused for its rate only"):
        absence.changes_nothing(lambda: LIMITED, seen=state.seen, control=state.move)
    state.move()
    with pytest.raises(CouldNotRun, match="refused for its rate only"):
        absence.leaves_alone(lambda: LIMITED, seen=state.seen, unlike=earlier)


# Too much that waits


TOO_MANY = answer(429, {"message": "exceeded user limit", "rc": "TooManyPrompts"}, kind="submit")
QUEUED = answer(202, {"id": "an id"}, kind="submit")


def test_a_refusal_because_too_much_waits_passes_where_the_same_is_taken_later() -> None:
    control = Control(QUEUED)
    absence.too_many(TOO_MANY, control=control)
    assert control.asked == 1


@pytest.mark.parametrize("broken", [QUEUED, DENIED, CRASHED, PAGE])
def test_another_answer_is_no_refusal_because_too_much_waits(broken: Answer) -> None:
    with pytest.raises(AssertionError, match="too much waits"):
        absence.too_many(broken, control=Control(QUEUED))


@pytest.mark.parametrize(("claim", "control"), [(TOO_MANY, TOO_MANY), (TOO_MANY, DENIED), (LIMITED, QUEUED)])
def test_a_limit_that_is_never_left_or_one_of_the_rate_is_not_judged(claim: Answer, control: Answer) -> None:
    with pytest.raises(CouldNotRun):
        absence.too_many(claim, control=Control(control))
