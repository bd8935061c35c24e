"""REQ: what is kept of a submit. REQ-08, REQ-09: in the row. REQ-15: in the record."""

from __future__ import annotations

import json
from typing import Any

from conformance.absence import refused
from conformance.actors import Request
from conformance.checks import check
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.req_scenes import (
    IMAGE,
    Message,
    calls,
    conversations,
    one_of_everything,
    result,
    text_part,
    tool,
    user,
)

# ---------------------------------------------------------------------------------------- the row


def _row(stage: Stage, request: Request) -> dict[str, Any]:
    """The request's row, as the profile's statement reads it."""
    rows = stage.database.rows(stage.profile.database.request_row, id=request.id)
    if len(rows) != 1:
        raise CouldNotRun(f"request {request.id} has {len(rows)} rows")
    return rows[0]


def _column(row: dict[str, Any], name: str) -> Any:
    if name not in row:
        raise CouldNotRun(f"the request's row has no column {name}")
    return row[name]


def _document(row: dict[str, Any], name: str) -> Any:
    """A JSON column's value, be it kept as JSON or as the text of it."""
    value = _column(row, name)
    return json.loads(value) if isinstance(value, str) else value


def _spoken(messages: list[Message]) -> list[str]:
    """Each string content and each text part, in order."""
    contents = [message.get("content") for message in messages]
    parts = [part for content in contents for part in ([content] if isinstance(content, str) else content or [])]
    texts = [part if isinstance(part, str) else part.get("text") for part in parts]
    return [text for text in texts if text]


def _assert_rendered(messages: list[Message], prompt: Any) -> None:
    """The texts of the messages stand in the prompt, one behind the other."""
    assert isinstance(prompt, str), f"the prompt stored for {messages!r} is {prompt!r}"
    place = 0
    for text in _spoken(messages):
        found = prompt.find(text, place)
        assert found >= 0, f"{text!r} does not stand in its place in the stored prompt {prompt!r} of {messages!r}"
        place = found + len(text)


@check("REQ-08")
def test_the_stored_prompt_renders_the_conversation(stage: Stage) -> None:
    """Whatever is said in a conversation, in strings or parts, stands in the stored prompt in the same order."""
    model, column = stage.model(), stage.profile.database.prompt_column

    def judge(messages: list[Message]) -> None:
        request = stage.chat(model, messages=messages)
        _assert_rendered(messages, _column(_row(stage, request), column))
        request.cancel()

    judge(one_of_everything())
    stage.for_all(conversations(), judge, count=3)


@check("REQ-08")
def test_what_else_the_stored_prompt_holds_is_recorded(stage: Stage) -> None:
    """Roles, names, tools and images stand in a conversation; whether they stand in its prompt is recorded."""
    words = {what: stage.unique() for what in ("name", "argument", "tool_definition", "tool_name", "first", "last")}
    asked = calls(("call_1", words["argument"]))
    asked["tool_calls"][0]["function"]["name"] = words["tool_name"]
    messages = [
        {**user(words["first"]), "name": words["name"]},
        asked,
        result("call_1", "Rain."),
        user([IMAGE, text_part(words["last"])]),
    ]
    request = stage.chat(stage.model(), messages=messages, tools=[tool(description=words["tool_definition"])])
    prompt = _column(_row(stage, request), stage.profile.database.prompt_column)
    _assert_rendered(messages, prompt)
    roles = all(role in prompt for role in ("user", "assistant", "tool"))
    held = {what: word in prompt for what, word in words.items() if what not in ("first", "last")}
    stage.note("prompt_holds", {"roles": roles, **held, "image": IMAGE["image_url"]["url"] in prompt})


@check("REQ-09")
def test_a_chat_row_holds_the_conversation_and_its_extras(stage: Stage) -> None:
    """A chat request is stored: marked as chat, its messages as JSON, what else chat sends in the extras."""
    columns, messages = stage.profile.database, one_of_everything()
    extras: dict[str, Any] = {
        "tools": [tool(parameters={"minimum": 0.5, "maximum": 1e2})],
        "tool_choice": "auto",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"b": 1, "a": None}}},
    }
    row = _row(stage, stage.chat(stage.model(), messages=messages, **extras))
    marked, stored = _column(row, columns.chat_column), _document(row, columns.messages_column)
    assert marked is True, f"a chat row has {columns.chat_column} {marked!r}"
    assert same_json(stored, messages), f"of the messages {messages!r} the row holds {stored!r}"
    kept = _document(row, columns.extras_column)
    for name, value in extras.items():
        held = kept.get(name) if isinstance(kept, dict) else None
        assert same_json(held, value), f"of the {name} {value!r} the row holds {held!r} in {columns.extras_column}"


