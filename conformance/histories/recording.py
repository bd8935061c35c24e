"""A history from the exchanges that a client recorded; no check is asked what it meant by them.

Which request a generation is of no pop says. It is known by the prompt or the messages in its job, so that requests
which say the same for one model cannot be told apart; they are judged by all that does not ask how often each was
handed out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from conformance.client import Exchange
from conformance.histories.calls import Accounts, Call, Places, call, canonical, operation
from conformance.histories.collecting import no_collection
from conformance.histories.model import (
    AnyOperation,
    Cancel,
    History,
    Outcome,
    Pop,
    Reading,
    Reply,
    Submit,
    Terms,
)
from conformance.profile import Profile

# Of what stood in a queue and was not handed out: as many as are judged by empty answers.
_LEFT = 100


def recorded(
    exchanges: Iterable[Exchange],
    profile: Profile,
    *,
    moved: Mapping[str, float] | None = None,
    closed: Iterable[str] = (),
    standing: Iterable[Standing] = (),
) -> History:
    """The history that these exchanges tell.

    Args:
        exchanges: in any order, of any number of actors.
        profile: of the target that they are exchanges with.
        moved: when the target's clock was moved past the life of a request or generation, by id.
        closed: API keys of accounts whose every movement of kudos is among the exchanges.
        standing: requests that waited before the first exchange; they are gone through once.
    """
    accounts = Accounts()
    with no_collection():
        operations = tuple(_linked(_read(exchanges, Places(profile), accounts), standing))
    return History(
        operations=operations,
        terms=terms(profile),
        moved=dict(moved or {}),
        closed=frozenset(accounts.name(key) for key in closed),
    )


def terms(profile: Profile) -> Terms:
    """What the profile promises."""
    money, timings = profile.money, profile.timings
    return Terms(
        submit_fee=money.submit_fee,
        finish_fee=money.finish_fee,
        rounding=money.rounding,
        settlement=timings.settlement,
        balance=timings.balance,
        floor=profile.tokens.floor,
        job_lifetime=timings.job_lifetime,
        request_lifetime=timings.request_lifetime,
        faults=profile.limits.faults,
    )


class Standing(NamedTuple):
    """A request that no exchange tells of, such as a row of a seeded queue: its submit, and its prompt or messages."""

    submit: Submit
    content: Any


class _Told(NamedTuple):
    """An operation, on whose route it was, and what links it to others: the rest of its exchange is let go."""

    operation: AnyOperation
    family: str
    link: str | None


def _read(exchanges: Iterable[Exchange], places: Places, accounts: Accounts) -> list[_Told]:
    read = []
    for exchange in exchanges:
        made = call(exchange, places)
        told = operation(made, accounts) if made else None
        if made is not None and told is not None:
            read.append(_Told(told, made.family, _linking(told, made)))
    return read


def _linking(told: AnyOperation, made: Call) -> str | None:
    """What a submit or a job says; in which family a reply answers."""
    if isinstance(told, Reply):
        return "text" if made.sent("message") is None else "chat"
    handed = isinstance(told, Pop) and told.generations
    asked = isinstance(told, Submit) and told.outcome is not Outcome.REFUSED
    return made.content if handed or asked else None


def _linked(read: list[_Told], standing: Iterable[Standing]) -> Iterator[AnyOperation]:
    """The operations, each with the request that it is of."""
    operations = list(_identified([told.operation for told in read]))
    asked, families, popped = _Asked(), {}, {}
    for told, (_, _, link) in zip(operations, read, strict=True):
        if isinstance(told, Submit) and told.outcome is not Outcome.REFUSED:
            asked.add(told, link or "")
            families[told.request] = told.family
        elif isinstance(told, Pop) and told.generations:
            popped.update(dict.fromkeys(told.generations, told.family))
    handed = {(told.family, link) for told, _, link in read if isinstance(told, Pop) and told.generations}
    for submit, content in _stood(standing, handed):
        asked.add(submit, content)
        yield submit
    for told, (_, family, link) in zip(operations, read, strict=True):
        if isinstance(told, Pop) and told.generations:
            yield asked.link(told, link or "")
        elif isinstance(told, Reply):
            # One that answers in its job's family is shown as it was sent; what another becomes is not ours to say.
            yield told if popped.get(told.generation) == link else replace(told, said=None)
        elif isinstance(told, Cancel | Reading) and families.get(told.request, family) != family:
            # Carried out on the other family's route: others judge that, and what it did nobody knows.
            if isinstance(told, Cancel):
                yield replace(told, outcome=Outcome.UNKNOWN)
        else:
            yield told


def _stood(standing: Iterable[Standing], handed: Collection[tuple[str, str | None]]) -> Iterator[tuple[Submit, str]]:
    """What stood there and was handed out, and of the rest enough for a loss to show, each with its content.

    Of requests that say the same nobody can tell which one was handed out: they are one, of all their generations.
    """
    alike: dict[tuple[str, str, tuple[str, ...]], Submit] = {}
    left: Counter[tuple[str, tuple[str, ...]]] = Counter()
    for submit, content in standing:
        queue, said = (submit.family, submit.models), canonical(content)
        key = submit.family, said, submit.models
        if key in alike:
            alike[key] = _together(alike[key], submit)
        elif (submit.family, said) in handed or left[queue] < _LEFT:
            left[queue] += (submit.family, said) not in handed
            alike[key] = submit
    for (_, said, _), submit in alike.items():
        yield submit, said


def _together(one: Submit, other: Submit) -> Submit:
    return replace(
        one,
        n=one.n + other.n,
        open=one.open and other.open,
        max_length=max(one.max_length, other.max_length),
        max_context_length=max(one.max_context_length, other.max_context_length),
    )


def _identified(operations: list[AnyOperation]) -> Iterator[AnyOperation]:
    """A submit whose answer was lost is of the request that its key names elsewhere, or of one without a known id."""
    keys = {
        (told.account, told.family, told.key): told.request
        for told in operations
        if isinstance(told, Submit) and told.key is not None and told.request
    }
    lost = 0
    for told in operations:
        if isinstance(told, Submit) and not told.request:
            lost += 1
            known = keys.get((told.account, told.family, told.key)) if told.key is not None else None
            yield replace(told, request=known or f"lost {lost}")
        else:
            yield told


class _Asked:
    """Who asked for what, for the pops to be told of which request their generations are."""

    def __init__(self) -> None:
        self._by_content: defaultdict[tuple[str, str], list[Submit]] = defaultdict(list)
        self._by_model: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._any: dict[tuple[str, str], tuple[str, ...]] = {}

    def add(self, submit: Submit, content: str) -> None:
        self._by_content[submit.family, content].append(submit)
        for model in submit.models:
            self._by_model[submit.family, model].add(submit.request)

    def link(self, pop: Pop, content: str) -> Pop:
        """The pop with its request, or with those of which it is one. All were added before."""
        ids = {
            submit.request
            for submit in self._by_content.get((pop.family, content), ())
            if submit.called <= pop.returned and (pop.model in submit.models or not submit.models)
        }
        if len(ids) == 1:
            return replace(pop, request=ids.pop())
        return replace(pop, among=tuple(sorted(ids)) if ids else self._any_of(pop.family, pop.model))

    def _any_of(self, family: str, model: str) -> tuple[str, ...]:
        known = self._any.get((family, model))
        if known is None:
            known = self._any[family, model] = tuple(sorted(self._by_model[family, model]))
        return known
