"""ACC-04 and ACC-05: the kudos asked beforehand, and how many requests may wait, are one limit for both families."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

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
    """Somebody without kudos asks for 256 tokens: the request is queued, and found."""
    poor = stage.anonymous()
    answer = asking(stage, poor, family, NEVER)
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    assert answer.accepted, f"{family} for {NEVER} tokens by somebody without kudos was not queued: {answer}"
    status = poor.try_status(answer.id("id"), family)
    if not status.accepted:
        raise CouldNotRun(f"what was queued is not found: {status}")


@check("ACC-04", both=True)
def test_a_long_request_always_needs_kudos_beforehand(stage: Stage, family: Family) -> None:
    """Somebody without kudos asks for more than 512 tokens and is refused; somebody who has them is not."""
    rich = stage.requester()

    def queued() -> Answer:
        submitted = asking(stage, rich, family, ALWAYS)
        return rich.try_status(submitted.id("id"), family) if submitted.accepted else submitted

    refused(asking(stage, stage.anonymous(), family, ALWAYS), control=queued)


@relation("ACC-04", compares="the refusal's code, the amount that it asks for, and what is held where it is there")
def kudos_beforehand(stage: Stage, family: Family) -> Seen:
    """A request of 600 tokens needs the same amount: without it the same refusal, with it the same hold."""
    answer = asking(stage, stage.anonymous(), family, LONG, n=3)
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    seen: dict[str, object] = {
        "the refusal": answer.code if answer.refused else f"none ({answer})",
        "the amount asked for": _amount_asked(stage, answer),
    }
    for max_length in (NEVER, LONG):
        request = stage.submit(family, stage.model(), max_length=max_length, n=3)
        seen[f"the kudos held for {max_length} tokens"] = _amount_held(stage, request)
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


def _fill(stage: Stage, requester: int, family: Family, room: int) -> list[Request]:
    """Requests of this family that leave so much room under the account's limit; the last one is of one generation."""
    limits = stage.profile.limits
    left = limits.concurrency - room - 1
    filled: list[Request] = []
    while left > 0:
        n = min(left, limits.n)
        filled.append(stage.submit(family, stage.model(), requester=requester, n=n))
        left -= n
    return [*filled, stage.submit(family, stage.model(), requester=requester, n=1)]


@relation("ACC-05", compares="the refusal's code")
def limit_filled_by_the_other_family(stage: Stage, family: Family) -> Seen:
    """One family fills an account's limit but for one: there is room for one of the other, and then for neither."""
    last = stage.profile.accounts.requesters - 1
    filled = _fill(stage, last, family.other, room=1)

    def one_more(of: Family) -> Answer:
        return asking(stage, stage.requester(last), of, 80)

    within = one_more(family)
    assert within.accepted, f"{family} within the limit, beside {family.other}, was not queued: {within}"
    beyond = one_more(family.other)
    assert beyond.too_many, f"{family.other} beyond the limit, with one {family} waiting, is not refused so: {beyond}"
    refusal = one_more(family)
    too_many(refusal, control=lambda: _with_room(filled[-1], lambda: one_more(family)))
    stage.tidy()
    return {"the refusal": refusal.code, "its status": refusal.status}


def _with_room(request: Request, submit: Callable[[], Answer]) -> Answer:
    """A submit's answer after this request was cancelled."""
    request.cancel()
    return submit()


@check_of(limit_filled_by_the_other_family)
def test_both_families_count_against_one_limit(stage: Stage, relation: Relation) -> None:
    """An account's limit is filled with one family, and then with the other."""
    relation.judge(stage)
