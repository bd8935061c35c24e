"""SEC: who may do what, and who learns what of whom."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from conformance import randomness
from conformance.absence import changes_nothing, refused
from conformance.actors import Account, Family, Request, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.receiver import Receiver, receiving
from conformance.stage import Stage
from conformance.suites.rpl_scenes import in_flight, right_reply
from conformance.suites.sec_scenes import People, Told, delivered, keep_quiet, keys_of, names_of, people, told

# In SEC-03's words.
_IDS = 1000


# ---------------------------------------------------------------------------------------- SEC-01


def _queued(stage: Stage, who: People, family: Family, model: str, content: str, **fields: Any) -> Request:
    """A request of the requester who calls from an address of their own; cancelled from elsewhere in the end."""
    words = {"messages": [{"role": "user", "content": content}]} if family is Family.CHAT else {"prompt": content}
    request = who.requester.submit(family, [model], **words, **fields)
    stage.keep(replace(request, requester=stage.requester()))
    return request


@check("SEC-01", both=True)
def test_a_job_tells_nothing_of_its_requester(stage: Stage, family: Family) -> None:
    """A worker is handed what a requester asks, and neither the requester's name nor their address nor their key."""
    model, words = stage.model(), f"Tell me about {stage.unique()}."
    with people(stage, stage.serving(family, model)) as who:
        _queued(stage, who, family, model, words)
        job = who.worker.pop_job()
        account = who.requester.account
        secrets = [*keys_of(account), *names_of(account), *who.addresses.get("requester", [])]
        keep_quiet([told(job.answer.exchange)], secrets, control=words)


@check("SEC-01", both=True)
def test_a_status_tells_nothing_of_the_workers_owner(stage: Stage, family: Family) -> None:
    """A requester reads how it stands, from the queue to the reply, and neither the owner's key nor their address."""
    model, words = stage.model(), f"All about {stage.unique()}."
    streamed = {"stream": True} if family is Family.CHAT and "streaming" in stage.profile.capabilities else {}
    with people(stage, stage.serving(family, model)) as who:
        request = _queued(stage, who, family, model, "Tell me.", n=2, **streamed)
        shown = [request.status()]
        job, flying = who.worker.pop_job(), who.worker.pop_job()
        if streamed:
            who.worker.progress(flying, "So far.")
        who.worker.reply(job, words)
        shown.append(request.status())
        answers = [*(status.answer for status in shown), request.cancel(), request.status().answer]
        secrets = [*keys_of(who.worker.owner), *who.addresses.get("owner", [])]
        keep_quiet([told(answer.exchange) for answer in answers], secrets, control=words)


@check("SEC-01", both=True)
def test_no_answer_to_requesters_and_workers_tells_a_key(stage: Stage, family: Family) -> None:
    """A request lives from submit to webhook and record, and strangers and mistaken people call: no key is told."""
    model, words = stage.model(), f"All about {stage.unique()}."
    worker, others = stage.serving(family, model), [stage.requester(1).account, stage.owner(1)]
    with ExitStack() as stack:
        receiver = stack.enter_context(receiving(stage.profile)) if "webhook" in stage.profile.capabilities else None
        fields: dict[str, Any] = {"webhook": receiver.url} if receiver else {}
        request = stage.submit(family, model, **fields)
        job = worker.pop_job(request)
        _mistake(stage, request, worker)
        _mistake_a_job(stage, job.id, worker, progress="streaming" in stage.profile.capabilities)
        worker.reply(job, words)
        request.status()
        hook = _heard(receiver) if receiver else []
        request.cancel()
    secrets = keys_of(request.requester.account, worker.owner, *others)
    keep_quiet([*_everything(stage), *hook], secrets, control=words)
    if hook:
        keep_quiet(hook, secrets, control=words)


def _mistyped(account: Account) -> str:
    """A key that nobody has: somebody's, with a letter too many. Who repeats it tells the key."""
    return f"{account.key}x"


def _mistake(stage: Stage, request: Request, worker: Worker) -> None:
    """Ask for what a requester and a worker may, with a mistyped key, another's, or a body that says nothing."""
    requester, family = request.requester, request.family
    typed, another = _mistyped(requester.account), stage.requester(1).account.key
    answers = [
        requester.try_submit(family, request.sent, key=typed),
        requester.try_submit(family, {"models": list(request.models)}),
        worker.try_pop(key=_mistyped(worker.owner)),
        worker.try_pop(key=stage.owner(1).key),
        worker.try_pop(models="none"),
    ]
    recorded = "request_record" if family is Family.TEXT else "chat_request_record"
    if recorded in stage.profile.capabilities:
        requester.try_record(request)
        answers += [requester.try_record(request, key=key) for key in (typed, another)]
    _were_refused(answers)


