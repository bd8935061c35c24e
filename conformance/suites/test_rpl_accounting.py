"""RPL-09 to RPL-13: who may answer a job and how often, what that costs, and what it counts for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from conformance import figures
from conformance.absence import changes_nothing, refused
from conformance.actors import Account, Family, Job, Request, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.rpl_scenes import in_flight, right_reply

# Telling


def earned(stage: Stage, *jobs: Job) -> float | None:
    """What the owner was paid for these jobs, where a ledger shows it; elsewhere the answers' rewards must do."""
    return stage.money.paid(*jobs) if stage.money.exact else None


def state_of(stage: Stage, request: Request) -> Callable[[], dict[str, Any]]:
    """A look at all that a call about one generation may change: counts, replies and money."""

    def look() -> dict[str, Any]:
        paid = earned(stage, *request.jobs)
        return {**request.status().counts, "charged": stage.money.charged(request), "paid": paid}

    return look


# Judging


@check("RPL-09", both=True)
def test_a_second_reply_changes_nothing(stage: Stage, family: Family) -> None:
    """A worker answers the same job twice, in other words: nothing is paid or charged, the first reply stands."""
    request, _ = in_flight(stage, family, n=2)
    first, second = request.jobs
    first.worker.reply(first, "The first reply.")
    again: list[Answer] = []
    changes_nothing(
        lambda: again.append(right_reply(first, "Quite another reply.")),
        seen=state_of(stage, request),
        control=lambda: second.worker.reply(second, "The other generation's reply."),
    )
    _judge_repeat(again[0])


@check("RPL-09", both=True)
def test_a_fault_after_the_reply_changes_nothing(stage: Stage, family: Family) -> None:
    """A worker answers a job and then gives it up: it is not queued again, and the reply stands."""
    request, _ = in_flight(stage, family, n=2)
    first, second = request.jobs
    first.worker.reply(first, "The only reply.")
    again: list[Answer] = []
    changes_nothing(
        lambda: again.append(first.worker.try_fault(first)),
        seen=state_of(stage, request),
        control=lambda: second.worker.reply(second, "The other generation's reply."),
    )
    _judge_repeat(again[0])


def _judge_repeat(again: Answer) -> None:
    if again.limited:
        raise CouldNotRun(f"refused for its rate only: {again}")
    rewarded = again.accepted and again.read("reward") != 0
    assert not rewarded, f"the second submit was answered with a reward of {again.read('reward')} kudos"
    assert again.accepted or again.refused, f"the second submit is neither refused nor carried out: {again}"


@check("RPL-10", both=True)
def test_nobody_else_answers_a_job(stage: Stage, family: Family) -> None:
    """Another owner, and the requester, answer a worker's job: both are refused, and nothing changes."""
    request, worker = in_flight(stage, family)
    (job,) = request.jobs
    strangers: list[Account] = [stage.owner(1), request.requester.account]
    tried: list[Answer] = []
    own: list[Answer] = []

    def try_as_strangers() -> None:
        tried.extend(right_reply(replace(job, worker=replace(worker, owner=stranger))) for stranger in strangers)

    changes_nothing(
        try_as_strangers,
        seen=state_of(stage, request),
        control=lambda: own.append(right_reply(job)),
    )
    for answer in tried:
        refused(answer, control=lambda: own[0])


@check("RPL-11", both=True)
def test_a_faulted_generation_is_queued_again_for_nothing(stage: Stage, family: Family) -> None:
    """A worker gives a job up: it waits again, has cost nothing more than the submit, and the next worker gets it."""
    request = stage.submit(family, stage.model())
    submitted = stage.money.charged(request)
    job = stage.serving(family, *request.models).pop_job(request)
    answer = job.worker.try_fault(job)
    assert answer.accepted, f"a worker could not give its job up: {answer}"
    status = request.status()
    counts = (status.waiting, status.processing, status.finished, status.restarted, status.done)
    assert counts == (1, 0, 0, 1, False), (
        f"after the fault (waiting, processing, finished, restarted, done) are {counts}"
    )
    charged, paid = stage.money.charged(request), earned(stage, job) or 0.0
    assert stage.money.same(charged, submitted), f"charged {submitted} for the submit, and {charged} after the fault"
    assert stage.money.same(paid, 0.0), f"the worker was paid {paid} for a job that it gave up"
    next_job = stage.serving(family, *request.models).pop()
    assert next_job is not None, "the next worker was handed nothing, although the generation waits again"
    next_job.worker.reply(next_job, "The next worker's reply.")
    assert request.status().done, "the next worker answered, and the request is not done"


