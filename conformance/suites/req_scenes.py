"""What the REQ suites tell alike: conversations of every kind, bodies as they are on the wire, and refusals' traces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import chain
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.absence import receives_nothing
from conformance.actors import Family, Job, Request, Worker
from conformance.client import Answer
from conformance.equality import same_json
from conformance.stage import Stage
from fixtures.payloads import examples

Message = dict[str, Any]

PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
IMAGE: Message = {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}}


def user(content: Any = "What is the weather?") -> Message:
    """What a person says, in a string or in parts."""
    return {"role": "user", "content": content}


def text_part(text: str) -> Message:
    """A part of a content that is text."""
    return {"type": "text", "text": text}


def calls(*calls: tuple[str, str], content: Any = None) -> Message:
    """An assistant's message that calls tools, each an id and its argument string."""
    named = [{"id": id, "type": "function", "function": {"name": "look_up", "arguments": a}} for id, a in calls]
    return {"role": "assistant", "content": content, "tool_calls": named}


def result(id: str, content: Any) -> Message:
    """What a tool gave back to the call of that id."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def tool(
    name: str = "look_up", description: str = "Looks something up.", parameters: Mapping[str, Any] | None = None
) -> Message:
    """The definition of a tool; `parameters` add to its schema."""
    schema = {"type": "object", "properties": {"place": {"type": "string"}}, **(parameters or {})}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def conversations() -> SearchStrategy[list[Message]]:
    """Up to eight messages in an order that makes sense: a tool's results follow the calls that they answer."""
    opening = st.builds(lambda role, text: [{"role": role, "content": text}], _OPENERS, examples.texts(min_size=1))
    turn = st.one_of(_spoken_by_a_user(), examples.spoken().map(_unnamed), _answered_calls())
    return st.builds(lambda first, turns: [*first, *chain(*turns)], opening, st.lists(turn, min_size=1, max_size=3))


_OPENERS = st.sampled_from(["system", "user"])


def _unnamed(message: Message) -> list[Message]:
    # OpenAI allows letters, digits, - and _ in a name; an odd one is no valid conversation.
    return [{key: value for key, value in message.items() if key != "name"}]


def _spoken_by_a_user() -> SearchStrategy[list[Message]]:
    part = st.one_of(examples.texts(min_size=1).map(text_part), st.just(IMAGE))
    content = st.one_of(examples.texts(), st.lists(part, min_size=1, max_size=4))
    return st.builds(
        lambda content, name: [{**user(content), **name}], content, st.sampled_from([{}, {"name": "Ann-1"}])
    )


def _answered_calls() -> SearchStrategy[list[Message]]:
    def answered(message: Message, contents: list[str]) -> list[Message]:
        ids = [call["id"] for call in message["tool_calls"]]
        return [message, *(result(id, content) for id, content in zip(ids, contents, strict=False))]

    return st.builds(answered, examples.calling(), st.lists(examples.texts(), min_size=4, max_size=4))


# What careless handling changes: white space, normalisation, other planes, control characters, markup, placeholders.
_DELICATE = (
    "e\u0301 \u00e9 \ufb01 \u212b \u2028 \ufeff \u202eright to left \U0001f469\u200d\U0001f680 \uffff \x01\x1f\x7f\x85"
)
_MARKUP = " and <b>&amp;</b>%00 %s {0} :id ''; --"
_ARGUMENTS = (
    "", "{}", ' {"b": 1, "a": 2.0} ', '{"a":1,"a":2}', "{'a': 1}", "no JSON at all", '{"n": 12345678901234567890}',
)  # fmt: skip


def one_of_everything() -> list[Message]:
    """A conversation with each role and each kind of content, delicate characters among them."""
    asked = [(f"call_{place}", argument) for place, argument in enumerate(_ARGUMENTS)]
    parts = [text_part("Look: "), IMAGE, text_part(""), text_part(_MARKUP)]
    return [
        {"role": "system", "content": " Be brief,\r\n\tand kind.\n "},
        user(_DELICATE),
        {"role": "assistant", "content": ""},
        {**user(parts), "name": "Ann-1"},
        calls(*asked),
        *(result(id, argument) for id, argument in asked),
        calls(("call_x", '{"a": "\\u00e9"}'), content="Once more."),
        result("call_x", [text_part("null"), text_part("0")]),
        user("null"),
    ]


# Telling


def keep(stage: Stage, answer: Answer, model: str, fields: Mapping[str, Any], family: Family = Family.CHAT) -> Request:
    """The request of an accepted submit of the first requester, cancelled when the check is over."""
    return stage.keep(Request(answer.id("id"), family, stage.requester(), (model,), fields))


def on_the_wire(stage: Stage, fields: Mapping[str, Any], *, operation: str = "submit", **raw: bytes) -> bytes:
    """The body of an operation in which the `raw` fields stand byte for byte."""
    marks = {name: stage.unique(16) for name in raw}
    body = json.dumps(stage.profile.build(operation, {**fields, **marks})).encode()
    for name, mark in marks.items():
        body = body.replace(json.dumps(mark).encode(), raw[name])
    return body


def handed(worker: Worker, request: Request) -> Job:
    """The job of a request, which must be the next that its worker is handed."""
    job = worker.pop()
    assert job is not None, f"the accepted {request.family} request {request.id} was not handed out"
    request.jobs += job.each()
    return job


# Judging


def nothing_was_queued(stage: Stage, worker: Worker, model: str, family: Family = Family.CHAT) -> Job:
    """Of what was refused for this model its worker is handed nothing; of what is accepted afterwards, this job."""
    return receives_nothing(
        worker.pop,
        of=Request("of a refused submit", family, stage.requester(), (model,), {}),
        control=lambda: worker.pop_job(stage.submit(family, model)),
        because="its submit was refused",
    )


def assert_arrives(what: str, sent: Any, arrived: Any) -> None:
    """What the worker has is what was submitted, as JSON."""
    assert same_json(arrived, sent), f"the {what} submitted: {sent!r}; the worker was handed {arrived!r}"
