"""When the things that can happen to a request can have happened, and when they must have.

A generation ends once: by a reply, by a fault or the end of its lifetime, or by the cancel of its stream. What may
have ended it are its *fates*; whichever was first did, so that those which began after another was over did not.
Each thing that can happen is so reduced to two moments: from when it may, and by when it must have happened.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import accumulate

from conformance.histories.books import DONE, Books, Generation, Request
from conformance.histories.model import Cancel, Fault, Reply, Terms
from conformance.histories.prices import NOTHING, Prices

INFINITY = math.inf
# From when, by when (infinity: it need not have been), and what; None is the end of a lifetime.
Fate = tuple[float, float, Reply | Fault | Cancel | None]


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


class Moments:
    """How often a thing may, and must, have happened by some moment."""

    __slots__ = ("by", "since")

    def __init__(self) -> None:
        self.since: list[float] = []
        self.by: list[float] = []

    def sort(self) -> None:
        self.since.sort()
        self.by.sort()

    def possible(self, moment: float) -> int:
        """How often at most, the moment included."""
        return bisect_right(self.since, moment)

    def certain(self, moment: float) -> int:
        """How often at least, before the moment."""
        return bisect_left(self.by, moment)


# The fewest and the most hand-outs, replies, give-backs and endings that a reading can have seen, in this order.
Bounds = tuple[int, int, int, int, int, int, int, int]


class Timeline:
    """One request's hand-outs, replies, give-backs and endings, each as moments, and what its readings may show.

    `vague`: what one of its replies is shown as is not ours to say. `alike`: two of them may be the same.
    """

    __slots__ = ("alike", "ended", "fates", "finished", "handed", "returned", "said", "sure", "vague")

    def __init__(self, request: Request, books: Books) -> None:
        self.handed, self.finished, self.returned, self.ended = Moments(), Moments(), Moments(), Moments()
        # What may be shown since when; what must be shown by when.
        self.said: dict[str, list[float]] = {}
        self.sure: list[tuple[float, str]] = []
        self.vague = self.alike = False
        terms, moved = books.terms, books.history.moved
        self.fates = [fates(g, terms, moved.get(g.id, INFINITY) if moved else INFINITY) for g in request.generations]
        for generation, found in zip(request.generations, self.fates, strict=True):
            pop = generation.pops[0]
            self.handed.since.append(pop.called)
            self.handed.by.append(pop.returned)
            if len(found) == 1:
                self._end(*found[0])
            else:
                self._end_somehow(found)
        if len(self.fates) > 1:
            for moments in (self.handed, self.finished, self.returned, self.ended):
                moments.sort()
            self.sure.sort()
            self.alike = any(len(since) > 1 for since in self.said.values())

    def bounds(self, called: float, returned: float) -> Bounds:
        """What one who looked between these moments can have seen."""
        handed, finished, back, ended = self.handed, self.finished, self.returned, self.ended
        return (
            bisect_left(handed.by, called),
            bisect_right(handed.since, returned),
            bisect_left(finished.by, called),
            bisect_right(finished.since, returned),
            bisect_left(back.by, called),
            bisect_right(back.since, returned),
            bisect_left(ended.by, called),
            bisect_right(ended.since, returned),
        )

    def _end(self, since: float, by: float, act: Reply | Fault | Cancel | None) -> None:
        """What ended a generation is known."""
        ends = [self.ended]
        if isinstance(act, Reply):
            ends.append(self.finished)
            self._say(act, since, by)
        elif not isinstance(act, Cancel):
            ends.append(self.returned)
        for moments in ends:
            moments.since.append(since)
            if by < INFINITY:
                moments.by.append(by)

    def _end_somehow(self, found: list[Fate]) -> None:
        """One of these ended a generation."""
        by = min(by for _, by, _ in found)
        replies = [(since, act) for since, _, act in found if isinstance(act, Reply)]
        returns = [since for since, _, act in found if act is None or isinstance(act, Fault)]
        for moments, moment in (
            (self.ended, [since for since, _, _ in found]),
            (self.finished, [since for since, _ in replies]),
            (self.returned, returns),
        ):
            if moment:
                moments.since.append(min(moment))
                if len(moment) == len(found) and by < INFINITY:
                    moments.by.append(by)
        for since, reply in replies:
            self._say(reply, since, INFINITY)

    def _say(self, reply: Reply, since: float, by: float) -> None:
        if reply.said is None:
            self.vague = True
            return
        self.said.setdefault(reply.said, []).append(since)
        if by < INFINITY:
            self.sure.append((by, reply.said))


class Costs:
    """What a request must and may have cost by some moment, apart from its submit; `streamed`: by a cancel, maybe."""

    __slots__ = ("_least", "_least_by", "_most", "_most_since", "streamed")

    def __init__(self, request: Request, timeline: Timeline, prices: Prices) -> None:
        least: list[tuple[float, float]] = []
        most: list[tuple[float, float]] = []
        self.streamed = False
        for generation, found in zip(request.generations, timeline.fates, strict=True):
            low, high, by, dear = INFINITY, 0.0, INFINITY, INFINITY
            for since, until, act in found:
                cheapest, dearest = cost(act, generation, prices)
                low, high, by = min(low, cheapest), max(high, dearest), min(by, until)
                if dearest and since < dear:
                    dear = since
                self.streamed = self.streamed or type(act) is Cancel
            if by < INFINITY:
                least.append((by, low))
            if high:
                most.append((dear, high))
        self._least_by, self._least = _running(least)
        self._most_since, self._most = _running(most)

    def least(self, moment: float) -> float:
        """What must have been charged before the moment."""
        return self._least[bisect_left(self._least_by, moment)]

    def most(self, moment: float) -> float:
        """What may have been charged, the moment included."""
        return self._most[bisect_right(self._most_since, moment)]

    def movements(self, moment: float) -> int:
        """How many charges may have been made."""
        return bisect_right(self._most_since, moment)


def cost(act: Reply | Fault | Cancel | None, generation: Generation, prices: Prices) -> tuple[float, float]:
    """The least and the most that a generation cost which ended so."""
    if act is None or type(act) is Fault:
        return NOTHING
    if isinstance(act, Reply):
        return prices.charge(act, generation)
    return prices.settlement(generation, act) if isinstance(act, Cancel) else NOTHING


def _running(amounts: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """The moments in order, and the sum of the amounts before each, with that of all at the end."""
    amounts.sort()
    return [moment for moment, _ in amounts], list(accumulate([amount for _, amount in amounts], initial=0.0))
