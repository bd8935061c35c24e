"""CAN-06 to CAN-11 and CAN-15: a cancelled stream is settled once, and then it is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from conformance.absence import changes_nothing, leaves_alone, receives_nothing
from conformance.actors import Job, Request
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.histories import Rule
from conformance.stage import Stage
from conformance.suites.can_scenes import Scene, tokens, words
from conformance.suites.history_scenes import broken
from conformance.suites.rpl_scenes import right_reply

# What a worker may still send when its generation was settled.
LATE: dict[str, Callable[[Job], Answer]] = {
    "reply": lambda job: right_reply(job, words(400)),
    "fault": lambda job: job.worker.try_fault(job),
    "progress": lambda job: job.worker.try_progress(job, words(400)),
}
ROUNDS = 8
SETTLED_ONCE = (Rule.SETTLED_TWICE, Rule.MISCHARGED, Rule.FLOOR, Rule.HALF, Rule.STALE)


@check("CAN-06")
def test_a_stream_that_nobody_picked_up_costs_nothing_more(stage: Stage) -> None:
    """A stream still waits when it is cancelled: it costs its submit; one in flight costs a settlement."""
    asleep = Scene(stage).stream(n=3)
    scene = Scene(stage)
    awake, _ = scene.streaming(words(200))
    changes_nothing(asleep.cancel, seen=lambda: scene.look(asleep, awake), control=awake.cancel)


@check("CAN-06")
def test_only_what_was_picked_up_is_settled(stage: Stage) -> None:
    """One of three generations is in flight when the stream is cancelled: it costs what one costs."""
    scene = Scene(stage)
    request = scene.stream(n=3)
    before = stage.money.charged(request)
    scene.take(request, words(200))
    request.cancel()
    _judge_one_settlement(scene, stage.money.charged(request) - before, 200, "two generations nobody picked up")


@check("CAN-07")
def test_beside_one_in_flight_a_finished_generation_is_not_settled_again(stage: Stage) -> None:
    """One of two generations is finished when the stream is cancelled: only the other is settled."""
    scene = Scene(stage)
    request = scene.stream(n=2)
    finished = scene.take(request, words(120))
    scene.worker.reply(finished, words(320))
    scene.take(request, words(200))
    before, paid = stage.money.charged(request), _paid(stage, finished)
    request.cancel()
    _judge_one_settlement(scene, stage.money.charged(request) - before, 200, "a finished generation")
    assert _paid(stage, finished) == paid, f"the finished generation was paid {paid}, then {_paid(stage, finished)}"


@check("CAN-07")
def test_a_finished_stream_is_not_settled_again(stage: Stage) -> None:
    """The reply of a stream is there when it is cancelled: neither its cost nor its payment changes."""
    scene = Scene(stage)
    request, job = scene.streaming(words(200))
    in_flight = scene.look(request)
    scene.worker.reply(job, words(320))
    leaves_alone(request.cancel, seen=lambda: scene.look(request), unlike=in_flight)


@check("CAN-08")
@pytest.mark.parametrize("late", LATE)
def test_what_a_worker_sends_after_the_settlement_changes_nothing(stage: Stage, late: str) -> None:
    """A stream was cancelled and settled; its worker sends a reply, a fault or progress: nothing moves any more."""
    scene = Scene(stage)
    request, job = scene.streaming(words(200))
    in_flight = scene.books(request)
    request.cancel()
    answers: list[Answer] = []

    def send() -> Answer:
        answers.append(LATE[late](job))
        return answers[0]

    leaves_alone(send, seen=lambda: scene.books(request), unlike=in_flight)
    rewarded = late != "progress" and answers[0].accepted and answers[0].read("reward")
    assert not rewarded, f"the late {late} was answered with a reward of {rewarded} kudos"


@check("CAN-09")
def test_a_second_cancel_costs_nothing(stage: Stage) -> None:
    """A requester cancels a stream twice: it is charged, and its worker paid, once."""
    scene = Scene(stage)
    request, _ = scene.streaming(words(200))
    in_flight = scene.books(request)
    request.cancel()
    cancel_again = partial(request.requester.try_cancel, request)
    leaves_alone(cancel_again, seen=lambda: scene.books(request), unlike=in_flight)


@check("CAN-09")
def test_cancels_at_the_same_moment_cost_what_one_costs(stage: Stage) -> None:
    """A requester's program cancels one stream four times at once: it is settled once."""
    scene = Scene(stage)
    alone = scene.submit_cost()
    request, _ = scene.streaming(words(200))
    answers = stage.at_once(*[partial(request.requester.try_cancel, request)] * 4)
    if any(answer.limited for answer in answers):
        raise CouldNotRun(f"cancels at once were refused for their rate only: {', '.join(map(str, answers))}")
    _judge_one_settlement(scene, stage.money.charged(request) - alone, 200, "four cancels at once")


