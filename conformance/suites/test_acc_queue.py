"""ACC-01, ACC-09 and ACC-10: one queue, for workers that can serve it, out of which requests expire."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from conformance.absence import receives_nothing, vanishes
from conformance.actors import Family, Job, Request, Requester, Worker
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.rpl_scenes import right_reply
from conformance.twins import Relation, Seen, check_of, relation

# One queue


def _queued(stage: Stage, people: Sequence[Requester], families: Sequence[Family], model: str) -> list[Request]:
    """Requests of these families, one after the other, each known by a word of its own."""
    requests = []
    for who, family in zip(people, families, strict=True):
        word = stage.unique(16)
        content = {"messages": [{"role": "user", "content": word}]} if family is Family.CHAT else {"prompt": word}
        requests.append(stage.keep(who.submit(family, [model], **content)))
    return requests


def _places(stage: Stage, requests: Sequence[Request], model: str) -> tuple[list[int], list[int]]:
    """The requests' positions by their statuses, and their places in the order in which a worker is handed them.

    Raises:
        CouldNotRun: a status shows no position, or a worker of both is handed something else.
    """
    time.sleep(stage.profile.timings.positions)
    positions = [request.status().queue_position for request in requests]
    if not all(positions):
        raise CouldNotRun(f"not every status shows the request's position in the queue: {positions}")
    worker = stage.chat_worker(model)
    handed = [str(worker.pop_job().answer.body) for _ in requests]
    order = [next((at for at, told in enumerate(handed) if _word(each) in told), -1) for each in requests]
    if -1 in order:
        raise CouldNotRun("a worker of both families was handed jobs of other requests")
    return positions, order


def _word(request: Request) -> str:
    return str(request.prompt or request.messages[0]["content"])


@relation("ACC-01", compares="the positions and the order of handing out")
def place_between_two_text_requests(stage: Stage, family: Family) -> Seen:
    """Between two text requests of equal priority a third stands, and is handed out, whatever its family."""
    families = [Family.TEXT, family, Family.TEXT]
    model = stage.model()
    positions, order = _places(stage, _queued(stage, _equals(stage, len(families)), families, model), model)
    told = ", ".join(families)
    assert positions == sorted(set(positions)), f"{told}, of equal priority, stand at the positions {positions}"
    assert order == [0, 1, 2], f"{told}, of equal priority, are handed out at the places {order}"
    return {"the distances": [later - one for one, later in pairwise(positions)], "the order": order}


def _equals(stage: Stage, number: int) -> list[Requester]:
    """People of equal priority. Where accounts are listed, one: what each submit costs lowers the next one's."""
    if stage.profile.accounts.method == "test-user":
        return [Requester(stage.client, stage.spare()) for _ in range(number)]
    return [stage.requester()] * number


@check_of(place_between_two_text_requests)
def test_both_families_stand_in_one_queue(stage: Stage, relation: Relation) -> None:
    """Three accounts with equal kudos submit one after the other, the second one text and then chat."""
    relation.judge(stage)


# Possible or not


def asked(stage: Stage, family: Family, model: str) -> tuple[Any, Any]:
    """Whether a new request of this model is answered with a warning, and whether its status calls it possible."""
    requester = stage.requester()
    said = f"Tell me about {stage.unique()}."
    content = {"messages": [{"role": "user", "content": said}]} if family is Family.CHAT else {"prompt": said}
    answer = requester.try_submit(family, {"models": [model], **content})
    if not answer.accepted:
        raise CouldNotRun(f"the {family} submit was not carried out: {answer}")
    request = stage.keep(Request(answer.id("id"), family, requester, (model,), content))
    return answer.read("warning"), request.status().answer.read("is_possible")


def _checked_in(stage: Stage, worker: Worker, **declared: Any) -> None:
    """The worker declares itself at a pop, and the target has had the time to take note of it."""
    if worker.pop(**declared) is not None:
        raise CouldNotRun(f"worker {worker.name} was handed a job where nothing waits")
    time.sleep(stage.profile.timings.worker_refresh)


def _judge_possible(stage: Stage, family: Family, model: str, because: str) -> None:
    warning, possible = asked(stage, family, model)
    assert not warning, f"{family} was answered with the warning {warning!r}, although {because}"
    assert possible is True, f"{family} is possible: {possible!r}, although {because}"


def _judge_impossible(stage: Stage, family: Family, model: str, because: str) -> None:
    warning, possible = asked(stage, family, model)
    assert warning, f"{family} was answered without a warning, although {because}"
    assert possible is False, f"{family} is possible: {possible!r}, although {because}"


@check("ACC-09")
def test_chat_is_possible_when_a_worker_declared_chat_for_it(stage: Stage) -> None:
    """A model's worker takes text only: chat gets the warning; when it declares chat, for this model, none."""
    model, other = stage.model(), stage.model()
    worker = stage.text_worker(model, other)
    _checked_in(stage, worker)
    _judge_possible(stage, Family.TEXT, model, "a worker serves the model as text")
    _judge_impossible(stage, Family.CHAT, model, "the model's only worker did not declare chat")
    stage.tidy()
    _checked_in(stage, worker, chat_models=[other])
    _judge_impossible(stage, Family.CHAT, model, "the model's only worker declared chat for another model")
    _judge_possible(stage, Family.CHAT, other, "a worker declared chat for the model")


@check("ACC-09")
def test_text_is_not_possible_where_the_only_worker_takes_chat_alone(stage: Stage) -> None:
    """A model's worker takes chat only: chat gets no warning, text does."""
    model = stage.model()
    _checked_in(stage, stage.chat_worker(model, accept_text=False))
    _judge_possible(stage, Family.CHAT, model, "the model's worker declared chat")
    _judge_impossible(stage, Family.TEXT, model, "the model's only worker takes no text")


# Expiry


@check("ACC-10", both=True)
def test_an_expired_request_is_gone(stage: Stage, family: Family) -> None:
    """A request nobody picked up is past its expiry: it is found no more, and no worker is handed it."""
    model = stage.model()
    worker = stage.serving(family, model)
    request = stage.submit(family, model)

    def found() -> bool:
        return request.requester.try_status(request).accepted

    vanishes(lambda: stage.expire(request), seen=found, patience=stage.until)
    assert request.requester.try_status(request).not_found, "an expired request's status is not the one of no request"

    def next_one() -> Job | None:
        stage.submit(family, model)
        return worker.pop()

    receives_nothing(worker.pop, of=request, control=next_one, because="it has expired")


@relation("ACC-10", compares="what is left of an expired request and what a late reply to it does")
def expiry_in_flight(stage: Stage, family: Family) -> Seen:
    """A request that expires in flight ends alike: the same answers, and no kudos for the late reply."""
    request = stage.submit(family, stage.model(), n=2)
    worker = stage.serving(family, *request.models)
    job = worker.pop_job(request)
    stage.expire(request)
    gone = stage.until(lambda: not request.requester.try_status(request).accepted)
    late, status = right_reply(job), request.requester.try_status(request)
    return {
        "gone": gone,
        "the status": (status.status, status.code),
        "the late reply": (late.status, late.code, late.read("reward")),
        "whether a worker is handed the rest": worker.pop() is not None,
    }


@check_of(expiry_in_flight)
def test_twins_expire_alike(stage: Stage, relation: Relation) -> None:
    """A request and its twin expire while one of their generations is in flight."""
    relation.judge(stage)
