"""The judge: whether a legal order of a history's operations exists, and if not, what shows it."""

from __future__ import annotations

from collections.abc import Collection

from conformance.histories.balances import judge_balances, may_miss_movements
from conformance.histories.books import Books, Request, gather
from conformance.histories.collecting import no_collection
from conformance.histories.conservation import judge_conservation
from conformance.histories.findings import Findings
from conformance.histories.handouts import judge_generation, judge_handouts, judge_pop
from conformance.histories.keys import judge_keys, judge_merged
from conformance.histories.model import History, Rule, Witness
from conformance.histories.prices import Prices
from conformance.histories.readings import Readings
from conformance.histories.timeline import Timeline
from conformance.histories.waiting import Waiting


def judge(history: History, rules: Collection[Rule] = tuple(Rule)) -> Witness | None:
    """The first of these rules that a history breaks; None where a legal order of its operations exists.

    A pure function, in near-linear time: each request, generation, queue, key and account is judged by itself.
    """
    with no_collection():
        # All that was gathered is gone before the collector is back, so that it finds nothing to look through.
        return _witness(history, rules)


def _witness(history: History, rules: Collection[Rule]) -> Witness | None:
    books = gather(history)
    witness = _first(books, rules).witness(history)
    # Requests and generations know each other: parted, they go at once, and nobody has to look for them.
    for request in books.requests.values():
        request.generations.clear()
    return witness


def _first(books: Books, rules: Collection[Rule]) -> Findings:
    found = Findings(rules)
    for generation in books.generations.values():
        judge_generation(generation, found)
        for pop in generation.pops:
            judge_pop(pop, generation.request, found)
    waiting, prices = Waiting(books, found), Prices(books)
    for request in books.requests.values():
        _judge_request(request, books, waiting, prices, found)
    judge_keys(books, found)
    if books.balances and not may_miss_movements(books):
        judge_balances(books, prices, found)
        judge_conservation(books, prices, found)
    return found


def _judge_request(request: Request, books: Books, waiting: Waiting, prices: Prices, found: Findings) -> None:
    if len(request.submits) > 1:
        judge_merged(request, found)
    # Most requests were handed out no more often than they asked for, and nobody read them: no time is spent on these.
    counted = request.counted
    overdrawn = counted and bool(request.cancels or len(request.generations) > request.submits[0].n)
    passed_over = waiting.passed_over(request) if counted else []
    timeline = Timeline(request, books, prices) if counted and (overdrawn or passed_over or request.readings) else None
    if timeline is not None and overdrawn:
        judge_handouts(request, timeline, books, found)
    if timeline is not None and passed_over:
        waiting.judge(request, timeline, passed_over)
    if request.readings:
        Readings(request, books, prices, found).judge(timeline)