@check("CAN-10")
def test_of_a_cancel_and_a_reply_at_the_same_moment_one_settles(stage: Stage) -> None:
    """Many streams are cancelled in the moment of their replies: each is settled as the one or as the other."""
    scene = Scene(stage)
    posted, replied = tokens(stage, 50), tokens(stage, 80)
    # What so much output is worth; the streams say something else each, of the same length.
    scene.finished(posted)
    streams = [scene.streaming(words(posted), content=_as_long_as(scene)) for _ in range(2 * ROUNDS)]
    answers = _race(stage, streams[:ROUNDS], replied, reply_first=False)
    answers += _race(stage, streams[ROUNDS:], replied, reply_first=True)
    rewarded = [bool(answer.accepted and answer.read("reward")) for answer in answers]
    stage.note("races won by the reply", f"{sum(rewarded)} of {len(rewarded)}")
    for request, _ in streams:
        request.status()
    witness = broken(stage, SETTLED_ONCE)
    assert witness is None, str(witness)
    if stage.money.exact:
        for (_, job), won in zip(streams, rewarded, strict=True):
            _judge_payment(scene, job, replied if won else posted, won=won)


def _as_long_as(scene: Scene) -> str:
    return f"Tell me about {scene.stage.unique()}."


def _race(stage: Stage, streams: list[tuple[Request, Job]], length: int, *, reply_first: bool) -> list[Answer]:
    """Cancel all streams in the moment of their replies; gives the answers to the replies."""
    replies: list[Callable[[], Answer]] = [partial(right_reply, job, words(length)) for _, job in streams]
    cancels: list[Callable[[], Answer]] = [partial(request.requester.try_cancel, request) for request, _ in streams]
    if reply_first:
        return stage.at_once(*replies, *cancels)[: len(replies)]
    return stage.at_once(*cancels, *replies)[len(cancels) :]


def _judge_payment(scene: Scene, job: Job, length: int, *, won: bool) -> None:
    """The worker was paid what one such reply does, or one such cancel, when nothing races it."""
    due = scene.finished(length) if won else scene.cancelled(length)
    what = "reply was rewarded" if won else "reply came too late"
    paid = scene.stage.money.paid(job)
    assert scene.stage.money.same(paid, due.payment), (
        f"the {what}, and its worker was paid {paid} kudos, not {due.payment}"
    )


@check("CAN-11")
@pytest.mark.parametrize("posted", [(), (100,)], ids=["silent", "talking"])
def test_the_next_progress_post_says_that_the_stream_was_cancelled(stage: Stage, posted: tuple[int, ...]) -> None:
    """A worker goes on after the cancel: its next post tells it, while another stream's worker goes on untold."""
    scene = Scene(stage)
    request, job = scene.streaming(*(words(length) for length in posted))
    _, other = scene.streaming()
    request.cancel()
    answer = scene.worker.try_progress(job, words(200))
    assert answer.accepted, f"the post after the cancel is answered with {answer}"
    assert answer.read("cancelled") is True, f"the post after the cancel is told {answer.read('cancelled')!r}"
    if scene.worker.progress(other, words(200)):
        raise CouldNotRun("the worker of a stream that nobody cancelled is told the same")


@check("CAN-15")
@pytest.mark.parametrize("act", ["reply", "fault", "second cancel"])
def test_nothing_puts_a_cancelled_stream_back_into_the_queue(stage: Stage, act: str) -> None:
    """After a streamed cancel its worker replies or gives up, or the requester cancels again: nobody is handed it."""
    scene = Scene(stage)
    request = scene.stream(n=2)
    job = scene.take(request, words(200))
    request.cancel()
    if act == "second cancel":
        request.requester.try_cancel(request)
    else:
        LATE[act](job)
    _judge_over(scene, request, f"it was cancelled before the {act}")


@check("CAN-15")
def test_no_timeout_puts_a_cancelled_stream_back_into_the_queue(stage: Stage) -> None:
    """The lifetime of a settled generation ends, where the clock can be moved: nobody is handed the stream again."""
    scene = Scene(stage)
    request = scene.stream(n=2)
    job = scene.take(request, words(200))
    request.cancel()
    if "time" in stage.profile.capabilities:
        other, other_job = Scene(stage).streaming()
        stage.time_out(job)
        stage.time_out(other_job)
        # The same pass of the target's cleaner that takes the other one back has seen the settled one too.
        if not stage.until(lambda: other.status().waiting):
            raise CouldNotRun("a generation in flight whose lifetime ended was not taken back")
    _judge_over(scene, request, "it was cancelled before its generation's lifetime ended")


# Judging


def _judge_over(scene: Scene, request: Request, because: str) -> None:
    """Another worker than the one that failed, as a target may spare a request its last one."""
    another = scene.stage.chat_worker(scene.model)

    def hand_out_another() -> Job | None:
        scene.submit()
        return another.pop()

    receives_nothing(another.pop, of=request, control=hand_out_another, because=because)


def _judge_one_settlement(scene: Scene, cost: float, length: int, beside: str) -> None:
    expected = scene.cancelled(length).cost - scene.submit_cost()
    assert scene.stage.money.same(cost, expected), (
        f"beside {beside} the cancel cost {cost} kudos; a stream alone with as much output costs {expected}"
    )


def _paid(stage: Stage, job: Job) -> float | None:
    """What was paid for a job, where the ledger shows it."""
    return stage.money.paid(job) if stage.money.exact else None
