"""CAN-01 to CAN-05, CAN-12 and CAN-13: what a cancelled stream is settled on."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as some
import pytest

from conformance.checks import check
from conformance.stage import Stage
from conformance.suites.can_scenes import Scene, tokens, words

# Text as the protocol carries it: every character but NUL and halves of surrogate pairs.
ANYTHING = some.characters(exclude_categories=["Cs"], exclude_characters="\x00")
ASTRAL = some.characters(min_codepoint=0x10000, exclude_categories=["Cs"])


@check("CAN-01")
def test_a_cancelled_stream_is_settled_on_what_was_posted(stage: Stage) -> None:
    """A worker posts its growing output a few times; the requester cancels; the last post is what it costs."""
    scene = Scene(stage)
    whole_tokens = some.integers(21, scene.max_length - 1).map(lambda number: tokens(stage, number))

    def judge(lengths: list[int]) -> None:
        lengths = sorted(lengths)
        request, _ = scene.streaming(*(words(length) for length in lengths))
        request.cancel()
        scene.judge_settled(request, lengths[-1], f"{lengths} characters")

    stage.for_all(some.lists(whole_tokens, min_size=1, max_size=4, unique=True), judge, count=5)


@check("CAN-01")
def test_the_last_accepted_post_counts_even_when_it_is_shorter(stage: Stage) -> None:
    """A worker takes back part of its output; the requester cancels; what the target accepted last is what it costs."""
    scene = Scene(stage)
    longer, shorter = tokens(stage, 100), tokens(stage, 40)
    request, job = scene.streaming(words(longer))
    took_back = scene.worker.try_progress(job, words(shorter)).accepted
    request.cancel()
    scene.judge_settled(request, shorter if took_back else longer, f"{longer} and then {shorter} characters")


@check("CAN-02")
@pytest.mark.parametrize("posted", [None, 0, 1, 19, 20])
def test_little_output_is_settled_at_the_floor(stage: Stage, posted: int | None) -> None:
    """A worker has posted nothing or little when the requester cancels: that costs 20 tokens."""
    floor = stage.profile.tokens.floor
    scene = Scene(stage)
    request, _ = scene.streaming(*([] if posted is None else [words(tokens(stage, posted))]))
    request.cancel()
    scene.judge_settled(request, tokens(stage, floor), "nothing" if posted is None else f"{posted} tokens")


@check("CAN-02")
@pytest.mark.parametrize("max_length", [24, 120])
def test_every_length_up_to_the_floor_is_settled_at_the_floor(stage: Stage, max_length: int) -> None:
    """Whatever a worker has posted up to 80 characters, also where the request allows hardly more: 20 tokens."""
    scene = Scene(stage, max_length=max_length)
    at_most = tokens(stage, stage.profile.tokens.floor)

    def judge(length: int) -> None:
        request, _ = scene.streaming(words(length))
        request.cancel()
        scene.judge_settled(request, at_most, f"{length} characters")

    stage.for_all(some.one_of(some.integers(at_most - 8, at_most), some.integers(0, at_most)), judge, count=5)


@check("CAN-03")
@pytest.mark.parametrize("number", [21, 50, 120])
def test_above_the_floor_the_settlement_follows_the_output(stage: Stage, number: int) -> None:
    """A worker has posted more than 20 tokens, up to max_length, when the requester cancels: that is what it costs."""
    scene = Scene(stage, max_length=120)
    request, _ = scene.streaming(words(tokens(stage, number)))
    request.cancel()
    scene.judge_settled(request, tokens(stage, number), f"{number} tokens")


@check("CAN-03")
@pytest.mark.parametrize("characters", [ANYTHING, ASTRAL], ids=["anything", "astral"])
def test_tokens_are_counted_in_characters_and_begun_ones_count(stage: Stage, characters: Any) -> None:
    """Around the floor's end, in whatever script: four characters are a token, a begun one is whole."""
    scene = Scene(stage)
    floor = tokens(stage, stage.profile.tokens.floor)
    first, second = floor + 1, floor + 1 + stage.profile.tokens.characters

    def judge(output: str) -> None:
        request, _ = scene.streaming(output)
        request.cancel()
        scene.judge_settled(request, len(output), f"{output!r} ({len(output)} characters)")

    for length in (first, second):
        judge(words(length))
    stage.for_all(some.text(characters, min_size=first, max_size=second), judge, count=5)


