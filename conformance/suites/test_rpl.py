"""RPL: the structured reply. RPL-01 to RPL-08 and RPL-24: what a worker says is what the requester reads."""

from __future__ import annotations

import threading
from typing import Any

from conformance.absence import refused
from conformance.actors import Family, Job, Request, Worker
from conformance.checks import check
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.histories import Rule
from conformance.stage import Stage
from conformance.statuses import Generation, Status
from conformance.suites.history_scenes import broken
from conformance.suites.rpl_scenes import Message, assistant, in_flight, reply_in_chat, tool_call
from fixtures.payloads import examples

# What readers beside a worker must see: a reply whole, or not at all, and never less than before.
WHOLE_REPLIES = (Rule.HALF, Rule.STALE, Rule.FORKED)

# Telling


def said(stage: Stage, worker: Worker, message: Message, **reply: Any) -> Generation:
    """What chat status shows of this reply of this worker."""
    request = stage.chat(*worker.declaration["models"])
    answer = reply_in_chat(worker.pop_job(request), message, **reply)
    assert answer.accepted, f"a worker's reply was not taken: {answer}"
    shown = request.status().generations
    assert len(shown) == 1, f"the reply was taken, and the status shows {len(shown)} generations"
    return shown[0]


def assert_same(what: str, shown: Any, sent: Any) -> None:
    assert same_json(shown, sent), f"the worker sent the {what} {sent!r}, the status shows {shown!r}"


# Judging


@check("RPL-01")
def test_status_shows_what_the_worker_said(stage: Stage) -> None:
    """Whatever a worker says, chat status shows message, finish reason and usage as they were sent."""
    worker = stage.chat_worker(stage.model())
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}

    def judge(message: Message) -> None:
        shown = said(stage, worker, message, usage=usage)
        assert_same("message", shown.message, message)
        assert_same("finish reason", shown.finish_reason, "stop")
        assert_same("usage", shown.usage, usage)

    stage.for_all(examples.spoken(), judge, count=9)


@check("RPL-01")
def test_a_nul_is_refused_or_replaced(stage: Stage) -> None:
    """A worker says NUL: it is refused and may say it otherwise, or the requester reads U+FFFD as in text."""
    request, _ = in_flight(stage)
    (job,) = request.jobs
    answer = reply_in_chat(job, assistant("before\0after"))
    if answer.accepted:
        shown = [g.message for g in request.status().generations]
        assert same_json(shown, [assistant("before\ufffdafter")]), f"NUL became {shown!r}"
    else:
        refused(answer, control=lambda: reply_in_chat(job, assistant("before, after")))


@check("RPL-02")
def test_readers_never_see_half_a_reply(stage: Stage) -> None:
    """Replies arrive while others read: what counts as finished has its message, and no message comes before."""
    model = stage.model()
    worker = stage.chat_worker(model)
    requests = [stage.chat(model, requester=index, n=3) for index in range(3)]
    jobs = [worker.pop_job() for _ in range(9)]
    readings: list[list[Status]] = [[request.status()] for request in requests]
    over = threading.Event()

    def read(request: Request, seen: list[Status]) -> None:
        while not over.is_set():
            seen.append(request.status())

    with stage.crowd(len(requests)) as crowd:
        readers = [crowd.submit(read, *pair) for pair in zip(requests, readings, strict=True)]
        try:
            stage.until(lambda: all(len(seen) > 1 for seen in readings) or any(reader.done() for reader in readers))
            for job in jobs:
                worker.reply(job, f"Said of {stage.unique()}.")
        finally:
            over.set()
        for reader in readers:
            reader.result()
    seen = [(before[0].finished, request.status().finished) for request, before in zip(requests, readings, strict=True)]
    witness = broken(stage, WHOLE_REPLIES)
    assert witness is None, str(witness)
    if set(seen) != {(0, 3)}:
        raise CouldNotRun(f"the readers saw {seen} replies at first and at last, not 0 and 3")


def _completes(stage: Stage, message: Message, finish_reason: str = "stop") -> Generation:
    """This reply ends the request: finished, done, neither queued again nor faulted."""
    request, worker = in_flight(stage)
    (job,) = request.jobs
    answer = reply_in_chat(job, message, finish_reason=finish_reason)
    assert answer.accepted, f"the reply {message!r} was not taken: {answer}"
    _assert_complete(request)
    if "time" in stage.profile.capabilities:
        _outlives(stage, job)
        _assert_complete(request)
    later = stage.chat(*request.models)
    handed = worker.pop_job()
    assert same_json(handed.messages, later.messages), f"the request was queued again after the reply {message!r}"
    return request.status().generations[0]


