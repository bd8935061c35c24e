"""A history from the exchanges that a client recorded; no check is asked what it meant by them.

Which request a generation is of no pop says. It is known by the prompt or the messages in its job, so that requests
which say the same for one model cannot be told apart; they are judged by all that does not ask how often each was
handed out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from conformance.client import Exchange
from conformance.histories.calls import Accounts, Call, call, operation
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


def recorded(
    exchanges: Iterable[Exchange],
    profile: Profile,
    *,
    moved: Mapping[str, float] | None = None,
    closed: Iterable[str] = (),
) -> History:
    """The history that these exchanges tell.

    Args:
        exchanges: in any order, of any number of actors.
        profile: of the target that they are exchanges with.
        moved: when the target's clock was moved past the life of a request or generation, by id.
        closed: API keys of accounts whose every movement of kudos is among the exchanges.
    """
    accounts = Accounts()
    read = []
    for exchange in exchanges:
        made = call(exchange, profile)
        told = operation(made, accounts) if made else None
        if made is not None and told is not None:
            read.append((told, made))
    return History(
        operations=tuple(_linked(read)),
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


_Read = list[tuple[AnyOperation, Call]]


def _linked(read: _Read) -> Iterator[AnyOperation]:
    """The operations, each with the request that it is of."""
    read = list(zip(_identified([told for told, _ in read]), [made for _, made in read], strict=True))
    submits = [(told, made) for told, made in read if isinstance(told, Submit) and told.outcome is not Outcome.REFUSED]
    asked = _Asked(submits)
    families = {told.request: told.family for told, _ in submits}
    popped: dict[str, str] = {}
    for told, _ in read:
        if isinstance(told, Pop):
            popped.update(dict.fromkeys(told.generations, told.family))
    for told, made in read:
        if isinstance(told, Pop) and told.generations:
            yield asked.link(told, made.content)
        elif isinstance(told, Reply):
            yield _comparable(told, made, popped.get(told.generation))
        elif isinstance(told, Cancel | Reading) and families.get(told.request, made.family) != made.family:
            # Carried out on the other family's route: others judge that, and what it did nobody knows.
            if isinstance(told, Cancel):
                yield replace(told, outcome=Outcome.UNKNOWN)
        else:
            yield told


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


def _comparable(reply: Reply, made: Call, family: str | None) -> Reply:
    """A reply that answers in its job's family is shown as it was sent; what another one becomes is not ours to say."""
    structured = made.sent("message") is not None
    return reply if family == ("chat" if structured else "text") else replace(reply, said=None)


class _Asked:
    """Who asked for what, for the pops to be told of which request their generations are."""

    def __init__(self, submits: Iterable[tuple[Submit, Call]]) -> None:
        self._by_content: defaultdict[tuple[str, str], list[Submit]] = defaultdict(list)
        self._by_model: defaultdict[tuple[str, str], dict[str, Submit]] = defaultdict(dict)
        for submit, made in submits:
            self._by_content[submit.family, made.content].append(submit)
            for model in submit.models:
                self._by_model[submit.family, model][submit.request] = submit

    def link(self, pop: Pop, content: str) -> Pop:
        """The pop with its request, or with those of which it is one."""
        ids = {
            submit.request
            for submit in self._by_content[pop.family, content]
            if submit.called <= pop.returned and (pop.model in submit.models or not submit.models)
        }
        if len(ids) == 1:
            return replace(pop, request=ids.pop())
        return replace(pop, among=tuple(sorted(ids or self._by_model[pop.family, pop.model])))
