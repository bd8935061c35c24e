"""Cuts a story that shows a breach to the fewest and simplest calls that still show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from conformance.stories.calls import Call, GiveUp, Kind, Length, Pop, Post, Reply, Single, Submit, Together, each

Calls = tuple[Call, ...]
# Plays a story; gives the calls that were made, up to the breach, or None where it does not show.
Shows = Callable[[Calls], Calls | None]


_SHORT = 8


def size(calls: Sequence[Call]) -> int:
    """How many calls of HTTP a story is."""
    return sum(len(each(call)) for call in calls)


def cut_down(calls: Calls, shows: Shows) -> Calls:
    """The smallest story found: no call can be left out, and none made simpler.

    Hypothesis' own shrinking works on the choices behind a story and plays it hundreds of times; each of these plays
    costs calls to a target, and where two calls meet may come out otherwise. Leaving out calls by name needs dozens.
    """
    while True:
        smaller = _simplify(_leave_out(calls, shows), shows)
        if smaller == calls:
            return calls
        calls = smaller


def straightened(calls: Calls) -> list[Calls]:
    """The story with no two calls at the same time, in either order, if it has any: played again it comes out alike."""
    if not any(isinstance(call, Together) for call in calls):
        return []
    return [tuple(single for call in calls for single in each(call)[::step]) for step in (1, -1)]


def _leave_out(calls: Calls, shows: Shows) -> Calls:
    """From the front, for with a request or a pop all goes that depends on it."""
    place = 0
    while place < len(calls):
        smaller = shows(calls[:place] + calls[place + 1 :])
        if smaller is None:
            place += 1
        else:
            calls = smaller
    return calls


def _simplify(calls: Calls, shows: Shows) -> Calls:
    """One step simpler, where there is one."""
    for simpler in _simpler_stories(calls):
        shown = shows(simpler)
        if shown is not None:
            return shown
    return calls


def _simpler_stories(calls: Calls) -> Iterator[Calls]:
    # A reply and its pop, a fault and its hand-out: of a short story two may go that cannot go alone.
    if len(calls) <= _SHORT:
        for one, other in combinations(range(len(calls)), 2):
            yield tuple(call for place, call in enumerate(calls) if place not in (one, other))
    yield from _merged(calls)
    yield from _less(calls)
    for worker in ("B", "C"):
        recast = tuple(_recast(call, worker) for call in calls)
        if recast != calls:
            yield recast
    for place, call in enumerate(calls):
        for simpler in _simpler(call):
            yield calls[:place] + simpler + calls[place + 1 :]


def _simpler(call: Call) -> Iterator[Calls]:
    if isinstance(call, Together):
        first, second = call.first, call.second
        yield from ((first,), (second,), (first, second), (second, first))
        yield from ((Together(one, second),) for one in _singly(first))
        yield from ((Together(first, other),) for other in _singly(second))
    else:
        yield from ((single,) for single in _singly(call))


def _singly(call: Single) -> Iterator[Single]:
    if isinstance(call, Submit):
        if call.n > 1:
            yield replace(call, n=call.n - 1)
        if call.stream:
            yield replace(call, stream=False)
        if call.requester > 1:
            yield replace(call, requester=1)
    elif isinstance(call, Pop):
        if call.amount > 1:
            yield replace(call, amount=call.amount - 1)
        if call.kind is not Kind.BOTH:
            yield replace(call, kind=Kind.BOTH)
        if call.worker != "A":
            yield replace(call, worker="A")
    elif isinstance(call, Reply | Post) and call.length is Length.LONG:
        yield replace(call, length=Length.SHORT)


def _merged(calls: Calls) -> Iterator[Calls]:
    """Two pops become one for the generations of both."""
    pops = [call for call in calls if isinstance(call, Pop)]
    for place, first in enumerate(pops):
        for second in pops[place + 1 :]:
            both = replace(first, amount=first.amount + second.amount)
            rest = [_renamed(call, second.pop, first) for call in calls if call is not second]
            yield tuple(both if call is first else call for call in rest)


def _less(calls: Calls) -> Iterator[Calls]:
    """A request asks for one generation less, and what was done with that is left out."""
    for place, call in enumerate(calls):
        if isinstance(call, Submit) and call.n > 1:
            less = (*calls[:place], replace(call, n=call.n - 1))
            yield from (less + calls[place + 1 : other] + calls[other + 1 :] for other in range(place + 1, len(calls)))


def _recast(call: Call, worker: str) -> Call:
    """The call with worker A in the place of another; where two meet, they stay two."""
    return replace(call, worker="A") if isinstance(call, Pop) and call.worker == worker else call


def _renamed(call: Call, pop: str, to: Pop) -> Call:
    if isinstance(call, Together):
        return Together(_renamed_single(call.first, pop, to), _renamed_single(call.second, pop, to))
    return _renamed_single(call, pop, to)


def _renamed_single(call: Single, pop: str, to: Pop) -> Single:
    if isinstance(call, Reply | GiveUp | Post) and call.job[0] == pop:
        return replace(call, job=(to.pop, call.job[1] + to.amount))
    return call
