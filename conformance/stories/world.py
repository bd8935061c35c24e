"""The model: what a target may show after each call of a story, and which requirement is broken where it shows else.

Where the specification leaves an outcome open, or two calls met, more than one world is possible: a story is right as
long as one of them agrees with all that was seen. The model knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from conformance.actors import Family
from conformance.stories.calls import (
    Across,
    Call,
    Cancel,
    GiveUp,
    JobKey,
    Kind,
    Length,
    Outcome,
    Pop,
    Post,
    Reply,
    Seen,
    Shown,
    Single,
    Submit,
    Together,
    each,
)
from conformance.stories.rules import NOISE, Breach, Prices, Rule

# A target may give a request up for good with its third fault (facts, 3.7); stories stop before.
_FAULTS = 2


class State(StrEnum):
    """Where a generation stands that was handed out."""

    IN_FLIGHT = "in flight"
    FINISHED = "finished"
    GIVEN_UP = "given up"
    SETTLED = "settled by the cancel"


@dataclass
class Generation:
    """One generation that was handed out."""

    name: str
    id: str
    request: str
    worker: str
    state: State = State.IN_FLIGHT
    output: Length = Length.SHORT


@dataclass
class Asked:
    """One request; `waiting` is how many of its generations are still to be handed out."""

    name: str
    requester: int
    family: Family
    n: int
    stream: bool
    waiting: int
    cancelled: bool = False
    spared: frozenset[str] = frozenset()


@dataclass
class World:
    """What is so after the calls of a story, as far as it can be known."""

    prices: Prices
    requests: dict[str, Asked] = field(default_factory=dict)
    generations: dict[JobKey, Generation] = field(default_factory=dict)
    declared: frozenset[str] = frozenset()

    # What can be told

    def of(self, request: str, *states: State) -> list[Generation]:
        """The request's generations that stand so."""
        return [g for g in self.generations.values() if g.request == request and g.state in states]

    def can(self, call: Call) -> bool:
        """Whether a call makes sense here: what it names is there, and it is not one fault too many."""
        known = all(self._knows(single) for single in each(call))
        faults = [self.generations[c.job] for c in each(call) if known and isinstance(c, GiveUp)]
        return known and all(self._may_fault(g.request, len(faults)) for g in faults if g.state is State.IN_FLIGHT)

    def _knows(self, call: Single) -> bool:
        if isinstance(call, Submit):
            return call.request not in self.requests
        if isinstance(call, Cancel | Across):
            return call.request in self.requests
        return isinstance(call, Pop) or call.job in self.generations

    def _may_fault(self, request: str, more: int) -> bool:
        return len(self.of(request, State.GIVEN_UP)) + more <= _FAULTS

    def touched(self, call: Call) -> list[str]:
        """The requests that a call is about; of a pop, those that were handed out."""
        names: list[str] = []
        for single in each(call):
            if isinstance(single, Submit | Cancel | Across):
                names.append(single.request)
            elif isinstance(single, Pop):
                names += [g.request for (pop, _), g in self.generations.items() if pop == single.pop]
            else:
                names.append(self.generations[single.job].request)
        return list(dict.fromkeys(names))

    def copy(self) -> World:
        """A world that goes its own way."""
        requests = {name: replace(asked) for name, asked in self.requests.items()}
        generations = {key: replace(generation) for key, generation in self.generations.items()}
        return replace(self, requests=requests, generations=generations)

    # What a call does

    def after(self, call: Single, seen: Seen, *, beside: bool = False) -> list[World]:
        """The worlds that are possible after a call of which this was seen; `beside`: another was made meanwhile.

        Raises:
            Breach: none is.
        """
        return self.copy().become(call, seen, beside=beside)

    def become(self, call: Single, seen: Seen, *, beside: bool) -> list[World]:
        """This world after a call, changed in place, and others that are possible too."""
        if isinstance(call, GiveUp):
            return self._give_up(call, seen)
        if isinstance(call, Submit):
            name = f"{call.family.value[0]}{1 + sum(r.family is call.family for r in self.requests.values())}"
            self.requests[call.request] = Asked(name, call.requester, call.family, call.n, call.stream, call.n)
        elif isinstance(call, Pop):
            self._pop(call, seen, beside=beside)
        elif isinstance(call, Reply):
            self._reply(call, seen)
        elif isinstance(call, Post):
            self._post(call, seen)
        elif isinstance(call, Cancel):
            self._cancel(call, seen)
        elif seen.outcome is not Outcome.NOT_FOUND:
            name = self.requests[call.request].name
            raise Breach(Rule.FAMILIES_APART, f"that {name} is not found there", seen.said)
        return [self]

    def _pop(self, call: Pop, seen: Seen, *, beside: bool) -> None:
        if call.kind.takes(Family.CHAT):
            self.declared |= {call.worker}
        if seen.hand is not None:
            return self._handed(call, seen.hand.request, seen.hand.ids)
        due = [r for r in self.requests.values() if r.waiting and call.kind.takes(r.family)]
        if not seen.done and call.kind is not Kind.NEITHER:
            raise Breach(Rule.HANDED_OUT_ONCE, "that the pop is carried out", seen.said)
        sure = [r.name for r in due if call.worker not in r.spared]
        # While others pop an empty answer is no loss.
        if sure and not beside:
            raise Breach(Rule.HANDED_OUT_ONCE, f"a generation of {' or '.join(sure)}", "nothing")
        return None

    def _handed(self, call: Pop, request: str | None, ids: tuple[str, ...]) -> None:
        asked = self.requests.get(request or "")
        if request is None or asked is None:
            raise Breach(Rule.ONES_OWN_ONCE, "a job with the content of one request", "one with other content")
        if not call.kind.takes(asked.family):
            expected = f"nothing of {asked.name} for a worker that {call.kind}"
            raise Breach(self._misplaced(call, asked), expected, f"a generation of {asked.name}")
        again = [g.name for g in self.generations.values() if g.id in ids]
        if again:
            raise Breach(Rule.HANDED_OUT_ONCE, "a generation that nobody was handed yet", f"{again[0]} again")
        got = f"{len(ids)} of {asked.name}"
        if len(ids) > call.amount:
            raise Breach(Rule.HANDED_OUT_ONCE, f"{call.amount} generation at most", got)
        if len(ids) > asked.waiting:
            rule = Rule.COUNTS if asked.cancelled else Rule.HANDED_OUT_ONCE
            why = "which is cancelled" if asked.cancelled else f"of which {asked.waiting} waited"
            raise Breach(rule, f"no more of {asked.name}, {why}", got)
        asked.waiting -= len(ids)
        for place, id in enumerate(ids):
            name = f"g{len(self.generations) + 1}"
            self.generations[call.pop, place] = Generation(name, id, request, call.worker)

    def _misplaced(self, call: Pop, asked: Asked) -> Rule:
        if asked.family is Family.TEXT:
            return Rule.TEXT_WHERE_ACCEPTED
        return Rule.LAST_DECLARATION if call.worker in self.declared else Rule.CHAT_WHERE_DECLARED

    def _reply(self, call: Reply, seen: Seen) -> None:
        generation = self.generations[call.job]
        if generation.state is not State.IN_FLIGHT:
            return self._late(generation, seen)
        self._must(seen, f"that the reply to {generation.name} is taken")
        due = self.prices.reward[self.requests[generation.request].family, call.length]
        if not self.prices.same(seen.reward, due, 1):
            raise Breach(Rule.MONEY, f"a reward of {due:g}", f"{seen.reward:g}")
        generation.state, generation.output = State.FINISHED, call.length
        return None

    def _give_up(self, call: GiveUp, seen: Seen) -> list[World]:
        generation = self.generations[call.job]
        if generation.state is not State.IN_FLIGHT:
            self._late(generation, seen)
            return [self]
        self._must(seen, f"that {generation.name} can be given up")
        self._unrewarded(generation, seen)
        generation.state = State.GIVEN_UP
        asked = self.requests[generation.request]
        asked.spared |= {generation.worker}
        if not asked.cancelled:
            asked.waiting += 1
            return [self]
        # Upstream queues it again although it was cancelled (facts, 3.7).
        requeued = self.copy()
        requeued.requests[generation.request].waiting += 1
        return [self, requeued]

    def _post(self, call: Post, seen: Seen) -> None:
        generation = self.generations[call.job]
        asked = self.requests[generation.request]
        if generation.state is State.IN_FLIGHT and asked.stream:
            self._must(seen, f"that output of {generation.name} is taken")
            generation.output = call.length

    def _cancel(self, call: Cancel, seen: Seen) -> None:
        asked = self.requests[call.request]
        self._must(seen, f"that {asked.name} is cancelled")
        asked.cancelled, asked.waiting = True, 0
        for generation in self.of(call.request, State.IN_FLIGHT) if asked.stream else []:
            generation.state = State.SETTLED

    def _must(self, seen: Seen, expected: str) -> None:
        if not seen.done:
            raise Breach(Rule.COUNTS, expected, seen.said)

    def _late(self, generation: Generation, seen: Seen) -> None:
        if seen.outcome is Outcome.CRASHED:
            raise Breach(Rule.ONES_OWN_ONCE, f"a refusal, as {generation.name} is {generation.state}", seen.said)
        self._unrewarded(generation, seen)

    def _unrewarded(self, generation: Generation, seen: Seen) -> None:
        if seen.done and seen.reward > NOISE:
            expected = f"no reward, as {generation.name} is {generation.state}"
            raise Breach(Rule.MONEY, expected, f"a reward of {seen.reward:g}")

    # What may be seen

    def agrees(self, request: str, shown: Shown, call: Call | None) -> list[World]:
        """This world, where a request's status that was looked at after a call shows what must be.

        Raises:
            Breach: it shows something else; a call that must change nothing is named by its own rule.
        """
        asked, rule = self.requests[request], self._rule(call)
        due = {
            "finished": len(self.of(request, State.FINISHED)),
            "processing": len(self.of(request, State.IN_FLIGHT)),
            "restarted": len(self.of(request, State.GIVEN_UP)),
            "waiting": asked.waiting,
        }
        if not asked.cancelled:
            # When a cancelled one is done, no requirement says (facts, 3.7).
            due["done"] = due["finished"] == asked.n
        got = {what: getattr(shown, what) for what in due}
        if got != due:
            wrong = [what for what in due if got[what] != due[what]]
            expected = ", ".join(f"{what} {due[what]}" for what in wrong)
            raise Breach(rule, f"{expected} of {asked.name}", ", ".join(f"{what} {got[what]}" for what in wrong))
        self._agree_replies(request, shown, rule)
        cost, moved = self.cost(request), 1 + due["finished"] + len(self.of(request, State.SETTLED))
        if shown.kudos is not None and not self.prices.same(shown.kudos, cost, moved):
            raise Breach(Rule.MONEY, f"that {asked.name} has cost {cost:.2f}", f"{shown.kudos:.2f}")
        return [self]

    def _rule(self, call: Call | None) -> Rule:
        across = call is not None and all(isinstance(single, Across) for single in each(call))
        return Rule.FAMILIES_APART if across else Rule.COUNTS

    def _agree_replies(self, request: str, shown: Shown, rule: Rule) -> None:
        names = {g.id: g.name for g in self.of(request, State.FINISHED)}
        if sorted(shown.replies) != sorted(names):
            told = ", ".join(names.values()) or "no reply"
            got = ", ".join(names.get(id, id) for id in shown.replies) or "none"
            own = len(shown.replies) < len(names)
            raise Breach(rule if own else Rule.ONES_OWN_ONCE, f"the replies to {told}", got)

    # Money

    def cost(self, request: str) -> float:
        """All that a request must have cost."""
        family, prices = self.requests[request].family, self.prices
        replies = sum(prices.charge[family, g.output] for g in self.of(request, State.FINISHED))
        settled = sum(prices.charge[family, g.output] - prices.cancel for g in self.of(request, State.SETTLED))
        return prices.submit[family] + replies + settled

    def payment(self, request: str) -> float:
        """All that workers must have been paid for a request."""
        ended = self.of(request, State.FINISHED, State.SETTLED)
        return sum((self.prices.reward[self.requests[request].family, g.output] for g in ended), 0.0)

    def balances(self, request: str, cost: float, payment: float | None) -> list[World]:
        """This world, where a request has cost and paid what it must; `payment` is None where only the cost is shown.

        Raises:
            Breach: they show something else.
        """
        name = self.requests[request].name
        # Whoever shows payments shows all to the cent.
        movements = 1 + len(self.of(request, State.FINISHED, State.SETTLED)) if payment is None else 0
        if not self.prices.same(cost, self.cost(request), movements):
            raise Breach(Rule.MONEY, f"that {name} has cost {self.cost(request):.2f} in the end", f"{cost:.2f}")
        if payment is not None and not self.prices.same(payment, self.payment(request), movements):
            expected = f"that the workers of {name} were paid {self.payment(request):.2f} in the end"
            raise Breach(Rule.MONEY, expected, f"{payment:.2f}")
        return [self]


def after(worlds: list[World], call: Call, *seen: Seen) -> list[World]:
    """The worlds that are possible after a call; after two at the same time, those of either order.

    Raises:
        Breach: none is; of the first that was tried.
    """
    told = list(zip(each(call), seen, strict=True))
    orders = [told, told[::-1]] if isinstance(call, Together) else [told]
    return surviving([partial(_in_order, world, order) for order in orders for world in worlds])


def surviving(attempts: list[Callable[[], list[World]]]) -> list[World]:
    """What those attempts give that breach no rule.

    Raises:
        Breach: all do; the first one's.
    """
    possible: list[World] = []
    breaches: list[Breach] = []
    for attempt in attempts:
        try:
            possible += attempt()
        except Breach as breach:
            breaches.append(breach)
    if not possible:
        raise breaches[0]
    return possible


def _in_order(world: World, told: list[tuple[Single, Seen]]) -> list[World]:
    worlds = [world]
    for call, seen in told:
        worlds = [later for one in worlds for later in one.after(call, seen, beside=len(told) > 1)]
    return worlds
