"""RPL-15 to RPL-20: which replies are stored and how, and what is left of them after expiry or a lapse."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from conformance.absence import changes_nothing, not_found, refused, vanishes
from conformance.actors import Family, Job
from conformance.checks import check
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.rpl_scenes import Message, assistant, in_flight, reply_in_chat, right_reply, tool_call

if TYPE_CHECKING:
    from conformance.database import Row

# Telling


def paid_nothing(stage: Stage, job: Job, answer: Answer) -> bool:
    """Whether this answered reply moved no kudos to the worker's owner."""
    return stage.money.same(stage.money.paid(job), 0.0) if stage.money.exact else not answer.read("reward")


# Judging

WRONG: dict[str, Any] = {
    "no role": {"content": "Who said this?"},
    "a role that is a number": {"role": 1, "content": "Who said this?"},
    "content that is a number": {"role": "assistant", "content": 42},
    "content that is an object": {"role": "assistant", "content": {"text": "deep"}},
    "tool calls that are a string": {"role": "assistant", "content": None, "tool_calls": "look_up()"},
    "a list for a message": ["Who said this?"],
    "a string for a message": "Who said this?",
    "null for a message": None,
}


@check("RPL-15")
@pytest.mark.parametrize("shape", WRONG)
def test_a_reply_of_wrong_shape_is_refused(stage: Stage, shape: str) -> None:
    """A worker's reply has a wrong shape: it is refused, and the job stays open to a right one."""
    request, _ = in_flight(stage)
    (job,) = request.jobs
    wrong = reply_in_chat(job, WRONG[shape])
    refused(wrong, control=lambda: right_reply(job))
    assert request.status().finished == 1, "the right reply after the wrong one did not finish the generation"


@check("RPL-16")
def test_a_finished_reply_has_its_string(stage: Stage) -> None:
    """Words, nothing, tool calls alone: each finished generation's row holds a string, an empty one for nothing."""
    replies = {
        "words": (assistant("Some words."), "Some words."),
        "an empty reply": (assistant(""), ""),
        "tool calls alone": (assistant(None, tool_call()), ""),
    }
    request, _ = in_flight(stage, n=len(replies))
    for job, (what, (message, string)) in zip(request.jobs, replies.items(), strict=True):
        taken = reply_in_chat(job, message)
        if not taken.accepted:
            raise CouldNotRun(f"{what}: the reply was not taken: {taken}")
        stored = _row(stage, job)[stage.profile.database.generation_column]
        assert stored == string, f"{what}: the generation's string is stored as {stored!r}, not as {string!r}"


def _row(stage: Stage, job: Job) -> Row:
    rows = stage.database.rows(stage.profile.database.generation_row, id=job.id)
    if len(rows) != 1:
        raise CouldNotRun(f"generation {job.id} has {len(rows)} rows")
    return rows[0]


@check("RPL-17")
def test_an_expired_request_is_nowhere_to_be_found(stage: Stage) -> None:
    """A request with a reply expires: no route returns it or the reply, as they do a request that has not expired."""
    (expired, worker), (living, _) = in_flight(stage, n=2), in_flight(stage)
    worker.reply(expired.jobs[0], "A reply that will expire.")
    routes = [expired.requester.try_status, expired.requester.try_cancel]
    if "chat_request_record" in stage.profile.capabilities:
        routes.insert(0, expired.requester.try_record)
    for ask in routes[:-1]:
        if not ask(expired).accepted:
            raise CouldNotRun(f"the request is not found before it expires: {ask(expired)}")
    stage.expire(expired)
    stage.until(lambda: not expired.requester.try_status(expired).accepted)
    for ask in routes:
        not_found(ask(expired), control=partial(ask, living))


@check("RPL-17")
def test_a_reply_after_expiry_is_refused(stage: Stage) -> None:
    """A worker answers after its request has expired: it is refused and paid nothing."""
    (expired, worker), (living, _) = in_flight(stage), in_flight(stage)
    stage.expire(expired)
    stage.until(lambda: not expired.requester.try_status(expired).accepted)
    late = right_reply(expired.jobs[0])
    refused(late, control=lambda: right_reply(living.jobs[0]))
    assert paid_nothing(stage, expired.jobs[0], late), f"worker {worker.name} was paid for a reply after expiry"


@check("RPL-18")
def test_string_and_structured_reply_are_committed_at_once(stage: Stage) -> None:
    """A lock holds the reply back and another queues behind it: the first state that it sees has both or neither."""
    for reply in (assistant("Some words."), assistant(""), assistant(None, tool_call())):
        request, _ = in_flight(stage)
        (job,) = request.jobs
        before, first, answer = _first_committed(stage, job, reply)
        if _written(stage, before) != (False, False):
            raise CouldNotRun(f"before the reply, its columns are not all null: {before}")
        string, structured = _written(stage, first)
        assert string == structured, (
            f"a committed state of generation {job.id} has its {'string' if string else 'structured reply'}"
            f" without its {'structured reply' if string else 'string'}"
        )
        if not answer.accepted or _written(stage, _row(stage, job)) != (True, True):
            raise CouldNotRun(f"the reply that was held back was not written: {answer}")


