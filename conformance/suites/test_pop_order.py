"""POP: in which order, behind how many others, and beside how many other workers a request is handed out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

import pytest
from hypothesis import strategies as st

from conformance.actors import Account, Family, Job, Request, Requester, Worker
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.histories import Rule, Witness
from conformance.stage import Stage
from conformance.suites.history_scenes import HANDED_OUT_ONCE, broken

CHAT, TEXT = Family.CHAT, Family.TEXT
each_family = pytest.mark.parametrize("family", [CHAT, TEXT])

# Around one and twenty rows that a pop reads at first: upstream reads 3 at a time, its newer tree 20, then 200.
DEPTHS = (3, 4, 19, 20, 21)
DEEP = (220, 221, 450)


def _only(stage: Stage, family: Family, model: str) -> Worker:
    """A worker that takes this family and not the other."""
    return stage.text_worker(model) if family is TEXT else stage.chat_worker(model, accept_text=False)


def _stands_behind(stage: Stage, request: Request, depth: int) -> None:
    """The story needs so many requests ahead; a target that shows positions must agree.

    Raises:
        CouldNotRun: the position says otherwise.
    """
    stage.until(lambda: request.status().queue_position > depth, within=stage.profile.timings.positions)
    position = request.status().queue_position
    if 0 < position <= depth:
        raise CouldNotRun(f"{request.family} request {request.id} stands at {position}, not behind {depth} others")


def _is_served_behind(stage: Stage, worker: Worker, request: Request, depth: int) -> None:
    _stands_behind(stage, request, depth)
    job = worker.pop()
    assert job is not None, (
        f"{request.family} request {request.id} waits behind {depth} {request.family.other} requests, and a worker "
        f"that takes {request.family} only was handed nothing"
    )
    # What else it may have been handed is for others to judge; the story is over where it was.
    if job.family is not request.family:
        raise CouldNotRun(f"a worker that takes {request.family} only was handed a {job.family} job")


def _served_behind_the_other_family(stage: Stage, family: Family) -> None:
    """One requester's submits stand one behind the other, for what each submit costs lowers the next one's priority."""
    model = stage.model()
    worker = _only(stage, family, model)
    ahead = 0
    for depth in DEPTHS:
        for _ in range(depth - ahead):
            stage.submit(family.other, model)
        ahead = depth
        _is_served_behind(stage, worker, stage.submit(family, model), depth)


@check("POP-02")
def test_a_worker_without_chat_receives_text_behind_chat(stage: Stage) -> None:
    """Ever more chat requests stand ahead of a text request; a worker without chat is handed the text each time."""
    _served_behind_the_other_family(stage, TEXT)


@check("POP-06")
def test_a_chat_only_worker_receives_chat_behind_text(stage: Stage) -> None:
    """Ever more text requests stand ahead of a chat request; a chat-only worker is handed the chat each time."""
    _served_behind_the_other_family(stage, CHAT)


@check("POP-07")
def test_a_worker_of_both_receives_both_in_the_order_of_their_positions(stage: Stage) -> None:
    """Three requesters queue both families by turns; a worker of both is handed them as their statuses stood."""
    model = stage.model()
    families = [CHAT, TEXT, TEXT, CHAT, CHAT, TEXT, CHAT, TEXT, TEXT]
    requests = [_named(stage, family, model, requester=place % 3) for place, family in enumerate(families)]
    positions = _positions(stage, requests)
    worker = stage.chat_worker(model)
    handed = [_named_in(worker.pop_job(), requests) for _ in requests]
    seen = [(request.family.value, positions[request.id]) for request in handed]
    assert seen == sorted(seen, key=lambda entry: entry[1]), (
        f"a worker of both families was handed positions in the order {seen}"
    )
    missing = {request.id for request in requests} - {request.id for request in handed}
    assert not missing, f"a worker of both families was never handed {missing}"


def _named(stage: Stage, family: Family, model: str, **fields: object) -> Request:
    """A request that its job can be known by."""
    return stage.submit(family, model, content=f"Tell me about {stage.unique(16)}.", **fields)  # type: ignore[arg-type]


def _named_in(job: Job, requests: Sequence[Request]) -> Request:
    """The request that this job is of.

    Raises:
        CouldNotRun: its content is none of theirs.
    """
    for request in requests:
        words = request.prompt if request.family is TEXT else request.messages[0]["content"]
        if words in str(job.answer.body):
            return request
    raise CouldNotRun(f"job {job.id} holds the words of no request of this story: {job.answer.body}")


def _positions(stage: Stage, requests: Sequence[Request]) -> dict[str, int]:
    """The position of each request, once every status shows one.

    Raises:
        CouldNotRun: one shows none within the profile's time.
    """

    def look() -> dict[str, int] | None:
        shown = {request.id: request.status().queue_position for request in requests}
        return shown if all(position > 0 for position in shown.values()) else None

    seen = stage.until(look, within=stage.profile.timings.positions + 1.0)
    if seen is None:
        raise CouldNotRun("not every status shows the request's position in the queue")
    return seen


# Priority


@check("POP-17", both=True)
def test_the_owners_own_request_comes_first(stage: Stage, family: Family) -> None:
    """Two owners' requests wait; the one who stands last pops with a worker, and is handed the own request first."""
    # A model that either may serve: who stands behind is seen only when both are queued.
    model = stage.open_model()
    requests = [_by(stage, stage.owner(place), family, model) for place in (0, 1)]
    last = _last(stage, requests)
    worker = stage.serving(family, model, owner=last.requester.account)
    first = _named_in(worker.pop_job(), requests)
    assert first is last, (
        f"the worker's owner has {family} request {last.id}; it was handed {first.id} of another first"
    )


