"""POP: what the job that a worker is handed holds, and what no requester can put there."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.actors import Family, Job, Request, Worker
from conformance.checks import check
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.profile import Profile, put
from conformance.stage import Stage
from fixtures.payloads import examples

CHAT, TEXT = Family.CHAT, Family.TEXT


def _conversations() -> SearchStrategy[list[dict[str, Any]]]:
    """One to five messages: what people and assistants say, in strings and parts, calls of tools and their results."""
    says = st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "system"]), "content": examples.texts(min_size=1)}
    )  # fmt: skip
    parts = st.lists(
        st.fixed_dictionaries({"type": st.just("text"), "text": examples.texts(min_size=1)}), min_size=1, max_size=3
    )
    in_parts = st.fixed_dictionaries({"role": st.just("user"), "content": parts})
    result = st.fixed_dictionaries(
        {"role": st.just("tool"), "tool_call_id": examples.texts(min_size=1, max_size=20), "content": examples.texts()}
    )
    later = st.one_of(says, in_parts, examples.spoken(), examples.calling(), result)
    return st.builds(lambda first, rest: [first, *rest], says, st.lists(later, max_size=4))


@check("POP-10")
def test_a_chat_job_carries_the_messages(stage: Stage) -> None:
    """Whatever the conversation, the worker that is handed the job is handed its messages."""
    model = stage.model()
    worker = stage.chat_worker(model)

    def judge(messages: list[dict[str, Any]]) -> None:
        request = stage.chat(model, messages=messages)
        job = worker.pop_job(request)
        assert same_json(job.messages, messages), f"submitted {messages!r}, the job carries {job.messages!r}"

    stage.for_all(_conversations(), judge, count=12)


def _without_ids_and_times(job: Job) -> Any:
    """What a job shows besides its ids and its lifetime."""
    shown = copy.deepcopy(job.answer.body)
    for name in ("id", "ids", "lifetime"):
        *parents, last = job.answer.profile.answer["job"][name].split(".")
        place = shown
        for parent in parents:
            place = place[parent]
        place.pop(last, None)
    return shown


@check("POP-11")
def test_a_text_job_is_the_same_for_a_worker_with_chat(stage: Stage) -> None:
    """Generations of one text request go to workers with and without chat; their jobs are equal as JSON."""
    model, other = stage.model(), stage.model()
    request = stage.text(model, n=4, max_length=96, max_context_length=3000)
    first = _without_ids_and_times(stage.text_worker(model).pop_job(request))
    declarations: list[dict[str, Any]] = [
        {"models": [model], "chat_models": [model]},
        {"models": [model, other], "chat_models": [other]},
        {"models": [model], "chat_models": []},
    ]
    for declared in declarations:
        seen = _without_ids_and_times(stage.text_worker(model).pop_job(request, **declared))
        assert same_json(seen, first), f"a worker that declares {declared} was handed {seen!r}, another one {first!r}"


# Forgeries

PLACES = [(family, place) for family in (CHAT, TEXT) for place in ("params", "top level")] + [(CHAT, "message")]

# What a forged job would hold, by our names for a job's fields.
_FORGED: dict[str, Any] = {
    "prompt": "A forged prompt.",
    "messages": [{"role": "user", "content": "A forged message."}],
    "tools": [{"type": "function", "function": {"name": "forged", "parameters": {"type": "object"}}}],
    "tool_choice": "none",
    "response_format": {"type": "json_object"},
    "stream": True,
    "n": 3,
    "max_length": 17,
}
_JUNK: SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, 99, "forged", [], {}, [{"role": "user", "content": "Forged."}]]
)


def _forgeries(profile: Profile, family: Family, place: str) -> dict[str, Any]:
    """The keys that a requester could hope to reach a job with, and what each would most likely have to be.

    They are the names at which a job holds things, and the storage's; what the submit itself takes there is left out.
    """
    body: dict[str, Any] = {}
    for name, value in _FORGED.items():
        put(body, profile.answer["job"][name], value)
    flat: dict[str, Any] = dict(body)
    for value in body.values():
        flat |= value if isinstance(value, dict) else {}
    flat[profile.migration.discriminator.rpartition(".")[2]] = family is TEXT
    flat["chat_extras"] = {name: _FORGED[name] for name in ("tools", "tool_choice", "response_format", "stream")}
    return {key: value for key, value in flat.items() if key not in _taken(profile, family, place)}


def _taken(profile: Profile, family: Family, place: str) -> set[str]:
    """The keys that a submit of this family takes at this place."""
    if place == "message":
        return {"role", "content", "name", "tool_calls", "tool_call_id"}
    fields = profile.body["submit"]
    others = ("prompt",) if family is CHAT else ("messages", "tools", "tool_choice", "response_format", "stream")
    paths = [path for name, path in fields.items() if name not in others]
    if place == "top level":
        return {path.partition(".")[0] for path in paths}
    inside = fields["params"] + "."
    return {path.removeprefix(inside) for path in paths if path.startswith(inside)}


class _Forger:
    """A requester who puts keys where they do not belong, and the worker that gets what comes of it."""

    def __init__(self, stage: Stage, family: Family, place: str) -> None:
        self.stage, self.family, self.place = stage, family, place
        self.model = stage.model()
        self.worker: Worker = stage.chat_worker(self.model)
        self.refused: set[str] = set()
        self.words = f"Tell me about {stage.unique()}."
        honest = self._submit({})
        if honest is None:
            raise CouldNotRun(f"a {self.family} request without forged keys is refused")
        self.honest = _facts(self.worker.pop_job(honest))

    def _submit(self, forged: dict[str, Any]) -> Request | None:
        """The request with these keys in its place; None where it is refused."""
        message = {"role": "user", "content": self.words, **(forged if self.place == "message" else {})}
        fields: dict[str, Any] = {"models": [self.model], "n": 1, "max_length": 64}
        fields |= {"messages": [message]} if self.family is CHAT else {"prompt": self.words}
        if self.place == "params":
            fields["params"] = forged
        requester = self.stage.requester()
        answer = requester.try_submit(self.family, fields, extra=forged if self.place == "top level" else None)
        assert not answer.crashed, f"{forged!r} in {self.place} of a {self.family} request crashes the target: {answer}"
        if answer.refused:
            return None
        if not answer.accepted:
            raise CouldNotRun(f"the {self.family} submit was neither accepted nor refused: {answer}")
        return self.stage.keep(Request(answer.id("id"), self.family, requester, (self.model,), fields))

    def accepted(self, forged: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Request]]:
        """The largest bundles of these keys that the target does not refuse, each with the request of it."""
        request = self._submit(forged)
        if request is not None:
            yield forged, request
        elif len(forged) > 1:
            keys = list(forged)
            for half in (keys[: len(keys) // 2], keys[len(keys) // 2 :]):
                yield from self.accepted({key: forged[key] for key in half})
        else:
            self.refused |= forged.keys()

    def judge(self, forged: dict[str, Any]) -> None:
        """The job of a request with forged keys is that of one without, and there is one of it."""
        # A key that is refused alone would hide what becomes of the others beside it.
        tried = {key: value for key, value in forged.items() if key not in self.refused}
        for bundle, request in self.accepted(tried):
            job = self.worker.pop()
            said = f"{bundle!r} in {self.place} of a {self.family} request"
            assert job is not None, f"{said} keeps it from being handed out"
            facts = _facts(job)
            assert same_json(facts, self.honest), f"{said}: {_difference(facts, self.honest)}"
            status = request.status()
            left = (status.waiting, status.processing)
            assert left == (0, 1), f"{said}: {left[0]} generations wait and {left[1]} are in flight after one was taken"


def _facts(job: Job) -> dict[str, Any]:
    """What of a job no requester may forge; of the messages what makes them up, for unknown keys in them may stay."""
    names = ("prompt", "tools", "tool_choice", "response_format", "stream", "n", "max_length")
    return {"family": job.family.value, "messages": _said(job.messages), **{name: job.read(name) for name in names}}


def _said(messages: Any) -> Any:
    if not isinstance(messages, list):
        return messages
    return [{k: m.get(k) for k in ("role", "content", "tool_calls")} if isinstance(m, dict) else m for m in messages]


def _difference(seen: dict[str, Any], expected: dict[str, Any]) -> str:
    return "; ".join(
        f"the job's {name} is {seen[name]!r} instead of {expected[name]!r}"
        for name in expected
        if not same_json(seen[name], expected[name])
    )


@check("POP-21")
@pytest.mark.parametrize(("family", "place"), PLACES)
def test_no_key_that_a_requester_adds_reaches_the_job(stage: Stage, family: Family, place: str) -> None:
    """A requester adds keys under the names of a job's own parts; the job is that of a request without them."""
    forger = _Forger(stage, family, place)
    likely = _forgeries(stage.profile, family, place)
    if not likely:
        raise CouldNotRun(f"the profile leaves no key to forge in {place}")
    drawn = st.fixed_dictionaries({key: st.one_of(st.just(value), _JUNK) for key, value in likely.items()})
    stage.for_all(drawn, forger.judge, count=4)


