"""When the things that can happen to a request can have happened, and when they must have.

A generation ends once: by a reply, by a fault or the end of its lifetime, or by the cancel of its stream. What may
have ended it are its *fates*; whichever was first did, so that those which began after another was over did not.
Each thing that can happen is so reduced to two moments: from when it may, and by when it must have happened.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from conformance.histories.books import DONE, Books, Generation, Request
from conformance.histories.model import Cancel, Fault, Reply, Terms
from conformance.histories.prices import NOTHING, Prices

INFINITY = math.inf
# From when, by when (infinity: it need not have been), and what; None is the end of a lifetime.
Act = Reply | Fault | Cancel | None
Fate = tuple[float, float, Act]


def fates(generation: Generation, terms: Terms, moved: float = INFINITY) -> list[Fate]:
    """What may have ended a generation that was handed out. `moved`: when its clock was moved past its lifetime."""
    request, pop = generation.request, generation.pops[0]
    assert request is not None
    for reply in generation.replies:
        if reply.reward:
            # Nothing is paid for but the reply that ended it.
            return [(reply.called, reply.returned if reply.outcome is DONE else INFINITY, reply)]
    cancels = request.cancels if request.stream else ()
    found: list[Fate] = [
        (act.called, act.returned if act.outcome is DONE else INFINITY, act)
        for act in (*generation.replies, *generation.faults, *cancels)
    ]
    lifetime = terms.job_lifetime if pop.lifetime is None else pop.lifetime
    over = pop.called + lifetime
    found.append((min(over, moved), INFINITY, None))
    if len(found) == 1:
        return found
    first = min([by for _, by, _ in found])
    return [fate for fate in found if fate[0] <= first]


class Totals(NamedTuple):
    """How many generations were handed out, finished, returned to the queue and ended, and what they cost so far."""

    handed: int = 0
    finished: int = 0
    returned: int = 0
    ended: int = 0
    cost: float = 0.0
    charges: int = 0


# The quickest way to make them, of which there are as many as operations.
_totals: Callable[[tuple[int, int, int, int, float, int]], Totals] = partial(tuple.__new__, Totals)
# A moment, and what it adds to each of the totals.
Step = tuple[float, int, int, int, int, float, int]


class Steps:
    """Totals that grow from moment to moment."""

    __slots__ = ("moments", "totals")

    def __init__(self, steps: list[Step]) -> None:
        steps.sort()
        handed = finished = returned = ended = charges = 0
        cost = 0.0
        self.moments = [step[0] for step in steps]
        self.totals = [_NONE]
        for _, more_handed, more_finished, more_returned, more_ended, more_cost, more_charges in steps:
            handed += more_handed
            finished += more_finished
            returned += more_returned
            ended += more_ended
            cost += more_cost
            charges += more_charges
            self.totals.append(_totals((handed, finished, returned, ended, cost, charges)))

    def before(self, moment: float) -> Totals:
        return self.totals[bisect_left(self.moments, moment)]

    def until(self, moment: float) -> Totals:
        return self.totals[bisect_right(self.moments, moment)]


_NONE = Totals()


class Timeline:
    """What must have happened to a request before a moment (`must`), and what may have until it (`may`).

    `said`: what its readings may show, since when. `sure`: what they must show, by when. `vague`: what one of its
    replies is shown as is not ours to say. `alike`: two replies may be the same. `streamed`: a cancel may have settled.
    """

    __slots__ = ("_may", "_must", "alike", "may", "must", "said", "streamed", "sure", "vague")

    def __init__(self, request: Request, books: Books, prices: Prices) -> None:
        self._must: list[Step] = []
        self._may: list[Step] = []
        self.said: dict[str, list[float]] = {}
        self.sure: list[tuple[float, str]] = []
        self.vague = self.alike = self.streamed = False
        terms, moved = books.history.terms, books.history.moved
        for generation in request.generations:
            found = fates(generation, terms, moved.get(generation.id, INFINITY))
            pop = generation.pops[0]
            self._must.append((pop.returned, 1, 0, 0, 0, 0.0, 0))
            self._may.append((pop.called, 1, 0, 0, 0, 0.0, 0))
            if len(found) == 1:
                self._end(*found[0], generation, prices)
            else:
                self._end_somehow(found, generation, prices)
        if len(request.generations) > 1:
            self.sure.sort()
            self.alike = any(len(since) > 1 for since in self.said.values())
        self.must, self.may = Steps(self._must), Steps(self._may)

    def _end(self, since: float, by: float, act: Act, generation: Generation, prices: Prices) -> None:
        """What ended a generation is known."""
        finished = returned = 0
        if isinstance(act, Reply):
            self._say(act, since, by)
            finished = 1
        elif isinstance(act, Cancel):
            self.streamed = True
        else:
            returned = 1
        least, most = cost(act, generation, prices)
        self._may.append((since, 0, finished, returned, 1, most, 1 - returned))
        if by < INFINITY:
            self._must.append((by, 0, finished, returned, 1, least, 0))

    def _end_somehow(self, found: list[Fate], generation: Generation, prices: Prices) -> None:
        """One of these ended a generation."""
        by = min(by for _, by, _ in found)
        replies = [(since, act) for since, _, act in found if isinstance(act, Reply)]
        returns = [since for since, _, act in found if act is None or isinstance(act, Fault)]
        costs = [cost(act, generation, prices) for _, _, act in found]
        dear = [since for (since, _, _), (_, most) in zip(found, costs, strict=True) if most > 0]
        self._may.append((min(since for since, _, _ in found), 0, 0, 0, 1, 0.0, 0))
        if replies:
            self._may.append((min(since for since, _ in replies), 0, 1, 0, 0, 0.0, 0))
        if returns:
            self._may.append((min(returns), 0, 0, 1, 0, 0.0, 0))
        if dear:
            self._may.append((min(dear), 0, 0, 0, 0, max(most for _, most in costs), 1))
        if by < INFINITY:
            finished, returned = int(len(replies) == len(found)), int(len(returns) == len(found))
            self._must.append((by, 0, finished, returned, 1, min(least for least, _ in costs), 0))
        for since, reply in replies:
            self._say(reply, since, INFINITY)
        self.streamed = self.streamed or any(isinstance(act, Cancel) for _, _, act in found)

    def _say(self, reply: Reply, since: float, by: float) -> None:
        if reply.said is None:
            self.vague = True
            return
        self.said.setdefault(reply.said, []).append(since)
        if by < INFINITY:
            self.sure.append((by, reply.said))


def cost(act: Act, generation: Generation, prices: Prices) -> tuple[float, float]:
    """The least and the most that a generation cost which ended so."""
    if isinstance(act, Reply):
        return prices.charge(act, generation)
    return prices.settlement(generation, act) if isinstance(act, Cancel) else NOTHING
