"""Kudos are conserved: what accounts have together changes by fees alone, whatever a generation is worth.

This needs no price. Of a stream that was settled by its cancel no answer says for how much; but what its worker was
paid is what its requester was charged, save the fee. Judged are the first and the last balance of each account, before
and after all that moved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from conformance.histories.balances import NOISE, Movement, movements, submit_fee
from conformance.histories.books import Books, Generation
from conformance.histories.findings import Findings
from conformance.histories.model import AnyOperation, Balance, Cancel, Rule
from conformance.histories.names import Names
from conformance.histories.prices import Prices
from conformance.histories.timeline import fates

# Each of two movements may be rounded to the hundredth.
_BLUR = 0.01


def judge_conservation(books: Books, prices: Prices, found: Findings) -> None:
    """What the accounts that are closed have together follows from fees and from what others were paid or charged."""
    read = {name: books.balances[name] for name in books.history.closed if len(books.balances.get(name, ())) > 1}
    first = [min(balances, key=lambda balance: balance.returned) for balances in read.values()]
    last = [max(balances, key=lambda balance: balance.called) for balances in read.values()]
    if not read:
        return
    begin = max(balance.returned for balance in first)
    end = min(balance.called for balance in last) - books.terms.settlement - books.terms.balance
    over = max(balance.returned for balance in last)
    moved = [one for one in _together(books, prices, set(read), begin, end) if one.since <= over]
    least, most = sum(one.least for one in moved), sum(one.most for one in moved)
    slack = (books.terms.rounding + NOISE) * 2 * (len(moved) + len(read))
    gained = sum(balance.kudos for balance in last) - sum(balance.kudos for balance in first)
    if not least - slack <= gained <= most + slack:
        shown = [act for request in books.requests.values() for act in request.acts if act.called <= over]
        tell = partial(_tell, gained, (least, most), first + last)
        found.add(Rule.UNBALANCED, over, None, [*shown, *first, *last], tell)


def _together(books: Books, prices: Prices, accounts: set[str], begin: float, end: float) -> Iterator[Movement]:
    """Every movement into these accounts from others, or out of them, that may lie between the readings."""
    for request in books.requests.values():
        payer = request.submits[0].account if request.submits else ""
        if payer in accounts:
            yield _held(submit_fee(request, books), begin, end)
        for generation in request.generations if request.submits else ():
            charge, payment = movements(generation, books, prices)
            paid = generation.pops[0].account in accounts
            if paid and payer in accounts and _between(charge, begin, end):
                yield _net(generation, charge, payment, books)
                continue
            # Where it was under way as balances were read, one of them may show it and the other not.
            if paid:
                yield _held(payment, begin, end)
            if payer in accounts:
                yield _held(charge, begin, end)


def _between(one: Movement, begin: float, end: float) -> bool:
    return one.since > begin and one.by < end


def _held(one: Movement, begin: float, end: float) -> Movement:
    """A movement that need not lie between the two readings may be in neither, or in both."""
    if _between(one, begin, end):
        return one
    return Movement(one.since, one.by, min(one.least, 0.0), max(one.most, 0.0))


def _net(generation: Generation, charge: Movement, payment: Movement, books: Books) -> Movement:
    """What is left of a charge once the worker is paid of it."""
    found = fates(generation, books.terms, books.history.moved.get(generation.id, math.inf))
    if not all(act is None or isinstance(act, Cancel) for _, _, act in found):
        return Movement(charge.since, charge.by, charge.least + payment.least, charge.most + payment.most)
    return Movement(charge.since, charge.by, -books.terms.finish_fee - _BLUR, _BLUR)


def _tell(gained: float, bounds: tuple[float, float], read: list[Balance], names: Names) -> str:
    acts: list[AnyOperation] = sorted(read, key=lambda balance: balance.called)
    return (
        f"{len(read) // 2} accounts together changed by {gained:.2f} kudos between {names.moment(acts[0].called)} and "
        f"{names.moment(acts[-1].returned)}, where what their requests and workers did moves {bounds[0]:.2f} to "
        f"{bounds[1]:.2f}: kudos were not conserved"
    )