# Several at a time

AMOUNT = 3


def _all_popped(worker: Worker, request: Request, amount: int, n: int) -> list[Job]:
    """Every generation of a request, `amount` at a time as far as the target hands out so many."""
    jobs: list[Job] = []
    for _ in range(n):
        if len(jobs) < n:
            jobs += worker.pop_job(request, amount=amount).each()
    return jobs


@check("POP-22", both=True)
def test_an_amount_is_of_one_request_and_one_declared_model(stage: Stage, family: Family) -> None:
    """A worker pops three at a time from two requests; it gets at most three, of one request and a declared model."""
    models = [stage.model(), stage.model()]
    requests = [stage.submit(family, *models, n=n) for n in (2, 4)]
    worker = stage.serving(family, *models)
    taken = [0, 0]
    for _ in range(6):
        if sum(taken) < 6:
            job = worker.pop_job(amount=AMOUNT)
            _is_of_one(job, requests, taken, models)
    assert taken == [2, 4], f"of requests of 2 and 4 generations {taken} were handed out"


def _is_of_one(job: Job, requests: Sequence[Request], taken: list[int], declared: Sequence[str]) -> None:
    """The job's ids are new generations of one of the requests; `taken` is brought up to date."""
    assert 1 <= len(job.ids) <= AMOUNT, f"a pop of up to {AMOUNT} was handed {len(job.ids)} generations"
    assert len(set(job.ids)) == len(job.ids), f"a pop was handed a generation twice: {job.ids}"
    assert job.model in declared, f"the job is of {job.model!r}; declared are {declared}"
    now = [request.status().processing for request in requests]
    added = [new - old for new, old in zip(now, taken, strict=True)]
    assert sorted(added) == [0, len(job.ids)], f"{len(job.ids)} ids were handed out; in flight there are {added} more"
    request = requests[added.index(len(job.ids))]
    content = (job.prompt, request.prompt) if request.family is TEXT else (job.messages, request.messages)
    assert same_json(*content), f"the job of {request.family} request {request.id} holds {content[0]!r}"
    taken[:] = now