def _mistake_a_job(stage: Stage, job: str, worker: Worker, *, progress: bool) -> None:
    keys = (_mistyped(worker.owner), stage.owner(1).key)
    answers = [worker.try_reply(job, key=key, generation="Mine.") for key in keys]
    answers.append(worker.try_reply(job, generation=0))
    if progress:
        answers += [worker.try_progress(job, "Mine.", key=key) for key in keys]
    _were_refused(answers)


def _were_refused(answers: list[Answer]) -> None:
    """That these are refused is other requirements' to judge; without a refusal no error's words were looked at."""
    if not any(answer.refused for answer in answers):
        raise CouldNotRun(f"of {len(answers)} mistaken calls none was refused: {answers[0]}")


def _heard(receiver: Receiver) -> list[Told]:
    told_ = receiver.wait_for(1)
    if not told_:
        raise CouldNotRun("the webhook was told nothing")
    return [delivered(delivery) for delivery in told_]


def _everything(stage: Stage) -> list[Told]:
    """All that was answered in this check, save where an account was made: its key must be told to somebody."""
    return [told(e) for e in stage.client.recorder.exchanges if e.operation != "make_account"]


@check("SEC-01", half="text")
def test_no_answer_about_people_and_figures_tells_a_key(stage: Stage) -> None:
    """Somebody looks at accounts, workers and figures, or tries an operator's rights, with a right and a wrong key."""
    model = stage.model()
    worker, someone = stage.text_worker(model), stage.requester().account
    worker.pop()
    for account in (someone, worker.owner):
        stage.client.call("account", kind="account", actor=account.role, key=account.key)
    for operation, key, body in _operations(stage, worker):
        stage.client.call(operation, kind="account", actor="a mistaken person", key=key, body=body, id="999999999")
    accounts = [someone, worker.owner, *stage.resources.cast.moderators]
    if stage.resources.cast.moderators:
        _moderate(stage, worker.owner)
    keep_quiet(_everything(stage), keys_of(*accounts), control=someone.alias)


def _operations(stage: Stage, worker: Worker) -> list[tuple[str, str, Any]]:
    """What is asked about people and figures; what changes something with a mistyped key, of nobody there is."""
    build, typed = stage.profile.build, _mistyped(worker.owner)
    asked = ["heartbeat", "workers", "worker", "total_statistics", "model_statistics"]
    mistaken = {
        "account": None,
        "modify_worker": build("modify_worker", {"maintenance": False}),
        "modify_account": build("modify_account", {"flagged": False}),
        "delete_account": None,
        "block_address": build("block_address", {"address": "192.0.2.1", "hours": 1}),
        "unblock_address": build("unblock_address", {"address": "192.0.2.1"}),
    }
    return [
        *((operation, worker.owner.key, None) for operation in asked),
        *((operation, typed, body) for operation, body in mistaken.items()),
    ]


def _moderate(stage: Stage, account: Account) -> None:
    """A moderator does what changes nothing: a trusted owner stays trusted, and nobody calls from that address."""
    moderator = stage.moderator()
    moderator.modify(account, trusted=True)
    moderator.block("192.0.2.1")
    moderator.unblock("192.0.2.1")


# ---------------------------------------------------------------------------------------- SEC-02


def _askers(stage: Stage) -> dict[str, str | None]:
    own = stage.requester().account
    return {
        "the requester": own.key,
        "nobody": None,
        "another requester": stage.requester(1).account.key,
        "somebody who mistypes": _mistyped(own),
    }


@check("SEC-02")
def test_chat_status_and_cancel_ask_for_what_the_text_routes_ask_for(stage: Stage) -> None:
    """The requester, nobody, another and somebody who mistypes ask for status and cancel: in chat as in text."""
    model = stage.model()
    text, chat = (stage.submit(family, model) for family in (Family.TEXT, Family.CHAT))
    for who, key in _askers(stage).items():
        _judge_alike("status", who, _asked("status", text, key), _asked("status", chat, key))
    for who, key in _askers(stage).items():
        answers = [_asked("cancel", request, key) for request in (text, chat)]
        _judge_alike("cancel", who, *answers)
        if answers[0].accepted:
            text.ended = chat.ended = True
            text, chat = (stage.submit(family, model) for family in (Family.TEXT, Family.CHAT))


