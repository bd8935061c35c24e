"""What the readings of one request's status may show: whole replies that were given, counts and a cost that can be.

A reading shows one state of its request, at one moment between its call and its return. So it counts at least what
must have happened before its call, and at most what may have happened until its return.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from itertools import pairwise
from operator import attrgetter

from conformance.histories.books import DONE, Books, Request
from conformance.histories.findings import Findings
from conformance.histories.handouts import cancelled
from conformance.histories.model import AnyOperation, Reading, Rule, Submit
from conformance.histories.names import Names, counted, listed
from conformance.histories.prices import Prices
from conformance.histories.timeline import Timeline, Totals

_called, _returned = attrgetter("called"), attrgetter("returned")
# What sums of floats are off, for each amount.
_NOISE = 1e-6
# Characters of a reply that a sentence repeats.
_LONGEST = 60
# Endings that a sentence tells one by one.
_TOLD = 4


class Readings:
    """Judges the readings of one request."""

    def __init__(self, request: Request, books: Books, prices: Prices, found: Findings) -> None:
        self.request = request
        self.books = books
        self.terms = books.terms
        self.prices = prices
        self.found = found
        self.submit: Submit | None = request.submit
        self.over = cancelled(request) if request.cancels else None
        self.may_be_over = min(cancel.called for cancel in request.cancels) if request.cancels else math.inf

    def judge(self, timeline: Timeline | None) -> None:
        """Judge each reading, then the readings beside each other. Without a timeline nothing can be counted."""
        vague, in_order = timeline is not None and timeline.vague, True
        before = self.request.readings[0]
        for reading in self.request.readings:
            in_order = in_order and _follows(before, reading)
            before = reading
            if reading.finished != len(reading.said) or (None in reading.said and not vague):
                self._half(reading)
            if timeline is None or self.submit is None:
                continue
            must, may = timeline.must.before(reading.called), timeline.may.until(reading.returned)
            if reading.said or timeline.sure:
                self._judge_said(reading, timeline)
            self._judge_counts(reading, must, may, self.submit.n)
            if reading.kudos is not None:
                if self.terms.settlement:
                    must = timeline.must.before(reading.called - self.terms.settlement)
                self._judge_cost(reading, reading.kudos, must, may, timeline)
        if not in_order:
            self._judge_order()
            self._judge_replies_beside_each_other()

    # One reading

    def _add(self, rule: Rule, reading: Reading, telling: str, *others: AnyOperation) -> None:
        """`telling` is what is shown; the rest of the sentence is the same for all."""
        self.found.add(
            rule,
            reading.returned,
            self.request,
            [*(act for act in self.request.acts if act.called <= reading.returned), *others, reading],
            lambda names: f"{names.who(reading)} read that {names.request(self.request.id)} {telling}",
        )

    def _half(self, reading: Reading) -> None:
        whole = sum(said is not None for said in reading.said)
        shown = f"{whole} of them whole" if whole < len(reading.said) else f"{len(reading.said)} shown"
        self._add(Rule.HALF, reading, f"has {counted(reading.finished, 'generation')} finished, {shown}")

    def _judge_said(self, reading: Reading, timeline: Timeline) -> None:
        said, known = reading.said, timeline.said
        if timeline.alike or timeline.vague or len(set(said)) < len(said):
            self._judge_said_alike(reading, timeline)
            return
        for value in said:
            if value is not None and (value not in known or known[value][0] > reading.returned):
                self._unsaid(reading, value, early=value in known)
        for by, value in timeline.sure:
            if by >= reading.called:
                break
            if value not in said:
                self._missing(reading, value)

    def _judge_said_alike(self, reading: Reading, timeline: Timeline) -> None:
        """The same where replies may be alike, so that they must be counted."""
        shown = Counter(reading.said)
        for value, number in shown.items():
            if value is not None and not timeline.vague:
                since = timeline.said.get(value, [])
                if sum(moment <= reading.returned for moment in since) < number:
                    self._unsaid(reading, value, early=bool(since))
        due: Counter[str] = Counter(value for by, value in timeline.sure if by < reading.called)
        for value, number in due.items():
            if shown[value] < number:
                self._missing(reading, value)

    def _unsaid(self, reading: Reading, value: str, *, early: bool) -> None:
        who = "no worker had given that often by then" if early else "no worker gave"
        self._add(Rule.UNSAID, reading, f"has the reply {_short(value)}, which {who}")

    def _missing(self, reading: Reading, value: str) -> None:
        self._add(Rule.STALE, reading, f"has no reply {_short(value)}, which had been taken before")

    def _judge_counts(self, reading: Reading, must: Totals, may: Totals, asked: int) -> None:
        if reading.finished < must.finished:
            self._add(Rule.STALE, reading, f"has {reading.finished} finished, when {must.finished} had been taken")
        wrong = self._miscount(reading, must, may, asked, 0)
        if wrong is None:
            return
        # What pops whose answers were lost may have taken is asked only where it matters.
        ghosts = self.books.ghosts(self.request, reading.returned)
        if ghosts:
            wrong = self._miscount(reading, must, may, asked, ghosts)
        if wrong is not None:
            self._add(Rule.MISCOUNTED, reading, wrong)

    def _miscount(self, reading: Reading, must: Totals, may: Totals, asked: int, ghosts: int) -> str | None:
        """The first count that cannot be, as the end of a sentence."""
        handed, _, back, ended, _, _ = must
        handed_most, finished_most, back_most, ended_most, _, _ = may
        if reading.finished > finished_most:
            return f"has {reading.finished} finished, where {counted(finished_most, 'reply')} can have been taken"
        if not back <= reading.restarted <= back_most + ghosts:
            most = back_most + ghosts
            return f"was restarted {reading.restarted} times, where it can have been {_range(back, most)}"
        least, most = handed - ended_most, handed_most + ghosts - ended
        if not least <= reading.processing <= most:
            return f"has {reading.processing} in flight, where it can be {_range(least, most)}"
        if reading.faulted:
            return None
        least, most = asked - handed_most - ghosts + back, asked - handed + back_most
        if self.may_be_over <= reading.returned:
            least = 0
            if self.over is not None and self.over.returned < reading.called:
                most = 0 if self.request.stream else min(most, back_most + ghosts)
        if not least <= reading.waiting <= most:
            return f"has {reading.waiting} waiting, where it can be {_range(least, most)}"
        return None if self.may_be_over <= reading.returned else _missum(reading, asked)

    def _judge_cost(self, reading: Reading, kudos: float, must: Totals, may: Totals, timeline: Timeline) -> None:
        terms, submit = self.terms, self.request.submits[0]
        accepted = submit.outcome is DONE and submit.returned < reading.called - terms.settlement
        least = must.cost + terms.submit_fee if accepted else must.cost
        most = may.cost + terms.submit_fee if submit.usual else math.inf
        if least <= kudos <= most:
            return
        slack = (terms.rounding + _NOISE) * (1 + may.charges)
        if kudos < least - slack:
            rule = Rule.FLOOR if timeline.streamed else Rule.MISCHARGED
            self._mischarge(rule, reading, f"{_amount(least)} at least")
        elif kudos > most + slack and not self._may_have_settled_unseen(reading):
            self._mischarge(Rule.MISCHARGED, reading, f"{_amount(most)} at most")

    def _mischarge(self, rule: Rule, reading: Reading, bound: str) -> None:
        self.found.add(
            rule,
            reading.returned,
            self.request,
            [
                *(act for act in self.request.acts if act.called <= reading.returned),
                *self.prices.known(self.request),
                reading,
            ],
            partial(self._tell_cost, reading, bound),
        )

    def _tell_cost(self, reading: Reading, bound: str, names: Names) -> str:
        generations = self.request.generations
        ends = [f"the reply of {names.who(r)}, paid {r.reward}" for g in generations for r in g.replies if r.reward]
        ends += [f"the cancel of {names.who(cancel)}" for cancel in self.request.cancels]
        what = listed(["its submit", *ends[:_TOLD], *(["more"] if len(ends) > _TOLD else [])])
        return (
            f"{names.who(reading)} read that {names.request(self.request.id)} cost {reading.kudos} kudos, where "
            f"{what} cost {bound}"
        )

    def _may_have_settled_unseen(self, reading: Reading) -> bool:
        """Whether a cancel may have settled what a pop took whose answer was lost."""
        over = self.request.stream and self.may_be_over <= reading.returned
        return over and self.books.ghosts(self.request, reading.returned) > 0

    # Readings beside each other

    def _judge_order(self) -> None:
        """What a reading showed, one that began after it was over shows as well."""
        over = iter(sorted(self.request.readings, key=_returned))
        before = next(over)
        most: Reading | None = None
        for reading in sorted(self.request.readings, key=_called):
            while before.returned < reading.called:
                most = before if most is None else _fuller(most, before)
                before = next(over)
            if most is not None and (reading.finished < most.finished or reading.restarted < most.restarted):
                self._add(
                    Rule.STALE,
                    reading,
                    f"has {reading.finished} finished and was restarted {reading.restarted} times, "
                    f"after {most.actor} had read {most.finished} and {most.restarted}",
                    most,
                )

    def _judge_replies_beside_each_other(self) -> None:
        """Of two readings one was first, and the other shows all that it showed."""
        levels: dict[int, Reading] = {}
        for reading in sorted(self.request.readings, key=_returned):
            if reading.said and None not in reading.said:
                other = levels.setdefault(len(reading.said), reading)
                if other is not reading and other.said != reading.said:
                    self._judge_chain(other, reading)
        if len(levels) > 1:
            ordered = [levels[size] for size in sorted(levels)]
            for fewer, more in pairwise(ordered):
                self._judge_chain(fewer, more)

    def _judge_chain(self, fewer: Reading, more: Reading) -> None:
        if Counter(fewer.said) <= Counter(more.said):
            return
        first, second = sorted((fewer, more), key=_returned)
        telling = "has replies without some that {} read, which shows others that are missing here"
        self._add(Rule.FORKED, second, telling.format(first.actor), first)


def _missum(reading: Reading, asked: int) -> str | None:
    """How the counts of a request that nobody cancelled do not add up to what it asked for."""
    if reading.waiting + reading.processing + reading.finished != asked:
        return (
            f"has {reading.waiting} waiting, {reading.processing} in flight and {reading.finished} finished, "
            f"which is not the {asked} it asked for"
        )
    if reading.done != (reading.finished == asked):
        return f"is {'done' if reading.done else 'not done'} with {reading.finished} of {asked} finished"
    return None


def _follows(one: Reading, other: Reading) -> bool:
    """Whether a reading shows all that one did which was over before, in the same order, as most do."""
    return (
        one.returned <= other.returned
        and one.finished <= other.finished
        and one.restarted <= other.restarted
        and one.said == other.said[: len(one.said)]
    )


def _fuller(one: Reading, other: Reading) -> Reading:
    return other if (other.finished, other.restarted) > (one.finished, one.restarted) else one


def _short(value: str) -> str:
    return repr(value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…")


def _range(least: int, most: int) -> str:
    return str(most) if max(0, least) >= most else f"{max(0, least)} to {most}"


def _amount(kudos: float) -> str:
    return f"{kudos:.2f}".rstrip("0").rstrip(".")
