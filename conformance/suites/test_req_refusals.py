"""REQ: what is refused, and leaves nothing behind. REQ-05 to REQ-07, REQ-11 and REQ-16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from conformance.absence import changes_nothing, refused
from conformance.actors import Family, Job, Request
from conformance.checks import check
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.req_scenes import (
    Message,
    assert_arrives,
    calls,
    handed,
    keep,
    nothing_was_queued,
    result,
    text_part,
    tool,
    user,
)

CHAT, TEXT = Family.CHAT, Family.TEXT


def _proper(stage: Stage, model: str) -> Answer:
    """The answer to a submit that is as it should be; it does not go on waiting."""
    answer = stage.requester().try_submit(CHAT, {"models": [model], "messages": [user()]})
    if answer.accepted:
        keep(stage, answer, model, {}).cancel()
    return answer


# ---------------------------------------------------------------------------------------- malformed messages

ABSENT = object()

_MALFORMED: tuple[Any, ...] = (
    ABSENT, None, [], {"0": user()}, "Hello.", 1,
    [None], ["Hello."], [{}], [{"content": "Who says so?"}], [{"role": "user"}], [{"role": 5, "content": "Hello."}],
    [user(5)], [user({"text": "Hello."})], [user(["Hello."])], [user([{"text": "Hello."}])],
    [user([{"type": "text", "text": 5}])], [{"role": "assistant", "content": None, "tool_calls": "look_up"}],
    [user(), "and a bad one"], [user(), {"role": "assistant"}, user()],
)  # fmt: skip


@check("REQ-05")
def test_malformed_messages_are_refused_with_a_sentence(stage: Stage) -> None:
    """A requester sends no messages, no array, or messages that say nothing: each is refused, told why, and free."""
    model, requester = stage.model(), stage.requester()
    worker, proper = stage.chat_worker(model), _proper(stage, model)

    def send_them_all() -> None:
        for messages in _MALFORMED:
            fields = {"models": [model], **({} if messages is ABSENT else {"messages": messages})}
            _refused_with_a_sentence(stage, fields, proper)

    def cost() -> float:
        return stage.money.balance(requester.account)

    changes_nothing(send_them_all, seen=cost, control=lambda: worker.reply(nothing_was_queued(stage, worker, model)))


def _refused_with_a_sentence(stage: Stage, fields: dict[str, Any], proper: Answer) -> None:
    told = f"the messages {fields['messages']!r}" if "messages" in fields else "a submit without messages"
    answer = stage.requester().try_submit(CHAT, fields)
    if answer.accepted:
        keep(stage, answer, fields["models"][0], fields)
    assert not answer.accepted, f"{told}: accepted, {answer}"
    refused(answer, control=lambda: proper)
    says = isinstance(answer.message, str) and answer.message.strip()
    assert says, f"{told}: refused without a sentence, {answer.exchange.response_body!r}"


@check("REQ-05")
def test_an_assistants_tool_calls_need_no_content(stage: Stage) -> None:
    """A conversation holds an assistant's message with tool calls and no content: it is valid and arrives so."""
    model = stage.model()
    calling = calls(("call_1", "{}"))
    del calling["content"]
    sent = {"models": [model], "messages": [user(), calling, result("call_1", "Rain."), user("Thanks.")]}
    answer = stage.requester().try_submit(CHAT, sent)
    assert answer.accepted, f"tool calls without content were not accepted: {answer}"
    job = handed(stage.chat_worker(model), keep(stage, answer, model, sent))
    assert_arrives("messages", sent["messages"], job.messages)


# ---------------------------------------------------------------------------------------- keys


def _turned_away(stage: Stage, call: Callable[[str | None], Answer], what: str, *, told: bool) -> list[Answer]:
    """A call with a key that nobody has, and without a key, is refused, `told` as the profile says."""
    stranger, keyless = call(stage.unique(22)), call(None)
    if stranger.limited or keyless.limited:
        raise CouldNotRun(f"refused for its rate only: {what}")
    right = stranger.unknown_key if told else stranger.refused
    assert right, f"{what} with a key that nobody has: {stranger}"
    assert keyless.missing_key, f"{what} without a key: {keyless}"
    return [stranger, keyless]


@check("REQ-06", both=True)
def test_a_submit_without_a_known_key_queues_nothing(stage: Stage, family: Family) -> None:
    """Strangers submit a right body; they are refused for their key, and no worker is handed it."""
    model = stage.model()
    content = {"messages": [user()]} if family is CHAT else {"prompt": "What is the weather?"}
    submit = stage.requester().try_submit
    _turned_away(stage, lambda key: submit(family, {"models": [model], **content}, key=key), "a submit", told=True)
    nothing_was_queued(stage, stage.serving(family, model), model, family)


