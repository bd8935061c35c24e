"""What accounts' balances may be: what each was at first, and what was charged and paid since.

Kudos are conserved where one amount, the balance before the history began, explains every balance that was read. This
is judged only of accounts whose every movement is in the history.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from operator import attrgetter, itemgetter

from conformance.histories.books import DONE, Books, Generation, Request, gather
from conformance.histories.findings import Findings
from conformance.histories.model import Balance, History, Rule
from conformance.histories.names import Names
from conformance.histories.prices import Prices
from conformance.histories.timeline import cost, fates

# What sums of floats are off, for each amount.
NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class Movement:
    """Kudos that came (or went, below zero): from when they may have, by when they must have, and how many."""

    since: float
    by: float
    least: float
    most: float


@dataclass
class Account:
    """One account's movements, and the requests that they are of."""

    movements: list[Movement] = field(default_factory=list)
    requests: dict[str, Request] = field(default_factory=dict)


def judge_balances(books: Books, prices: Prices, found: Findings) -> None:
    """Every balance that was read follows from the movements."""
    closed = [account for account in books.balances if account in books.history.closed]
    if not closed:
        return
    accounts = _accounts(books, prices)
    for name in closed:
        _judge(name, accounts[name], books, prices, found)


def missing(history: History) -> str | None:
    """Why balances are not judged by this history; None where they are, of the accounts that are closed and read."""
    if not any(isinstance(act, Balance) for act in history.operations) or not history.closed:
        return "no balance of an account of which all movements are known was read"
    return may_miss_movements(gather(history))


def may_miss_movements(books: Books) -> str | None:
    """What may have been settled that no answer tells of: of whom, and for how much?"""
    if any(generation.request is None for generation in books.generations.values()):
        return "it is not known whose requests all generations were of"
    lost = any(queue.lost for queue in books.queues.values())
    if lost and any(request.stream and request.cancels for request in books.requests.values()):
        return "what a pop took whose answer was lost may have been settled by a cancel"
    return None


def _accounts(books: Books, prices: Prices) -> defaultdict[str, Account]:
    accounts: defaultdict[str, Account] = defaultdict(Account)
    for request in books.requests.values():
        if not request.submits:
            continue
        payer = request.submits[0].account
        _enter(accounts[payer], request, [submit_fee(request, books)])
        for generation in request.generations:
            charge, payment = movements(generation, books, prices)
            _enter(accounts[payer], request, [charge])
            _enter(accounts[generation.pops[0].account], request, [payment])
    return accounts


def _enter(account: Account, request: Request, movements: list[Movement]) -> None:
    account.movements += movements
    account.requests[request.id] = request


def submit_fee(request: Request, books: Books) -> Movement:
    """What a request costs as it is submitted."""
    fee = books.terms.submit_fee
    by = min((submit.returned for submit in request.submits if submit.outcome is DONE), default=math.inf)
    most = fee if all(submit.usual for submit in request.submits) else math.inf
    return Movement(min(submit.called for submit in request.submits), by, -most, -fee)


def movements(generation: Generation, books: Books, prices: Prices) -> tuple[Movement, Movement]:
    """What the requester was charged, and what the worker's owner was paid."""
    found = fates(generation, books.terms, books.history.moved.get(generation.id, math.inf))
    since, by = min(fate[0] for fate in found), min(fate[1] for fate in found)
    costs = [cost(act, generation, prices) for _, _, act in found]
    pays = [prices.payment(act, bounds) for (_, _, act), bounds in zip(found, costs, strict=True)]
    charge = Movement(since, by, -max(high for _, high in costs), -min(low for low, _ in costs))
    return charge, Movement(since, by, min(low for low, _ in pays), max(high for _, high in pays))


class _Sums:
    """What an account must have gained by one moment or may have by another, at least and at most."""

    def __init__(self, movements: list[Movement]) -> None:
        by, since = sorted(movements, key=attrgetter("by")), sorted(movements, key=attrgetter("since"))
        self._by, self._since = [m.by for m in by], [m.since for m in since]
        self._sure = _running(max(m.least, 0.0) for m in by), _running(min(m.most, 0.0) for m in by)
        self._maybe = _running(min(m.least, 0.0) for m in since), _running(max(m.most, 0.0) for m in since)

    def bounds(self, settled: float, until: float) -> tuple[float, float, int]:
        """The least, the most, and of how many movements."""
        sure, maybe = bisect_left(self._by, settled), bisect_right(self._since, until)
        least = self._sure[0][sure] + self._maybe[0][maybe]
        return least, self._sure[1][sure] + self._maybe[1][maybe], maybe


def _running(amounts: Iterator[float]) -> list[float]:
    return list(accumulate(amounts, initial=0.0))


def _judge(name: str, account: Account, books: Books, prices: Prices, found: Findings) -> None:
    terms, sums = books.terms, _Sums(account.movements)
    # What the balance was before the history, by each reading of it: at least and at most.
    lowest: tuple[float, Balance | None] = (-math.inf, None)
    highest: tuple[float, Balance | None] = (math.inf, None)
    for balance in sorted(books.balances[name], key=attrgetter("returned")):
        settled = balance.called - terms.settlement - terms.balance
        least, most, number = sums.bounds(settled, balance.returned)
        slack = (terms.rounding + NOISE) * (number + 1)
        lowest = max(lowest, (balance.kudos - most - slack, balance), key=itemgetter(0))
        highest = min(highest, (balance.kudos - least + slack, balance), key=itemgetter(0))
        if lowest[0] > highest[0]:
            read = [balance for _, balance in (lowest, highest) if balance is not None]
            acts = [act for r in account.requests.values() for act in (*r.acts, *prices.known(r))]
            at = balance.returned
            shown = [*(act for act in acts if act.called <= at), *read]
            found.add(Rule.UNBALANCED, at, None, shown, partial(_tell_unbalanced, name, read))
            return


def _tell_unbalanced(name: str, read: list[Balance], names: Names) -> str:
    first, second = sorted(read, key=attrgetter("returned"))
    return (
        f"{name} had {first.kudos} kudos when {names.who(first)} read them and {second.kudos} when "
        f"{names.who(second)} did, which does not follow from what its requests and workers did meanwhile"
    )
