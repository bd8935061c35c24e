"""Hand-written readings, costs, keys and balances: what can have been seen is legal, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.histories import History, Rule, Terms, judge
from conformance.histories.model import (
    AnyOperation,
    Balance,
    Cancel,
    Fault,
    Outcome,
    Pop,
    Progress,
    Reading,
    Reply,
    Submit,
)

UNKNOWN = Outcome.UNKNOWN


def at(called: float, returned: float | None = None) -> dict[str, Any]:
    return {"called": called, "returned": called + 0.5 if returned is None else returned, "actor": "someone"}


def asked(request: str = "r1", *, when: float = 0, **fields: Any) -> Submit:
    told = {"account": "ann", "family": "chat", "models": ("m",), "max_length": 100, **fields}
    return Submit(**at(when), **told, request=request)


def handed(generation: str, when: float = 1, request: str = "r1") -> Pop:
    job: dict[str, Any] = {"request": request, "family": "chat", "model": "m", "generations": (generation,)}
    return Pop(**at(when), account="bob", models=("m",), chat_models=("m",), **job)


def said(generation: str, words: str, when: float = 2, reward: float = 5.0, **fields: Any) -> Reply:
    return Reply(**{**at(when), "tokens": 50, **fields}, generation=generation, said=words, reward=reward)


def seen(when: float, *words: str | None, left: tuple[int, int] = (0, 0), **fields: Any) -> Reading:
    """A reading that shows these replies, and so many in flight and waiting."""
    counts = {"finished": len(words), "processing": left[0], "waiting": left[1], "done": not any(left)}
    return Reading(**{**at(when), **counts, **fields}, request="r1", said=words)


def broken(*acts: AnyOperation, **fields: Any) -> Rule | None:
    witness = judge(History(operations=acts, **fields))
    return witness.rule if witness else None


ONE = (asked(), handed("g1"))
TWO = (asked(n=2), handed("g1"), handed("g2"))


# Replies


def test_what_counts_as_finished_is_shown_whole() -> None:
    acts = (*ONE, said("g1", "hello"))
    assert broken(*acts, seen(3, "hello")) is None
    assert broken(*acts, seen(3, None)) is Rule.HALF
    assert broken(*acts, seen(2.1, "hello", finished=0, processing=1, done=False)) is Rule.HALF
    assert broken(*acts, seen(3, finished=1)) is Rule.HALF


def test_a_request_that_the_history_does_not_hold_is_still_not_shown_by_halves() -> None:
    assert broken(seen(3, "anything", left=(2, 5))) is None
    assert broken(seen(3, None)) is Rule.HALF


def test_a_reply_is_shown_when_it_can_have_been_taken_and_must_be_afterwards() -> None:
    acts = (*ONE, said("g1", "hello"))
    assert broken(*acts, seen(2.2, "hello")) is None
    assert broken(*acts, seen(2.2, left=(1, 0))) is None
    assert broken(*acts, seen(1.2, "hello")) is Rule.UNSAID
    assert broken(*acts, seen(3, "another")) is Rule.UNSAID
    assert broken(*acts, seen(3, left=(1, 0))) is Rule.STALE


def test_replies_that_are_alike_are_counted() -> None:
    acts = (*TWO, said("g1", "hello"), said("g2", "hello", when=4))
    assert broken(*acts, seen(5, "hello", "hello")) is None
    assert broken(*acts, seen(3, "hello", left=(1, 0))) is None
    assert broken(*acts, seen(3, "hello", "hello")) is Rule.UNSAID
    assert broken(*acts, seen(5, "hello", left=(1, 0))) is Rule.STALE


def test_a_reply_whose_answer_was_lost_may_be_shown_and_then_stays() -> None:
    acts = (*ONE, Reply(**at(2), outcome=UNKNOWN, generation="g1", said="hello"))
    assert broken(*acts, seen(9, left=(1, 0))) is None
    assert broken(*acts, seen(9, left=(1, 0)), seen(10, "hello")) is None
    assert broken(*acts, seen(9, "hello"), seen(10, left=(1, 0))) is Rule.STALE


def test_a_reply_in_another_familys_form_is_not_compared() -> None:
    acts = (*ONE, Reply(**at(2), generation="g1", said=None, reward=5.0))
    assert broken(*acts, seen(3, "whatever became of it")) is None
    assert broken(*acts, seen(3, None)) is None


def test_two_readings_beside_each_other_stand_in_an_order() -> None:
    first, second = said("g1", "one", when=2, returned=6.0), said("g2", "two", when=2, returned=6.0)
    ahead, behind = seen(3, "one", left=(1, 0)), seen(3.2, "two", left=(1, 0))
    assert broken(*TWO, first, second, ahead) is None
    assert broken(*TWO, first, second, behind) is None
    assert broken(*TWO, first, second, ahead, behind) is Rule.FORKED
    assert broken(*TWO, first, second, ahead, seen(3.2, "two", "one")) is None


# Counts


@pytest.mark.parametrize(
    ("left", "when"),
    [((0, 1), 0.7), ((0, 1), 1.2), ((1, 0), 1.2), ((1, 0), 3), ((0, 1), 4.2), ((0, 1), 9)],
)
def test_counts_that_can_have_been_are_legal(left: tuple[int, int], when: float) -> None:
    restarted = int(when > 4 and left[1])
    assert broken(*ONE, Fault(**at(4), generation="g1"), seen(when, left=left, restarted=restarted)) is None


@pytest.mark.parametrize(
    "reading",
    [
        seen(3, left=(0, 1)),
        seen(0.4, left=(1, 0)),
        seen(9, left=(1, 0), restarted=1),
        seen(9, left=(0, 1)),
        seen(3, left=(0, 0)),
        seen(3, left=(1, 1)),
        seen(3, left=(1, 0), done=True),
    ],
)
def test_counts_that_cannot_have_been_are_told(reading: Reading) -> None:
    assert broken(*ONE, Fault(**at(4), generation="g1"), reading) is Rule.MISCOUNTED


def test_a_cancelled_request_has_nothing_waiting() -> None:
    acts = (asked(n=2, stream=True), handed("g1"), Cancel(**at(3), request="r1"))
    assert broken(*acts, seen(4)) is None
    assert broken(*acts, seen(3.2, left=(1, 1))) is None
    assert broken(*acts, seen(4, left=(0, 1))) is Rule.MISCOUNTED
    assert broken(*acts, seen(4, left=(1, 0))) is Rule.MISCOUNTED


# Kudos


def test_a_request_costs_its_submit_and_its_replies() -> None:
    acts = (*ONE, said("g1", "hello"))
    for when, kudos in ((0.7, 1.0), (2.2, 1.0), (2.2, 7.0), (3, 7.0)):
        shown = ("hello",) if kudos == 7.0 else ()
        left = (0, 0) if shown else (1, 0) if when > 1 else (0, 1)
        assert broken(*acts, seen(when, *shown, left=left, kudos=kudos)) is None
    assert broken(*acts, seen(0.7, left=(0, 1), kudos=7.0)) is Rule.MISCHARGED
    assert broken(*acts, seen(3, "hello", kudos=1.0)) is Rule.MISCHARGED
    assert broken(*acts, seen(3, "hello", kudos=13.0)) is Rule.MISCHARGED
    assert broken(*acts, seen(3, "hello", kudos=1.0), terms=Terms(settlement=3.0)) is None
    assert broken(*acts, seen(3, "hello", kudos=8.0), terms=Terms(rounding=0.5)) is None


def test_a_censored_reply_costs_the_fee_alone() -> None:
    acts = (*ONE, said("g1", "hello", state="censored"))
    assert broken(*acts, seen(3, "hello", kudos=2.0)) is None
    assert broken(*acts, seen(3, "hello", kudos=7.0)) is Rule.MISCHARGED


def cancelled(cost: float, *posts: int) -> tuple[AnyOperation, ...]:
    """A stream that was cancelled when so many tokens had been posted, and cost so much in all."""
    posted = [Progress(**at(2 + k), generation="g1", tokens=tokens) for k, tokens in enumerate(posts)]
    return (
        asked(stream=True), handed("g1"), *posted, Cancel(**at(8), request="r1"), seen(9, kudos=cost),
    )  # fmt: skip


def like(tokens: int, reward: float) -> tuple[AnyOperation, ...]:
    """Another request that was alike, and what a reply of so many tokens to it was worth."""
    return (asked("r2"), handed("h1", request="r2"), said("h1", "bye", tokens=tokens, reward=reward))


def test_a_cancelled_stream_costs_what_was_posted_or_the_floor() -> None:
    fifty = like(50, 5.0)
    assert broken(*fifty, *cancelled(1 + 5, 50)) is None
    assert broken(*fifty, *cancelled(1 + 5 + 1, 50)) is None
    assert broken(*fifty, *cancelled(1 + 3, 50)) is Rule.FLOOR
    assert broken(*fifty, *cancelled(1 + 8, 50)) is Rule.MISCHARGED
    assert broken(*fifty, *cancelled(1 + 2)) is None
    assert broken(*fifty, *cancelled(1)) is Rule.FLOOR
    assert broken(*fifty, *cancelled(1 + 10, 10, 400)) is None
    assert broken(*fifty, *cancelled(1 + 2, 10, 400)) is Rule.FLOOR
    assert broken(*cancelled(1 + 2, 10, 400)) is None


def test_of_a_cancel_and_a_reply_at_once_one_settles() -> None:
    acts = (asked(stream=True), handed("g1"), Cancel(**at(3), request="r1"), said("g1", "hello", when=3.2))
    assert broken(*acts, seen(4, "hello", kudos=7.0)) is None
    assert broken(*acts, seen(4, "hello", kudos=12.0)) is Rule.MISCHARGED
    assert broken(*acts, seen(4, "hello", kudos=1.0)) in {Rule.MISCHARGED, Rule.FLOOR}


def test_balances_follow_from_what_was_charged_and_paid() -> None:
    acts = (*ONE, said("g1", "hello"))

    def read(when: float, ann: float, bob: float) -> tuple[AnyOperation, ...]:
        return (
            Balance(**at(when), account="ann", kudos=ann), Balance(**at(when), account="bob", kudos=bob),
        )  # fmt: skip

    closed = frozenset({"ann", "bob"})
    assert broken(*read(-1, 100, 0), *acts, *read(3, 93, 5), closed=closed) is None
    assert broken(*read(-1, 100, 0), *acts, *read(2.2, 99, 5), closed=closed) is None
    assert broken(*read(-1, 100, 0), *acts, *read(3, 99, 5), closed=closed) is Rule.UNBALANCED
    assert broken(*read(-1, 100, 0), *acts, *read(3, 93, 10), closed=closed) is Rule.UNBALANCED
    assert broken(*read(-1, 100, 0), *acts, *read(3, 93, 10), closed=frozenset({"ann"})) is None
    assert broken(*read(-1, 100, 0), *acts, *read(3, 99, 0), closed=closed, terms=Terms(balance=2.0)) is None


def test_what_accounts_have_together_changes_by_fees_alone_whatever_a_generation_is_worth() -> None:
    cancelled = (asked(stream=True), handed("g1"), Cancel(**at(2), request="r1"))

    def gained(ann: float, bob: float, *acts: AnyOperation, when: float = 4) -> Rule | None:
        told = [Balance(**at(t), account=who, kudos=k) for t, who, k in (
            (-1, "ann", 100.0), (-1, "bob", 0.0), (when, "ann", 100.0 + ann), (when, "bob", bob),
        )]  # fmt: skip
        return broken(*told, *acts, closed=frozenset({"ann", "bob"}))

    # What it is worth nobody knows; one fee for its submit, and one for its end that may be taken or not.
    assert gained(-41.0, 40.0, *cancelled) is None
    assert gained(-42.0, 40.0, *cancelled) is None
    assert gained(-41.0, 0.0, *cancelled) is Rule.UNBALANCED
    assert gained(-41.0, 42.0, *cancelled) is Rule.UNBALANCED
    # Read meanwhile, one balance may show it and the other not.
    assert gained(-41.0, 0.0, *cancelled, when=2.2) is None


# Operation keys


def test_one_key_makes_one_request() -> None:
    assert broken(asked("r1", key="k"), asked("r1", key="k", when=0.2)) is None
    assert broken(asked("r1", key="k"), asked("r2", key="k", when=0.2)) is Rule.SPLIT
    assert broken(asked("r1", key="k"), asked("r2", key="k", account="eve")) is None
    assert broken(asked("r1", key="k"), asked("r2", key="k", family="text")) is None
    assert broken(asked("r1", key="k"), asked("r2", key="k", when=50), terms=Terms(request_lifetime=20.0)) is None


def test_submits_that_are_not_one_make_as_many_requests() -> None:
    assert broken(asked("r1"), asked("r1", when=2)) is Rule.MERGED
    assert broken(asked("r1", key="k"), asked("r1", key="l", when=2)) is Rule.MERGED
    assert broken(asked("r1", key="k"), asked("r1", key="k", account="eve", when=2)) is Rule.MERGED


def test_a_request_of_many_submits_is_charged_once() -> None:
    acts = [asked("r1", key="k", when=k / 100) for k in range(16)]
    assert broken(*acts, seen(3, left=(0, 1), kudos=1.0)) is None
    assert broken(*acts, seen(3, left=(0, 1), kudos=2.0)) is Rule.MISCHARGED


def test_the_first_broken_rule_is_told_and_only_of_those_asked_for() -> None:
    acts = (asked(), asked(when=2), seen(3, None, left=(0, 1)))
    assert broken(*acts) is Rule.MERGED
    found = judge(History(operations=acts), [Rule.HALF, Rule.STALE])
    assert found is not None
    assert (found.rule, found.family, found.at) == (Rule.HALF, "chat", 3.5)
    assert judge(History(operations=acts), [Rule.STALE]) is None
