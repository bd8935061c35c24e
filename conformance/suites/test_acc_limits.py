"""ACC-04 and ACC-05: the kudos asked beforehand, and how many requests may wait, are one limit for both families."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from conformance.absence import refused, too_many
from conformance.actors import Family, Request, Requester
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.twins import Relation, Seen, check_of, relation

# Kudos beforehand

NEVER = 256
ALWAYS = 513
LONG = 600


def asking(stage: Stage, requester: Requester, family: Family, max_length: int, **fields: Any) -> Answer:
    """The answer to a submit of that length; what is queued is kept for the end of the check."""
    said = f"Tell me about {stage.unique()}."
    content = {"messages": [{"role": "user", "content": said}]} if family is Family.CHAT else {"prompt": said}
    models = [stage.model()]
    answer = requester.try_submit(family, {"models": models, "max_length": max_length, **content, **fields})
    if answer.accepted:
        stage.keep(Request(answer.id("id"), family, requester, tuple(models), content))
    return answer


@check("ACC-04", both=True)
def test_a_short_request_never_needs_kudos_beforehand(stage: Stage, family: Family) -> None:
    """Somebody without kudos asks for 256 tokens and less, in one generation and in several: each is queued."""
    poor = stage.anonymous()
    for max_length, n in ((80, 1), (NEVER, 1), (NEVER, 2)):
        answer = asking(stage, poor, family, max_length, n=n)
        if answer.limited:
            raise CouldNotRun(f"refused for its rate only: {answer}")
        assert answer.accepted, f"{family} for {max_length} tokens, n={n}, was not queued: {answer}"
        status = poor.try_status(answer.id("id"), family)
        if not status.accepted:
            raise CouldNotRun(f"what was queued is not found: {status}")


@check("ACC-04", both=True)
def test_a_long_request_always_needs_kudos_beforehand(stage: Stage, family: Family) -> None:
    """Somebody without kudos asks for more than 512 tokens and is refused; somebody who has them is not."""
    rich = stage.requester()

    def queued(max_length: int) -> Answer:
        submitted = asking(stage, rich, family, max_length)
        return rich.try_status(submitted.id("id"), family) if submitted.accepted else submitted

    for max_length in (ALWAYS, LONG):
        answer = asking(stage, stage.anonymous(), family, max_length)
        refused(answer, control=partial(queued, max_length))


@relation("ACC-04", compares="the refusal's code, the amount that it asks for, and what is held where it is there")
def kudos_beforehand(stage: Stage, family: Family) -> Seen:
    """A request of 600 tokens needs the same amount: without it the same refusal, with it the same hold."""
    seen: dict[str, object] = {}
    for n in (1, 3):
        answer = asking(stage, stage.anonymous(), family, LONG, n=n)
        if answer.limited:
            raise CouldNotRun(f"refused for its rate only: {answer}")
        seen[f"the refusal of n={n}"] = answer.code if answer.refused else f"none ({answer})"
        seen[f"the amount asked for n={n}"] = _amount_asked(stage, answer)
    for max_length, n in ((NEVER, 1), (LONG, 1), (LONG, 3)):
        request = stage.submit(family, stage.model(), max_length=max_length, n=n)
        request.status()
        seen[f"the kudos held for {max_length} tokens, n={n}"] = _amount_held(stage, request)
    return seen


def _amount_asked(stage: Stage, answer: Answer) -> float | None:
    """The amount in a refusal's sentence, where the profile says how it is told."""
    pattern = stage.profile.errors.upfront_amount
    told = re.search(pattern, str(answer.message)) if pattern else None
    return float(told[1].rstrip(".")) if told else None


def _amount_held(stage: Stage, request: Request) -> list[float] | None:
    """The holds for a request, where the database shows them."""
    if stage.resources.database is None or not stage.profile.database.hold:
        return None
    rows = stage.database.rows(stage.profile.database.hold, id=request.id)
    return [float(row["amount"]) for row in rows]


@check_of(kudos_beforehand)
def test_twins_need_the_same_kudos_beforehand(stage: Stage, relation: Relation) -> None:
    """600 tokens are asked for in both families, by somebody who has no kudos and by somebody who has."""
    relation.judge(stage)


# Requests at a time


def _fill(stage: Stage, requester: int, families: list[Family], room: int) -> list[Request]:
    """Requests of these families by turns that leave so much room under the account's limit; the last one is of 1."""
    limits = stage.profile.limits
    left = limits.concurrency - room - 1
    filled: list[Request] = []
    while left > 0:
        n = min(left, limits.n)
        filled.append(stage.submit(families[len(filled) % len(families)], stage.model(), requester=requester, n=n))
        left -= n
    return [*filled, stage.submit(families[len(filled) % len(families)], stage.model(), requester=requester, n=1)]


@check("ACC-05")
@pytest.mark.parametrize("family", list(Family))
def test_what_waits_in_one_family_counts_in_the_other(stage: Stage, family: Family) -> None:
    """One family fills an account's limit but for one: the other has room for one, and then none for either."""
    last = stage.profile.accounts.requesters - 1
    filled = _fill(stage, last, [family.other], room=1)

    def one_more(of: Family) -> Answer:
        return asking(stage, stage.requester(last), of, 80)

    within = one_more(family)
    assert within.accepted, f"{family} within the limit, beside {family.other}, was not queued: {within}"
    beyond = one_more(family.other)
    assert beyond.too_many, f"{family.other} beyond the limit, with one {family} waiting, is not refused so: {beyond}"
    too_many(one_more(family), control=lambda: _with_room(filled[-1], lambda: one_more(family)))


@relation("ACC-05", compares="the refusal's code")
def refusal_at_the_limit(stage: Stage, family: Family) -> Seen:
    """Where both families together fill an account's limit, either is refused with the same code."""
    last = stage.profile.accounts.requesters - 1
    filled = _fill(stage, last, list(Family), room=0)
    answer = asking(stage, stage.requester(last), family, 80)
    too_many(answer, control=lambda: _with_room(filled[-1], lambda: asking(stage, stage.requester(last), family, 80)))
    stage.tidy()
    return {"the refusal": answer.code, "its status": answer.status}


def _with_room(request: Request, submit: Callable[[], Answer]) -> Answer:
    """A submit's answer after this request was cancelled."""
    request.cancel()
    return submit()


@check_of(refusal_at_the_limit)
def test_twins_are_refused_alike_at_the_limit(stage: Stage, relation: Relation) -> None:
    """An account's limit is filled with both families, and each is submitted once more."""
    relation.judge(stage)
