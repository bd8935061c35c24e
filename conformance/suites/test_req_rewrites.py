"""REQ: what validation rewrites. REQ-10: nothing that the filter matches reaches a worker, in prompt or messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from conformance.absence import refused
from conformance.actors import Family, Job, Request, Requester
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.req_scenes import IMAGE, Message, calls, handed, result, text_part, user

CHAT, TEXT = Family.CHAT, Family.TEXT


def _watched(stage: Stage) -> list[tuple[str, Requester, str]]:
    """Whose requests the filter goes over, as the profile says: a flagged account's, and those for a model."""
    moderation = stage.profile.moderation
    watched = [("a flagged account", stage.flagged(), stage.model())] if moderation.flagging else []
    if moderation.model:
        watched.append(("a model marked nsfw", stage.requester(), stage.nsfw_model()))
    if not watched:
        raise CouldNotRun("the profile names nobody whose requests the filter goes over")
    return watched


def _saying(phrase: str) -> list[Message]:
    """A conversation that says this phrase wherever something can be said; the words around it tell where."""
    argument = json.dumps({"query": f"in an argument string {phrase} it is"}, ensure_ascii=False)
    return [
        {"role": "system", "content": f"In a system message {phrase} it is."},
        user(f"In the first message {phrase} it is."),
        {"role": "assistant", "content": f"In an answer {phrase} it is."},
        user([text_part("Look at this: "), IMAGE, text_part(f"In a part {phrase} it is.")]),
        calls(("a", argument), ("b", "{}")),
        result("a", f"In a result {phrase} it is."),
        result("b", [text_part(f"In a part of a result {phrase} it is.")]),
        *(user(f"Number {count}.") for count in range(20)),
        user(f"In the last of many {phrase} it is."),
    ]


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(inner)


@check("REQ-10")
def test_nothing_that_the_filter_matches_reaches_a_worker(stage: Stage) -> None:
    """Somebody whose requests are rewritten says the phrase, here or there: no worker reads it, by either road."""
    phrase, fates = stage.profile.moderation.phrase, {}
    for whose, who, model in _watched(stage):
        _is_filtered_in_text(stage, who, model, f"What is {phrase} to you?")
        words = f"{stage.unique()} {phrase} {stage.unique()}"
        request = _accepted(stage, who, model, _saying(words))
        fates[whose] = "rewritten" if request else "refused"
        if request:
            _reads_none_of_it(stage, handed(stage.chat_worker(model), request), f"{phrase!r} of {whose}", words)
            _is_not_stored(stage, request, f"{phrase!r} of {whose}")
    stage.note("fate_of_the_phrase", fates)


def _accepted(stage: Stage, who: Requester, model: str, messages: list[Message]) -> Request | None:
    """The request of these messages; None where it is refused, as a harmless one is not."""
    answer = who.try_submit(CHAT, {"models": [model], "messages": messages})
    if answer.accepted:
        return stage.keep(Request(answer.id("id"), CHAT, who, (model,), {}))
    refused(answer, control=lambda: _harmless(stage, who, model))
    return None


def _is_filtered_in_text(stage: Stage, who: Requester, model: str, words: str) -> None:
    """The control: the filter acts on the text twin."""
    answer = who.try_submit(TEXT, {"models": [model], "prompt": words})
    if not answer.accepted:
        return
    job = handed(stage.text_worker(model), stage.keep(Request(answer.id("id"), TEXT, who, (model,), {})))
    if stage.profile.moderation.pattern.search(str(job.prompt)):
        raise CouldNotRun(f"the filter lets {words!r} through in text, so that there is nothing to mirror")


def _reads_none_of_it(stage: Stage, job: Job, what: str, words: str) -> None:
    """No string of a job's prompt or messages is one that the filter matches; the words around the phrase are there."""
    read = list(_strings([job.prompt, job.messages]))
    matching = [text for text in read if stage.profile.moderation.pattern.search(text)]
    assert not matching, f"{what} reaches the worker: {matching!r}"
    first, last = words.split(maxsplit=1)[0], words.rsplit(maxsplit=1)[-1]
    if not all(any(word in text for text in read) for word in (first, last)):
        raise CouldNotRun(f"of {words!r} nothing reaches the worker: {read!r}")


def _is_not_stored(stage: Stage, request: Request, what: str) -> None:
    """The stored prompt, which a worker's word list and every text-only reader see, is rewritten too."""
    if "database" not in stage.profile.capabilities:
        return
    for row in stage.database.rows(stage.profile.database.request_row, id=request.id):
        prompt = str(row.get(stage.profile.database.prompt_column))
        assert not stage.profile.moderation.pattern.search(prompt), f"{what} stands in the stored prompt: {prompt!r}"


def _harmless(stage: Stage, who: Requester, model: str) -> Answer:
    """The answer to a submit of which the filter minds nothing; it does not go on waiting."""
    answer = who.try_submit(CHAT, {"models": [model], "messages": [user("Hello, good morning.")]})
    if answer.accepted:
        stage.keep(Request(answer.id("id"), CHAT, who, (model,), {})).cancel()
    return answer
