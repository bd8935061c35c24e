"""Nothing is lost: what waits is handed to a worker that may have it, where nobody else reaches for it.

An empty answer while others pop, or while something else happens to the request, is no loss: a target may pass over
what another one holds for the moment. So a loss shows where a worker popped alone.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from itertools import accumulate
from operator import attrgetter

from conformance.histories.books import DONE, Books, Queue, Request
from conformance.histories.findings import Findings
from conformance.histories.model import Operation, Pop, Rule, Submit
from conformance.histories.names import counted
from conformance.histories.timeline import Timeline

_called = attrgetter("called")


class Pops:
    """The pops of one queue; `lonely` are those that were answered with nothing while nobody else popped."""

    def __init__(self, queue: Queue) -> None:
        self._all = sorted(queue.pops, key=_called)
        calls = [pop.called for pop in self._all]
        # Until when somebody was popping, of those so far.
        self._busy = list(accumulate([pop.returned for pop in self._all], max))
        self.lonely = [
            pop
            for pop, before, after in zip(self._all, [-math.inf, *self._busy], [*calls[1:], math.inf], strict=False)
            if before < pop.called and pop.returned < after and not pop.generations and pop.outcome is DONE
        ]
        self._calls = [pop.called for pop in self.lonely]

    def within(self, since: float, until: float) -> list[Pop]:
        """The lonely ones that were called after one moment and before the other."""
        first = bisect_right(self._calls, since)
        return self.lonely[first : bisect_left(self._calls, until, lo=first)]

    def meet(self, pop: Pop) -> bool:
        """Whether another of them took place while this one did."""
        place = bisect_right(self._all, pop.returned, key=_called) - 1
        while place >= 0 and self._busy[place] >= pop.called:
            if _meet(pop, self._all[place]):
                return True
            place -= 1
        return False


class Waiting:
    """Judges the requests that wait, by the empty answers of their queues."""

    def __init__(self, books: Books, found: Findings) -> None:
        self._books = books
        self._found = found
        self._pops = {key: Pops(queue) for key, queue in books.queues.items()}

    def passed_over(self, request: Request) -> list[Pop]:
        """The pops of its queues, in their order, that were handed nothing while it may have waited."""
        submit = request.submits[0]
        if submit.outcome is not DONE or not submit.open:
            return []
        found: list[Pop] = []
        until = self._horizon(request, submit)
        for model in submit.models:
            pops = self._pops.get((submit.family, model))
            if pops is not None and pops.lonely:
                found += pops.within(submit.returned, until)
        return found if len(submit.models) == 1 else sorted(found, key=_called)

    def _horizon(self, request: Request, submit: Submit) -> float:
        """The moment after which it need not wait any more."""
        ends = [submit.called + self._books.history.terms.request_lifetime]
        ends += [cancel.called for cancel in request.cancels]
        if request.id in self._books.history.moved:
            ends.append(self._books.history.moved[request.id])
        faults = sum([len(generation.faults) for generation in request.generations])
        if len(request.generations) >= submit.n + faults:
            ends.append(max([pop.called for pop in request.pops]))
        return min(ends)

    def judge(self, request: Request, timeline: Timeline, passed_over: list[Pop]) -> None:
        """None of its generations waits while a worker that may have it is handed nothing."""
        submit = request.submits[0]
        for pop in passed_over:
            left = self._waits(request, timeline, submit, pop)
            if left > 0 and self._may_have(request, submit, pop) and self._alone(request, submit, pop):
                self._lost(request, submit, pop, left)
                return

    def _waits(self, request: Request, timeline: Timeline, submit: Submit, pop: Pop) -> int:
        """How many generations must have waited all the while that a pop took."""
        may = timeline.may.until(pop.returned)
        if may.returned >= self._books.terms.faults:
            return 0
        left = submit.n - may.handed + timeline.must.before(pop.called).returned
        return left - self._books.ghosts(request, pop.returned) if left > 0 else 0

    def _may_have(self, request: Request, submit: Submit, pop: Pop) -> bool:
        """Whether a pop may be handed this request; who gave it up before may be spared it."""
        roomy = pop.max_length >= submit.max_length and pop.max_context_length >= submit.max_context_length
        failed = any(fault.actor == pop.actor for generation in request.generations for fault in generation.faults)
        return pop.open and roomy and not failed

    def _alone(self, request: Request, submit: Submit, pop: Pop) -> bool:
        """Whether nothing else happened to the request, or to a queue in which it stands, while this pop took place."""
        queues = (self._pops.get((submit.family, model)) for model in submit.models)
        if any(pops is not None and pops.meet(pop) for pops in queues):
            return False
        return not any(_meet(pop, act) for act in request.acts)

    def _lost(self, request: Request, submit: Submit, pop: Pop, left: int) -> None:
        self._found.add(
            Rule.LOST,
            pop.returned,
            request,
            [*(act for act in request.acts if act.called <= pop.returned), pop],
            lambda names: (
                f"{submit.family} request {names.request(request.id)} waited with {left} of its "
                f"{counted(submit.n, 'generation')}, nobody else popped, and {names.who(pop)}, which may have it, "
                "was handed nothing"
            ),
        )


def _meet(one: Operation, other: Operation) -> bool:
    return one is not other and one.called <= other.returned and other.called <= one.returned