@check("CAN-04")
def test_the_requester_is_charged_for_what_the_worker_is_paid_for(stage: Stage) -> None:
    """Streams are cancelled at many lengths: between each charge and its payment lies the same fee, or none."""
    money, fee = stage.money, stage.profile.money.finish_fee
    scene = Scene(stage)
    alone = scene.submit_cost()
    money.open(stage.owner())
    requests = [scene.streaming(words(length))[0] for length in (0, 3, 81, 200, scene.longest, 3 * scene.longest)]
    for request in requests:
        request.cancel()
    charges = [money.charged(request) - alone for request in requests]
    assert all(charge > 0 for charge in charges), f"the cancels were charged {charges} kudos"
    if money.exact:
        kept = [charge - money.paid(*request.jobs) for charge, request in zip(charges, requests, strict=True)]
        movements = 1
    else:
        # The owner's balance shows the sum of all payments only.
        kept = [sum(charges) - money.paid(*(job for request in requests for job in request.jobs))]
        fee *= len(requests)
        movements = len(requests)
    stage.note("charge minus pay of a cancelled generation", kept)
    for other in kept:
        assert money.same(other, kept[0], movements=movements), f"charge minus pay differs: {kept} kudos"
    assert money.same(kept[0], 0, movements=movements) or money.same(kept[0], fee, movements=movements), (
        f"charge minus pay is {kept[0]} kudos, neither 0 nor {fee}"
    )


@check("CAN-05")
def test_several_in_flight_are_each_settled_on_their_own_output(stage: Stage) -> None:
    """Three workers stream three generations of one request; the cancel costs what three such cancels cost."""
    money = stage.money
    scene = Scene(stage)
    alone = scene.submit_cost()
    lengths = [8, tokens(stage, 40), tokens(stage, 110)]
    apart = [scene.cancelled(length) for length in lengths]
    request = scene.stream(n=3)
    before = money.charged(request)
    for length in lengths:
        worker = stage.chat_worker(scene.model)
        worker.progress(worker.pop_job(request), words(length))
    request.cancel()
    cost, expected = money.charged(request) - before, sum(worth.cost - alone for worth in apart)
    assert money.same(cost, expected, movements=3), (
        f"with {lengths} characters posted the cancel cost {cost} kudos; three such streams cost {expected}"
    )
    if money.exact:
        paid, due = [money.paid(job) for job in request.jobs], [worth.payment for worth in apart]
        each = all(money.same(one, other) for one, other in zip(paid, due, strict=True))
        assert each, f"with {lengths} characters posted the workers were paid {paid} kudos; alone each is paid {due}"


@check("CAN-12")
def test_output_beyond_the_requests_length_is_settled_at_that_length(stage: Stage) -> None:
    """A worker posts more than it was asked for; the requester cancels, and pays for max_length tokens."""
    scene = Scene(stage, max_length=32)

    def judge(length: int) -> None:
        request, _ = scene.streaming(words(length))
        request.cancel()
        scene.judge_settled(request, scene.longest, f"{length} characters")

    judge(scene.longest + 1)
    stage.for_all(some.integers(scene.longest + 1, 40 * scene.longest), judge, count=3)


@check("CAN-13")
def test_where_the_request_is_shorter_than_the_floor_one_of_them_wins(stage: Stage) -> None:
    """A stream of fewer than 20 tokens at most is cancelled; what it costs is recorded, not judged."""
    shortest, floor = stage.profile.limits.max_length_minimum, stage.profile.tokens.floor
    short, roomy = Scene(stage, max_length=shortest), Scene(stage, max_length=floor + 4)
    request, _ = short.streaming(words(tokens(stage, floor)))
    request.cancel()
    cost = stage.money.charged(request)
    capped, floored = (scene.finished(tokens(stage, floor)).cost for scene in (short, roomy))
    stage.note("cost of the cancel", cost)
    stage.note(f"cost of {shortest} tokens", capped)
    stage.note(f"cost of {floor} tokens", floored)
    stage.note("the bound that wins", "max_length" if abs(cost - capped) <= abs(cost - floored) else "floor")
