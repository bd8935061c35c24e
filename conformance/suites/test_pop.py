"""POP: which worker gets what, by what it declares.

The queue's order, the rules of eligibility and what a job holds stand in `test_pop_order`, `test_pop_eligibility`
and `test_pop_jobs`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.absence import receives_nothing, refused
from conformance.actors import Family, Job, Request, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage

CHAT, TEXT = Family.CHAT, Family.TEXT

# The three ways in which a pop does not declare chat.
UNDECLARED: dict[str, dict[str, Any]] = {
    "no declaration": {},
    "a null declaration": {"chat_models": None},
    "an empty declaration": {"chat_models": []},
}
each_way_of_not_declaring = pytest.mark.parametrize("undeclared", UNDECLARED.values(), ids=UNDECLARED)

# More pops than any story here has generations.
PATIENCE = 12


def _everything(worker: Worker, **declared: Any) -> list[Job]:
    """All that a worker is handed, one pop after another."""
    jobs: list[Job] = []
    for _ in range(PATIENCE):
        job = worker.pop(**declared)
        if job is None:
            return jobs
        jobs.append(job)
    raise CouldNotRun(f"worker {worker.name} was still handed jobs after {PATIENCE} pops")


@check("POP-01")
@each_way_of_not_declaring
def test_a_worker_without_chat_receives_no_chat(stage: Stage, undeclared: dict[str, Any]) -> None:
    """A chat request waits for a model; a worker that serves the model without declaring chat is not handed it."""
    model = stage.model()
    receives_nothing(
        lambda: stage.text_worker(model).pop(**undeclared),
        of=stage.chat(model),
        control=lambda: stage.chat_worker(model).pop(),
        because="it declares no chat",
    )


@check("POP-01")
def test_a_worker_that_served_text_still_receives_no_chat(stage: Stage) -> None:
    """A worker without chat answers a text request and pops for more, several at a time; no chat comes."""
    model = stage.model()
    worker = stage.text_worker(model)
    worker.reply(worker.pop_job(stage.text(model)))
    receives_nothing(
        lambda: worker.pop(amount=3),
        of=stage.chat(model, n=2),
        control=lambda: stage.chat_worker(model).pop(),
        because="it declares no chat",
    )


@check("POP-03")
@each_way_of_not_declaring
def test_a_job_of_a_worker_without_chat_has_a_prompt(stage: Stage, undeclared: dict[str, Any]) -> None:
    """Chat and text wait; every job that a worker without chat is handed carries a prompt."""
    model = stage.model()
    stage.chat(model)
    stage.text(model)
    stage.text(model, n=2)
    jobs = _everything(stage.text_worker(model), **undeclared)
    if not jobs:
        raise CouldNotRun("a worker without chat was handed none of the text requests")
    for job in jobs:
        prompted = isinstance(job.prompt, str) and job.prompt != ""
        assert prompted, (
            f"worker {job.worker.name} declares no chat and was handed job {job.id} with the prompt {job.prompt!r}"
        )


@check("POP-04")
@pytest.mark.parametrize("accept_text", [True, False])
def test_serving_the_model_for_text_is_not_enough(stage: Stage, accept_text: bool) -> None:
    """A worker serves two models and declares chat for one; it is not handed a chat request for the other."""
    model, declared = stage.model(), stage.model()
    worker = stage.worker([model, declared], [declared], accept_text=accept_text)
    receives_nothing(
        worker.pop,
        of=stage.chat(model),
        control=lambda: stage.chat_worker(model, accept_text=accept_text).pop(),
        because="it declares chat for another model only",
    )


@check("POP-05")
def test_a_chat_only_worker_receives_no_text(stage: Stage) -> None:
    """A text request waits; a worker that takes chat only is not handed it."""
    model = stage.model()
    receives_nothing(
        lambda: stage.chat_worker(model, accept_text=False).pop(),
        of=stage.text(model),
        control=lambda: stage.text_worker(model).pop(),
        because="it does not accept text",
    )


@check("POP-05")
def test_a_worker_that_no_longer_accepts_text_receives_no_text(stage: Stage) -> None:
    """A worker of both families is handed text; then it no longer accepts text and gets none, until it does again."""
    model = stage.model()
    request = stage.text(model, n=2)
    worker = stage.chat_worker(model)
    worker.pop_job(request)
    receives_nothing(
        lambda: worker.pop(accept_text=False), of=request, control=worker.pop, because="it no longer accepts text"
    )


@check("POP-08")
@pytest.mark.parametrize("place", range(3))
def test_of_several_models_the_jobs_is_one_declared_for_chat(stage: Stage, place: int) -> None:
    """A chat request names three models, all served and one declared for chat; each job is of that one."""
    models = [stage.model() for _ in range(3)]
    stage.chat(*models, n=3)
    worker = stage.worker(models, [models[place]])
    for _ in range(3):
        job = worker.pop_job()
        assert job.model == models[place], f"the job is of {job.model!r}; chat is declared for {models[place]!r} only"


@check("POP-09")
def test_a_chat_request_without_a_model_is_refused_or_goes_where_chat_is_declared(stage: Stage) -> None:
    """A requester names no model; that is refused, or only a worker with chat gets it, for a model declared so."""
    model, declared = stage.model(), stage.model()
    messages = [{"role": "user", "content": f"For whom is {stage.unique()}?"}]
    answer = stage.requester().try_submit(CHAT, {"messages": messages, "models": [], "n": 3})
    assert not answer.crashed, f"a chat request that names no model crashes the target: {answer}"
    if not answer.accepted:
        refused(answer, control=lambda: _kept(stage, {"messages": messages, "models": [model]}))
        return
    request = stage.keep(_request(stage, answer, messages))
    receives_nothing(
        lambda: _of(request, stage.text_worker(model)),
        of=request,
        control=lambda: _of(request, stage.chat_worker(model)),
        because="it declares no chat",
    )
    worker = stage.worker([model, declared], [declared])
    for _ in range(2):
        job = _of(request, worker)
        assert job is not None, f"worker {worker.name} declares chat and was not handed the request that names no model"
        assert job.model == declared, f"the job is of {job.model!r}; chat is declared for {declared!r} only"


def _request(stage: Stage, answer: Answer, messages: list[dict[str, Any]]) -> Request:
    return Request(answer.id("id"), CHAT, stage.requester(), (), {"messages": messages})


def _kept(stage: Stage, fields: dict[str, Any]) -> Answer:
    answer = stage.requester().try_submit(CHAT, fields)
    if answer.accepted:
        stage.keep(_request(stage, answer, fields["messages"]))
    return answer


def _of(request: Request, worker: Worker) -> Job | None:
    """The next job of this request. Any worker may get what others left that names no model: that is passed over."""
    words = request.messages[0]["content"]
    for _ in range(PATIENCE):
        job = worker.pop()
        if job is None or words in str(job.answer.body):
            return job
    raise CouldNotRun(f"more than {PATIENCE} other requests without a model wait")


@check("POP-14")
@each_way_of_not_declaring
def test_an_earlier_declaration_does_not_count(stage: Stage, undeclared: dict[str, Any]) -> None:
    """A worker that declared chat and was served pops again without declaring it; it is handed no chat."""
    model = stage.model()
    request = stage.chat(model, n=2)
    worker = stage.text_worker(model)
    worker.pop_job(request, chat_models=[model])
    receives_nothing(
        lambda: worker.pop(**undeclared),
        of=request,
        control=lambda: worker.pop(chat_models=[model]),
        because="this pop declares no chat",
    )


@check("POP-14")
def test_an_earlier_declaration_for_another_model_does_not_count(stage: Stage) -> None:
    """A worker that declared chat for two models declares one at its next pop; it gets no chat for the other."""
    model, other = stage.model(), stage.model()
    request = stage.chat(model, n=2)
    worker = stage.chat_worker(model, other)
    worker.pop_job(request)
    receives_nothing(
        lambda: worker.pop(chat_models=[other]),
        of=request,
        control=worker.pop,
        because="this pop declares chat for another model only",
    )


@check("POP-15")
def test_a_declaration_outside_the_served_models_gives_nothing(stage: Stage) -> None:
    """A worker declares chat for a model that it does not serve; it is not handed a chat request for it."""
    model, served = stage.model(), stage.model()
    worker = stage.worker([served], [served, model])
    receives_nothing(
        worker.receives,
        of=stage.chat(model),
        control=lambda: stage.chat_worker(model).pop(),
        because="it does not serve the model",
    )


def _malformed(model: str) -> SearchStrategy[Any]:
    """What is no list of model names, but has the model's name in it or could be taken for *all*."""
    junk = st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.floats(-2, 2), st.just([]), st.just([model]), st.just({})
    )  # fmt: skip
    return st.one_of(
        st.sampled_from(["", "*", "all", "true", model, f"[{model!r}]"]),
        st.booleans(),
        st.integers(-3, 3),
        st.dictionaries(st.sampled_from([model, "models", "0"]), junk | st.just(model), max_size=2),
        st.lists(junk, min_size=1, max_size=3),
        st.lists(junk, min_size=1, max_size=2).map(lambda entries: [model, *entries]),
        st.lists(junk, min_size=1, max_size=2).map(lambda entries: [*entries, model]),
    )