@check("REQ-06", both=True)
def test_a_pop_without_a_known_key_is_handed_nothing(stage: Stage, family: Family) -> None:
    """A request waits, and strangers pop for its model; they are refused for their key, and it waits on."""
    model = stage.model()
    worker, request = stage.serving(family, model), stage.submit(family, model)
    changes_nothing(
        lambda: _turned_away(stage, lambda key: worker.try_pop(key=key), "a pop", told=True),
        seen=lambda: request.status().counts,
        control=lambda: worker.pop_job(request),
    )


@check("REQ-06", both=True)
def test_a_reply_without_a_known_key_changes_nothing(stage: Stage, family: Family) -> None:
    """A job is in flight, and strangers answer it; they are refused, and its worker's own answer still counts."""
    model = stage.model()
    request = stage.submit(family, model)
    job = stage.serving(family, model).pop_job(request)
    words: dict[str, Any] = {"generation": "A stranger's reply."}
    if family is CHAT:
        words |= {"message": {"role": "assistant", "content": "A stranger's reply."}, "finish_reason": "stop"}
    changes_nothing(
        lambda: _turned_away(stage, lambda key: job.worker.try_reply(job, key=key, **words), "a reply", told=False),
        seen=lambda: request.status().counts,
        control=lambda: job.worker.reply(job),
    )


@check("REQ-06")
def test_progress_without_a_known_key_changes_nothing(stage: Stage) -> None:
    """A chat job is in flight, and strangers post its output; they are refused, and what it posted itself stands."""
    stage.needs("streaming")
    model = stage.model()
    request = stage.chat(model, stream=True)
    job = stage.chat_worker(model).pop_job(request)
    job.worker.progress(job, "So far")
    post = job.worker.try_progress
    changes_nothing(
        lambda: _turned_away(stage, lambda key: post(job, "So far, says a stranger.", key=key), "progress", told=False),
        seen=lambda: (request.status().counts, request.status().partials),
        control=lambda: job.worker.reply(job),
    )


# ---------------------------------------------------------------------------------------- dry run


@check("REQ-07", both=True)
def test_a_dry_run_prices_and_queues_nothing(stage: Stage, family: Family) -> None:
    """A requester asks what a request would cost: it is told, it gets no id, and no worker is handed anything."""
    model, requester = stage.model(), stage.requester()
    content = {"messages": [user()]} if family is CHAT else {"prompt": "What is the weather?"}
    answer = requester.try_price(family, {"models": [model], "max_length": 80, **content})
    assert answer.accepted, f"a dry run of a {family} request was not carried out: {answer}"
    price = answer.read("kudos")
    priced = isinstance(price, int | float) and not isinstance(price, bool) and price > 0
    assert priced, f"a dry run of a {family} request says that it costs {price!r}"
    assert answer.read("id") is None, f"a dry run of a {family} request has the id {answer.read('id')!r}"
    nothing_was_queued(stage, stage.serving(family, model), model, family)


# ---------------------------------------------------------------------------------------- what nobody knows


def _strange_messages() -> dict[str, list[Message]]:
    call = calls(("a", "{}"))["tool_calls"][0]
    return {
        "an unknown role": [{"role": "narrator", "content": "It rains."}, user()],
        "an unknown field of a message": [{**user(), "mood": {"wet": [1, None, "x"]}}],
        "an unknown field of a part": [user([{**text_part("Hello."), "mood": "wet"}])],
        "an unknown kind of part": [user([text_part("Smell this:"), {"type": "scent", "scent": {"name": "rain"}}])],
        "an unknown field of a tool call": [
            user(),
            {"role": "assistant", "content": None, "tool_calls": [{**call, "mood": "wet"}]},
            result("a", "Rain."),
        ],
    }


@check("REQ-11")
def test_what_is_unknown_in_messages_is_kept_or_refused(stage: Stage) -> None:
    """Messages hold a role, a field, a kind of part that nobody knows: the worker is handed it, or it is refused."""
    model, requester = stage.model(), stage.requester()
    worker, proper, fates = stage.chat_worker(model), _proper(stage, model), {}
    for what, messages in _strange_messages().items():
        answer = requester.try_submit(CHAT, {"models": [model], "messages": messages})
        fates[what] = "kept" if answer.accepted else "refused"
        if answer.accepted:
            job = handed(worker, keep(stage, answer, model, {}))
            assert_arrives(f"messages with {what}", messages, job.messages)
        else:
            refused(answer, control=lambda: proper)
    stage.note("unknown_in_messages", fates)


