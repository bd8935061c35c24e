"""Telling drawn calls to a target: with models, workers, requests and keys of the check's own, through the recorder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.actors import Family, Job, Request
from conformance.client import Answer, as_id
from conformance.contract.drawing import Drawn, Malformed
from conformance.errors import CouldNotRun
from conformance.profile import dig, put
from conformance.stage import Stage
from fixtures.payloads import wire


@dataclass(frozen=True)
class Told:
    """A call that was made: which operation, what was answered, and the bytes that were sent."""

    operation: str
    answer: Answer
    content: bytes | None


@dataclass
class Story:
    """One family's requester and worker, the request that is open and the job that is in hand."""

    stage: Stage
    family: Family
    request: Request | None = None
    job: Job | None = None
    _wrong: str = field(init=False)

    def __post_init__(self) -> None:
        self.model = self.stage.model()
        self.worker = self.stage.serving(self.family, self.model)
        self.requester = self.stage.requester()
        self._wrong = self.stage.unique(22)

    @property
    def keys(self) -> frozenset[str]:
        """The keys that no report may show."""
        return frozenset({self.requester.account.key, self.worker.owner.key})

    # As it was drawn

    def tell(self, drawn: Drawn | Malformed) -> Told:
        """Make the call with what is the story's own; what came of it, is the story's from now on."""
        call = drawn if isinstance(drawn, Malformed) else Malformed(drawn)
        content = self._content(call)
        operation = call.drawn.operation
        told = self._call(operation, content, call.drawn, call.content_type)
        if told.answer.accepted:
            self._goes_on(operation, told.answer)
        return told

    def _content(self, call: Malformed) -> bytes | None:
        drawn = call.drawn
        if drawn.raw is not None:
            content = drawn.raw
        else:
            body = self._with_own(drawn)
            if body is None and call.graft is None:
                return None
            content = wire.written(body if call.graft is None else wire.grafted(body, *call.graft))
        return content if call.damage is None else call.damage.of(content)

    def _with_own(self, drawn: Drawn) -> Any:
        """The drawn body with the check's own models, worker and job: nobody else's may be met by chance."""
        kind = drawn.operation.partition("_")[0]
        places = self.stage.profile.body.get(kind, {})
        body = drawn.body
        if not isinstance(body, dict):
            return body
        body = dict(body)
        if kind in ("submit", "pop"):
            put(body, places["models"], self._own_models(dig(body, places["models"])))
        if kind == "pop":
            if dig(body, places["chat_models"]) is not None:
                put(body, places["chat_models"], self._own_models(dig(body, places["chat_models"])))
            if isinstance(dig(body, places["name"]), str):
                put(body, places["name"], self.worker.name)
        if kind == "submit":
            # No stranger is called because a check drew an address.
            body.pop(places["webhook"].partition(".")[0], None)
        if kind in ("reply", "progress") and drawn.own and isinstance(dig(body, places["id"]), str) and self.job:
            put(body, places["id"], self.job.id)
        return body

    def _own_models(self, drawn: Any) -> list[Any]:
        strange = (
            []
            if drawn is None
            else [m for m in drawn if not isinstance(m, str)]
            if isinstance(drawn, list)
            else [drawn]
        )
        return [self.model, *strange]

    def _call(self, operation: str, content: bytes | None, drawn: Drawn, content_type: str | None) -> Told:
        kind = operation.partition("_")[0]
        asks = kind in ("submit", "record")
        key = self.requester.account.key if asks else None if kind in ("status", "cancel") else self.worker.owner.key
        key = {"own": key, "wrong": self._wrong, "none": None}[drawn.key]
        id = self.request.id if drawn.own and self.request is not None else drawn.id
        actor = self.requester.name if asks else self.worker.name
        answer = self.stage.client.call(
            operation, kind=kind, actor=actor, key=key, raw=content, content_type=content_type, id=id
        )
        return Told(operation, answer, content)

    def _goes_on(self, operation: str, answer: Answer) -> None:
        if operation.startswith("submit_") and answer.read("id") is not None:
            id = as_id(answer.need("id"), answer)
            request = Request(id, self.family, self.requester, (self.model,), {})
            self.request = self.stage.keep(request)
        elif operation == "pop":
            self.job = self.worker.job_in(answer) or self.job
        elif operation == "reply":
            self.job = None
        elif operation.startswith("cancel_"):
            self.request = None

    # As it should be: what a drawn call needs before it, and what shows that the route works

    def plain(self, operation: str, id: str = "") -> Drawn:
        """A call as it should be; of replies and posts to a job with this id, of the others to a request with it."""
        words = "Tell me about it."
        fields: dict[str, Any] = {}
        if operation.startswith("submit_"):
            said = {"messages": [{"role": "user", "content": words}]}
            fields = said if self.family is Family.CHAT else {"prompt": words}
        elif operation == "pop":
            fields = {"name": self.worker.name, **self.worker.declaration}
        elif operation == "reply":
            message = {"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
            fields = {"id": id, "generation": words, **(message if self.family is Family.CHAT else {})}
        elif operation == "progress":
            fields = {"id": id, "output": words}
        kind = operation.partition("_")[0]
        body = self.stage.profile.build(kind, fields) if fields else None
        return Drawn(operation, body, id=id, own=not id)

    def must(self, operation: str) -> Told:
        """A plain call that must be carried out, on the open request or the job in hand.

        Raises:
            CouldNotRun: it is not; a pop: it hands out nothing.
        """
        return self.carried_out(self.tell(self.plain(operation)))

    def carried_out(self, told: Told) -> Told:
        """A call that the story cannot go on without.

        Raises:
            CouldNotRun: it was not carried out; a pop: it handed out nothing.
        """
        if not told.answer.accepted:
            raise CouldNotRun(f"a plain {told.operation} was not carried out: {told.answer}")
        if told.operation == "pop" and self.job is None:
            raise CouldNotRun(f"worker {self.worker.name} was handed nothing where the story needs a job")
        return told