@check("POP-16")
def test_a_malformed_chat_declaration_is_refused_or_counts_as_none(stage: Stage) -> None:
    """Whatever stands in the place of the declared models, a worker is not handed chat by it; a right one is."""
    model = stage.model()
    worker = stage.text_worker(model)

    def judge(malformed: Any) -> None:
        receives_nothing(
            lambda: _without_a_crash(worker, chat_models=malformed),
            of=stage.chat(model),
            control=lambda: worker.pop(chat_models=[model]),
            because=f"its declaration {malformed!r} is malformed",
        )

    stage.for_all(_malformed(model), judge, count=15)


@check("POP-16")
def test_a_malformed_refusal_of_text_is_refused_or_counts_as_none(stage: Stage) -> None:
    """Whatever stands in the place of *accepts text*, the pop is refused, or the worker is handed text as ever."""
    model = stage.model()
    worker = stage.text_worker(model)
    malformed: SearchStrategy[Any] = st.one_of(
        st.sampled_from(["false", "no", "0", "", "null"]), st.integers(-1, 2), st.just(0.0), st.just([]), st.just({})
    )

    def judge(accept_text: Any) -> None:
        request = stage.text(model)
        answer = worker.try_pop(accept_text=accept_text)
        assert not answer.crashed, f"accept_text {accept_text!r} crashes the target: {answer}"
        if answer.refused:
            refused(answer, control=lambda: worker.try_pop(accept_text=True))
            return
        assert worker.job_in(answer) is not None, f"accept_text {accept_text!r} counts as not accepting text"
        request.cancel()

    stage.for_all(malformed, judge, count=8)