@dataclass(frozen=True)
class Settlement:
    """How one generation ended: the state that its requester reads, and the money."""

    state: Any
    charged: float
    paid: float


def _settled(stage: Stage, family: Family, **reply: Any) -> Settlement:
    request, _ = in_flight(stage, family, content=stage.twin_content(), max_length=80)
    (job,) = request.jobs
    reward = job.worker.reply(job, "These words are long enough to be paid above the floor. " * 4, **reply)
    paid = earned(stage, job)
    shown = request.status().generations
    if len(shown) != 1:
        raise CouldNotRun(f"one reply was taken, the status shows {len(shown)}")
    return Settlement(shown[0].state, stage.money.charged(request), reward if paid is None else paid)


@check("RPL-12", both=True)
def test_a_censored_reply_is_paid_and_costs_the_fee_only(stage: Stage, family: Family) -> None:
    """A worker censors a reply: its state says so, the worker is paid as ever, the requester pays the fees only."""
    usual, censored = _settled(stage, family, state="ok"), _settled(stage, family, state="censored")
    assert censored.state == "censored", f"the state of a censored reply is {censored.state!r}"
    assert stage.money.same(censored.paid, usual.paid), (
        f"the worker was paid {censored.paid} for a censored reply, {usual.paid} for another of that length"
    )
    fees = stage.profile.money.submit_fee + stage.profile.money.finish_fee
    assert stage.money.same(censored.charged, fees, movements=2), (
        f"the requester was charged {censored.charged} for a censored reply; the fees are {fees}"
    )


@dataclass(frozen=True)
class Crew:
    """The requester, owner and worker of one twin; nobody else's figures move with theirs."""

    family: Family
    requester: int
    worker: Worker

    @property
    def model(self) -> str:
        return str(self.worker.declaration["models"][0])


def _figures(stage: Stage, crew: Crew) -> figures.Figures:
    """All that is counted of a crew, by name."""
    client = stage.client
    counted = {
        "requester": figures.of_account(client, stage.requester(crew.requester).account),
        "owner": figures.of_account(client, crew.worker.owner),
        "worker": figures.of_worker(crew.worker),
        "statistics": {"model": figures.of_model(client, crew.model)},
    }
    return {f"{whose} {what}": value for whose, some in counted.items() for what, value in some.items()}


def _crew(stage: Stage, family: Family, index: int) -> Crew:
    """A crew whose worker has checked in, so that it is listed."""
    worker = stage.serving(family, stage.model(owner=index), owner=index)
    worker.pop()
    return Crew(family, index, worker)


def _growth(then: figures.Figures, now: figures.Figures) -> figures.Figures:
    return {name: value - then.get(name, 0) for name, value in now.items()}


@check("RPL-13")
def test_chat_counts_in_every_figure_as_text_does(stage: Stage) -> None:
    """Twins run their course: records of requester and owner, worker totals and statistics grow by the same."""
    crews = [_crew(stage, Family.TEXT, 0), _crew(stage, Family.CHAT, 1)]
    figures.wait(stage.client)
    before = [_figures(stage, crew) for crew in crews]
    for crew, content in zip(crews, (stage.twin_content(), stage.twin_content()), strict=True):
        request = stage.submit(crew.family, crew.model, content=content, requester=crew.requester, max_length=80)
        crew.worker.reply(crew.worker.pop_job(request), "Some forty words, or fewer. " * 5)
    figures.wait(stage.client)
    after = [_figures(stage, crew) for crew in crews]
    text, chat = (_growth(then, now) for then, now in zip(before, after, strict=True))
    if not any(text.values()):
        raise CouldNotRun("no figure moved with the text twin")
    stage.note("figures that moved", sorted(name for name, growth in text.items() if growth))
    for name, growth in text.items():
        same = stage.money.same(chat.get(name, 0.0), growth) if "kudos" in name else chat.get(name) == growth
        assert same, f"{name} grew by {growth} with a text generation, by {chat.get(name)} with its chat twin"
