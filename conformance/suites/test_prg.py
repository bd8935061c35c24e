"""PRG-01 to PRG-05: a worker's output so far, and what it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import hypothesis.strategies as some
import pytest

from conformance.absence import changes_nothing, refused
from conformance.actors import Job, Request, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.can_scenes import Scene, words
from conformance.suites.rpl_scenes import right_reply

ANYTHING = some.characters(exclude_categories=["Cs"], exclude_characters="\x00")


@check("PRG-01")
def test_a_workers_progress_on_its_own_job_is_accepted(stage: Stage) -> None:
    """A worker posts its output as it grows, from nothing on, in any script: each post is taken."""
    scene = Scene(stage)

    def judge(outputs: list[str]) -> None:
        _, job = scene.streaming()
        for output in ["", *outputs]:
            answer = scene.worker.try_progress(job, output)
            assert answer.accepted, f"the post {output!r} was answered with {answer}"

    stage.for_all(some.lists(some.text(ANYTHING, max_size=40), min_size=1, max_size=4), judge, count=5)


@check("PRG-01")
def test_progress_leaves_the_job_open_to_its_reply(stage: Stage) -> None:
    """A worker posts its output twice, and each post is taken; the reply that follows is taken as well."""
    scene = Scene(stage)
    request, job = scene.streaming()
    for output in ("A begin", "A beginning and"):
        answer = scene.worker.try_progress(job, output)
        assert answer.accepted, f"the post {output!r} was answered with {answer}"
    scene.worker.reply(job, "A beginning and an end.")
    if request.status().finished != 1:
        raise CouldNotRun("the reply did not finish its generation")
    _, unasked = scene.unhinted()
    stage.note("progress that nobody asked for is accepted", scene.worker.try_progress(unasked, "So far").accepted)


@check("PRG-02")
def test_the_requester_reads_the_output_so_far(stage: Stage) -> None:
    """Two workers stream two generations of one request: its status shows what each has posted last."""
    scene = Scene(stage)
    request = scene.stream(n=2)
    first, second = scene.take(request), scene.take(request)
    for job, output in ((first, "On the one"), (second, "On the other"), (first, "On the one hand 🙂")):
        scene.worker.progress(job, output)
    expected = ["On the one hand 🙂", "On the other"]
    shown = stage.until(lambda: sorted(map(str, request.status().partials)) == expected)
    assert shown, f"posted were {expected}; the status shows {request.status().partials}"


@check("PRG-03")
@pytest.mark.parametrize("stranger", ["another owner", "the requester"])
def test_nobody_else_posts_a_workers_progress(stage: Stage, stranger: str) -> None:
    """A stranger posts output for a worker's job: it is refused, and the cancel settles what the worker posted."""
    scene = Scene(stage)
    account = stage.owner(1) if stranger == "another owner" else stage.requester().account
    impostor = Worker(stage.client, account, f"conformance {stage.unique()}", {})
    request, job = scene.streaming(words(120))
    _, another = scene.streaming()
    before = request.status().counts
    answer = impostor.try_progress(job, words(400))
    refused(answer, control=lambda: scene.worker.try_progress(another, words(400)))
    after = request.status().counts
    assert after == before, f"the stranger's post changed the status from {before} to {after}"
    request.cancel()
    cost, own = stage.money.charged(request), scene.cancelled(120).cost
    assert stage.money.same(cost, own), (
        f"after the stranger's post the cancel cost {cost} kudos in all; the worker's own output costs {own}"
    )


def _replied(scene: Scene, request: Request, job: Job) -> None:
    scene.worker.reply(job, words(120))
    if request.status().finished != 1:
        raise CouldNotRun("the reply did not finish its generation")


def _faulted(scene: Scene, _: Request, job: Job) -> None:
    scene.worker.fault(job)


def _timed_out(scene: Scene, request: Request, job: Job) -> None:
    scene.stage.time_out(job)
    if not scene.stage.until(lambda: request.status().waiting):
        raise CouldNotRun("a generation in flight whose lifetime ended was not taken back")


@check("PRG-04")
def test_progress_after_a_generations_end_is_refused(stage: Stage) -> None:
    """A worker posts after its reply, its fault, or its lifetime's end where the clock can be moved: to no effect."""
    ends: list[Callable[[Scene, Request, Job], None]] = [_replied, _faulted]
    if "time" in stage.profile.capabilities:
        ends.append(_timed_out)
    for end in ends:
        scene = Scene(stage)
        request, job = scene.streaming(words(40))
        _, another = scene.streaming()
        end(scene, request, job)
        before = scene.books(request)
        late = scene.worker.try_progress(job, words(400))
        refused(late, control=partial(scene.worker.try_progress, another, words(400)))
        after = scene.books(request)
        assert after == before, f"the late post changed the request from {before} to {after}"


@check("PRG-04")
def test_progress_after_a_cancel_changes_nothing(stage: Stage) -> None:
    """A worker posts after the cancel of its stream: neither the state nor the settlement moves."""
    scene = Scene(stage)
    request, job = scene.streaming(words(120))
    other, other_job = scene.streaming(words(120))
    request.cancel()
    answers: list[Answer] = []

    def post() -> Answer:
        answers.append(scene.worker.try_progress(job, words(400)))
        return answers[0]

    changes_nothing(
        post,
        seen=lambda: [scene.books(request), scene.books(other)],
        control=lambda: scene.worker.reply(other_job, words(120)),
    )
    assert not answers[0].crashed, f"the post after the cancel is answered with {answers[0]}"


@check("PRG-05")
def test_partial_output_is_not_a_finished_generation(stage: Stage) -> None:
    """A worker has posted all but the end: nothing is finished until its reply, which then is."""
    scene = Scene(stage)
    request, job = scene.streaming(words(400))
    _judge_unfinished(request, "posted", processing=1)
    answer = right_reply(job, words(400))
    assert answer.accepted, f"the reply after the posts is answered with {answer}"
    if request.status().finished != 1:
        raise CouldNotRun("the reply did not finish its generation")


@check("PRG-05")
def test_the_output_of_a_failed_or_cancelled_generation_is_not_a_finished_one(stage: Stage) -> None:
    """A worker gives up after its posts, another's stream is cancelled: what they posted is no reply."""
    scene = Scene(stage)
    given_up, job = scene.streaming(words(400))
    scene.worker.fault(job)
    _judge_unfinished(given_up, "posted and given up", processing=0)
    again = scene.take(given_up)
    cancelled, _ = scene.streaming(words(400))
    cancelled.cancel()
    _judge_unfinished(cancelled, "posted and cancelled", processing=0)
    scene.worker.reply(again, words(40))
    if given_up.status().finished != 1:
        raise CouldNotRun("the reply did not finish its generation")


def _judge_unfinished(request: Request, what: str, *, processing: int) -> None:
    status = request.status()
    shown = [generation.text for generation in status.generations]
    seen = (status.finished, status.processing, shown)
    assert seen == (0, processing, []), (
        f"what was only {what}: {status.finished} finished, {status.processing} processing, shown as replies: {shown}"
    )