def _without_a_crash(worker: Worker, **declared: Any) -> Job | None:
    answer = worker.try_pop(**declared)
    assert not answer.crashed, f"the declaration {declared!r} crashes the target: {answer}"
    return None if answer.refused else worker.job_in(answer)


@check("POP-18")
@pytest.mark.parametrize("family", [CHAT, TEXT])
@each_way_of_not_declaring
def test_a_worker_that_declares_neither_receives_nothing(
    stage: Stage, family: Family, undeclared: dict[str, Any]
) -> None:
    """A worker neither declares chat nor accepts text; it is handed nothing of either family."""
    model = stage.model()
    right: Callable[..., Worker] = stage.chat_worker if family is CHAT else stage.text_worker
    receives_nothing(
        lambda: stage.text_worker(model, accept_text=False).receives(**undeclared),
        of=stage.submit(family, model),
        control=lambda: right(model).pop(),
        because="it declares neither family",
    )


@check("POP-23")
def test_a_worker_that_begins_to_declare_chat_is_served_chat(stage: Stage) -> None:
    """A worker that took text only declares chat at its next pop; it is handed the chat request that waits."""
    model = stage.model()
    worker = stage.text_worker(model)
    worker.reply(worker.pop_job(stage.text(model)))
    request = stage.chat(model)
    refresh = stage.profile.timings.worker_refresh
    job = stage.until(lambda: worker.pop(chat_models=[model]), within=refresh)
    assert job is not None, f"worker {worker.name} declares chat now and is not handed chat request {request.id}"