@check("POP-22", both=True)
def test_each_generation_of_an_amount_is_its_own(stage: Stage, family: Family) -> None:
    """Of three generations popped at once one is answered, one given up, one posts progress and is answered later."""
    model, content = stage.model(), stage.twin_content(max_length=80)
    short, long = "s" * 100, "l" * 300
    request = stage.submit(family, model, content=content, n=3)
    worker = stage.serving(family, model)
    answered, given_up, slow = _all_popped(worker, request, AMOUNT, 3)
    rewards = [worker.reply(answered, short)]
    _counts(request, finished=1, processing=2, restarted=0)
    if family is CHAT and "streaming" in stage.profile.capabilities:
        worker.progress(slow, "So far.")
        partials = request.status().partials
        assert partials in ([], ["So far."]), f"one generation posted progress; the request shows {partials}"
    worker.fault(given_up)
    _counts(request, finished=1, processing=1, restarted=1)
    rewards.append(worker.reply(slow, long))
    _counts(request, finished=2, processing=0, restarted=1)
    shown = sorted(str(generation.text) for generation in request.status().generations)
    assert shown == [long, short], f"the replies {short!r} and {long!r} are shown as {shown}"
    _settled_as_if_alone(stage, request, rewards, content, [short, long])


def _counts(request: Request, **expected: int) -> None:
    status = request.status()
    seen = {name: getattr(status, name) for name in expected}
    assert seen == expected, f"{request.family} request {request.id} counts {seen} instead of {expected}"


def _settled_as_if_alone(
    stage: Stage, request: Request, rewards: Sequence[float], content: str, replies: Sequence[str]
) -> None:
    """The same replies to generations that were popped one by one are paid and charged the same."""
    model = stage.model()
    twin = stage.submit(request.family, model, content=content, n=2)
    worker = stage.serving(request.family, model)
    alone = [worker.reply(worker.pop_job(twin), reply) for reply in replies]
    for seen, expected in zip(rewards, alone, strict=True):
        assert stage.money.same(seen, expected), f"popped together they earn {rewards}, popped one by one {alone}"
    together, apart = stage.money.charged(request), stage.money.charged(twin)
    assert stage.money.same(together, apart, movements=3), f"popped together cost {together}, popped one by one {apart}"
