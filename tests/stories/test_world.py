"""The model: which requirement each thing that must not be seen breaks, and what is left open."""

from __future__ import annotations

import pytest

from conformance.actors import Family
from conformance.stories.calls import (
    Across,
    Call,
    Cancel,
    GiveUp,
    Hand,
    Kind,
    Length,
    Outcome,
    Pop,
    Post,
    Reply,
    Route,
    Seen,
    Shown,
    Submit,
    Together,
)
from conformance.stories.rules import Breach
from conformance.stories.world import World, after

DONE = Seen(Outcome.CARRIED_OUT, "200")
REFUSED = Seen(Outcome.REFUSED, "400")
JOB = ("p", 0)


def hand(*ids: str, request: str | None = "r") -> Seen:
    return Seen(Outcome.CARRIED_OUT, "200", hand=Hand(request, ids))


def paid(reward: float) -> Seen:
    return Seen(Outcome.CARRIED_OUT, "200", reward)


def chat(n: int = 1, *, stream: bool = False) -> Submit:
    return Submit("r", 1, Family.CHAT, n, stream)


def told(world: World, *story: tuple[Call, Seen] | tuple[Call, Seen, Seen]) -> list[World]:
    worlds = [world]
    for call, *seen in story:
        worlds = after(worlds, call, *seen)
    return worlds


FLYING = ((chat(), DONE), (Pop("p", "A"), hand("1")))
TEXT = (Submit("r", 1, Family.TEXT), DONE)

BREACHES: dict[str, tuple[str, tuple[tuple[Call, Seen], ...]]] = {
    "chat without a declaration": ("POP-04", ((chat(), DONE), (Pop("p", "A", Kind.TEXT), hand("1")))),
    "chat for another model": ("POP-04", ((chat(), DONE), (Pop("p", "A", Kind.ELSEWHERE), hand("1")))),
    "chat for who declared it before": (
        "POP-14",
        ((chat(2), DONE), (Pop("p", "A"), hand("1")), (Pop("q", "A", Kind.TEXT), hand("2"))),
    ),
    "text for who takes chat only": ("POP-05", (TEXT, (Pop("p", "A", Kind.CHAT), hand("1")))),
    "other content": ("RPL-22", ((chat(), DONE), (Pop("p", "A"), hand("1", request=None)))),
    "one id twice": ("POP-13", ((chat(2), DONE), (Pop("p", "A"), hand("1")), (Pop("q", "B"), hand("1")))),
    "more than waited": ("POP-13", (*FLYING, (Pop("q", "B"), hand("2")))),
    "more than was asked for": ("POP-13", ((chat(2), DONE), (Pop("p", "A"), hand("1", "2")))),
    "nothing although one waits": ("POP-13", ((chat(), DONE), (Pop("p", "A"), DONE))),
    "a refused pop": ("POP-13", ((Pop("p", "A"), REFUSED),)),
    "what was cancelled": ("RPL-23", ((chat(), DONE), (Cancel("r"), DONE), (Pop("p", "A"), hand("1")))),
    "a reply in time is refused": ("RPL-23", (*FLYING, (Reply(JOB), REFUSED))),
    "a fault in time is refused": ("RPL-23", (*FLYING, (GiveUp(JOB), REFUSED))),
    "a cancel is refused": ("RPL-23", (*FLYING, (Cancel("r"), REFUSED))),
    "a stream's output is refused": (
        "RPL-23",
        ((chat(stream=True), DONE), (Pop("p", "A"), hand("1")), (Post(JOB), REFUSED)),
    ),
    "too small a reward": ("ACC-06", (*FLYING, (Reply(JOB, Length.LONG), paid(20)))),
    "a rewarded fault": ("ACC-06", (*FLYING, (GiveUp(JOB), paid(20)))),
    "a second reply is rewarded": ("ACC-06", (*FLYING, (Reply(JOB), paid(20)), (Reply(JOB), paid(20)))),
    "a reply after the fault is rewarded": ("ACC-06", (*FLYING, (GiveUp(JOB), DONE), (Reply(JOB), paid(20)))),
    "a crash on a second reply": (
        "RPL-22",
        (*FLYING, (Reply(JOB), paid(20)), (Reply(JOB), Seen(Outcome.CRASHED, "500"))),
    ),
    "found on the other route": ("FAM-05", ((chat(), DONE), (Across("r"), DONE))),
    "another refusal on the other route": ("FAM-05", ((chat(), DONE), (Across("r", Route.CANCEL), REFUSED))),
}


@pytest.mark.parametrize("what", BREACHES)
def test_what_must_not_be_seen_breaks_its_rule(world: World, what: str) -> None:
    rule, story = BREACHES[what]
    before = told(world, *story[:-1])
    with pytest.raises(Breach) as breach:
        after(before, *story[-1])
    assert breach.value.rule == rule


RIGHT: dict[str, tuple[tuple[Call, Seen], ...]] = {
    "nothing for who takes neither": ((chat(), DONE), (Pop("p", "A", Kind.NEITHER), DONE)),
    "a refusal for who takes neither": ((chat(), DONE), (Pop("p", "A", Kind.NEITHER), REFUSED)),
    "less than was asked for": ((chat(2), DONE), (Pop("p", "A", amount=2), hand("1"))),
    "nothing again for who gave it up": (*FLYING, (GiveUp(JOB), DONE), (Pop("q", "A"), DONE)),
    "again for who gave it up": (*FLYING, (GiveUp(JOB), DONE), (Pop("q", "A"), hand("2"))),
    "a second reply refused": (*FLYING, (Reply(JOB), paid(20)), (Reply(JOB), REFUSED)),
    "a second reply for no reward": (*FLYING, (Reply(JOB), paid(20)), (Reply(JOB), DONE)),
    "output that nobody streams refused": (*FLYING, (Post(JOB), REFUSED)),
    "a reply after the cancel": (*FLYING, (Cancel("r"), DONE), (Reply(JOB), paid(20))),
    "a second cancel": ((chat(), DONE), (Cancel("r"), DONE), (Cancel("r"), DONE)),
    "not found on the other route": ((chat(), DONE), (Across("r"), Seen(Outcome.NOT_FOUND, "404"))),
}


