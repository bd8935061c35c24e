"""The judge accepts whatever a right queue does under any crowd, and finds what is planted into it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from conformance.histories import History, Rule, judge
from conformance.histories.model import (
    AnyOperation,
    Balance,
    Fault,
    Operation,
    Outcome,
    Pop,
    Progress,
    Reading,
    Reply,
    Submit,
)

Simulate = Callable[..., History]
Op = TypeVar("Op", bound=Operation)
DONE = Outcome.DONE
LATER = 1e6


def of(history: History, kind: type[Op], *, done: bool = True) -> Iterator[Op]:
    for act in history.operations:
        if isinstance(act, kind) and (act.outcome is DONE or not done):
            yield act


def within(history: History, changed: dict[int, AnyOperation], *added: AnyOperation) -> History:
    """The history with some operations changed, by their identity, and others added."""
    acts = [changed.get(id(act), act) for act in history.operations]
    return replace(history, operations=(*acts, *added))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 4, 16]), st.sampled_from([0.0, 0.03, 0.3]))
def test_whatever_a_right_queue_does_is_legal(simulate: Simulate, seed: int, actors: int, losses: float) -> None:
    history = simulate(seed, actors=actors, operations=200, losses=losses)
    assert judge(history) is None


def test_the_order_in_which_operations_are_told_does_not_matter(simulate: Simulate) -> None:
    history = simulate(1)
    shuffled = list(handed_twice(history, random.Random(0)).operations)
    told = judge(replace(history, operations=tuple(shuffled)))
    random.Random(2).shuffle(shuffled)
    again = judge(replace(history, operations=tuple(shuffled)))
    assert told is not None
    assert again is not None
    assert (told.rule, told.sentence) == (again.rule, again.sentence)


# What is planted: each gives the history with one thing wrong in it.


def handed_twice(history: History, rng: random.Random) -> History:
    pop = rng.choice([pop for pop in of(history, Pop) if pop.generations])
    return within(history, {}, replace(pop, actor="another", called=pop.called + 0.001, returned=pop.returned + 0.002))


def handed_too_often(history: History, rng: random.Random) -> History:
    """Of a request none of which went back, one more generation is handed out."""
    back = {fault.generation for fault in of(history, Fault, done=False)}
    paid = {reply.generation for reply in of(history, Reply) if reply.reward}
    pops = [pop for pop in of(history, Pop) if pop.generations and set(pop.generations) <= paid - back]
    whole = [pop for pop in pops if len(pop.generations) == asked(history)[pop.request or ""].n]
    pop = rng.choice(whole)
    return within(history, {}, replace(pop, generations=("new",)))


def asked(history: History) -> dict[str, Submit]:
    return {submit.request: submit for submit in of(history, Submit)}


def paid_twice(history: History, rng: random.Random) -> History:
    reply = rng.choice([reply for reply in of(history, Reply) if reply.reward])
    return within(history, {}, replace(reply, returned=reply.returned + 0.01))


def shown(history: History) -> list[Reading]:
    """The readings that show a reply; of the smallest histories none does."""
    readings = [reading for reading in of(history, Reading) if reading.said]
    assume(readings)
    return readings


def half_a_reply(history: History, rng: random.Random) -> History:
    reading = rng.choice(shown(history))
    return within(history, {id(reading): replace(reading, said=reading.said[:-1])})


def words_of_nobody(history: History, rng: random.Random) -> History:
    reading = rng.choice(shown(history))
    return within(history, {id(reading): replace(reading, said=(*reading.said[:-1], "never said"))})


def stale_reading(history: History, rng: random.Random) -> History:
    """Long after a reply was paid for it is not shown."""
    reading = rng.choice(shown(history))
    fewer = replace(reading, finished=reading.finished - 1, said=reading.said[1:])
    old = replace(fewer, processing=reading.processing + 1, done=False)
    return within(history, {}, replace(old, called=reading.returned + 0.01, returned=reading.returned + 0.02))


def lost_generation(history: History, rng: random.Random) -> History:
    """A request that nobody was handed, and a worker that pops alone at the very end."""
    submit = rng.choice(list(of(history, Submit)))
    times: dict[str, Any] = {"called": LATER, "returned": LATER}
    new = replace(submit, request="new", account="nobody", key=None, n=1)
    chat = submit.models if submit.family == "chat" else ()
    pop = Pop(actor="last", **times, models=submit.models, chat_models=chat, text=not chat)
    return within(replace(history, terms=replace(history.terms, request_lifetime=2 * LATER)), {}, new, pop)


def charged_twice(history: History, rng: random.Random) -> History:
    reading = rng.choice([reading for reading in of(history, Reading) if reading.finished and reading.kudos])
    return within(history, {id(reading): replace(reading, kudos=2 * (reading.kudos or 0) + 40)})


def kudos_from_nowhere(history: History, _rng: random.Random) -> History:
    """Nobody pays a requester."""
    read = [balance for balance in of(history, Balance) if balance.account == "requester 0"]
    assume(len(read) > 1)
    first, last = read[0], read[-1]
    return within(history, {id(last): replace(last, kudos=first.kudos + 1000)})


def key_used_twice(history: History, rng: random.Random) -> History:
    submit = rng.choice(list(of(history, Submit)))
    first = replace(submit, request="one", key="new")
    return within(history, {}, first, replace(first, request="other"))


def told_to_stop(history: History, rng: random.Random) -> History:
    cancelled = {act.request for act in history.operations if act.kind == "cancel"}
    jobs = {id: pop.request for pop in of(history, Pop) for id in pop.generations}
    posts = [post for post in of(history, Progress) if jobs[post.generation] not in cancelled]
    post = rng.choice(posts)
    return within(history, {id(post): replace(post, cancelled=True)})


PLANTED: dict[Callable[[History, random.Random], History], set[Rule]] = {
    handed_twice: {Rule.TWICE},
    handed_too_often: {Rule.EXCESS},
    paid_twice: {Rule.SETTLED_TWICE},
    half_a_reply: {Rule.HALF},
    words_of_nobody: {Rule.UNSAID},
    stale_reading: {Rule.STALE},
    lost_generation: {Rule.LOST},
    charged_twice: {Rule.MISCHARGED},
    kudos_from_nowhere: {Rule.UNBALANCED},
    key_used_twice: {Rule.SPLIT},
    told_to_stop: {Rule.MISTOLD},
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
@settings(max_examples=6)
@given(seed=st.integers(0, 2**32))
def test_what_is_planted_is_found_and_shown_by_its_operations(
    simulate: Simulate, plant: Callable[[History, random.Random], History], seed: int
) -> None:
    history = plant(simulate(seed, operations=300, losses=0.0), random.Random(seed))
    found = judge(history)
    assert found is not None
    assert found.rule in PLANTED[plant], found.sentence
    # What the witness shows is enough: nothing else of the history is needed to see it.
    alone = judge(replace(history, operations=found.operations), [found.rule])
    assert alone is not None
    assert alone.at == found.at
    assert len(found.operations) < len(history.operations)
