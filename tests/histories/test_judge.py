"""Hand-written histories: what has a legal order is legal, and what has none is told by the operations that show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from conformance.histories import History, Rule, Terms, Witness, judge
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

LOST = {"outcome": Outcome.UNKNOWN}


def at(called: float, returned: float | None = None, actor: str = "") -> dict[str, Any]:
    return {"called": called, "returned": called + 0.5 if returned is None else returned, "actor": actor or "someone"}


def submit(when: dict[str, Any], request: str = "r1", **fields: Any) -> Submit:
    return Submit(
        **{"account": "ann", "family": "chat", "models": ("m",), "max_length": 100, **when, **fields}, request=request
    )


def pop(when: dict[str, Any], *generations: str, request: str | None = "r1", **fields: Any) -> Pop:
    handed = {"request": request, "family": "chat", "model": "m"} if generations else {}
    declared = {"account": "bob", "models": ("m",), "chat_models": ("m",)}
    return Pop(**{**declared, **handed, **when, **fields}, generations=generations)


def reply(when: dict[str, Any], generation: str = "g1", reward: float = 5.0, **fields: Any) -> Reply:
    return Reply(**{"said": "hello", "tokens": 50, **when, **fields}, generation=generation, reward=reward)


def fault(when: dict[str, Any], generation: str = "g1", **fields: Any) -> Fault:
    return Fault(**{**when, **fields}, generation=generation)


def reading(when: dict[str, Any], finished: int = 0, processing: int = 0, waiting: int = 0, **fields: Any) -> Reading:
    shown = {"said": ("hello",) * finished, "done": waiting + processing == 0}
    counts: dict[str, Any] = {"finished": finished, "processing": processing, "waiting": waiting}
    return Reading(**{"request": "r1", **shown, **when, **fields}, **counts)


def post(when: dict[str, Any], tokens: int, cancelled: bool | None = False, **fields: Any) -> Progress:
    return Progress(**{"generation": "g1", **when, **fields}, tokens=tokens, cancelled=cancelled)


def cancel(when: dict[str, Any], request: str = "r1", **fields: Any) -> Cancel:
    return Cancel(**{**when, **fields}, request=request)


def balance(when: dict[str, Any], kudos: float, account: str = "ann") -> Balance:
    return Balance(**when, account=account, kudos=kudos)


def history(*acts: AnyOperation, **fields: Any) -> History:
    return History(operations=acts, **fields)


def broken(*acts: AnyOperation, **fields: Any) -> Rule | None:
    witness = judge(history(*acts, **fields))
    return witness.rule if witness else None


def witness_of(*acts: AnyOperation, **fields: Any) -> Witness:
    witness = judge(history(*acts, **fields))
    assert witness is not None
    return witness


LIFE = (submit(at(0)), pop(at(1), "g1"), reply(at(2)), reading(at(3), 1, kudos=7.0))


def test_an_empty_history_and_a_plain_life_are_legal() -> None:
    assert broken() is None
    assert broken(*LIFE) is None
    assert broken(*reversed(LIFE)) is None


# Hand-outs


def test_a_generation_that_two_workers_were_handed_is_told_with_both() -> None:
    first, second = pop(at(1, actor="w1"), "g1"), pop(at(1.2, actor="w2"), "g1")
    found = witness_of(submit(at(0), n=2), first, second)
    assert (found.rule, found.operations) == (Rule.TWICE, (first, second))
    assert found.sentence == (
        "g1 was handed to w1 (1.000 s to 1.500 s) and to w2 (1.200 s to 1.700 s), which cannot both be"
    )


def test_of_a_request_no_more_is_handed_out_than_it_asked_for() -> None:
    asked, first, second = submit(at(0), n=2), pop(at(1), "g1", "g2"), pop(at(2), "g3")
    assert broken(asked, first) is None
    found = witness_of(asked, first, second)
    assert found.rule is Rule.EXCESS
    assert "r1 asked for 2 generations and none went back to the queue, but it was handed out 3 times" in str(found)


def test_what_was_given_back_is_handed_out_again_and_only_then() -> None:
    asked, first, back = submit(at(0)), pop(at(1), "g1"), fault(at(2))
    assert broken(asked, first, back, pop(at(3), "g2")) is None
    assert broken(asked, first, back, pop(at(2.1), "g2")) is None
    assert broken(asked, first, pop(at(1.1, 1.9), "g2"), back) is Rule.EXCESS
    assert broken(asked, first, back, pop(at(3), "g2"), pop(at(4), "g3")) is Rule.EXCESS
    assert broken(asked, first, back, fault(at(2.6)), pop(at(3), "g2"), pop(at(4), "g3")) is Rule.EXCESS


def test_a_fault_whose_answer_was_lost_may_have_given_back_at_any_later_moment() -> None:
    asked, first = submit(at(0)), pop(at(1), "g1")
    assert broken(asked, first, fault(at(2), **LOST), pop(at(30), "g2")) is None
    assert broken(asked, first, fault(at(2), **LOST)) is None


def test_a_generation_goes_back_when_its_lifetime_ends_and_not_before() -> None:
    asked, first = submit(at(0)), pop(at(1), "g1", lifetime=10.0)
    assert broken(asked, first, pop(at(11.2), "g2")) is None
    assert broken(asked, first, pop(at(10), "g2")) is Rule.EXCESS
    assert broken(asked, first, pop(at(10), "g2"), moved={"g1": 9.0}) is None
    assert broken(asked, pop(at(1), "g1"), pop(at(21), "g2"), terms=Terms(job_lifetime=20.0)) is None


def test_a_generation_that_was_paid_for_never_went_back() -> None:
    acts = (submit(at(0)), pop(at(1), "g1", lifetime=10.0), pop(at(12), "g2"))
    assert broken(*acts) is None
    assert broken(*acts, reply(at(20))) is Rule.EXCESS


def test_after_its_cancel_nothing_of_a_request_is_handed_out() -> None:
    asked, over = submit(at(0), n=2), cancel(at(1))
    assert broken(asked, over, pop(at(1.4), "g1")) is None
    found = witness_of(asked, over, pop(at(2, actor="w1"), "g1"))
    assert found.rule is Rule.REVIVED
    assert str(found) == (
        "r1 was cancelled by someone (1.000 s to 1.500 s), and handed out afterwards: g1 to w1 (2.000 s to 2.500 s)"
    )
    assert broken(asked, replace(over, outcome=Outcome.REFUSED), pop(at(2), "g1")) is None


def test_what_is_given_back_after_a_cancel_is_handed_out_again_only_without_a_stream() -> None:
    """Upstream's text does so; a cancelled stream is over."""
    acts = (pop(at(1), "g1"), cancel(at(2)), fault(at(3)), pop(at(4), "g2"))
    assert broken(submit(at(0)), *acts) is None
    assert broken(submit(at(0), stream=True), *acts) is Rule.REVIVED