@check("POP-17", both=True)
def test_a_priority_users_request_comes_first(stage: Stage, family: Family) -> None:
    """Three requesters' requests wait; a worker that prefers the one who stands last is handed theirs first."""
    model = stage.model()
    requests = [_named(stage, family, model, requester=place) for place in range(3)]
    last = _last(stage, requests)
    worker = stage.serving(family, model, priority_usernames=[last.requester.account.alias])
    first = _named_in(worker.pop_job(), requests)
    assert first is last, (
        f"the worker prefers the requester of {family} request {last.id}; it was handed {first.id} of another first"
    )


def _by(stage: Stage, account: Account, family: Family, model: str) -> Request:
    words = f"Tell me about {stage.unique(16)}."
    fields = {"messages": [{"role": "user", "content": words}]} if family is CHAT else {"prompt": words}
    return stage.keep(Requester(stage.client, account).submit(family, [model], **fields))


def _last(stage: Stage, requests: Sequence[Request]) -> Request:
    """The request that stands behind the others."""
    positions = _positions(stage, requests)
    return max(requests, key=lambda request: positions[request.id])


# Many workers, and any order


class Kind(StrEnum):
    """What a worker takes."""

    CHAT_ONLY = "chat-only"
    TEXT_ONLY = "text-only"
    BOTH = "both"


@dataclass
class _Theatre:
    """One model's requests of both families, and workers of every kind."""

    stage: Stage
    model: str
    kinds: tuple[Kind, ...] = tuple(Kind)
    requests: list[Request] = field(default_factory=list)
    workers: dict[Kind, Worker] = field(default_factory=dict)
    since: int = 0

    def worker(self, kind: Kind) -> Worker:
        return _MAKE[kind](self.stage, self.model)

    def submit(self, family: Family, n: int, requester: int) -> None:
        self.requests.append(_named(self.stage, family, self.model, n=n, requester=requester))

    def pop(self, kind: Kind) -> Job | None:
        """Pop with the theatre's one worker of this kind."""
        return self.workers.setdefault(kind, self.worker(kind)).pop()

    def begin(self) -> None:
        """Forget what happened; what an earlier story left in the queue is cancelled."""
        for request in self.requests:
            request.cancel()
        self.requests, self.since = [], self.stage.exchanged

    def end(self) -> None:
        """Pop one after another, with a worker that takes all there is, until nothing is handed out."""
        most = sum(request.sent["n"] for request in self.requests) + 1
        for _ in range(most):
            if self.pop(self.kinds[-1]) is None:
                break
        self.requests = []

    def broken(self, *rules: Rule) -> Witness | None:
        """The first of these rules that was broken since it began."""
        return broken(self.stage, rules, since=self.since)


_MAKE: dict[Kind, Callable[[Stage, str], Worker]] = {
    Kind.CHAT_ONLY: lambda stage, model: _only(stage, CHAT, model),
    Kind.TEXT_ONLY: lambda stage, model: _only(stage, TEXT, model),
    Kind.BOTH: lambda stage, model: stage.chat_worker(model),
}

WORKERS = 16
ROUNDS = 3


