"""ACC-08: what moderators do about an account or an address acts on chat as on text."""

from __future__ import annotations

import time
from typing import Any

from conformance.absence import refused
from conformance.actors import Account, Family, Request, Requester, Worker
from conformance.checks import check
from conformance.client import Answer, Client
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.rpl_scenes import right_reply
from conformance.twins import Relation, Seen, check_of, relation

Told = tuple[int, Any]


def told(answer: Answer) -> Told:
    """How an answer ended, and with which code."""
    return answer.status, answer.code


def crew(stage: Stage, family: Family, owner: Account, client: Client | None = None) -> Worker:
    """A worker of this owner's that serves one model in this family."""
    model = stage.model(owner=owner)
    worker = stage.serving(family, model, owner=owner)
    return Worker(client or stage.client, owner, worker.name, worker.declaration)


def asks(stage: Stage, family: Family, who: Requester, model: str) -> Answer:
    """The answer to a submit; what is queued is kept for the end of the check."""
    said = f"Tell me about {stage.unique()}."
    content = {"messages": [{"role": "user", "content": said}]} if family is Family.CHAT else {"prompt": said}
    answer = who.try_submit(family, {"models": [model], **content})
    if answer.accepted:
        stage.keep(Request(answer.id("id"), family, who, (model,), content))
    return answer


def queued(stage: Stage, family: Family, who: Requester, model: str) -> Request:
    """A request that is queued, or the story cannot go on."""
    content = stage.unique()
    fields: dict[str, Any] = {"prompt": content}
    if family is Family.CHAT:
        fields = {"messages": [{"role": "user", "content": content}]}
    return stage.keep(who.submit(family, [model], **fields))


# Deleted


@relation("ACC-08", compares="what a deleted account's further calls are answered")
def deletion_of_a_requester(stage: Stage, family: Family) -> Seen:
    """An account submits, is deleted, and submits again: refused; what waits meanwhile, and what becomes of it."""
    who = Requester(stage.client, stage.spare())
    worker = crew(stage, family, stage.owner())
    (model,) = worker.declaration["models"]
    waiting = queued(stage, family, who, model)
    stage.moderator().delete(who.account)
    again = asks(stage, family, who, model)
    refused(again, control=lambda: asks(stage, family, stage.requester(), model))
    status = who.try_status(waiting)
    job = worker.pop()
    return {
        "a further submit": told(again),
        "the status of what waits": told(status),
        "whether what waits is handed out": job is not None,
    }


@relation("ACC-08", compares="what a deleted account's worker is answered")
def deletion_of_an_owner(stage: Stage, family: Family) -> Seen:
    """A worker's owner is deleted: its next pop is refused, and its reply in flight ends as in text."""
    worker = crew(stage, family, stage.spare("owner"))
    request = stage.submit(family, *worker.declaration["models"], n=2)
    job = worker.pop_job(request)
    stage.moderator().delete(worker.owner)
    again, late = worker.try_pop(), right_reply(job)
    other = crew(stage, family, stage.owner())
    refused(again, control=other.try_pop)
    return {"a further pop": told(again), "the reply in flight": told(late)}


# Blocked


@relation("ACC-08", compares="what calls from a blocked address are answered")
def block_of_an_address(stage: Stage, family: Family) -> Seen:
    """An address is blocked: submit and pop from there are refused while others' are not; unblocked, both go on."""
    moderator = stage.moderator()
    with stage.elsewhere() as client:
        who = Requester(client, stage.requester().account)
        worker = crew(stage, family, stage.owner(), client)
        (model,) = worker.declaration["models"]
        waiting = queued(stage, family, who, model)
        job = worker.pop_job(waiting)
        address = str(client.address)
        moderator.block(address)
        try:
            submit, pop = asks(stage, family, who, model), worker.try_pop()
            elsewhere = asks(stage, family, stage.requester(), model)
            status, reply = who.try_status(waiting), right_reply(job)
        finally:
            moderator.unblock(address)
        for answer, again in ((submit, lambda: asks(stage, family, who, model)), (pop, worker.try_pop)):
            refused(answer, control=again)
        if not elsewhere.accepted:
            raise CouldNotRun(f"from another address the submit is refused as well: {elsewhere}")
    return {
        "a submit": told(submit), "a pop": told(pop), "the status": told(status), "the reply in flight": told(reply),
    }  # fmt: skip


# Flagged


@relation("ACC-08", compares="what a flagged owner's worker is answered")
def flag_of_an_owner(stage: Stage, family: Family) -> Seen:
    """A worker's owner is flagged: its next pop is refused; without the flag it is served again."""
    worker = crew(stage, family, stage.spare("owner"))
    moderator = stage.moderator()
    before = worker.try_pop()
    moderator.flag(worker.owner)
    during = worker.try_pop()
    moderator.flag(worker.owner, on=False)
    if not before.accepted:
        raise CouldNotRun(f"the pop was refused before the flag: {before}")
    refused(during, control=worker.try_pop)
    return {"a pop": told(during)}


@relation("ACC-08", compares="the place in the queue")
def flag_of_a_requester(stage: Stage, family: Family) -> Seen:
    """Of two accounts with equal kudos the flagged one's request stands behind, though it was first, as in text."""
    accounts = [Requester(stage.client, stage.spare()) for _ in range(2)]
    stage.moderator().flag(accounts[0].account)
    model = stage.model()
    requests = [queued(stage, family, who, model) for who in accounts]
    time.sleep(stage.profile.timings.positions)
    flagged, other = (request.status().queue_position for request in requests)
    if not (flagged and other):
        raise CouldNotRun("not every status shows the request's position in the queue")
    return {"whether the flagged account's request stands behind": flagged > other}


@check_of(deletion_of_a_requester, deletion_of_an_owner, block_of_an_address, flag_of_an_owner, flag_of_a_requester)
def test_countermeasures_act_on_chat_as_on_text(stage: Stage, relation: Relation) -> None:
    """A moderator acts against an account or an address, and both families are tried."""
    relation.judge(stage)


@check("ACC-08", half="text")
def test_a_deleted_account_submits_no_text(stage: Stage) -> None:
    """A moderator deletes an account: its next text submit is refused, and nobody else's is."""
    deletion_of_a_requester.story(stage, Family.TEXT)
