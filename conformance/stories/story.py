"""One story on its way: each call is played, judged by the model, and followed by a look at what it touched."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import partial

from conformance.actors import Family, Request
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.stories.calls import Across, Call, Cancel, Length, Pop, Post, Reply, Route, Seen, Submit
from conformance.stories.player import Crew, Player
from conformance.stories.rules import Breach, Prices, Rule
from conformance.stories.world import World, after, surviving

Played = list[tuple[Call, tuple[Seen, ...]]]


class Looks(IntEnum):
    """How closely a story is watched: its answers only, its end as well, or each call."""

    AT_ANSWERS = 0
    AT_THE_END = 1
    AFTER_EACH_CALL = 2


class Story:
    """The calls made so far, and the worlds that they may have led to."""

    def __init__(self, stage: Stage, workers: Crew, prices: Prices, looks: Looks = Looks.AFTER_EACH_CALL) -> None:
        self.stage = stage
        self.looks = looks
        self.player = Player(stage, workers)
        self.worlds = [World(prices)]
        self.played: Played = []

    @property
    def world(self) -> World:
        """The first of the possible worlds: what is known for sure is the same in all."""
        return self.worlds[0]

    def perform(self, call: Call) -> bool:
        """Make a call and judge it; false where it makes no sense in this story.

        Raises:
            Breach: what was seen breaks a rule.
            CouldNotRun: it could not be made.
        """
        if not self.world.can(call):
            return False
        seen = self.player.play(call)
        self.played.append((call, seen))
        self.worlds = after(self.worlds, call, *seen)
        if self.looks is Looks.AFTER_EACH_CALL and not _is_read(call):
            for request in self.world.touched(call):
                self._look(request, call)
        return True

    def close(self) -> None:
        """Look at every request once more.

        Raises:
            Breach: what was seen breaks a rule.
        """
        # A call that must change nothing is judged by its own rule, if all was well before it.
        last = self.played[-1][0] if self.looks is Looks.AFTER_EACH_CALL and self.played else None
        for request in self.player.requests if self.looks is not Looks.AT_ANSWERS else ():
            self._look(request, last)

    @property
    def requests(self) -> list[Request]:
        """The requests whose books are to be looked at."""
        return list(self.player.requests.values()) if self.looks is not Looks.AT_ANSWERS else []

    def settle(self, books: Iterable[tuple[float, float | None]]) -> None:
        """Judge what each request has cost and paid.

        Raises:
            Breach: it is not what it must be.
        """
        for name, (cost, payment) in zip(self.player.requests, books, strict=False):
            self.worlds = surviving([partial(world.balances, name, cost, payment) for world in self.worlds])

    def tidy(self) -> None:
        """Cancel what still waits, so that it counts against no later story's limits."""
        for name in self.player.requests:
            if any(name not in world.requests or world.requests[name].waiting for world in self.worlds):
                self.player.forget(name)

    def _look(self, request: str, call: Call | None) -> None:
        shown = self.player.look(request)
        if isinstance(shown, Seen):
            raise Breach(Rule.COUNTS, f"that {self.world.requests[request].name} is found", shown.said)
        self.worlds = surviving([partial(world.agrees, request, shown, call) for world in self.worlds])


def _is_read(call: Call) -> bool:
    return isinstance(call, Across) and call.route is Route.STATUS


def measured(stage: Stage, workers: Crew) -> Prices:
    """What this target takes for a submit, a short and a long reply, and a streamed cancel: one of each, looked up.

    Raises:
        CouldNotRun: a life cycle does not come to its end.
    """
    player = Player(stage, workers)
    rewards = {(f, length): _told(player, f, length).reward for f in Family for length in Length}
    streaming = "streaming" in stage.profile.capabilities
    if streaming:
        _told(player, Family.CHAT, Length.LONG, stream=True)
    # Last, for until its story is over each waits.
    for family in Family:
        player.play(Submit(family, 1, family))
    costs = [cost for cost, _ in stage.money.books(list(player.requests.values()))]
    for family in Family:
        player.forget(family)
    cost = dict(zip(player.requests, costs, strict=True))
    submit = {family: cost[family] for family in Family}
    charge = {(f, length): cost[f"{f} {length}"] - submit[f] for f, length in rewards}
    cancelled = charge[Family.CHAT, Length.LONG] - cost["stream"] + submit[Family.CHAT] if streaming else 0.0
    return Prices(submit, charge, rewards, cancelled, stage.profile.money.rounding)


def _told(player: Player, family: Family, length: Length, *, stream: bool = False) -> Seen:
    """One life cycle: a request is answered at that length, or its stream cancelled when so much was posted."""
    name = "stream" if stream else f"{family} {length}"
    ends: list[Call] = [Post((name, 0), length), Cancel(name)] if stream else [Reply((name, 0), length)]
    player.play(Submit(name, 1, family, stream=stream))
    seen = player.play(Pop(name, "A"))
    if (name, 0) not in player.jobs:
        raise CouldNotRun(f"a worker was handed nothing of the {family} request that is to show the prices")
    for call in ends:
        seen = player.play(call)
        if not seen[0].done:
            raise CouldNotRun(f"a {family} request that is to show the prices was answered with {seen[0].said}")
    return seen[0]
