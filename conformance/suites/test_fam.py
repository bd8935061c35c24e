"""FAM: the two families cannot be confused. What FAM-07 says of spellings stands in `test_fam_spellings`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any
from uuid import uuid4

import pytest

from conformance.absence import changes_nothing, leaves_alone, no_such_job, not_found, receives_nothing, refused
from conformance.actors import Family, Job, Request, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage

CHAT, TEXT = Family.CHAT, Family.TEXT

each_family = pytest.mark.parametrize("family", [CHAT, TEXT])


class State(Enum):
    """A state of a request, by what its status counts then: finished, processing, waiting."""

    QUEUED = "queued"
    IN_FLIGHT = "in flight"
    PARTLY_DONE = "partly done"
    DONE = "done"
    DONE_EMPTY = "done with an empty reply"
    CANCELLED = "cancelled"

    @property
    def counts(self) -> tuple[int, int, int]:
        return {
            State.QUEUED: (0, 0, 1),
            State.IN_FLIGHT: (0, 1, 0),
            State.PARTLY_DONE: (1, 0, 1),
            State.DONE: (1, 0, 0),
            State.DONE_EMPTY: (1, 0, 0),
            State.CANCELLED: (0, 0, 0),
        }[self]


each_state = pytest.mark.parametrize("state", State, ids=lambda state: state.value)


@dataclass(frozen=True)
class Scene:
    """A request in some state, the worker that serves it, and what its status showed while it was queued."""

    request: Request
    worker: Worker
    queued: dict[str, Any]

    def seen(self) -> dict[str, Any]:
        return self.request.status().counts


# Telling


def _queue(stage: Stage, family: Family, **fields: Any) -> Scene:
    """A request beside the worker that serves it. The worker was just handed another: popping works."""
    model = stage.model()
    worker = stage.serving(family, model)
    worker.pop_job(stage.submit(family, model))
    request = stage.submit(family, model, **fields)
    return Scene(request, worker, request.status().counts)


def _bring(stage: Stage, family: Family, state: State) -> Scene:
    """A request that has come to this state."""
    scene = _queue(stage, family, n=sum(state.counts) or 1)
    if state is State.CANCELLED:
        scene.request.cancel()
    elif state is not State.QUEUED:
        job = scene.worker.pop_job(scene.request)
        if state is not State.IN_FLIGHT:
            scene.worker.reply(job, "" if state is State.DONE_EMPTY else "A reply.")
    status = scene.request.status()
    counts = (status.finished, status.processing, status.waiting)
    if counts != state.counts:
        raise CouldNotRun(f"the request did not come to be {state.value}: its status is {scene.seen()}")
    return scene


def _fault(stage: Stage, family: Family) -> Scene:
    """A request that was given up so often that the target gave it up as well."""
    scene = _queue(stage, family)
    # The AI Horde gives a request up after three faults.
    for _ in range(3):
        scene.worker.fault(scene.worker.pop_job(scene.request))
    if not stage.until(lambda: scene.request.status().faulted):
        raise CouldNotRun(f"the request was not given up after three faults: {scene.seen()}")
    return scene


# Judging


def _own_status(request: Request) -> Callable[[], Answer]:
    return lambda: request.requester.try_status(request)


def _not_found_elsewhere(request: Request) -> None:
    """The other family's status does not find it; its own does."""
    elsewhere = request.requester.try_status(request, request.family.other)
    not_found(elsewhere, control=_own_status(request))


def _not_cancelled_elsewhere(request: Request) -> None:
    """The other family's cancel does not find it; its own status does."""
    elsewhere = request.requester.try_cancel(request, request.family.other)
    not_found(elsewhere, control=_own_status(request))


def _goes_on(scene: Scene) -> None:
    """What was in flight can be finished; what was poppable still is."""
    if scene.request.jobs and not scene.request.status().finished:
        scene.worker.reply(scene.request.jobs[0])
        return
    job = scene.worker.pop()
    assert job is not None, (
        f"{scene.request.family} request {scene.request.id} cannot be popped any more after a cancel on the "
        "other family's route"
    )


def _cancelling_elsewhere_changes_nothing(scene: Scene, *, over: bool = False) -> None:
    """A cancel on the other family's route changes nothing of a request that goes on, or is `over`."""

    def cancel() -> None:
        _not_cancelled_elsewhere(scene.request)

    if over:
        leaves_alone(cancel, seen=scene.seen, unlike=scene.queued)
    else:
        changes_nothing(cancel, seen=scene.seen, control=lambda: _goes_on(scene))