def _written(stage: Stage, row: Row) -> tuple[bool, bool]:
    """Whether the generation's string is written, and whether its structured reply is, in whichever column."""
    names = stage.profile.database
    return row[names.generation_column] is not None, any(row[column] is not None for column in names.reply_columns)


def _first_committed(stage: Stage, job: Job, message: Message) -> tuple[Row, Row, Answer]:
    """The generation's row before the reply, its first committed state after, and what the reply was answered.

    Our first lock stops the target at its first write of the row; our second queues behind that write and is let in
    by its commit, before any further one.
    """
    database, statement = stage.database, stage.profile.database.lock_generation

    def lock() -> Row:
        return database.rows(statement, id=job.id)[0]

    def wait_for(count: int, who: str) -> None:
        # Twice this long the reply waits for its answer at most.
        within = 0.4 * stage.profile.timings.answer
        if not stage.until(lambda: database.waiting_behind(holder) >= count, within=within):
            raise CouldNotRun(f"{who} does not wait for the generation's row, which is locked")

    second: Future[Row]
    with stage.crowd(2) as crowd:
        with database.session() as holder:
            before = database.rows(statement, id=job.id, on=holder)[0]
            reply = crowd.submit(reply_in_chat, job, message)
            wait_for(1, "the reply")
            second = crowd.submit(lock)
            wait_for(2, "a second lock")
        return before, second.result(), reply.result()


@check("RPL-19")
def test_nothing_that_was_said_outlives_expiry(stage: Stage) -> None:
    """A request with a reply expires: no row holds its prompt, messages, extras or reply any more."""
    names = stage.profile.database
    said = {what: stage.unique(16) for what in ("prompt and messages", "extras", "reply", "tool call")}
    tool = {"type": "function", "function": {"name": said["extras"], "parameters": {}}}
    request, _ = in_flight(stage, content=f"Tell me of {said['prompt and messages']}.", tools=[tool])
    message = assistant(said["reply"], tool_call(arguments=said["tool call"]))
    taken = reply_in_chat(request.jobs[0], message)

    def held() -> dict[str, list[str]]:
        found = {what: stage.database.holding(names.content_tables, word) for what, word in said.items()}
        return {what: tables for what, tables in found.items() if tables}

    if not taken.accepted or held().keys() != said.keys():
        raise CouldNotRun(f"of what was said only {sorted(held())} is found in {names.content_tables}: {taken}")
    vanishes(lambda: stage.expire(request), seen=held, patience=stage.until)


@check("RPL-20", both=True)
def test_an_unanswered_generation_is_queued_again_for_nothing(stage: Stage, family: Family) -> None:
    """A worker is too slow: its generation waits again for nothing, and its late reply is refused and unpaid."""
    request = stage.submit(family, stage.model())
    submitted = stage.money.charged(request)
    slow = stage.serving(family, *request.models).pop_job(request)
    stage.time_out(slow)
    status = stage.until(lambda: (seen := request.status()).waiting == 1 and seen) or request.status()
    counts = (status.waiting, status.processing, status.finished, status.restarted, status.done)
    assert counts == (1, 0, 0, 1, False), (
        f"after the lapse (waiting, processing, finished, restarted, done) are {counts}"
    )
    charged = stage.money.charged(request)
    assert stage.money.same(charged, submitted), f"charged {submitted} for the submit, and {charged} after the lapse"
    late: list[Answer] = []
    right: list[Answer] = []
    changes_nothing(
        lambda: late.append(right_reply(slow)),
        seen=lambda: (request.status().counts, stage.money.charged(request)),
        control=lambda: right.append(right_reply(stage.serving(family, *request.models).pop_job(request))),
    )
    refused(late[0], control=lambda: right[0])
    assert paid_nothing(stage, slow, late[0]), "a worker was paid for a late reply"


@check("RPL-20", both=True)
def test_the_next_worker_gets_the_same_words(stage: Stage, family: Family) -> None:
    """A worker is too slow: the next one is handed what the first was."""
    talk = [
        {"role": "system", "content": "Be brief."},
        assistant("Ask me."),
        {"role": "user", "content": "What is new?"},
    ]
    fields: dict[str, Any] = {"messages": talk} if family is Family.CHAT else {}
    request = stage.submit(family, stage.model(), **fields)
    slow = stage.serving(family, *request.models).pop_job(request)
    stage.time_out(slow)
    next_worker = stage.serving(family, *request.models)
    next_job = stage.until(next_worker.pop)
    assert next_job is not None, "no worker was handed the generation again after its lifetime"
    words, first = (next_job.messages, slow.messages) if family is Family.CHAT else (next_job.prompt, slow.prompt)
    assert same_json(words, first), f"the first worker was handed {first!r}, the next one {words!r}"
