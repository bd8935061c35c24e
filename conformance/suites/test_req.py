"""REQ: submitting a chat request. REQ-01 to REQ-03, REQ-13, REQ-17: what is submitted reaches the worker."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.absence import receives_nothing
from conformance.actors import Family, Job, Request
from conformance.checks import check
from conformance.stage import Stage
from conformance.statuses import Generation
from conformance.suites.req_scenes import (
    IMAGE,
    Message,
    assert_arrives,
    calls,
    conversations,
    keep,
    on_the_wire,
    one_of_everything,
    result,
    text_part,
    tool,
    user,
)
from fixtures.payloads import examples

CHAT = Family.CHAT


def _valid_bodies() -> dict[str, dict[str, Any]]:
    return {
        "with nothing but messages": {"messages": [user()]},
        "with null content beside tool calls": {"messages": [user(), calls(("a", "{}")), result("a", "Rain.")]},
        "with parts and an image": {"messages": [user([text_part("What is this?"), IMAGE])]},
        "with empty content": {"messages": [user(""), {"role": "assistant", "content": ""}, user("Hello?")]},
        "with everything": {
            "messages": one_of_everything(), "tools": [tool()], "tool_choice": "auto",
            "response_format": {"type": "json_object"}, "n": 2, "max_length": 64, "max_context_length": 1024,
            "trusted_workers": False, "slow_workers": True, "nsfw": False,
        },
    }  # fmt: skip


@check("REQ-01")
def test_a_valid_chat_submit_is_queued(stage: Stage) -> None:
    """Plain or with everything in it, a valid submit gets an id and says its kudos, and waits to be handed out."""
    model, ids = stage.model(), set()
    worker = stage.chat_worker(model)
    for what, fields in _valid_bodies().items():
        sent = {"models": [model], **fields}
        answer = stage.requester().try_submit(CHAT, sent)
        assert answer.accepted, f"a valid chat submit {what} was not accepted: {answer}"
        id, kudos = answer.read("id"), answer.read("kudos")
        assert isinstance(id, str), f"a chat submit {what} was accepted with the id {id!r}"
        assert id not in ids, f"a chat submit {what} was given the id of an earlier one"
        is_number = isinstance(kudos, int | float) and not isinstance(kudos, bool)
        assert is_number, f"a chat submit {what} was accepted with kudos {kudos!r}"
        ids.add(id)
        waiting = keep(stage, answer, model, sent).status().waiting
        assert waiting == fields.get("n", 1), f"of a chat submit {what} {waiting} generations wait"
    assert worker.pop() is not None, "accepted chat requests wait, and their worker is handed nothing"


@check("REQ-02")
def test_one_of_everything_arrives_as_submitted(stage: Stage) -> None:
    """A conversation with each role, kind of content and delicate character reaches the worker unchanged."""
    model = stage.model()
    worker, messages = stage.chat_worker(model), [*one_of_everything(), user(_many_characters(stage))]
    job = worker.pop_job(stage.chat(model, messages=messages))
    for place, sent in enumerate(messages):
        arrived = job.messages[place] if isinstance(job.messages, list) and place < len(job.messages) else None
        assert_arrives(f"message {place + 1} of {len(messages)}", sent, arrived)
    assert_arrives("messages", messages, job.messages)


def _many_characters(stage: Stage) -> str:
    """Every scalar value below U+0800 but NUL, and a draw of all others."""
    others = [*range(0x800, 0xD800), *range(0xE000, 0x110000)]
    return "".join(map(chr, [*range(1, 0x800), *stage.random.sample(others, 2000)]))


@check("REQ-02")
def test_any_conversation_arrives_as_submitted(stage: Stage) -> None:
    """Whatever people, assistants and tools say, the worker is handed it message by message."""
    model = stage.model()
    worker = stage.chat_worker(model)

    def judge(messages: list[Message]) -> None:
        assert_arrives("messages", messages, worker.pop_job(stage.chat(model, messages=messages)).messages)

    stage.for_all(conversations(), judge, count=8)


_DUPLICATES = rb"""[{"role": "system", "content": "one", "role": "user", "content": "two"},
    {"role": "assistant", "content": null, "tool_calls":
        [{"id": "a", "type": "function", "function": {"name": "n", "arguments": "1", "arguments": "2"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "done"}]"""
_ESCAPES = r"""[{"role": "us\u0065r", "content": "\u00e9\ud83d\ude00\/\n\u0001 \\u0041"},
    {"content": "é😀/ \\u0041", "role": "user"}]"""
_NUMBERS = b"[0, -0.0, 1.0, 1e2, 0.1, 1e-7, 5e-324, 1.7976931348623157e308, 12345678901234567890, -9007199254740993]"


@check("REQ-02")
def test_what_is_written_otherwise_arrives_as_the_same_json(stage: Stage) -> None:
    """Duplicate keys, escapes and numbers in every spelling reach the worker as what they mean."""
    model = stage.model()
    worker, requester = stage.chat_worker(model), stage.requester()

    def arrived(messages: bytes) -> Any:
        """What the worker is handed of messages that are written so; None where they are refused."""
        answer = requester.try_submit(CHAT, {}, raw=on_the_wire(stage, {"models": [model]}, messages=messages))
        if answer.refused:
            return None
        keep(stage, answer, model, {})
        return worker.pop_job().messages

    assert_arrives("messages with escapes", json.loads(_ESCAPES), arrived(_ESCAPES.encode()))
    doubled = arrived(_DUPLICATES)
    if doubled is not None:
        assert_arrives("messages with duplicate keys", json.loads(_DUPLICATES), doubled)
    # No known field of a message holds numbers, and what becomes of an unknown one is no matter of this requirement.
    numbered = arrived(b'[{"role": "user", "content": "Count.", "numbers": %s}]' % _NUMBERS)
    shown = numbered[0] if isinstance(numbered, list) and numbered else {}
    if "numbers" in shown:
        assert_arrives("numbers", json.loads(_NUMBERS), shown["numbers"])
    stage.note("duplicate_keys", "refused" if doubled is None else "the last counts")
    stage.note("numbers_in_messages", "judged" if "numbers" in shown else "refused or dropped")


def _json_values() -> SearchStrategy[Any]:
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), examples.texts(),
        st.floats(allow_nan=False, allow_infinity=False),
    )  # fmt: skip
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(examples.texts(), inner, max_size=3),
        max_leaves=8,
    )  # fmt: skip


def _extras() -> SearchStrategy[dict[str, Any]]:
    """Tools with any schema, a choice among them, a format."""
    names = st.sampled_from(["look_up", "roll-dice", "T_1"])
    schemas = st.dictionaries(examples.texts(min_size=1, max_size=8), _json_values(), max_size=3)
    tools = st.lists(st.builds(tool, names, examples.texts(), schemas), min_size=1, max_size=3)
    choices = st.sampled_from(["none", "auto", "required", {"type": "function", "function": {"name": "look_up"}}])
    schema = st.builds(lambda more: {"type": "object", "properties": {"a": {"enum": [1, None]}}, **more}, schemas)
    formats = st.one_of(
        st.sampled_from([{"type": "text"}, {"type": "json_object"}]),
        st.builds(lambda s: {"type": "json_schema", "json_schema": {"name": "n", "schema": s, "strict": True}}, schema),
    )
    return st.fixed_dictionaries(
        {"tools": tools.map(lambda some: [tool(), *some])},
        optional={"tool_choice": choices, "response_format": formats},
    )


@check("REQ-03")
def test_tools_choice_and_format_arrive_as_submitted(stage: Stage) -> None:
    """Whatever tools a requester defines, whatever it chooses and in whatever format, the worker is told it."""
    model = stage.model()
    worker = stage.chat_worker(model)

    def judge(extras: dict[str, Any]) -> None:
        job = worker.pop_job(stage.chat(model, **extras))
        for name, sent in extras.items():
            assert_arrives(name.replace("_", " "), sent, job.read(name))

    everything = {
        "tools": [tool(parameters={"minimum": 1e2, "maxItems": 3, "const": {"deep": [[0.5, -1]]}}), tool("other")],
        "tool_choice": {"type": "function", "function": {"name": "other"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"b": 1, "a": 2}}},
    }
    judge(everything)
    stage.for_all(_extras(), judge, count=6)
    bare = worker.pop_job(stage.chat(model))
    assert not bare.read("tools"), f"no tools were submitted; the worker was handed {bare.read('tools')!r}"
    assert not bare.read("response_format"), f"no format was submitted; the job has {bare.read('response_format')!r}"


@check("REQ-17")
def test_the_stream_hint_arrives_as_submitted(stage: Stage) -> None:
    """One requester wants a stream, one says that it wants none, one says nothing: the worker is told so."""
    model = stage.model()
    worker = stage.chat_worker(model)
    told = [
        worker.pop_job(stage.chat(model, **hint)).read("stream") for hint in ({"stream": True}, {"stream": False}, {})
    ]
    assert told[0] is True, f"a stream was wanted; the worker was told {told[0]!r}"
    assert told[1] in (False, None), f"no stream was wanted; the worker was told {told[1]!r}"
    assert told[2] in (False, None), f"nothing was said of a stream; the worker was told {told[2]!r}"


@check("REQ-13", both=True)
def test_n_generations_are_handed_out_n_times(stage: Stage, family: Family) -> None:
    """Three generations of one request go to three workers with the same words, and then there is none left."""
    model, n = stage.model(), 3
    *workers, last = [stage.serving(family, model) for _ in range(n + 1)]
    request = stage.submit(family, model, n=n)
    jobs = [job for job in (worker.pop() for worker in workers) if job is not None]
    ids = {job.id for job in jobs}
    assert len(ids) == n, f"of {n} generations {len(ids)} were handed out to {n} workers"
    for job in jobs:
        content = (request.prompt, job.prompt) if family is Family.TEXT else (request.messages, job.messages)
        assert_arrives(f"content of generation {job.id}", *content)
    receives_nothing(
        last.pop,
        of=request,
        control=lambda: last.pop_job(stage.submit(family, model)),
        because=f"its {n} generations were handed out",
    )
    _each_reply_is_its_own(request, jobs)


def _each_reply_is_its_own(request: Request, jobs: list[Job]) -> None:
    """Replies arrive in another order than the jobs; each generation shows the words of its own worker."""
    said = {job.worker.name: f"Said by {job.worker.name}." for job in jobs}
    for job in reversed(jobs):
        job.worker.reply(job, said[job.worker.name])
    shown = request.status().generations
    words = sorted(_words(generation) for generation in shown)
    assert words == sorted(said.values()), f"the workers said {sorted(said.values())}, the status shows {words}"
    for generation in shown:
        name = generation.read("worker_name")
        assert name not in said or said[name] == _words(generation), (
            f"{name} is shown to have said {_words(generation)}"
        )


def _words(generation: Generation) -> str:
    message = generation.message
    return str(message.get("content")) if isinstance(message, dict) else str(generation.text)