@check("REQ-09")
def test_any_chat_row_holds_its_messages(stage: Stage) -> None:
    """Whatever the conversation, the row's messages are equal to it as JSON."""
    model, column = stage.model(), stage.profile.database.messages_column

    def judge(messages: list[Message]) -> None:
        request = stage.chat(model, messages=messages)
        stored = _document(_row(stage, request), column)
        request.cancel()
        assert same_json(stored, messages), f"of the messages {messages!r} the row holds {stored!r}"

    stage.for_all(conversations(), judge, count=3)


@check("REQ-09")
def test_a_text_row_holds_nothing_of_chat(stage: Stage) -> None:
    """A text request is stored: not marked as chat, and both chat columns are null."""
    columns = stage.profile.database
    request = stage.text(stage.model())
    row = _row(stage, request)
    marked = _column(row, columns.chat_column)
    assert marked is False, f"a text row has {columns.chat_column} {marked!r}"
    for column in (columns.messages_column, columns.extras_column):
        assert _column(row, column) is None, f"a text row has {column} {row[column]!r}"
    if _column(row, columns.prompt_column) != request.prompt:
        raise CouldNotRun(f"the row that was read has the prompt {row[columns.prompt_column]!r}")


# ---------------------------------------------------------------------------------------- the record


def _submitted(stage: Stage, word: str) -> Request:
    """A chat request with something in every field that a record shows; the word stands in several."""
    return stage.chat(
        *sorted([stage.model(), stage.model()]),
        messages=[*one_of_everything(), user(f"Tell me about {word}.")],
        tools=[tool(description=f"Knows of {word}.")],
        tool_choice="auto",
        response_format={"type": "json_object"},
        params={"temperature": 0.25, "stop_sequence": [word]},
        n=2,
        max_length=96,
    )


def _assert_shown(answer: Answer, request: Request) -> None:
    """The record shows what was submitted, the defaults of what was not aside."""
    assert answer.accepted, f"its submitter cannot read what was submitted as {request.id}: {answer}"
    for name in ("messages", "tools", "tool_choice", "response_format"):
        shown = answer.read(name)
        assert same_json(shown, request.sent[name]), f"{name} {request.sent[name]!r} is recorded as {shown!r}"
    models = answer.read("models")
    same = isinstance(models, list) and sorted(map(str, models)) == sorted(request.models)
    assert same, f"the models {request.models} are recorded as {models!r}"
    shown = answer.read("params")
    for name, sent in request.sent["params"].items():
        recorded = shown.get(name) if isinstance(shown, dict) else None
        assert same_json(recorded, sent), f"{name} {sent!r} is recorded as {recorded!r}"


@check("REQ-15")
def test_a_record_shows_its_submitter_what_was_submitted(stage: Stage) -> None:
    """A requester reads what it submitted, while the request waits and after a worker has answered it."""
    request = _submitted(stage, stage.unique())
    _assert_shown(request.requester.try_record(request), request)
    worker = stage.chat_worker(*request.models)
    worker.reply(worker.pop_job(request))
    _assert_shown(request.requester.try_record(request), request)


@check("REQ-15")
def test_a_record_shows_others_nothing(stage: Stage) -> None:
    """Another requester, a stranger and somebody without a key ask for the record: refused, without a word of it."""
    word = stage.unique(16)
    request = _submitted(stage, word)
    record = request.requester.try_record
    askers = (("another's key", stage.requester(1).account.key), ("an unknown key", stage.unique(22)), ("no key", None))
    for who, key in askers:
        answer = record(request, key=key)
        refused(answer, control=lambda: record(request))
        told = f"{answer.exchange.response_body} {dict(answer.exchange.response_headers)}"
        for secret in (word, request.requester.account.alias, *request.models):
            assert secret not in told, f"who asks with {who} is told {secret!r}: {told}"
