"""REQ: the sampling fields. REQ-04: chat takes of each what its text twin takes, and hands the worker the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.absence import refused
from conformance.actors import Family, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.req_scenes import handed, keep

CHAT, TEXT = Family.CHAT, Family.TEXT

Params = Mapping[str, Any]
STOPS, CONTEXT = "stop_sequence", "max_context_length"


@dataclass(frozen=True)
class Twins:
    """One requester's chat and text requests with the same sampling fields, and the worker that takes both."""

    stage: Stage
    model: str
    worker: Worker

    @classmethod
    def on(cls, stage: Stage) -> Twins:
        model = stage.model()
        return cls(stage, model, stage.chat_worker(model, max_context_length=max(_contexts(stage), default=65536)))

    def submit(self, family: Family, params: Params) -> Answer:
        """The answer to a submit with these fields."""
        content = {"messages": [{"role": "user", "content": "Hello."}]} if family is CHAT else {"prompt": "Hello."}
        answer = self.stage.requester().try_submit(family, {"models": [self.model], "params": params, **content})
        assert not answer.crashed, f"{dict(params)!r} of a {family} request crashes the target: {answer}"
        return answer

    def payload(self, family: Family, answer: Answer) -> Mapping[str, Any]:
        """What the worker is handed of an accepted request. It is cancelled: twenty generations of it may wait."""
        request = keep(self.stage, answer, self.model, {}, family)
        payload = handed(self.worker, request).payload
        request.cancel()
        if not isinstance(payload, dict):
            raise CouldNotRun(f"the payload of a {family} job is {payload!r}")
        return payload

    def judge(self, params: Params) -> tuple[Answer, Mapping[str, Any]]:
        """Accepted alike, and handed out alike; gives chat's answer and its twin's payload."""
        text = self.submit(TEXT, params)
        if not text.accepted:
            raise CouldNotRun(f"text does not take {dict(params)!r}, which the profile has within its ranges: {text}")
        twin = self.payload(TEXT, text)
        chat = self.submit(CHAT, params)
        assert chat.accepted, f"text takes all of {dict(params)!r}, chat refuses {self._blamed(params)}: {chat}"
        payload = self.payload(CHAT, chat)
        for name in self.stage.profile.sampling:
            seen, expected = payload.get(name), twin.get(name)
            assert same_json(seen, expected), (
                f"{name} {params.get(name, 'left out')!r} reaches a chat worker as {seen!r}, "
                f"a text worker as {expected!r}"
            )
        return chat, twin

    def _blamed(self, params: Params) -> str:
        """Which of the fields chat refuses alone."""
        alone = [name for name, value in params.items() if self.submit(CHAT, {name: value}).refused]
        return ", ".join(f"{name} {params[name]!r}" for name in alone) or "them together"


def _contexts(stage: Stage) -> list[int]:
    """The context lengths that the profile has within their range."""
    field = stage.profile.sampling.get(CONTEXT)
    return [value for value in field.within if isinstance(value, int)] if field else []


def _within(stage: Stage) -> list[dict[str, Any]]:
    """Every value within the ranges, many fields in one request: the first values of all, the second, and so on."""
    values = {name: list(field.within) for name, field in stage.profile.sampling.items()}
    limits = stage.profile.limits
    if STOPS in values:
        if limits.stop_sequences:
            values[STOPS].append([f"stop {count}" for count in range(limits.stop_sequences)])
        if limits.stop_characters:
            values[STOPS].append(["x" * limits.stop_characters])
    rounds = range(max(map(len, values.values())))
    return [{name: some[min(turn, len(some) - 1)] for name, some in values.items()} for turn in rounds]


def _outside(stage: Stage) -> list[dict[str, Any]]:
    """Every value outside a range, alone with its field, and more tokens than the context holds."""
    values: list[tuple[str, Any]] = [
        (name, value) for name, field in stage.profile.sampling.items() for value in field.outside
    ]
    limits = stage.profile.limits
    if STOPS in stage.profile.sampling:
        if limits.stop_sequences:
            values.append((STOPS, [f"stop {count}" for count in range(limits.stop_sequences + 1)]))
        if limits.stop_characters:
            values.append((STOPS, ["x" * (limits.stop_characters + 1)]))
    longest = limits.max_length_maximum
    overflows = [{"max_length": longest, CONTEXT: context} for context in _contexts(stage) if context < longest]
    return [*({name: value} for name, value in values), *overflows[:1]]


@check("REQ-04")
def test_a_value_within_its_range_reaches_the_worker_as_its_text_twins(stage: Stage) -> None:
    """Twins are submitted with values on the edges of every range and within; their workers are handed the same."""
    twins = Twins.on(stage)
    for params in _within(stage):
        _, twin = twins.judge(params)
        if not any(same_json(twin.get(name), value) for name, value in params.items() if name != "n"):
            raise CouldNotRun(f"a text worker is handed none of {params!r}: {twin!r}")


@check("REQ-04")
def test_a_field_that_is_left_out_reaches_the_worker_as_its_text_twins(stage: Stage) -> None:
    """Twins say nothing of sampling; their workers are handed the same defaults, which are the profile's."""
    _, twin = Twins.on(stage).judge({})
    fields = stage.profile.sampling.items()
    for name, default in ((name, field.default) for name, field in fields if field.default is not None):
        if not same_json(twin.get(name), default):
            raise CouldNotRun(
                f"a text worker is handed {name} {twin.get(name)!r}; the profile's default is {default!r}"
            )


@check("REQ-04")
def test_a_value_outside_its_range_is_refused_as_its_text_twins(stage: Stage) -> None:
    """Chat is submitted with one value outside its range after another; it is refused, as text is."""
    twins = Twins.on(stage)
    proper, _ = twins.judge(_within(stage)[0])
    for params in _outside(stage):
        chat = twins.submit(CHAT, params)
        if chat.accepted:
            keep(stage, chat, twins.model, {}).cancel()
            if twins.submit(TEXT, params).accepted:
                raise CouldNotRun(f"both families take {params!r}, which the profile has outside its ranges")
        refused(chat, control=lambda: proper)