def test_a_worker_is_handed_what_it_declared() -> None:
    asked = submit(at(0))
    assert broken(asked, pop(at(1), "g1", chat_models=())) is Rule.MISPLACED
    assert broken(asked, pop(at(1), "g1", chat_models=("other",))) is Rule.MISPLACED
    text = submit(at(0), family="text")
    assert broken(text, pop(at(1), "g1", family="text", text=False)) is Rule.MISPLACED
    assert broken(text, pop(at(1), "g1", family="text", chat_models=())) is None


# Losses


def test_an_empty_answer_is_a_loss_where_what_waits_is_for_that_worker() -> None:
    asked = submit(at(0))
    found = witness_of(asked, pop(at(1, actor="w1")))
    assert found.rule is Rule.LOST
    assert str(found) == (
        "chat request r1 waited with 1 of its 1 generation, nobody else popped, and w1 (1.000 s to 1.500 s), "
        "which may have it, was handed nothing"
    )
    assert broken(asked, pop(at(0.4))) is None
    assert broken(asked, pop(at(1), "g1"), pop(at(2))) is None
    assert broken(asked, pop(at(1), "g1"), fault(at(2)), pop(at(3), actor="another")) is Rule.LOST


@pytest.mark.parametrize(
    "declared",
    [
        {"chat_models": ()},
        {"models": ("n",), "chat_models": ("n",)},
        {"open": False},
        {"max_length": 99},
        {"outcome": Outcome.UNKNOWN},
    ],
)
def test_an_empty_answer_to_a_worker_that_may_not_have_it_is_no_loss(declared: dict[str, Any]) -> None:
    assert broken(submit(at(0)), pop(at(1), **declared)) is None


