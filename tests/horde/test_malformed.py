"""Whatever arrives is understood or refused with a sentence; nothing malformed is a 5xx or is queued."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

MESSAGES = [{"role": "user", "content": "hi"}]
RAW = {
    "empty": b"",
    "no JSON": b"hello",
    "truncated": b'{"messages": [{"role": "user"',
    "an array": b"[]",
    "a string": b'"x"',
    "NaN": b'{"messages": [{"role": "user", "content": "x", "x": NaN}]}',
    "an infinity": b'{"messages": [{"role": "user", "content": "x", "x": -Infinity}]}',
    "1e400": b'{"messages": [{"role": "user", "content": "x", "x": 1e400}]}',
    "a huge integer": b'{"messages": [{"role": "user", "content": "x", "x": ' + b"9" * 5000 + b"}]}",
    "invalid UTF-8": b'{"messages": [{"role": "user", "content": "\xff"}]}',
    "an encoded surrogate": b'{"messages": [{"role": "user", "content": "\xed\xa0\x80"}]}',
    "half a surrogate pair": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "NUL": b'{"messages": [{"role": "user", "content": "a\\u0000b"}]}',
    "NUL in a key": b'{"messages": [{"role": "user", "content": "x", "\\u0000": 1}]}',
    "NUL in a tool": b'{"messages": [{"role": "user", "content": "x"}], "tools": [{"a": "\\u0000"}]}',
    "deep nesting": b'{"messages": [{"role": "user", "content": "x", "x": ' + b"[" * 200 + b"]" * 200 + b"}]}",
    "abysmal nesting": b'{"messages": ' + b"[" * 100000 + b"]" * 100000 + b"}",
    "NUL in models": b'{"messages": [{"role": "user", "content": "x"}], "models": ["\\u0000"]}',
}


def post(horde: Horde, path: str, key: str, raw: bytes, kind: str = "application/json") -> Any:
    return horde.client.post(path, content=raw, headers={"apikey": key, "Content-Type": kind})


def as_doubles(value: Any) -> Any:
    """`value` as JSON compares it: every number is a double."""
    return json.loads(json.dumps(value), parse_int=float)


def assert_refused(answered: Any) -> None:
    assert 400 <= answered.status_code < 500, answered.text
    body = answered.json()
    assert body["message"]
    assert "rc" in body or body["errors"]


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
@pytest.mark.parametrize(
    "path", ["/generate/chat/async", "/generate/text/async", "/generate/text/pop", "/generate/text/submit",
             "/generate/text/progress", "/dev/test-user"]
)  # fmt: skip
def test_a_malformed_body_is_refused_everywhere(horde: Horde, requester: Account, path: str, raw: bytes) -> None:
    assert_refused(post(horde, path, requester.key, raw))
    assert horde.balance(requester) == 100000


@pytest.mark.parametrize(
    "messages",
    [None, [], {}, "hi", 1, [1], ["hi"], [{}], [{"content": "x"}], [{"role": 1, "content": "x"}], [{"role": "user"}],
     [{"role": "", "content": "x"}], [{"role": "user", "content": 1}], [{"role": "user", "content": {}}],
     [{"role": "user", "content": ["x"]}], [{"role": "user", "content": [{"type": "text"}]}],
     [{"role": "assistant", "tool_calls": "x"}]],
)  # fmt: skip
def test_malformed_messages_are_refused_with_a_sentence(horde: Horde, requester: Account, messages: Any) -> None:
    answered = horde.call("POST", "/generate/chat/async", requester.key, {"messages": messages})
    assert_refused(answered)
    assert any(field.startswith("messages") and why for field, why in answered.json()["errors"].items())
    assert horde.balance(requester) == 100000


@pytest.mark.parametrize(
    "fields",
    [{"model": "x"}, {"max_tokens": 1}, {"temperature": 1}, {"prompt": "x"}, {"stream": 1}, {"stream": "true"},
     {"tools": {}}, {"operation_key": ""}, {"operation_key": "x" * 256}, {"models": "x"}, {"models": [1]},
     {"params": {"n": 0}}, {"params": {"n": 21}}, {"params": {"n": True}}, {"params": {"max_length": 15}},
     {"params": {"max_length": 4097}}, {"params": {"temperature": 6}}, {"params": []}, {"workers": ["x"]},
     {"params": {"max_length": 100, "max_context_length": 99}}, {"params": {"sampler_order": [1]}},
     {"params": {"stop_sequence": ["x" * 2001]}}, {"dry_run": "yes"}, {"softprompt": ""}],
    ids=str,
)  # fmt: skip
def test_a_chat_submit_out_of_bounds_is_refused(horde: Horde, requester: Account, fields: dict[str, Any]) -> None:
    answered = horde.call("POST", "/generate/chat/async", requester.key, {"messages": MESSAGES} | fields)
    assert_refused(answered)
    assert horde.balance(requester) == 100000


def test_a_key_is_missing_or_unknown(horde: Horde) -> None:
    body = {"messages": MESSAGES}
    missing = horde.call("POST", "/generate/chat/async", None, body)
    assert (missing.status_code, list(missing.json()["errors"])) == (400, ["apikey"])
    for path, more in (("chat/async", body), ("text/submit", {"id": "x", "generation": ""})):
        unknown = horde.call("POST", f"/generate/{path}", "nobody's", more)
        assert (unknown.status_code, unknown.json()["rc"]) == (401, "InvalidAPIKey")


def test_a_body_over_the_limit_is_refused_and_one_at_it_is_delivered(
    horde: Horde, requester: Account, owner: Account
) -> None:
    limit, model = 8 * 1024 * 1024, horde.model()
    frame = json.dumps({"messages": [{"role": "user", "content": ""}], "models": [model]}).encode()
    place = frame.index(b'""}]') + 1
    fitting = frame[:place] + b"x" * (limit - len(frame)) + frame[place:]
    over = post(horde, "/generate/chat/async", requester.key, fitting + b" ")
    assert (over.status_code, over.json()["rc"]) == (413, "PayloadTooLarge")
    assert post(horde, "/generate/chat/async", requester.key, fitting).status_code == 202
    content = horde.pop(owner.key, model)["chat"]["messages"][0]["content"]
    assert content == "x" * (limit - len(frame))


def test_another_content_type_is_refused(horde: Horde, requester: Account) -> None:
    raw = json.dumps({"messages": MESSAGES}).encode()
    assert post(horde, "/generate/chat/async", requester.key, raw, "text/plain").status_code == 415


def test_messages_arrive_as_they_were_submitted(horde: Horde, requester: Account, owner: Account) -> None:
    messages = [
        {"role": "system", "content": "e\u0301 \u00e9 \U0001f600 \ufffd \u200b\r\n\t \\u0000", "name": "a"},
        {"role": "stranger", "content": None, "odd": {"z": 1, "a": [1.5, -0.0, 1e300, 10**300, None, True, {}]}},
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "d"}}]},
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": ""},
    ]  # fmt: skip
    extras = {"tools": [{"type": "function"}], "tool_choice": {"a": 1}, "response_format": {"type": "json_object"}}
    model = horde.model()
    params = {"temperature": 0.5, "top_k": 3, "messages": ["forged"], "prompt": "forged", "max_length": 80}
    horde.submit(requester.key, "chat", model, messages=messages, stream=True, params=params, **extras)
    job = horde.pop(owner.key, model)
    assert as_doubles(job["chat"]) == as_doubles({"messages": messages, "stream": True} | extras)
    assert job["payload"] == {
        "n": 1, "max_length": 80, "max_context_length": 2048, "temperature": 0.5, "top_k": 3,
        "min_p": 0.0, "smoothing_factor": 0.0, "dynatemp_range": 0.0, "dynatemp_exponent": 1.0,
    }  # fmt: skip
    assert job["messages"] == []


@pytest.mark.parametrize(
    "fields",
    [{}, {"chat": None}, {"chat": "x"}, {"chat": {}}, {"chat": {"message": "x"}}, {"chat": {"message": {}}},
     {"chat": {"message": {"content": "x"}}}, {"chat": {"message": {"role": "assistant", "content": 1}}},
     {"chat": {"message": {"role": "assistant", "content": "x"}, "usage": 3}},
     {"chat": {"message": {"role": "assistant", "content": "x"}, "finish_reason": 3}},
     {"generation": "x"}, {"generation": None, "chat": {"message": {"role": "assistant", "content": "x"}}}],
    ids=str,
)  # fmt: skip
def test_a_reply_of_wrong_shape_leaves_the_job_open(
    horde: Horde, requester: Account, owner: Account, fields: dict[str, Any]
) -> None:
    model = horde.model()
    request = horde.submit(requester.key, "chat", model)
    job = horde.pop(owner.key, model)["id"]
    answered = horde.reply(owner.key, job, **fields)
    assert_refused(answered)
    assert answered.status_code == 400
    assert horde.chat_reply(owner.key, job, "correct").status_code == 200
    assert horde.status("chat", request)["generations"][0]["chat"]["message"]["content"] == "correct"


def test_a_text_job_answered_as_chat_stays_open(horde: Horde, requester: Account, owner: Account) -> None:
    model = horde.model()
    request = horde.submit(requester.key, "text", model, messages=MESSAGES)
    job = horde.pop(owner.key, model)
    assert "chat" not in job
    assert horde.chat_reply(owner.key, job["id"], "x").status_code == 400
    assert horde.reply(owner.key, job["id"], generation="text\x00").status_code == 200
    generation = horde.status("text", request)["generations"][0]
    assert generation["text"] == "text�"
    assert "chat" not in generation


def test_nobody_elses_key_answers_or_posts(horde: Horde, requester: Account, owner: Account) -> None:
    model = horde.model()
    request = horde.submit(requester.key, "chat", model)
    job = horde.pop(owner.key, model)["id"]
    for answered in (horde.chat_reply(requester.key, job, "x"), horde.progress(requester.key, job, "x")):
        assert (answered.status_code, answered.json()["rc"]) == (403, "WrongCredentials")
    assert horde.status("chat", request)["processing"] == 1
    assert horde.status("chat", request)["partials"] == []


def test_a_record_is_its_submitters_alone(horde: Horde, requester: Account, owner: Account) -> None:
    request = horde.submit(requester.key, "chat", horde.model())
    for key, status, rc in ((owner.key, 403, "NotRequestOwner"), ("0000000000", 403, "AnonForbidden")):
        answered = horde.call("GET", f"/generate/chat/request/{request}", key)
        assert (answered.status_code, answered.json()["rc"]) == (status, rc)
        assert "pppp" not in answered.text
    assert horde.call("GET", f"/generate/chat/request/{request}").status_code == 400