@check("POP-13", both=True)
def test_concurrent_pops_hand_nothing_out_twice_and_lose_nothing(stage: Stage, family: Family) -> None:
    """Sixteen workers pop at the same time from one queue; each generation is handed out, and once."""
    kinds = tuple(Kind) if family is CHAT else (Kind.TEXT_ONLY,)
    theatre = _Theatre(stage, stage.model(), kinds)
    families = (CHAT, TEXT) if family is CHAT else (TEXT,)
    for place in range(12):
        theatre.submit(families[place % len(families)], n=1 + place % 3, requester=place % 3)

    def work(kind: Kind) -> int:
        worker = theatre.worker(kind)
        return sum(worker.pop() is not None for _ in range(ROUNDS))

    crew = [kinds[place % len(kinds)] for place in range(WORKERS)]
    handed = sum(stage.at_once(*(partial(work, kind) for kind in crew)))
    stage.note("handed out while all popped", handed)
    if not handed:
        raise CouldNotRun(f"none of {WORKERS * ROUNDS} concurrent pops was handed anything")
    theatre.end()
    _judge_handed_out_once(theatre)


def _judge_handed_out_once(theatre: _Theatre) -> None:
    misplaced = theatre.broken(Rule.MISPLACED)
    if misplaced:
        raise CouldNotRun(f"the declarations are not kept: {misplaced}")
    witness = theatre.broken(*HANDED_OUT_ONCE)
    assert witness is None, str(witness)


_STEPS = st.lists(
    st.one_of(st.tuples(st.sampled_from([CHAT, TEXT]), st.integers(1, 2)), st.sampled_from(Kind)),
    min_size=3,
    max_size=9,
)  # fmt: skip


def _play(theatre: _Theatre, steps: Sequence[tuple[Family, int] | Kind]) -> None:
    """One interleaving, from an empty queue to an empty queue."""
    theatre.begin()
    for step in steps:
        if isinstance(step, Kind):
            theatre.pop(step)
        else:
            theatre.submit(*step, requester=0)
    theatre.end()


@check("POP-13")
def test_no_interleaving_of_both_families_loses_anything(stage: Stage) -> None:
    """Both families are queued, and workers of all kinds pop, in any order: nothing is lost or handed out twice."""
    theatre = _Theatre(stage, stage.model())

    def judge(steps: Sequence[tuple[Family, int] | Kind]) -> None:
        _play(theatre, steps)
        _judge_handed_out_once(theatre)

    stage.for_all(_STEPS, judge, count=5)


@check("POP-04")
def test_in_any_interleaving_chat_goes_where_it_is_declared(stage: Stage) -> None:
    """Both families are queued, and workers of all kinds pop, in any order: none without chat is handed chat."""
    theatre = _Theatre(stage, stage.model())

    def judge(steps: Sequence[tuple[Family, int] | Kind]) -> None:
        _play(theatre, steps)
        misplaced = theatre.broken(Rule.MISPLACED)
        assert misplaced is None or misplaced.family != CHAT, str(misplaced)
        other = misplaced or theatre.broken(*HANDED_OUT_ONCE)
        if other:
            raise CouldNotRun(f"chat goes where it is declared, but {other}")

    stage.for_all(_STEPS, judge, count=5)


# Deeper than over HTTP


@contextmanager
def _copies(stage: Stage, original: Request) -> Iterator[Callable[[int], None]]:
    """Copies of a waiting request by SQL, as many as are asked for, taken away at the end."""
    statements = stage.profile.database
    if not statements.copy_request or not statements.remove_copies:
        raise CouldNotRun("the profile has no statements that copy a request and remove the copies")
    try:
        yield lambda count: _copy(stage, original, count)
    finally:
        stage.database.run(statements.remove_copies, id=original.id)


def _copy(stage: Stage, original: Request, count: int) -> None:
    stage.database.run(stage.profile.database.copy_request, id=original.id, count=count)


@check("POP-24")
@each_family
def test_a_worker_of_one_family_is_served_behind_hundreds_of_the_other(stage: Stage, family: Family) -> None:
    """Hundreds of requests stand ahead; a worker that takes the other family only is handed the one behind them."""
    model = stage.model()
    worker = _only(stage, family, model)
    original = stage.submit(family.other, model)
    # Queued before the copies are: those count against the requester's limit, and stand where the original stands.
    behind = [stage.submit(family, model) for _ in DEEP]
    ahead = 1
    with _copies(stage, original) as copy:
        for depth, request in zip(DEEP, behind, strict=True):
            copy(depth - ahead)
            ahead = depth
            _is_served_behind(stage, worker, request, depth)
