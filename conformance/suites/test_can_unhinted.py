"""CAN-14 and CAN-16: what a cancel does without a stream hint, and that posted output costs nothing by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conformance.absence import changes_nothing, receives_nothing
from conformance.actors import Family, Job
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.can_scenes import Scene, words
from conformance.suites.rpl_scenes import right_reply


@check("CAN-14", both=True)
def test_a_cancel_without_a_hint_moves_no_kudos(stage: Stage, family: Family) -> None:
    """One of two generations is in flight when the request is cancelled: only its reply moves kudos."""
    scene = Scene(stage, family)
    request, job = scene.unhinted(n=2)
    changes_nothing(request.cancel, seen=lambda: scene.look(request), control=lambda: right_reply(job, words(120)))


@check("CAN-14", both=True)
def test_after_a_cancel_without_a_hint_nobody_is_handed_the_rest(stage: Stage, family: Family) -> None:
    """One of two generations is in flight when the request is cancelled: the other is never handed out."""
    scene = Scene(stage, family)
    request, _ = scene.unhinted(n=2)
    request.cancel()

    def hand_out_another() -> Job | None:
        scene.submit()
        return scene.worker.pop()

    receives_nothing(scene.worker.pop, of=request, control=hand_out_another, because="it was cancelled")


@check("CAN-14", both=True)
def test_after_a_cancel_without_a_hint_a_reply_in_flight_counts(stage: Stage, family: Family) -> None:
    """A generation in flight is replied after the cancel: paid, charged and readable as without the cancel."""
    scene = Scene(stage, family)
    request, job = scene.unhinted()
    request.cancel()
    answer = right_reply(job, words(120))
    assert answer.accepted, f"the reply after the cancel was not taken: {answer}"
    twin, money = scene.finished(120), stage.money
    reward, cost = answer.read("reward"), money.charged(request)
    assert reward == twin.payment, f"the reply earned {reward} kudos; without a cancel it earns {twin.payment}"
    assert money.same(cost, twin.cost), f"the request cost {cost} kudos in all; without a cancel it costs {twin.cost}"
    shown = [generation.text for generation in request.status().generations]
    assert shown == [words(120)], f"the status shows the replies {shown}"


@check("CAN-16")
@pytest.mark.parametrize(("posted", "replied"), [(400, 120), (40, 320), (2000, 0)])
def test_posted_output_does_not_change_what_a_reply_costs(stage: Stage, posted: int, replied: int) -> None:
    """A worker streams more or less than its reply says in the end: the reply alone is charged and paid."""
    scene = Scene(stage)
    request, job = scene.streaming(words(posted))
    reward = scene.worker.reply(job, words(replied))
    twin, cost = scene.finished(replied), stage.money.charged(request)
    told = f"with {posted} characters posted a reply of {replied}"
    assert reward == twin.payment, f"{told} earned {reward} kudos; without a post it earns {twin.payment}"
    assert stage.money.same(cost, twin.cost), f"{told} cost {cost} kudos in all; without a post it costs {twin.cost}"


@check("CAN-16")
def test_posted_output_does_not_make_a_failure_cost(stage: Stage) -> None:
    """A worker gives its streamed generation up, or is overdue where the clock can be moved: that costs nothing."""
    scene = Scene(stage)
    _judge_failure(scene, scene.worker.fault)
    if "time" in stage.profile.capabilities:
        _judge_failure(scene, stage.time_out)


def _judge_failure(scene: Scene, end: Callable[[Job], object]) -> None:
    request, job = scene.streaming(words(400))

    def fail() -> None:
        end(job)
        if not scene.stage.until(lambda: request.status().waiting):
            raise CouldNotRun("the generation did not go back to the queue")

    changes_nothing(
        fail,
        seen=lambda: scene.look(request),
        control=lambda: scene.worker.reply(scene.take(request), words(120)),
    )


@check("CAN-16")
def test_posted_output_does_not_make_a_cancel_without_a_hint_cost(stage: Stage) -> None:
    """A worker posts its output unasked, and the request is cancelled: its reply costs what it always costs."""
    scene = Scene(stage)
    request, job = scene.unhinted(words(400))
    changes_nothing(request.cancel, seen=lambda: scene.look(request), control=lambda: right_reply(job, words(120)))
    cost, twin = stage.money.charged(request), scene.finished(120)
    assert stage.money.same(cost, twin.cost), (
        f"the request cost {cost} kudos in all; without a post it costs {twin.cost}"
    )
