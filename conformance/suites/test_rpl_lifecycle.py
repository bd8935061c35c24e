"""RPL-21 to RPL-23: replies of the other family, many life cycles at once, and requests for several generations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hypothesis import strategies as st

from conformance.absence import changes_nothing, refused
from conformance.actors import Family, Job, Request, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.statuses import Status
from conformance.suites.rpl_scenes import assistant, in_flight, right_reply

# Telling


def told(job: Job) -> str:
    """The words that a job asks about."""
    if job.family is Family.TEXT:
        return str(job.prompt)
    if not isinstance(job.messages, list) or not job.messages or not isinstance(job.messages[-1], dict):
        raise CouldNotRun(f"a chat job has the messages {job.messages!r}")
    return str(job.messages[-1].get("content"))


def shown(status: Status, family: Family) -> list[Any]:
    """The words of each reply that a status shows: of a chat reply those of its message."""
    if family is Family.TEXT:
        return [generation.text for generation in status.generations]
    return [generation.message and generation.message.get("content") for generation in status.generations]


def read(request: Request) -> list[Any]:
    """The words of each reply that the requester reads now."""
    return shown(request.status(), request.family)


# Judging


@check("RPL-21", both=True)
def test_a_reply_of_the_other_family_is_refused_or_finishes_in_its_own(stage: Stage, family: Family) -> None:
    """A worker answers in the other family's shape: it may do it again, or the job is finished as what it is."""
    request, worker = in_flight(stage, family)
    (job,) = request.jobs
    secret = f"Structured {stage.unique()}."
    structured: dict[str, Any] = {"message": assistant(secret), "finish_reason": "stop"}
    wrong = worker.try_reply(job, generation="Bare words.", **(structured if family is Family.TEXT else {}))
    assert not wrong.crashed, f"the target crashed on a reply of the other family: {wrong}"
    if not wrong.accepted:
        refused(wrong, control=lambda: right_reply(job))
    status = request.status()
    assert (status.finished, status.done) == (1, True), (
        f"after the reply {status.finished} generations are finished, and done is {status.done}"
    )
    if family is Family.TEXT:
        body = status.answer.exchange.response_body or ""
        assert status.generations[0].chat is None, "a text status shows a structured reply"
        assert secret not in body, "a text status shows the words of a structured reply"
    elif wrong.accepted:
        words = shown(status, family)
        assert words == ["Bare words."], f"bare words to a chat job are shown as {words!r}"


LIFE_CYCLES = 32
WORKERS = 8


@check("RPL-22", both=True)
def test_many_life_cycles_at_once_do_not_mix(stage: Stage, family: Family) -> None:
    """Requests of both families live at once: each worker sees one request's words, each requester their own reply."""
    families = [Family.CHAT, Family.TEXT] if family is Family.CHAT else [Family.TEXT]
    model = stage.model()
    submits = [
        partial(stage.submit, families[i % len(families)], model, content=f"Words {stage.unique()}.", requester=i % 3)
        for i in range(LIFE_CYCLES)
    ]
    requests = stage.at_once(*submits)
    workers = [stage.serving(families[i % len(families)], model) for i in range(WORKERS)]
    jobs: list[Job] = []
    stage.at_once(*(partial(_pop_until, stage, worker, jobs) for worker in workers))
    asked = Counter(_asked(request) for request in requests)
    seen = Counter(told(job) for job in jobs)
    assert seen == asked, f"workers saw {dict(seen - asked)} too much and {dict(asked - seen)} too little"
    stage.at_once(*(partial(job.worker.reply, job, f"To: {told(job)}") for job in jobs))
    for request, replies in zip(
        requests, stage.at_once(*(partial(read, request) for request in requests)), strict=True
    ):
        mine = [f"To: {_asked(request)}"]
        assert replies == mine, f"a requester reads {replies!r} as the answer to {_asked(request)!r}"


def _asked(request: Request) -> str:
    return str(request.prompt if request.family is Family.TEXT else request.messages[-1]["content"])