def _assert_complete(request: Request) -> None:
    status = request.status()
    counts = {"finished": 1, "waiting": 0, "processing": 0, "restarted": 0, "done": True, "faulted": False}
    seen = {name: status.counts[name] for name in counts}
    assert seen == counts, f"after the reply the status shows {seen}, not {counts}"


def _outlives(stage: Stage, job: Job) -> None:
    """The job's lifetime ends, and the cleaner has taken back another whose lifetime ended with it."""
    other, _ = in_flight(stage)
    stage.time_out(job)
    stage.time_out(other.jobs[0])
    if not stage.until(lambda: other.status().restarted == 1):
        raise CouldNotRun("a generation whose lifetime had ended was not taken back")


@check("RPL-03")
def test_an_empty_reply_completes_the_generation(stage: Stage) -> None:
    """A worker has nothing to say: the request is finished and done, and its requester reads the empty string."""
    shown = _completes(stage, assistant(""))
    assert_same("message", shown.message, assistant(""))


@check("RPL-04")
def test_tool_calls_without_content_complete_the_generation(stage: Stage) -> None:
    """A worker calls a tool and says nothing: the request is finished and done."""
    _completes(stage, assistant(None, tool_call()), "tool_calls")


@check("RPL-05")
def test_an_empty_reply_is_settled_as_an_empty_text_generation(stage: Stage) -> None:
    """Twins get an empty reply each: the same is charged and the same is paid."""
    settled = {}
    for family in (Family.TEXT, Family.CHAT):
        model = stage.model()
        request = stage.submit(family, model, content=stage.twin_content(), max_length=80)
        job = stage.serving(family, model).pop_job(request)
        reward = job.worker.reply(job, "")
        settled[family] = (stage.money.charged(request), stage.money.paid(job) if stage.money.exact else reward)
    for what, text, chat in zip(("charged", "paid"), settled[Family.TEXT], settled[Family.CHAT], strict=True):
        same = stage.money.same(chat, text, movements=2)
        assert same, f"{what} for an empty chat reply: {chat}; for an empty text generation: {text}"


@check("RPL-06")
def test_tool_calls_come_back_whole(stage: Stage) -> None:
    """Ids, names and argument strings come back code point by code point, JSON or not."""
    worker = stage.chat_worker(stage.model())

    def judge(message: Message) -> None:
        shown = said(stage, worker, message, finish_reason="tool_calls").message
        assert isinstance(shown, dict), f"a reply with tool calls is shown as {shown!r}"
        assert_same("tool calls", shown.get("tool_calls"), message["tool_calls"])

    stage.for_all(examples.calling(), judge, count=9)


@check("RPL-07")
def test_each_finish_reason_comes_back(stage: Stage) -> None:
    """Stopped, cut off, calling tools, filtered: the requester reads the reason that the worker gave."""
    worker = stage.chat_worker(stage.model())
    for reason in ("stop", "length", "tool_calls", "content_filter"):
        message = assistant("Some words.", *([tool_call()] if reason == "tool_calls" else []))
        assert_same("finish reason", said(stage, worker, message, finish_reason=reason).finish_reason, reason)


@check("RPL-08")
def test_usage_that_was_not_reported_is_not_invented(stage: Stage) -> None:
    """A worker reports no usage, or null: the requester reads none."""
    worker = stage.chat_worker(stage.model())
    message = assistant("Nobody counted these words.")
    unreported = [said(stage, worker, message), said(stage, worker, message, usage=None)]
    for shown in unreported:
        assert shown.usage is None, f"no usage was reported, the status shows {shown.usage!r}"


@check("RPL-08")
def test_reported_usage_comes_back_number_for_number(stage: Stage) -> None:
    """Whole or in part, zero or large: the requester reads the numbers that the worker reported, and no others."""
    worker = stage.chat_worker(stage.model())

    def judge(usage: dict[str, Any]) -> None:
        shown = said(stage, worker, assistant("Counted words."), usage=usage)
        assert_same("usage", shown.usage, usage)

    stage.for_all(examples.usages(), judge, count=8)


@check("RPL-24")
def test_a_null_reply_without_tool_calls_completes_the_generation(stage: Stage) -> None:
    """A worker has not even an empty string to say: the request is finished and done."""
    _completes(stage, assistant(None))
