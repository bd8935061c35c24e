"""A story is cut to the calls that its breach needs."""

from __future__ import annotations

from collections.abc import Callable

from conformance.actors import Family
from conformance.stories.calls import Cancel, GiveUp, Kind, Length, Pop, Reply, Submit, Together
from conformance.stories.cutting import Calls, cut_down, size, straightened

LONG: Calls = (
    Submit("1", 2, Family.CHAT, 2, stream=True),
    Submit("2", 1, Family.TEXT),
    Pop("p", "C", Kind.TEXT),
    Pop("q", "B", Kind.CHAT, 2),
    Together(Reply(("q", 0), Length.LONG), Cancel("2")),
    GiveUp(("q", 1)),
    Cancel("1"),
)


def holding(*needed: Callable[[Calls], bool]) -> Callable[[Calls], Calls | None]:
    """Plays a story without a target: it shows when all is there that is needed."""
    return lambda calls: calls if all(there(calls) for there in needed) else None


def has(*kinds: type) -> Callable[[Calls], bool]:
    return lambda calls: all(any(isinstance(call, kind) for call in calls) for kind in kinds)


def test_what_is_not_needed_is_left_out_and_the_rest_made_simple() -> None:
    smallest = cut_down(LONG, holding(has(Submit, Pop, GiveUp)))
    assert smallest == (Submit("2", 1, Family.TEXT), Pop("q", "A"), GiveUp(("q", 1)))


def test_two_that_must_meet_stay_together() -> None:
    smallest = cut_down(LONG, holding(has(Together)))
    assert smallest == (Together(Reply(("q", 0)), Cancel("2")),)
    assert size(smallest) == 2


def test_two_that_need_not_meet_come_apart() -> None:
    replied = holding(lambda calls: any(isinstance(call, Reply) for call in calls))
    shows = lambda calls: replied(calls) or (calls if has(Together)(calls) else None)  # noqa: E731  # a story that shows either way
    assert cut_down(LONG, shows) == (Reply(("q", 0)),)


def test_two_pops_become_one_where_that_shows_too() -> None:
    story: Calls = (Submit("1", 1, Family.TEXT, 2), Pop("p", "A"), Pop("q", "A"), Reply(("p", 0)), Reply(("q", 0)))

    def shows(calls: Calls) -> Calls | None:
        handed = {(call.pop, place) for call in calls if isinstance(call, Pop) for place in range(call.amount)}
        replies = [call for call in calls if isinstance(call, Reply) and call.job in handed]
        return calls if len(replies) == 2 and isinstance(calls[0], Submit) and calls[0].n == 2 else None

    assert cut_down(story, shows) == (
        Submit("1", 1, Family.TEXT, 2), Pop("p", "A", amount=2), Reply(("p", 0)), Reply(("p", 1)),
    )  # fmt: skip


def test_calls_that_were_not_made_are_not_kept() -> None:
    assert cut_down(LONG, lambda calls: calls[:1] if calls else None) == (Submit("2", 1, Family.TEXT),)


def test_a_story_that_shows_no_more_is_kept_whole() -> None:
    assert cut_down(LONG, lambda _: None) == LONG


def test_a_story_is_straightened_in_either_order() -> None:
    one, other = straightened(LONG)
    assert size(one) == size(other) == size(LONG)
    assert [call for call in one if call not in LONG] == [Reply(("q", 0), Length.LONG), Cancel("2")]
    assert [call for call in other if call not in LONG] == [Cancel("2"), Reply(("q", 0), Length.LONG)]
    assert straightened(one) == []


def test_two_go_that_cannot_go_alone() -> None:
    pairs: Calls = (Submit("1", 1, Family.TEXT), Pop("p", "A"), GiveUp(("p", 0)), Pop("q", "A"))

    def shows(calls: Calls) -> Calls | None:
        pops = sum(isinstance(call, Pop) for call in calls)
        return calls if pops == 1 + sum(isinstance(call, GiveUp) for call in calls) else None

    assert cut_down(pairs, shows) == (Pop("q", "A"),)