@pytest.mark.parametrize(
    "meanwhile", [pop(at(1.2), actor="another"), pop(at(0.7, 3), "x", request="r9"), cancel(at(1.2))]
)
def test_an_empty_answer_while_others_pop_or_act_on_the_request_is_no_loss(meanwhile: AnyOperation) -> None:
    assert broken(submit(at(0)), pop(at(1)), meanwhile) is None
    assert broken(submit(at(0)), pop(at(1)), reading(at(1.2), waiting=1)) is Rule.LOST


def test_who_pops_for_another_model_or_family_excuses_nobody() -> None:
    for other in ({"models": ("n",), "chat_models": ("n",)}, {"chat_models": ()}):
        assert broken(submit(at(0)), pop(at(1)), pop(at(1.2), **other)) is Rule.LOST
    two = submit(at(0), models=("m", "n"))
    assert broken(two, pop(at(1)), pop(at(1.2), models=("n",), chat_models=("n",))) is None


def test_a_pop_whose_answer_was_lost_may_have_taken_what_is_missing() -> None:
    asked = submit(at(0))
    assert broken(asked, pop(at(1), **LOST), pop(at(2))) is None
    assert broken(submit(at(0), n=2), pop(at(1), **LOST), pop(at(2))) is Rule.LOST
    assert broken(asked, pop(at(1), **LOST), reading(at(2), 0, 1, 0)) is None
    assert broken(asked, reading(at(2), 0, 1, 0)) is Rule.MISCOUNTED


def test_a_request_that_was_given_up_or_has_expired_is_not_lost() -> None:
    given_up = [act for k in range(3) for act in (pop(at(2 * k + 1), f"g{k}"), fault(at(2 * k + 2), f"g{k}"))]
    assert broken(submit(at(0)), *given_up, pop(at(9), actor="another")) is None
    assert broken(submit(at(0)), pop(at(30)), terms=Terms(request_lifetime=20.0)) is None
    assert broken(submit(at(0)), pop(at(9)), moved={"r1": 5.0}) is None


# Endings


def test_a_generation_is_paid_once() -> None:
    acts = (submit(at(0)), pop(at(1), "g1"), reply(at(2), actor="w1"))
    assert broken(*acts, reply(at(3), reward=0.0)) is None
    found = witness_of(*acts, reply(at(2.2), actor="w2"))
    assert found.rule is Rule.SETTLED_TWICE
    assert "g1 was paid 5.0 kudos for the reply of w1" in str(found)


def test_what_was_given_up_is_not_paid_afterwards() -> None:
    acts = (submit(at(0)), pop(at(1), "g1"), fault(at(2)))
    assert broken(*acts, reply(at(3))) is Rule.SETTLED_TWICE
    assert broken(*acts, reply(at(2.4))) is None
    assert broken(*acts[:2], fault(at(2), **LOST), reply(at(3))) is None


def test_what_a_streamed_cancel_settled_is_not_paid_afterwards() -> None:
    acts = (pop(at(1), "g1"), cancel(at(2)), reply(at(3)))
    assert broken(submit(at(0), stream=True), *acts) is Rule.SETTLED_TWICE
    assert broken(submit(at(0)), *acts) is None
    assert broken(submit(at(0), stream=True), *acts[:2], reply(at(2.4))) is None


def test_a_worker_is_told_whether_its_stream_was_cancelled() -> None:
    asked, handed = submit(at(0), stream=True), pop(at(1), "g1")
    assert broken(asked, handed, post(at(2), 5, cancelled=True)) is Rule.MISTOLD
    assert broken(asked, handed, cancel(at(2)), post(at(2.3), 5, cancelled=True)) is None
    assert broken(asked, handed, cancel(at(2)), post(at(2.3), 5)) is None
    assert broken(asked, handed, cancel(at(2)), post(at(3), 5)) is Rule.MISTOLD
    assert broken(submit(at(0)), handed, cancel(at(2)), post(at(3), 5)) is None