def _cancelling_elsewhere_moves_no_kudos(stage: Stage, family: Family) -> None:
    # A cancel of a stream costs, so that one on the wrong route would show.
    streamed = family is CHAT and "streaming" in stage.profile.capabilities
    scene = _queue(stage, family, **({"stream": True} if streamed else {}))
    job = scene.worker.pop_job(scene.request)
    if streamed:
        scene.worker.progress(job, "As far as it got.")

    def moved() -> tuple[float, list[float] | None]:
        charged = stage.money.charged(scene.request)
        return charged, stage.money.movements(scene.request) if stage.money.exact else None

    changes_nothing(
        lambda: _not_cancelled_elsewhere(scene.request), seen=moved, control=lambda: scene.worker.reply(job)
    )


@check("FAM-01")
def test_text_status_does_not_find_a_chat_request(stage: Stage) -> None:
    """A requester asks the text route for the status of a chat request; it is not found."""
    _not_found_elsewhere(stage.chat(stage.model()))


@check("FAM-02")
def test_chat_status_does_not_find_a_text_request(stage: Stage) -> None:
    """A requester asks the chat route for the status of a text request; it is not found."""
    _not_found_elsewhere(stage.text(stage.model()))


@check("FAM-03")
def test_cancelling_a_chat_request_on_the_text_route_changes_nothing(stage: Stage) -> None:
    """A chat id is cancelled on the text route; it is not found, and the chat request is handed out as before."""
    _cancelling_elsewhere_changes_nothing(_queue(stage, CHAT))


@check("FAM-03")
def test_cancelling_a_chat_request_on_the_text_route_moves_no_kudos(stage: Stage) -> None:
    """A chat request in flight is cancelled on the text route; nobody is charged or paid."""
    _cancelling_elsewhere_moves_no_kudos(stage, CHAT)


@check("FAM-04")
def test_cancelling_a_text_request_on_the_chat_route_changes_nothing(stage: Stage) -> None:
    """A text id is cancelled on the chat route; it is not found, and the text request is handed out as before."""
    _cancelling_elsewhere_changes_nothing(_queue(stage, TEXT))


@check("FAM-04")
def test_cancelling_a_text_request_on_the_chat_route_moves_no_kudos(stage: Stage) -> None:
    """A text request in flight is cancelled on the chat route; nobody is charged or paid."""
    _cancelling_elsewhere_moves_no_kudos(stage, TEXT)


@check("FAM-05")
@each_family
@each_state
def test_no_state_makes_a_request_found_by_the_other_familys_status(stage: Stage, state: State, family: Family) -> None:
    """A request comes to a state; the other family's status does not find it there."""
    _not_found_elsewhere(_bring(stage, family, state).request)


@check("FAM-05")
@each_family
@each_state
def test_no_state_lets_the_other_familys_cancel_change_a_request(stage: Stage, state: State, family: Family) -> None:
    """A request comes to a state and is cancelled on the other family's route; it is not found and stays as it was."""
    over = state in {State.DONE, State.DONE_EMPTY, State.CANCELLED}
    _cancelling_elsewhere_changes_nothing(_bring(stage, family, state), over=over)


@check("FAM-06")
@each_family
def test_the_other_familys_answer_is_that_for_an_unknown_id(stage: Stage, family: Family) -> None:
    """A stranger asks the other family's routes for a request; nothing in the answers tells it from an unknown id."""
    request, unknown = stage.submit(family, stage.model()), str(uuid4())
    requester = request.requester
    asks = [requester.try_status, requester.try_cancel]
    if _record_of(family.other) in stage.profile.capabilities:
        asks.append(requester.try_record)
    for ask in asks:
        known, never = ask(request.id, family.other), ask(unknown, family.other)
        told, expected = _likeness(known, request.id), _likeness(never, unknown)
        assert told == expected, f"{known} is told from an unknown id: {told} instead of {expected}"
        not_found(known, control=_own_status(request))


def _record_of(family: Family) -> str:
    return "chat_request_record" if family is CHAT else "request_record"


def _likeness(answer: Answer, id: str) -> tuple[int, Any, str, frozenset[str]]:
    """What an answer shows besides the id that was asked for."""
    body = answer.exchange.response_body if answer.body is None else json.dumps(answer.body, sort_keys=True)
    return answer.status, answer.code, (body or "").replace(id, "ID"), answer.header_names


def _record_elsewhere_is_not_found(stage: Stage, family: Family) -> None:
    """The control beside its own status: the other record route finds the same requester's request of its family."""
    model = stage.model()
    request, neighbour = stage.submit(family, model), stage.submit(family.other, model)
    request.status()
    ask = request.requester.try_record
    not_found(ask(request, family.other), control=lambda: ask(neighbour))


@check("FAM-08")
def test_the_text_request_route_does_not_find_a_chat_request(stage: Stage) -> None:
    """Its submitter asks the text route what was submitted as a chat request; it is not found."""
    _record_elsewhere_is_not_found(stage, CHAT)