def _pop_until(stage: Stage, worker: Worker, jobs: list[Job]) -> None:
    """Pop until all life cycles are in flight; an empty answer while others pop is no loss."""

    def pop() -> bool:
        while len(jobs) < LIFE_CYCLES and (job := worker.pop()) is not None:
            jobs.append(job)
        return len(jobs) >= LIFE_CYCLES

    stage.until(pop, within=10.0)


@check("RPL-22", both=True)
def test_repeating_a_call_changes_nothing_a_second_time(stage: Stage, family: Family) -> None:
    """The answers to a reply, a fault and a cancel are lost and the calls repeated: nothing happens a second time."""
    for call in (right_reply, lambda job: job.worker.try_fault(job)):
        request, _ = in_flight(stage, family, n=2)
        first, second = request.jobs
        _carried_out(call(first))
        changes_nothing(
            partial(call, first), seen=partial(_state, stage, request), control=partial(right_reply, second)
        )
    request, _ = in_flight(stage, family)
    _carried_out(request.requester.try_cancel(request))
    changes_nothing(
        lambda: request.requester.try_cancel(request),
        seen=partial(_state, stage, request),
        control=lambda: right_reply(request.jobs[0]),
    )


def _carried_out(answer: Answer) -> None:
    if not answer.accepted:
        raise CouldNotRun(f"the call that is to be repeated is not carried out: {answer}")


def _state(stage: Stage, request: Request) -> dict[str, Any]:
    paid = stage.money.paid(*request.jobs) if stage.money.exact else None
    return {**request.status().counts, "charged": stage.money.charged(request), "paid": paid}


@dataclass
class Course:
    """What a request for several generations must count, step by step."""

    request: Request
    worker: Worker
    waiting: int
    flying: list[Job] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    faults: int = 0

    def pop(self) -> bool:
        if not self.waiting:
            return False
        self.flying.append(self.worker.pop_job(self.request))
        self.waiting -= 1
        return True

    def reply(self) -> bool:
        if not self.flying:
            return False
        self.replies.append(f"Reply {len(self.replies) + 1}.")
        self.worker.reply(self.flying.pop(), self.replies[-1])
        return True

    def fault(self) -> bool:
        # The third fault of a request ends it as a whole.
        if not self.flying or self.faults == 2:
            return False
        self.worker.fault(self.flying.pop())
        self.waiting, self.faults = self.waiting + 1, self.faults + 1
        return True

    def judge(self, step: str) -> None:
        """The counts add up, and each reply so far can be read."""
        status = self.request.status()
        counts = (status.waiting, status.processing, status.finished, status.restarted, status.done)
        over = not self.waiting and not self.flying
        expected = (self.waiting, len(self.flying), len(self.replies), self.faults, over)
        assert counts == expected, (
            f"after the {step} (waiting, processing, finished, restarted, done) are {counts}, not {expected}"
        )
        words = sorted(map(str, shown(status, self.request.family)))
        assert words == sorted(self.replies), f"after the {step} the requester reads {words}, not {self.replies}"


@check("RPL-23", both=True)
def test_counts_add_up_at_each_step(stage: Stage, family: Family) -> None:
    """Several generations are popped, answered and given up in any order: the counts follow, and `done` comes last."""
    worker = stage.serving(family, stage.model())
    steps: st.SearchStrategy[list[Callable[[Course], bool]]] = st.lists(
        st.sampled_from([Course.pop, Course.pop, Course.reply, Course.fault]), max_size=6
    )

    def judge(example: tuple[int, list[Callable[[Course], bool]]]) -> None:
        n, chosen = example
        request = stage.submit(family, *worker.declaration["models"], n=n)
        course = Course(request, worker, waiting=n)
        course.judge("submit")
        try:
            for step in [*chosen, *(Course.pop, Course.reply) * (n + 2)]:
                if step(course):
                    course.judge(step.__name__)
        except AssertionError:
            # What it left waiting must not reach the next example's worker.
            request.cancel()
            raise

    stage.for_all(st.tuples(st.integers(2, 4), steps), judge, count=5)
