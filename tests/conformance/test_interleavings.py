"""The checker of histories finds what breaks the queue's rules, and nothing in a queue that works."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.actors import Family
from conformance.interleavings import Breach, Event, Kind, Popped, Rule, Submitted, breaches, sentence

CHAT, TEXT = Family.CHAT, Family.TEXT
STEPS = st.lists(
    st.one_of(st.tuples(st.sampled_from(Family), st.integers(1, 3)), st.sampled_from(Kind)), max_size=25
)  # fmt: skip


def rules(*history: Event) -> list[Rule]:
    return [breach.rule for breach in breaches(history)]


@pytest.mark.parametrize("kind", Kind)
def test_an_empty_answer_is_a_loss_only_where_something_for_that_worker_waits(kind: Kind) -> None:
    assert rules(Popped(kind)) == []
    assert rules(Submitted("c", CHAT), Popped(kind)) == ([Rule.LOST] if kind is not Kind.TEXT_ONLY else [])
    assert rules(Submitted("t", TEXT), Popped(kind)) == ([Rule.LOST] if kind is not Kind.CHAT_ONLY else [])
    assert rules(Submitted("t", TEXT), Popped(Kind.BOTH, "t", ("g",)), Popped(kind)) == []


def test_a_request_goes_only_to_a_worker_that_takes_its_family() -> None:
    assert rules(Submitted("c", CHAT), Popped(Kind.TEXT_ONLY, "c", ("g",))) == [Rule.MISPLACED]
    assert rules(Submitted("t", TEXT), Popped(Kind.CHAT_ONLY, "t", ("g",))) == [Rule.MISPLACED]


def test_a_generation_is_handed_out_once() -> None:
    handed = Popped(Kind.BOTH, "t", ("g",))
    assert rules(Submitted("t", TEXT, 2), handed, handed) == [Rule.TWICE]


def test_a_request_is_handed_out_as_often_as_it_asked_for() -> None:
    assert rules(Submitted("t", TEXT, 2), Popped(Kind.BOTH, "t", ("a", "b"))) == []
    assert rules(Submitted("t", TEXT, 2), Popped(Kind.BOTH, "t", ("a", "b", "c"))) == [Rule.TWICE]


def test_the_sentence_tells_the_breaches_of_the_asked_rules_only() -> None:
    found = [Breach(Rule.LOST, CHAT, "one is lost"), Breach(Rule.TWICE, TEXT, "one came twice")]
    assert sentence(found, Rule.LOST) == "one is lost"
    assert sentence(found, Rule.LOST, Rule.TWICE) == "one is lost; one came twice"
    assert sentence(found, Rule.MISPLACED) == ""


def play(steps: list[tuple[Family, int] | Kind], admits: Callable[[Kind, Family], bool]) -> list[Event]:
    """What a queue in memory does with these steps, and with pops by a worker of both until it is empty."""
    history: list[Event] = []
    waiting: list[tuple[str, Family, str]] = []
    for place, step in enumerate([*steps, *[Kind.BOTH] * 76]):
        if not isinstance(step, Kind):
            history.append(Submitted(f"r{place}", *step))
            waiting += [(f"r{place}", step[0], f"r{place}g{i}") for i in range(step[1])]
            continue
        mine = next((entry for entry in waiting if admits(step, entry[1])), None)
        history.append(Popped(step, mine[0], (mine[2],)) if mine else Popped(step))
        if mine:
            waiting.remove(mine)
    return history


@given(STEPS)
def test_a_queue_that_works_breaks_nothing(steps: list[tuple[Family, int] | Kind]) -> None:
    assert breaches(play(steps, Kind.takes)) == []


@given(STEPS)
def test_a_queue_that_ignores_the_declaration_is_found_as_soon_as_it_matters(
    steps: list[tuple[Family, int] | Kind],
) -> None:
    history = play(steps, lambda _kind, _family: True)
    family = {event.request: event.family for event in history if isinstance(event, Submitted)}
    wrong = [e for e in history if isinstance(e, Popped) and e.request and not e.worker.takes(family[e.request])]
    assert rules(*history).count(Rule.MISPLACED) == len(wrong)


@given(STEPS)
def test_a_queue_that_forgets_chat_for_workers_of_both_loses_it(steps: list[tuple[Family, int] | Kind]) -> None:
    history = play(steps, lambda kind, family: kind.takes(family) and not (kind is Kind.BOTH and family is CHAT))
    book = [event for event in history if isinstance(event, Submitted) and event.family is CHAT]
    handed = sum(len(e.generations) for e in history if isinstance(e, Popped) and e.worker is Kind.CHAT_ONLY)
    lost = sum(event.n for event in book) > handed
    assert (Rule.LOST in rules(*history)) == lost
