"""The machine passes what keeps the rules, finds what does not, and tells the smallest story of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

from conformance.errors import CouldNotRun
from conformance.stories.calls import Across, GiveUp, Outcome, Pop, Post, Reply, Seen, Single, Submit
from conformance.stories.search import Found, Search, cut, tell

Imagine = Callable[..., Search]


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_target_that_keeps_the_rules_is_told_every_kind_of_call_and_breaks_none(
    imaginary: Imagine, seed: str
) -> None:
    kinds: set[type] = set()

    def note(_target: Any, call: Single, seen: Seen) -> Seen:
        kinds.add(type(call))
        return seen

    search = imaginary(note)
    for batch in range(4):
        tell(search, f"{seed}/{batch}", 10)
    assert search.first is None
    assert search.stories >= 40
    assert {Submit, Pop, Reply, GiveUp, Post, Across} <= kinds


def pays_twice(_target: Any, call: Single, seen: Seen) -> Seen:
    """Every reply is rewarded, the second one too."""
    return Seen(Outcome.CARRIED_OUT, "200", 20.0) if isinstance(call, Reply) and not seen.done else seen


def finds_across(target: Any, call: Single, seen: Seen) -> Seen:
    """The other route finds what was answered."""
    answered = isinstance(call, Across) and any(one.state == "finished" for one in target.handed.values())
    return Seen(Outcome.CARRIED_OUT, "200") if answered else seen


TWISTS = {"pays twice": (pays_twice, "ACC-06", 4), "finds across": (finds_across, "FAM-05", 4)}


@pytest.mark.parametrize("name", TWISTS)
def test_a_twist_is_found_and_its_story_cut_to_the_fewest_calls(imaginary: Imagine, name: str) -> None:
    twist, rule, calls = TWISTS[name]
    found = _find(imaginary(twist))
    assert (found.rule, found.size) == (rule, calls)


def test_a_story_is_told_in_the_words_of_the_domain(imaginary: Imagine) -> None:
    sentence = _find(imaginary(finds_across)).sentence
    c1 = "c1" if "c1" in sentence else "t1"
    family, other = ("chat", "text") if c1 == "c1" else ("text", "chat")
    assert sentence.replace(f"cancels {c1} on", f"asks for {c1} on") == (
        f"requester 1 submits {family} {c1}; worker A, which takes both families, pops and gets g1 of {c1}; "
        f"worker A replies to g1; requester 1 asks for {c1} on the {other} route: "
        f"expected that {c1} is not found there, got 200"
    )


def test_where_a_story_cannot_be_told_on_the_search_stops_and_says_why(imaginary: Imagine) -> None:
    def breaks_off(_target: Any, call: Single, seen: Seen) -> Seen:
        if isinstance(call, Pop):
            raise CouldNotRun("the line is dead")
        return seen

    search = imaginary(breaks_off)
    tell(search, "1/0", 10)
    assert str(search.stopped) == "the line is dead"
    told = search.stories
    assert search.over
    assert told >= 1


def test_a_target_without_streams_is_posted_nothing(imaginary: Imagine) -> None:
    posted: list[Single] = []

    def note(_target: Any, call: Single, seen: Seen) -> Seen:
        if isinstance(call, Post) or (isinstance(call, Submit) and call.stream):
            posted.append(call)
        return replace(seen)

    search = imaginary(note)
    cast("Any", search.stage).profile.capabilities = set()
    for batch in range(4):
        tell(search, f"1/{batch}", 10)
    assert search.first is None
    assert posted == []
    assert search.stories >= 40


def test_money_that_has_to_be_waited_for_is_looked_at_once_for_many_stories(imaginary: Imagine) -> None:
    search = imaginary()
    stage = cast("Any", search.stage)
    stage.profile.timings.settlement = 3.0
    looks: list[int] = []

    def one_too_many(requests: list[Any]) -> list[tuple[float, float]]:
        looks.append(len(requests))
        return [(asked.cost + asked.n, asked.paid) for asked in requests]

    stage.money.books = one_too_many
    tell(search, "1/0", 10)
    assert search.first is not None
    assert search.first.rule == "ACC-06"
    assert len(looks) == 1
    assert looks[0] >= 10


def test_both_ways_of_watching_take_turns(imaginary: Imagine) -> None:
    search = imaginary()
    assert len({search.begin().looks for _ in range(4)}) == 2


def _find(search: Search) -> Found:
    batches = iter(range(50))
    while search.first is None:
        tell(search, f"1/{next(batches)}", 10)
    search.smallest = search.first
    cut(search, search.first, 60.0)
    return search.smallest