@check("FAM-09", both=True)
def test_a_generations_id_is_no_requests_id(stage: Stage, family: Family) -> None:
    """A worker holds a generation; no status route finds a request of the generation's id."""
    scene = _queue(stage, family)
    job = scene.worker.pop_job(scene.request)
    served = [CHAT, TEXT] if "chat" in stage.profile.capabilities else [TEXT]
    for asked in served:
        not_found(scene.request.requester.try_status(job.id, asked), control=_own_status(scene.request))


@check("FAM-09", both=True)
def test_a_requests_id_is_no_generations_id(stage: Stage, family: Family) -> None:
    """A worker gives the request's id to progress and submit instead of its generation's; neither finds it."""
    scene = _queue(stage, family)
    worker, job = scene.worker, scene.worker.pop_job(scene.request)
    if family is CHAT and "streaming" in stage.profile.capabilities:
        no_such_job(
            worker.try_progress(scene.request.id, "So far."), control=lambda: worker.try_progress(job, "So far.")
        )
    words: dict[str, Any] = {"generation": "A reply."}
    if family is CHAT:
        words |= {"message": {"role": "assistant", "content": "A reply."}, "finish_reason": "stop"}
    no_such_job(
        worker.try_reply(scene.request.id, **words),
        control=lambda: worker.try_reply(job, **words),
    )


def _the_route_decides(stage: Stage, family: Family) -> None:
    """A body that carries both families' content is refused, or makes a request of its route's family."""
    model = stage.model()
    prompt, messages = "What a text request says.", [{"role": "user", "content": "What a chat request says."}]
    sent = {"models": [model], "prompt": prompt, "messages": messages}
    requester = stage.requester()
    answer = requester.try_submit(family, sent)
    if not answer.accepted:
        proper = {key: value for key, value in sent.items() if key != ("prompt" if family is CHAT else "messages")}
        refused(answer, control=lambda: _kept(stage, family, proper))
        return
    request = stage.keep(Request(str(answer.need("id")), family, requester, (model,), sent))
    own = requester.try_status(request)
    assert own.accepted, f"what was submitted as {family} is not found there: {own}"
    others = stage.text_worker(model) if family is CHAT else stage.chat_worker(model, accept_text=False)
    job = receives_nothing(
        others.pop, of=request, control=stage.serving(family, model).pop, because=f"it serves no {family}"
    )
    assert _content(job) == (family, messages if family is CHAT else prompt), (
        f"the {family} submit became a job of {_content(job)}"
    )


def _content(job: Job) -> tuple[Family, Any]:
    return job.family, job.messages if job.family is CHAT else job.prompt


def _kept(stage: Stage, family: Family, sent: dict[str, Any]) -> Answer:
    requester = stage.requester()
    answer = requester.try_submit(family, sent)
    if answer.accepted:
        stage.keep(Request(str(answer.need("id")), family, requester, tuple(sent["models"]), sent))
    return answer


@check("FAM-10")
def test_a_text_submit_that_carries_messages_stays_text(stage: Stage) -> None:
    """A requester sends messages beside the prompt to the text route; no chat request comes of it."""
    _the_route_decides(stage, TEXT)


@check("FAM-10")
def test_a_chat_submit_that_carries_a_prompt_stays_chat(stage: Stage) -> None:
    """A requester sends a prompt beside the messages to the chat route; no text request comes of it."""
    _the_route_decides(stage, CHAT)


@check("FAM-11")
def test_the_chat_request_route_does_not_find_a_text_request(stage: Stage) -> None:
    """Its submitter asks the chat route what was submitted as a text request; it is not found."""
    _record_elsewhere_is_not_found(stage, TEXT)


@check("FAM-12")
@each_family
def test_a_faulted_request_is_not_found_by_the_other_familys_status(stage: Stage, family: Family) -> None:
    """A request is given up; the other family's status does not find it."""
    _not_found_elsewhere(_fault(stage, family).request)


@check("FAM-12")
@each_family
def test_a_faulted_request_is_left_alone_by_the_other_familys_cancel(stage: Stage, family: Family) -> None:
    """A request is given up and then cancelled on the other family's route; it is not found and stays as it was."""
    _cancelling_elsewhere_changes_nothing(_fault(stage, family), over=True)


@check("FAM-12")
@each_family
def test_an_expired_request_is_not_found_on_the_other_familys_routes(stage: Stage, family: Family) -> None:
    """A request that its own route found expires; the other family's status and cancel find it no more."""
    request = stage.submit(family, stage.model())
    requester, found = request.requester, _own_status(request)()
    stage.expire(request)

    def not_elsewhere() -> None:
        for ask in (requester.try_status, requester.try_cancel):
            not_found(ask(request, family.other), control=lambda: found)

    not_elsewhere()
    if not stage.until(lambda: requester.try_status(request).not_found):
        raise CouldNotRun("the request is still found on its own route after its expiry")
    not_elsewhere()