@pytest.mark.parametrize("what", RIGHT)
def test_what_may_be_seen_breaks_none(world: World, what: str) -> None:
    assert told(world, *RIGHT[what])


def status(waiting: int, kudos: float = 1.0, **counts: int) -> Shown:
    due = {"finished": 0, "processing": 0, "restarted": 0, **counts}
    return Shown(**due, waiting=waiting, done=False, kudos=kudos, replies=())


def test_whether_a_cancelled_one_waits_again_after_a_fault_is_open_until_it_is_seen(world: World) -> None:
    worlds = told(world, *FLYING, (Cancel("r"), DONE), (GiveUp(JOB), DONE))
    assert {one.requests["r"].waiting for one in worlds} == {0, 1}
    agreeing = [one for one in worlds if _agrees(one, status(1, restarted=1))]
    assert [one.requests["r"].waiting for one in agreeing] == [1]
    assert not any(_agrees(one, status(2, restarted=1)) for one in worlds)


def test_a_streamed_cancel_settles_on_what_was_posted_and_is_the_end(world: World) -> None:
    begun = ((chat(stream=True), DONE), (Pop("p", "A"), hand("1")), (Post(JOB, Length.LONG), DONE))
    (ended,) = told(world, *begun, (Cancel("r"), DONE), (GiveUp(JOB), REFUSED))
    assert (ended.cost("r"), ended.payment("r")) == (62.0, 60.0)
    assert _agrees(ended, status(0, 62.0))
    assert not _agrees(ended, status(0, 22.0))
    assert not _agrees(ended, status(1, 62.0))


def test_a_reply_that_was_accepted_and_is_not_shown_is_a_breach(world: World) -> None:
    (ended,) = told(world, *FLYING, (Reply(JOB), paid(20)))
    shown = Shown(1, 0, 0, 0, True, 22.0, ())
    assert _broken(ended, shown) == "RPL-23"
    assert _broken(ended, Shown(1, 0, 0, 0, True, 22.0, ("another's",))) == "RPL-22"
    assert _broken(ended, Shown(1, 0, 0, 0, False, 22.0, ("1",))) == "RPL-23"
    assert _broken(ended, Shown(1, 0, 0, 0, True, 43.0, ("1",))) == "ACC-06"
    assert _agrees(ended, Shown(1, 0, 0, 0, True, 22.0, ("1",)))


def test_what_the_other_route_changes_is_told_as_such(world: World) -> None:
    (waiting,) = told(world, (chat(), DONE))
    assert _broken(waiting, status(0), Across("r", Route.CANCEL)) == "FAM-05"
    assert _broken(waiting, status(0), Cancel("r")) == "RPL-23"


def test_the_books_are_judged_by_cost_and_payment(world: World) -> None:
    (ended,) = told(world, *FLYING, (Reply(JOB), paid(20)))
    assert ended.balances("r", 22.0, 20.0) == [ended]
    for cost, payment in ((22.0, 40.0), (43.0, 20.0), (1.0, None)):
        with pytest.raises(Breach):
            ended.balances("r", cost, payment)


def test_of_two_at_the_same_time_either_may_have_been_first(world: World) -> None:
    worlds = told(world, *FLYING)
    race = Together(Reply(JOB), GiveUp(JOB))
    (replied,) = after(worlds, race, paid(20), REFUSED)
    (given_up,) = after(worlds, race, REFUSED, DONE)
    assert replied.cost("r") > given_up.cost("r")
    with pytest.raises(Breach):
        after(worlds, race, paid(20), paid(20))
    with pytest.raises(Breach):
        after(worlds, race, REFUSED, REFUSED)


def test_beside_another_pop_an_empty_answer_is_no_loss_and_two_hands_are_one_too_many(world: World) -> None:
    waiting = told(world, (chat(), DONE))
    race = Together(Pop("p", "A"), Pop("q", "B"))
    assert after(waiting, race, hand("1"), DONE)
    assert after(waiting, race, DONE, DONE)
    with pytest.raises(Breach) as breach:
        after(waiting, race, hand("1"), hand("2"))
    assert breach.value.rule == "POP-13"


def test_no_story_gives_one_request_up_three_times(world: World) -> None:
    (popped,) = told(world, (chat(3), DONE), (Pop("p", "A", amount=3), hand("1", "2", "3")))
    (once,) = told(popped, (GiveUp(JOB), DONE))
    assert once.can(Together(GiveUp(("p", 1)), Cancel("r")))
    assert not once.can(Together(GiveUp(("p", 1)), GiveUp(("p", 2))))
    (twice,) = told(once, (GiveUp(("p", 1)), DONE))
    assert not twice.can(GiveUp(("p", 2)))
    assert twice.can(GiveUp(("p", 1)))
    assert not twice.can(Reply(("another", 0)))


def _broken(world: World, shown: Shown, call: Call | None = None) -> str:
    with pytest.raises(Breach) as breach:
        world.agrees("r", shown, call)
    return breach.value.rule


def _agrees(world: World, shown: Shown) -> bool:
    try:
        return world.agrees("r", shown, None) == [world]
    except Breach:
        return False
