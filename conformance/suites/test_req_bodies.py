"""REQ: bodies as they come. REQ-12: the largest. REQ-14: the malformed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from conformance.absence import refused
from conformance.actors import Family
from conformance.checks import check
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.req_scenes import handed, keep, nothing_was_queued, on_the_wire, tool, user

CHAT = Family.CHAT

# Bytes of a large body where the target states no limit.
LARGE = 1024 * 1024
# Characters that take one byte each of a body.
LETTERS = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ 0123456789."


def _answered(call: Callable[[], Answer], what: str, *, control: Callable[[], object]) -> Answer:
    """The answer to a call that must have one. The control: what is right is still answered afterwards.

    Raises:
        AssertionError: the target hangs or hangs up on it, and answers the control.
        CouldNotRun: it answers the control no more than the call.
    """
    try:
        return call()
    except CouldNotRun as silence:
        control()
        raise AssertionError(f"{what} is not answered: {silence}") from None


# ---------------------------------------------------------------------------------------- the largest


def _body_of(stage: Stage, model: str, size: int) -> tuple[bytes, list[dict[str, Any]]]:
    """A submit's body of exactly so many bytes, and the messages in it: a long conversation."""

    def body(messages: list[dict[str, Any]]) -> bytes:
        return json.dumps(stage.profile.build("submit", {"models": [model], "messages": messages})).encode()

    filler = 8 * "".join(stage.random.choices(LETTERS, k=512))
    each = len(body([user(filler), user(filler)])) - len(body([user(filler)]))
    messages = [user(filler) for _ in range(max(1, size // each - 1))]
    messages.append(user(""))
    messages[-1] = user("x" * (size - len(body(messages))))
    return body(messages), messages


@check("REQ-12")
def test_the_largest_body_is_delivered_whole_and_a_larger_one_refused(stage: Stage) -> None:
    """A requester sends as much as the target takes: its worker is handed all of it. One byte more is refused."""
    model, limit = stage.model(), stage.profile.limits.body_bytes
    worker = stage.chat_worker(model)
    body, messages = _body_of(stage, model, limit or LARGE)
    answer = stage.requester().try_submit(CHAT, {}, raw=body)
    assert answer.accepted, f"a body of {len(body)} bytes was not accepted: {answer}"
    arrived = handed(worker, keep(stage, answer, model, {})).messages
    count = len(arrived) if isinstance(arrived, list) else 0
    assert count == len(messages), f"of {len(messages)} messages in {len(body)} bytes {count} were handed out"
    changed = sum(not same_json(sent, seen) for sent, seen in zip(messages, arrived, strict=True))
    assert not changed, f"of {len(messages)} messages in {len(body)} bytes {changed} were changed"
    if limit:
        _is_refused(stage, model, limit + 1, proper=answer)
        nothing_was_queued(stage, worker, model)
    stage.note("body_bytes", {"delivered": len(body), "refused": limit + 1 if limit else None})


def _is_refused(stage: Stage, model: str, size: int, proper: Answer) -> None:
    requester = stage.requester()
    body, _ = _body_of(stage, model, size)
    answer = _answered(
        lambda: requester.try_submit(CHAT, {}, raw=body),
        f"a body of {size} bytes",
        control=lambda: requester.try_price(CHAT, {"models": [model], "messages": [user()]}),
    )
    if answer.accepted:
        keep(stage, answer, model, {})
    refused(answer, control=lambda: proper)


# ---------------------------------------------------------------------------------------- the malformed


@dataclass(frozen=True)
class Door:
    """A route that takes bodies: the fields of a right one, one of them a number, one a text; and a right call."""

    stage: Stage
    operation: str
    kind: str
    key: str
    fields: dict[str, Any]
    number: str
    text: str
    right: Callable[[], Answer]

    def written(self, **raw: bytes) -> bytes:
        """A right body in which these fields stand byte for byte."""
        return on_the_wire(self.stage, self.fields, operation=self.kind, **raw)

    def send(self, raw: bytes, content_type: str | None) -> Answer:
        """Send a body; what it queues is cancelled when the check is over."""
        answer = self.stage.client.call(
            self.operation, kind=self.kind, actor="somebody", key=self.key, raw=raw, content_type=content_type
        )
        if self.operation == "submit_chat" and answer.accepted:
            keep(self.stage, answer, self.fields["models"][0], {})
        return answer

    def with_an_odd_field(self) -> Iterator[tuple[str, bytes]]:
        """Right bodies but for one field, for each that a right one has."""
        odd: tuple[Any, ...] = ({"odd": [None]}, 2**80, [[[]]], "odd", -1, True)
        for place, name in enumerate(self.fields):
            value = odd[place % len(odd)]
            body = self.stage.profile.build(self.kind, {**self.fields, name: value})
            yield f"{name} {value!r}", json.dumps(body).encode()


def _doors(stage: Stage) -> list[Door]:
    """Every chat route that takes a body."""
    asked, served = stage.model(), stage.model()
    requester, worker = stage.requester(), stage.chat_worker(served)
    job = worker.pop_job(stage.chat(served))
    submit: dict[str, Any] = {
        "models": [asked],
        "messages": [user()],
        "tools": [tool()],
        "max_length": 80,
        "params": {"top_k": 1},
        "tool_choice": "auto",
        "response_format": {"type": "text"},
        "n": 1,
        "workers": [],
        "dry_run": False,
    }
    said: dict[str, Any] = {
        "message": {"role": "assistant", "content": "Rain."},
        "generation": "Rain.",
        "finish_reason": "stop",
    }
    submitted = partial(Door, stage, "submit_chat", "submit", requester.account.key)
    by_worker = partial(Door, stage, key=worker.owner.key)
    doors = [
        submitted(submit, "max_length", "messages", lambda: requester.try_price(CHAT, submit)),
        by_worker(
            operation="pop", kind="pop", fields={"name": worker.name, **worker.declaration},
            number="threads", text="bridge_agent", right=worker.try_pop,
        ),
        by_worker(
            operation="reply", kind="reply", fields={"id": job.id, **said, "usage": {"prompt_tokens": 1}},
            number="seed", text="generation",
            right=lambda: worker.try_reply(worker.pop_job(stage.chat(served)), **said),
        ),
    ]  # fmt: skip
    if "streaming" in stage.profile.capabilities:
        going = worker.pop_job(stage.chat(served, stream=True))
        doors.append(
            by_worker(
                operation="progress", kind="progress", fields={"id": going.id, "output": "Ra"},
                number="output", text="output", right=lambda: worker.try_progress(going, "Rain"),
            )
        )  # fmt: skip
    return doors


DEPTH = 100_000


def _malformed(door: Door) -> Iterator[tuple[str, bytes]]:
    """Bodies that are no JSON, no object, or hold what JSON, Unicode or a machine's stack has no place for."""
    right = door.written()
    yield from (("nothing", b""), ("null", b"null"), ("an array", b"[1]"), ("UTF-16", right.decode().encode("utf-16")))
    yield from (("half a body", right[: len(right) // 2]), ("a body and a half", right + right[: len(right) // 2]))
    for number in (b"NaN", b"1e400", b"9" * 5000):
        yield f"{door.number} {number[:9].decode()}", door.written(**{door.number: number})
    for text in (rb'"\xc3\x28"', rb'"\xed\xa0\x80"', rb'"\0"'):
        broken = text.decode("unicode_escape").encode("latin-1")
        yield f"{door.text} {text.decode()}", door.written(**{door.text: broken})
    yield f"{DEPTH} arrays in {door.text}", door.written(**{door.text: b"[" * DEPTH + b"]" * DEPTH})
    yield f"{DEPTH} objects, unclosed", b'{"a":' * DEPTH


JSON_TYPE = "application/json"
_CONTENT_TYPES = ("text/plain", "multipart/form-data", None)


@check("REQ-14")
def test_no_malformed_body_crashes_or_hangs_a_chat_route(stage: Stage) -> None:
    """Every chat route is sent what is no JSON, of wrong types, too large or too deep, and then what is right."""
    fates: dict[str, dict[str, int]] = {}
    for door in _doors(stage):
        seen = [_fate(door, what, raw, JSON_TYPE) for what, raw in chain(_malformed(door), door.with_an_odd_field())]
        seen += [_fate(door, f"a right body as {sort}", door.written(), sort) for sort in _CONTENT_TYPES]
        still = door.right()
        if not still.accepted:
            raise CouldNotRun(f"the control is not carried out: {still}")
        fates[door.operation] = {fate: seen.count(fate) for fate in sorted(set(seen))}
    stage.note("malformed_bodies", fates)


def _fate(door: Door, what: str, raw: bytes, content_type: str | None) -> str:
    """What became of a body; neither a crash nor silence."""
    told = f"{door.operation} with {what}"
    answer = _answered(lambda: door.send(raw, content_type), told, control=door.right)
    assert not answer.crashed, f"{told} crashes the target: {answer}"
    if answer.limited:
        raise CouldNotRun(f"{told} is refused for its rate only: {answer}")
    return "refused" if answer.refused else "carried out"
