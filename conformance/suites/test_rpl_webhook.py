"""RPL-14: the webhook is told what status shows."""

from __future__ import annotations

from typing import Any

from conformance.actors import Job, Request
from conformance.checks import check
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.receiver import Delivery, Receiver, receiving
from conformance.stage import Stage
from conformance.statuses import Generation
from conformance.suites.rpl_scenes import Message, assistant, reply_in_chat, tool_call

# What a delivery must say as the status says it.
_FIELDS = ("text", "state", "model", "message", "finish_reason", "usage")
# Deliveries beyond which a target is not waited for, that tells the same thing again and again.
_MOST = 20


def _answered(stage: Stage, receiver: Receiver, *messages: Message, **reply: Any) -> tuple[Request, list[Job]]:
    """A chat request with this receiver, and a job for each message with which a worker has answered it."""
    model = stage.model()
    request = stage.chat(model, n=len(messages), webhook=receiver.url)
    worker = stage.chat_worker(model)
    for _ in messages:
        worker.pop_job(request)
    for job, message in zip(request.jobs, messages, strict=True):
        answer = reply_in_chat(job, message, **reply)
        if not answer.accepted:
            raise CouldNotRun(f"a worker's reply was not taken: {answer}")
    return request, request.jobs


def _heard_of(receiver: Receiver, jobs: list[Job]) -> list[Delivery]:
    """What the receiver was told until it had heard of each of these, or heard nothing more in the profile's time."""
    wanted = len(jobs)
    while True:
        heard = receiver.wait_for(wanted)
        if {job.id for job in jobs} <= {str(delivery.read("id")) for delivery in heard}:
            return heard
        if len(heard) < wanted or wanted >= _MOST:
            return heard
        wanted = len(heard) + 1


def _shown(request: Request, message: Message) -> Generation:
    """The generation that the status shows with this message."""
    shown = [each for each in request.status().generations if same_json(each.message, message)]
    if len(shown) != 1:
        raise CouldNotRun(f"the status shows {len(shown)} generations with the message {message!r}")
    return shown[0]


def _judge(request: Request, job: Job, message: Message, heard: list[Delivery]) -> None:
    shown = _shown(request, message)
    told = [delivery for delivery in heard if str(delivery.read("id")) == job.id]
    assert told, f"of {len(heard)} deliveries none tells of the generation {job.id} with the message {message!r}"
    for delivery in told:
        for name in _FIELDS:
            told_, of_status = delivery.read(name), shown.read(name)
            assert same_json(told_, of_status), f"the webhook is told the {name} {told_!r}, status shows {of_status!r}"
        asked = str(delivery.read("request"))
        assert asked == request.id, f"the webhook is told of the request {asked}, the generation is of {request.id}"


@check("RPL-14")
def test_the_webhook_is_told_each_reply_as_status_shows_it(stage: Stage) -> None:
    """A worker answers with words, with nothing, and with calls of tools: the webhook is told each of them whole."""
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    messages = [
        assistant(f"All about {stage.unique()}, é 🙂."),
        assistant(""),
        assistant(None, tool_call("look_up", '{"place": "Oslo", '), tool_call("write_down")),
    ]
    with receiving(stage.profile) as receiver:
        request, jobs = _answered(stage, receiver, *messages, usage=usage, finish_reason="length")
        heard = _heard_of(receiver, jobs)
    for job, message in zip(jobs, messages, strict=True):
        _judge(request, job, message, heard)


@check("RPL-14")
def test_a_delivery_that_is_refused_comes_again(stage: Stage) -> None:
    """The receiver refuses the first delivery: it comes again, and says the same."""
    message = assistant(f"All about {stage.unique()}.")
    with receiving(stage.profile, refusing=1) as receiver:
        request, jobs = _answered(stage, receiver, message)
        heard = _heard_of(receiver, jobs)
        refused = len(receiver.refused)
    assert refused, "the webhook was told nothing"
    assert heard, f"the receiver refused {refused} delivery, and none came again"
    _judge(request, jobs[0], message, heard)
