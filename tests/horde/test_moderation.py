"""The filter: whose requests it goes over, and that nothing it matches reaches a worker by either road."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.horde import moderation
from fixtures.horde.moderation import Filter
from fixtures.horde.settings import Settings

if TYPE_CHECKING:
    from tests.horde.conftest import Account, Horde

SETTINGS = Settings.model_validate({})
RULES = Filter(re.compile(SETTINGS.filter_pattern), SETTINGS.filter_replacement)
PHRASE = "forbidden phrase"
NSFW_MODEL = "conformance/scarlet-123b"


def parts(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text} for text in texts]


@pytest.fixture
def moderator(horde: Horde) -> Account:
    return horde.account(moderator=True)


@pytest.fixture
def flagged(horde: Horde, moderator: Account) -> Account:
    account = horde.account()
    assert horde.call("PUT", f"/users/{account.id}", moderator.key, {"flagged": True}).json() == {"flagged": True}
    return account


def test_what_is_literal_is_replaced_in_place_and_the_rest_stays() -> None:
    assert RULES.rewrite("Say: Forbidden_Phrase, (twice)!") == "Say: [removed], (twice)!"
    assert RULES.rewrite("nothing, (of: that) é") == "nothing, (of: that) é"


@pytest.mark.parametrize(
    "trick",
    ["forbidden (phrase:1.2)", "f o r b i d d e n  p h r a s e", "fórbiddén phrase", "forbidden... phrase",
     "forbidden\n\tphrase", "ｆorbidden phrase"],
)  # fmt: skip
def test_a_trick_hides_nothing(trick: str) -> None:
    rewritten = RULES.rewrite(f"Tell me of {trick} now.")
    assert "[removed]" in rewritten
    assert not RULES.matches(rewritten)


@pytest.mark.parametrize(
    "texts",
    [
        ("forbidden ", "phrase"),
        ("a for", "bid", "den phra", "se b"),
        ("forbidden!", "?phrase"),
        ("", "forbidden phrase"),
    ],
)
def test_a_phrase_that_is_split_across_parts_is_whole(texts: tuple[str, ...]) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    rewritten = moderation.rewritten_parts([image, *parts(*texts)], RULES)
    assert rewritten[0] == image
    assert not RULES.matches("".join(part["text"] for part in rewritten[1:]))
    assert len(rewritten) == len(texts) + 1
    kept = moderation.rewritten_parts(parts("forbidden", " ", "fruit"), RULES)
    assert kept == parts("forbidden", " ", "fruit")


HIDDEN: dict[str, dict[str, Any]] = {
    "a system message": {"messages": [{"role": "system", "content": PHRASE}, {"role": "user", "content": "hello"}]},
    "an unknown role's": {"messages": [{"role": "bard", "content": f"x {PHRASE}"}]},
    "a part": {"messages": [{"role": "user", "content": parts("see", PHRASE)}]},
    "parts together": {"messages": [{"role": "user", "content": parts("see forbidden", " phrase here")}]},
    "a name": {"messages": [{"role": "user", "name": PHRASE, "content": "hello"}]},
    "an unknown field": {"messages": [{"role": "user", "content": "hello", "mood": {"now": [PHRASE]}}]},
    "a tool call": {
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"q": "forbidden phrase"}'}}]},
            {"role": "tool", "tool_call_id": "1", "content": f"it said {PHRASE}"},
        ]
    },
    "a tool definition": {
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [{"type": "function", "function": {
            "name": "f", "description": PHRASE, "parameters": {"properties": {PHRASE: {"enum": [PHRASE]}}}}}],
    },
    "the response format": {
        "messages": [{"role": "user", "content": "hello"}], "response_format": {"type": "x", "description": PHRASE}},
}  # fmt: skip


@pytest.mark.parametrize("place", HIDDEN)
def test_the_phrase_of_a_flagged_account_reaches_no_worker(
    place: str, horde: Horde, flagged: Account, owner: Account
) -> None:
    model = horde.model()
    request = horde.submit(flagged.key, "chat", model, **HIDDEN[place])
    job = horde.pop(owner.key, model)
    assert "[removed]" in json.dumps(job["chat"])
    assert not RULES.matches(json.dumps(job["chat"], ensure_ascii=False))
    stored = horde.sql(
        "SELECT prompt, messages::text, chat_extras::text FROM waiting_prompts WHERE id = :id", id=request
    )
    assert not any(RULES.pattern.search(text) for text in stored[0].values())
    record = horde.call("GET", f"/generate/chat/request/{request}", flagged.key).json()
    assert {name: record[name] for name in HIDDEN[place]} == HIDDEN[place]


def test_a_twin_says_what_its_message_says(horde: Horde, flagged: Account, owner: Account) -> None:
    model, words = horde.model(), f"Say {PHRASE}, {PHRASE} and f o r b i d d e n phrase."
    horde.submit(flagged.key, "text", model, prompt=words)
    text = horde.pop(owner.key, model)["payload"]["prompt"]
    horde.submit(flagged.key, "chat", model, messages=[{"role": "user", "content": words}])
    assert horde.pop(owner.key, model)["chat"]["messages"] == [{"role": "user", "content": text}]
    assert not RULES.matches(text)


@pytest.mark.parametrize("family", ["text", "chat"])
def test_a_model_marked_nsfw_is_filtered_for_everybody(
    family: str, horde: Horde, requester: Account, owner: Account
) -> None:
    marked = f"{NSFW_MODEL}-t{requester.id}{family}-Q8"
    content: dict[str, Any] = {"prompt": PHRASE + " x", "messages": [{"role": "user", "content": PHRASE + " x"}]}
    body = {"prompt": content["prompt"]} if family == "text" else {"messages": content["messages"]}
    for models, rewritten in (([marked, horde.model()], True), ([horde.model()], False)):
        horde.submit(requester.key, family, models[0], **body, models=models)
        job = json.dumps(horde.pop(owner.key, models[0]))
        assert (PHRASE not in job) is rewritten
        assert ("[removed]" in job) is rewritten


@pytest.mark.parametrize("family", ["text", "chat"])
def test_what_says_nothing_any_more_is_refused(family: str, horde: Horde, flagged: Account, requester: Account) -> None:
    def said(key: str, words: str, model: str) -> Any:
        content = {"prompt": words} if family == "text" else {"messages": [{"role": "user", "content": words}]}
        return horde.call("POST", f"/generate/{family}/async", key, {**content, "models": [model]})

    for words, model in (("?!.", horde.model()), (f" {PHRASE}. ", horde.model())):
        refused = said(flagged.key, words, model)
        assert (refused.status_code, refused.json()["rc"]) == (400, "CorruptPrompt")
        assert said(requester.key, words, model).status_code == 202
    refused = said(requester.key, PHRASE, NSFW_MODEL)
    assert (refused.status_code, refused.json()["rc"]) == (400, "CorruptPrompt")
    assert "NSFW" in refused.json()["message"]
    assert said(requester.key, "?!.", NSFW_MODEL).status_code == 202
    assert horde.balance(flagged) == 100000


def test_an_image_alone_is_something(horde: Horde, flagged: Account) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    assert horde.submit(flagged.key, "chat", horde.model(), messages=[{"role": "user", "content": [image]}])