def _asked(what: str, request: Request, key: str | None) -> Answer:
    client, operation = request.requester.client, f"{what}_{request.family}"
    return client.call(operation, kind=what, actor="somebody", key=key, id=request.id)


def _judge_alike(what: str, who: str, text: Answer, chat: Answer) -> None:
    for answer in (text, chat):
        if answer.limited:
            raise CouldNotRun(f"refused for its rate only: {answer}")
    if who == "the requester" and not text.accepted:
        raise CouldNotRun(f"the requester's own {what} of a text request was not carried out: {text}")
    alike = (text.accepted, text.status, text.code) == (chat.accepted, chat.status, chat.code)
    assert alike, f"{who} asks for the {what}: answered in text with {text}, in chat with {chat}"


def _strangers(stage: Stage, request: Request, owner: Account) -> dict[str, str | None]:
    strangers: dict[str, str | None] = {
        "another owner": stage.owner(1).key,
        "the requester": request.requester.account.key,
        "somebody who mistypes": _mistyped(owner),
        "nobody": None,
    }
    return {**strangers, **{account.role: account.key for account in stage.resources.cast.moderators[:1]}}


@check("SEC-02", both=True)
def test_only_the_owner_of_its_worker_answers_a_job(stage: Stage, family: Family) -> None:
    """Others answer a worker's job, with their keys or none: each is refused, nothing changes, and the owner may."""
    request, worker = in_flight(stage, family)
    (job,) = request.jobs
    reply: dict[str, Any] = {"generation": "Mine."}
    if family is Family.CHAT:
        reply |= {"message": {"role": "assistant", "content": "Mine."}, "finish_reason": "stop"}
    _judge_strangers(
        stage,
        request,
        worker.owner,
        act=lambda key: worker.try_reply(job, key=key, **reply),
        seen=lambda: request.status().counts,
        own=lambda: right_reply(job),
    )


@check("SEC-02")
def test_only_the_owner_of_its_worker_posts_progress(stage: Stage) -> None:
    """Others post a worker's progress, with their keys or none: each is refused, nothing changes; the owner may."""
    stage.needs("streaming")
    request, worker = in_flight(stage, stream=True)
    (job,) = request.jobs
    worker.progress(job, "So far")

    def own() -> Answer:
        answer = worker.try_progress(job, "So far, so good")
        worker.reply(job, "So far, so good.")
        return answer

    _judge_strangers(
        stage,
        request,
        worker.owner,
        act=lambda key: worker.try_progress(job, "Mine.", key=key),
        seen=lambda: (request.status().counts, request.status().partials),
        own=own,
    )


def _judge_strangers(
    stage: Stage,
    request: Request,
    owner: Account,
    *,
    act: Callable[[str | None], Answer],
    seen: Callable[[], object],
    own: Callable[[], Answer],
) -> None:
    tried: dict[str, Answer] = {}
    owners: list[Answer] = []
    changes_nothing(
        lambda: tried.update({who: act(key) for who, key in _strangers(stage, request, owner).items()}),
        seen=seen,
        control=lambda: owners.append(own()),
    )
    for who, answer in tried.items():
        assert not answer.accepted, f"{who} was let in: {answer}"
        refused(answer, control=lambda: owners[0])


# ---------------------------------------------------------------------------------------- SEC-03


@check("SEC-03")
def test_ids_tell_nothing_of_one_another(stage: Stage) -> None:
    """Requests of both families and their generations are given a thousand ids: no bit, pair or order says more."""
    model, n = stage.model(), stage.profile.limits.n
    worker = stage.chat_worker(model)
    requests: list[str] = []
    generations: list[str] = []
    while len(requests) + len(generations) < _IDS:
        family = Family.CHAT if len(requests) % 2 else Family.TEXT
        request = stage.submit(family, model, n=n)
        job = worker.pop_job(request, amount=n)
        requests.append(request.id)
        generations.extend(job.ids)
        # What is in flight would wait again when its time is over.
        request.cancel()
    for what, ids in (("requests", requests), ("generations", generations)):
        _judge_series(what, ids)


def _judge_series(what: str, ids: list[str]) -> None:
    shortest = min(ids, key=len)
    # A character of what stands in a URL as it is holds six bits at most.
    assert len(shortest) * 6 >= randomness.FREE_BITS, f"an id of the {what}, {shortest!r}, is too short for chance"
    try:
        found = randomness.oddity(ids)
    except ValueError as reason:
        raise CouldNotRun(f"the ids of the {what} cannot be judged: {reason}") from None
    assert found is None, f"the ids of the {what} tell of one another: {found}"
