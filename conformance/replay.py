"""A recorded exchange, told again to a target: the same calls, and answers that hold at least what was recorded."""

from __future__ import annotations

import re
import tomllib
import uuid
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conformance.actors import Family, Job, Request, Worker
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.migration import locate
from conformance.stage import Stage

_PUT_IN = re.compile(r"\{(\w+)\}")
_TYPES: Mapping[str, Any] = {
    "<string>": str,
    "<integer>": int,
    "<number>": int | float,
    "<boolean>": bool,
    "<null>": type(None),
    "<array>": list,
    "<object>": dict,
    "<id>": str,
}


class _Recorded(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(_Recorded):
    """One call and what was answered: `by` whom, to which operation of the profile, with which body or bytes."""

    says: str
    by: str
    call: str
    id: str = ""
    body: Any = None
    raw: str | None = None
    status: int
    rc: str | None = None
    answer: Any
    keeps: dict[str, str] = {}
    cost: float | None = None
    pay: float | None = None


class Story(_Recorded):
    """Steps that hang together; `cost` and `pay` are the story's own."""

    name: str
    step: Annotated[tuple[Step, ...], Field(min_length=1)]


class Recording(_Recorded):
    """A whole exchange. `words` are texts as (what is repeated, how often), `bodies` what several steps send."""

    words: dict[str, tuple[str, int]] = {}
    bodies: dict[str, Any] = {}
    story: Annotated[tuple[Story, ...], Field(min_length=1)]


def read(path: str) -> Recording:
    """The recording in a TOML file, which stands beside our own packages or in the current folder.

    Raises:
        CouldNotRun: the profile names none, or one that cannot be read.
    """
    if not path:
        raise CouldNotRun("the profile names no exchange that was recorded")
    try:
        return Recording.model_validate(tomllib.loads(locate(path).read_text("utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise CouldNotRun(f"the recorded exchange {path} cannot be read: {error}") from None


class Replay:
    """One telling of a recording, with a model and a worker of its own."""

    def __init__(self, stage: Stage, recording: Recording) -> None:
        profile = stage.profile
        model = profile.recording.model.format(unique=stage.unique(), alias=stage.owner().alias)
        self._stage = stage
        self._worker: Worker = stage.text_worker(model)
        self._names: dict[str, Any] = {
            **recording.bodies,
            **{name: text * times for name, (text, times) in recording.words.items()},
            "model": model,
            "worker": self._worker.name,
            "missing": str(uuid.uuid4()),
        }
        self._keys: dict[str, str | None] = {
            "requester": stage.requester().account.key,
            "owner": stage.owner().key,
            "another owner": stage.owner(1).key,
            "anonymous": profile.accounts.anonymous_key,
            "stranger": stage.unique(22),
            "nobody": None,
        }
        self._request: Request | None = None
        self._answered = 0

    def tell(self, story: Story) -> None:
        """Take the steps of a story one by one.

        Raises:
            AssertionError: an answer, a charge or a payment is another than the recorded one.
            CouldNotRun: the target did not answer, or only asks for patience.
        """
        self._request, self._answered = None, 0
        for step in story.step:
            try:
                self._take(step)
            except AssertionError as difference:
                raise AssertionError(f"{story.name}, {step.says}: {difference}") from None

    def _take(self, step: Step) -> None:
        answer = self._call(step)
        if answer.limited and step.status != answer.status:
            raise CouldNotRun(f"refused for its rate only: {answer}")
        assert answer.status == step.status, f"recorded was the status {step.status}, answered is {answer}"
        assert step.rc is None or answer.code == step.rc, f"recorded was the code {step.rc}, answered is {answer}"
        difference = differing(self._filled(step.answer), answer.body)
        assert difference is None, f"{difference} ({answer})"
        self._keep(step, answer)
        self._settled(step)

    def _call(self, step: Step) -> Answer:
        if step.by not in self._keys:
            raise CouldNotRun(f"the recording's {step.by!r} is nobody that we know")
        return self._stage.client.call(
            step.call,
            kind=step.call,
            actor=step.by,
            key=self._keys[step.by],
            body=self._filled(step.body),
            raw=None if step.raw is None else step.raw.encode(),
            id=self._filled(step.id),
        )

    def _filled(self, value: Any) -> Any:
        """A recorded value with everything put in that stands in braces."""
        if isinstance(value, dict):
            return {name: self._filled(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._filled(inner) for inner in value]
        named = _PUT_IN.fullmatch(value) if isinstance(value, str) else None
        if named is None:
            return value
        if named[1] not in self._names:
            raise CouldNotRun(f"the recording knows no {value}")
        found = self._names[named[1]]
        return found if isinstance(found, str) else self._filled(found)

    def _keep(self, step: Step, answer: Answer) -> None:
        for name, place in step.keeps.items():
            self._names[name] = _at(answer.body, place)
        if step.call == "submit_text" and "request" in step.keeps:
            asked = Request(self._names["request"], Family.TEXT, self._stage.requester(), (self._names["model"],), {})
            self._request = self._stage.keep(asked)
        elif step.call == "pop" and "job" in step.keeps and self._request is not None:
            self._request.jobs.append(Job(answer, self._worker, self._names["job"], (self._names["job"],)))
        elif step.call == "reply" and 200 <= step.status < 300:
            self._answered += 1

    def _settled(self, step: Step) -> None:
        """What the story's request has cost and, where it can be seen alone, brought by now, is what was recorded."""
        money, request = self._stage.money, self._request
        if request is None:
            return
        # Each figure may be rounded once for the submit and once for each reply, as the recorded one was not.
        rounding = 0.005 + (0.0 if money.exact else self._stage.profile.money.rounding * (1 + self._answered))
        if step.cost is not None:
            cost = money.charged(request)
            assert abs(cost - step.cost) <= rounding, f"recorded was a cost of {step.cost} kudos so far, it is {cost}"
        if step.pay is not None and money.exact and request.jobs:
            pay = money.paid(*request.jobs)
            assert abs(pay - step.pay) <= rounding, f"recorded was a pay of {step.pay} kudos so far, it is {pay}"


def differing(recorded: Any, shown: Any, place: str = "") -> str | None:
    """The first thing in which an answer has not what was recorded, in words; None where it holds all of it."""
    if isinstance(recorded, dict):
        return _differing_object(recorded, shown, place)
    where = place or "the answer"
    if isinstance(recorded, list):
        if not isinstance(shown, list) or len(shown) != len(recorded):
            return f"{where} was an array of {len(recorded)}, it is {shown!r}"
        pairs = enumerate(zip(recorded, shown, strict=True))
        return _first(differing(one, other, _inside(place, str(at))) for at, (one, other) in pairs)
    if isinstance(recorded, str) and recorded in _TYPES:
        right = isinstance(shown, _TYPES[recorded]) and (recorded == "<boolean>" or not isinstance(shown, bool))
        return None if right else f"{where} was of type {recorded[1:-1]}, it is {shown!r}"
    return None if same_json(recorded, shown) else f"{where} was {recorded!r}, it is {shown!r}"


def _differing_object(recorded: dict[str, Any], shown: Any, place: str) -> str | None:
    if not isinstance(shown, dict):
        return f"{place or 'the answer'} was an object, it is {shown!r}"
    lost = [name for name in recorded if name not in shown]
    if lost:
        return f"{_inside(place, lost[0])} was there, it is missing"
    return _first(differing(value, shown[name], _inside(place, name)) for name, value in recorded.items())


def _first(differences: Iterable[str | None]) -> str | None:
    return next((difference for difference in differences if difference is not None), None)


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _at(body: Any, place: str) -> Any:
    for part in place.split("."):
        body = body[int(part)] if isinstance(body, list) else body[part]
    return body