def _sampled(name: str, value: Any) -> Callable[[Job, Request], bool]:
    return lambda job, _: isinstance(job.payload, dict) and same_json(job.payload.get(name), value)


# OpenAI's top-level fields: a value, and how the job shows that it is honoured.
_OPENAI: dict[str, tuple[Any, Callable[[Job, Request], bool]]] = {
    "max_tokens": (33, _sampled("max_length", 33)),
    "max_completion_tokens": (33, _sampled("max_length", 33)),
    "temperature": (0.25, _sampled("temperature", 0.25)),
    "top_p": (0.25, _sampled("top_p", 0.25)),
    "stop": (["END"], _sampled("stop_sequence", ["END"])),
    "n": (2, lambda _, request: request.status().waiting == 1),
}


@check("REQ-11")
def test_a_top_level_openai_field_is_refused_or_honoured(stage: Stage) -> None:
    """A requester puts OpenAI's names beside the messages: it is refused, or they do what they do there."""
    model, requester = stage.model(), stage.requester()
    worker, proper, fates = stage.chat_worker(model), _proper(stage, model), {}
    for name, (value, honoured) in _OPENAI.items():
        answer = requester.try_submit(CHAT, {"models": [model], "messages": [user()]}, extra={name: value})
        fates[name] = "honoured" if answer.accepted else "refused"
        if answer.accepted:
            request = keep(stage, answer, model, {})
            job = handed(worker, request)
            assert honoured(job, request), f"{name} {value!r} at top level was accepted and ignored: {job.payload!r}"
            request.cancel()
        else:
            refused(answer, control=lambda: proper)
    fates["model"] = _fate_of_a_top_level_model(stage)
    stage.note("openai_fields", fates)


def _fate_of_a_top_level_model(stage: Stage) -> str:
    """A request names one of our models in `models`, and OpenAI's `model` names another: the latter is to have it."""
    model, other = stage.model(), stage.model()
    answer = stage.requester().try_submit(CHAT, {"models": [model], "messages": [user()]}, extra={"model": other})
    if not answer.accepted:
        refused(answer, control=lambda: _proper(stage, model))
        return "refused"
    keep(stage, answer, model, {})
    assert stage.chat_worker(other).pop() is not None, f"model {other!r} at top level was accepted and ignored"
    return "honoured"


# ---------------------------------------------------------------------------------------- what is no text

_NO_TEXT = {
    "NUL": "before\0after",
    "half a pair": "before\ud83dafter",
    "the other half": "\ude00",
    "a turned pair": "\ude00\ud83d",
}


def _places(words: str) -> dict[str, dict[str, Any]]:
    """Submits that hold these words in one place each."""
    talk = [user(), calls(("a", words)), result("a", "Rain.")]
    return {
        "content": {"messages": [user(words)]},
        "a part": {"messages": [user([text_part("Hello."), text_part(words)])]},
        "an argument string": {"messages": talk},
        "a tool's result": {"messages": [user(), calls(("a", "{}")), result("a", words)]},
        "a tool's description": {"messages": [user()], "tools": [tool(description=words)]},
        "a key of a tool's parameters": {"messages": [user()], "tools": [tool(parameters={words: True})]},
        "the response format": {
            "messages": [user()],
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"title": words}}},
        },
    }


def _without_text() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """NUL and half a pair in every place, the other ways to break a pair in the first."""
    for kind, words in _NO_TEXT.items():
        places = list(_places(words).items())
        yield from ((kind, *place) for place in (places if kind in ("NUL", "half a pair") else places[:1]))


@check("REQ-16")
def test_what_is_no_text_is_refused_or_arrives_unchanged(stage: Stage) -> None:
    """NUL and halves of surrogate pairs stand in messages and extras: refused and not queued, or handed out as sent."""
    model, requester = stage.model(), stage.requester()
    worker, proper = stage.chat_worker(model), _proper(stage, model)
    fates: dict[str, set[str]] = {kind: set() for kind in _NO_TEXT}
    for kind, place, fields in _without_text():
        what = f"{kind} in {place}"
        answer = requester.try_submit(CHAT, {"models": [model], **fields})
        assert not answer.crashed, f"{what} crashes the target: {answer}"
        fates[kind].add("kept" if answer.accepted else "refused")
        if answer.accepted:
            job = handed(worker, keep(stage, answer, model, fields))
            for name, sent in fields.items():
                assert_arrives(f"{name} with {what}", sent, job.read(name))
        else:
            refused(answer, control=lambda: proper)
    nothing_was_queued(stage, worker, model)
    stage.note("no_text", {kind: sorted(seen) for kind, seen in fates.items()})
