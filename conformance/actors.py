"""Requesters, workers and their owners: the people of every story that a check tells.

An actor has two ways to do a thing. `submit`, `pop`, `reply` … *tell* the story: what they need must happen, and
where it does not, the check could not run. `try_submit`, `try_pop`, `try_reply` … give the bare answer, for the
sentence that is being judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from conformance.client import Answer, Client, as_id
from conformance.errors import CouldNotRun
from conformance.statuses import Status


class Family(StrEnum):
    """The two families of requests."""

    CHAT = "chat"
    TEXT = "text"

    @property
    def other(self) -> Family:
        return Family.TEXT if self is Family.CHAT else Family.CHAT


@dataclass(frozen=True)
class Account:
    """A user of the target: an API key, `alias` as in `name#id`."""

    role: str
    key: str
    alias: str
    id: str


@dataclass(eq=False)
class Request:
    """A request that was queued. `jobs` grows as workers are handed its generations; `ended` once it was seen to."""

    id: str
    family: Family
    requester: Requester
    models: tuple[str, ...]
    sent: Mapping[str, Any]
    jobs: list[Job] = field(default_factory=list)
    ended: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing of it waits any more, as far as its calls told: it was cancelled, done, or all replied to."""
        replied = sum(job.id in job.worker.replied for job in self.jobs)
        return self.ended or replied >= self.sent.get("n", 1)

    @property
    def messages(self) -> Any:
        """The messages as submitted."""
        return self.sent.get("messages")

    @property
    def prompt(self) -> Any:
        """The prompt as submitted."""
        return self.sent.get("prompt")

    def status(self) -> Status:
        """Its status on its own family's route."""
        return self.requester.status(self)

    def cancel(self) -> Answer:
        """Cancel it on its own family's route.

        Raises:
            CouldNotRun: the target does not carry it out.
        """
        return _carried_out(self.requester.try_cancel(self), "the cancel")


@dataclass(frozen=True)
class Job:
    """What one pop handed out: one or more generations (`ids`) of one request."""

    answer: Answer
    worker: Worker
    id: str
    ids: tuple[str, ...]

    @property
    def model(self) -> Any:
        return self.answer.read("model")

    @property
    def payload(self) -> Any:
        return self.answer.read("payload")

    @property
    def prompt(self) -> Any:
        return self.answer.read("prompt")

    @property
    def messages(self) -> Any:
        return self.answer.read("messages")

    @property
    def chat(self) -> Any:
        """The chat part of the job; None on a text job."""
        return self.answer.read("chat")

    @property
    def family(self) -> Family:
        return Family.TEXT if self.chat is None else Family.CHAT

    def read(self, name: str) -> Any:
        """A field of ours of this job."""
        return self.answer.read(name)

    def each(self) -> list[Job]:
        """One job for each generation of this hand-out."""
        return [Job(self.answer, self.worker, id, (id,)) for id in self.ids]


@dataclass(frozen=True)
class Requester:
    """A person or program that submits requests."""

    client: Client
    account: Account

    @property
    def name(self) -> str:
        return self.account.role

    def try_submit(
        self, family: Family, fields: Mapping[str, Any], *, extra: Mapping[str, Any] | None = None,
        key: str | None = "own", raw: bytes | None = None,
    ) -> Answer:  # fmt: skip
        """Submit; `fields` are ours, `extra` stands in the body as it is, `key` "own" is the requester's."""
        body = {**self.client.profile.build("submit", fields), **(extra or {})}
        return self.client.call(
            f"submit_{family}", kind="submit", actor=self.name, key=self.account.key if key == "own" else key,
            body=body, raw=raw,
        )  # fmt: skip

    def try_price(self, family: Family, fields: Mapping[str, Any]) -> Answer:
        """Ask what a request would cost, without queueing it."""
        body = self.client.profile.build("submit", {**fields, "dry_run": True})
        return self.client.call(f"submit_{family}", kind="dry_run", actor=self.name, key=self.account.key, body=body)

    def submit(
        self, family: Family, models: Sequence[str], *, extra: Mapping[str, Any] | None = None, **fields: Any
    ) -> Request:
        """Queue a request.

        Raises:
            CouldNotRun: the target does not accept it.
        """
        sent = {"models": list(models), **fields}
        answer = _carried_out(self.try_submit(family, sent, extra=extra), f"the {family} submit")
        return Request(answer.id("id"), family, self, tuple(models), sent)

    def try_status(self, request: Request | str, family: Family | None = None, *, path: str | None = None) -> Answer:
        answer = self._by_id("status", request, family, path=path)
        if isinstance(request, Request) and answer.accepted and answer.read("done") is True:
            request.ended = True
        return answer

    def status(self, request: Request) -> Status:
        """The request's status on its own family's route.

        Raises:
            CouldNotRun: it is not found there.
        """
        return Status(_carried_out(self.try_status(request), "the status"))

    def try_cancel(self, request: Request | str, family: Family | None = None, *, path: str | None = None) -> Answer:
        answer = self._by_id("cancel", request, family, path=path)
        if isinstance(request, Request) and answer.accepted:
            request.ended = True
        return answer

    def try_record(
        self,
        request: Request | str,
        family: Family | None = None,
        *,
        key: str | None = "own",
        path: str | None = None,
    ) -> Answer:
        """What was submitted, asked with the requester's own key unless another is given."""
        return self._by_id("record", request, family, key=self.account.key if key == "own" else key, path=path)

    def _by_id(
        self,
        kind: str,
        request: Request | str,
        family: Family | None,
        key: str | None = None,
        path: str | None = None,
    ) -> Answer:
        if isinstance(request, Request):
            family = family or request.family
            request = request.id
        return self.client.call(f"{kind}_{family}", kind=kind, actor=self.name, key=key, path=path, id=request)

    def balance(self) -> float:
        """The account's kudos, as the account's route shows them."""
        return balance(self.client, self.account)


@dataclass(eq=False)
class Worker:
    """A worker of one owner: a name and what it declares at each pop, until a pop declares otherwise."""

    client: Client
    owner: Account
    name: str
    declaration: dict[str, Any]
    # The generations that it finished, each with its model.
    replied: dict[str, Any] = field(default_factory=dict)

    def try_pop(self, *, extra: Mapping[str, Any] | None = None, key: str | None = "own", **declared: Any) -> Answer:
        """Pop; `declared` overrides the worker's declaration for this pop, `extra` stands in the body as it is."""
        fields = {"name": self.name, **self.declaration, **declared}
        body = {**self.client.profile.build("pop", fields), **(extra or {})}
        return self.client.call(
            "pop", kind="pop", actor=self.name, key=self.owner.key if key == "own" else key, body=body
        )

    def job_in(self, answer: Answer) -> Job | None:
        """The job that an accepted pop's answer holds; None where it handed nothing out.

        Raises:
            CouldNotRun: the answer is not a pop's.
        """
        _carried_out(answer, "the pop")
        job = Answer(answer.exchange, answer.profile, "job", answer.body, answer.status)
        if job.read("id") is None:
            if "ids" not in answer.body and "id" not in answer.body:
                raise CouldNotRun(f"{answer} is no pop's answer: it has no place for an id")
            return None
        ids = job.read("ids") or [job.read("id")]
        if not isinstance(ids, list):
            raise CouldNotRun(f"the ids in {answer} are {ids!r}, not a list")
        return Job(job, self, job.id("id"), tuple(as_id(id, job) for id in ids))

    def pop(self, *, extra: Mapping[str, Any] | None = None, **declared: Any) -> Job | None:
        """What this worker is handed now; None for an empty answer.

        Raises:
            CouldNotRun: the target refuses the pop.
        """
        return self.job_in(self.try_pop(extra=extra, **declared))

    def receives(self, **declared: Any) -> Job | None:
        """What this worker gets now: None for an empty answer and for a refusal, as in maintenance.

        Raises:
            CouldNotRun: the answer is neither a pop's nor a refusal.
        """
        answer = self.try_pop(**declared)
        return None if answer.refused else self.job_in(answer)

    def pop_job(self, request: Request | None = None, **declared: Any) -> Job:
        """A job that this worker must get for the story to go on; noted as one of the request's.

        Raises:
            CouldNotRun: nothing is handed out, or something of another model.
        """
        job = self.pop(**declared)
        if job is None:
            raise CouldNotRun(f"worker {self.name} was handed nothing where the story needs a job")
        if request is not None:
            if request.models and job.model not in request.models:
                raise CouldNotRun(f"worker {self.name} was handed a job of {job.model!r}, not of {request.models}")
            request.jobs += job.each()
        return job

    def try_reply(
        self,
        job: Job | str,
        *,
        key: str | None = "own",
        extra: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Answer:
        """Submit a reply's fields as they are: `generation`, `message`, `finish_reason`, `usage`, `state`, `chat`…"""
        id = job if isinstance(job, str) else job.id
        body = {**self.client.profile.build("reply", {"id": id, **fields}), **(extra or {})}
        answer = self.client.call(
            "reply", kind="reply", actor=self.name, key=self.owner.key if key == "own" else key, body=body
        )
        if answer.accepted and fields.get("state") != "faulted":
            self.replied[id] = None if isinstance(job, str) else job.model
        return answer

    def reply(self, job: Job, content: str | None = "A reply.", **fields: Any) -> float:
        """Finish a job as its family wants it, and give the reward in kudos.

        A chat job gets a structured reply (an assistant's `message` with this content, `finish_reason` "stop",
        unless given) and the same string as generation; a text job gets the string.

        Raises:
            CouldNotRun: the target refuses it.
        """
        given: dict[str, Any] = {"generation": content or "", **fields}
        if job.family is Family.CHAT:
            given = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop", **given}
        answer = _carried_out(self.try_reply(job, **given), "the reply")
        return answer.number("reward")

    def try_fault(self, job: Job) -> Answer:
        """Give a job up: state faulted, with the fields that its family's reply has."""
        return self.try_reply(job, state="faulted", generation="")

    def fault(self, job: Job) -> None:
        """Give a job up.

        Raises:
            CouldNotRun: the target refuses it.
        """
        _carried_out(self.try_fault(job), "the fault")

    def try_progress(self, job: Job | str, output: Any, *, key: str | None = "own") -> Answer:
        id = job if isinstance(job, str) else job.id
        body = self.client.profile.build("progress", {"id": id, "output": output})
        return self.client.call(
            "progress",
            kind="progress",
            actor=self.name,
            key=self.owner.key if key == "own" else key,
            body=body,
        )

    def progress(self, job: Job, output: str) -> bool:
        """Post the output so far; whether the target says that the generation was cancelled.

        Raises:
            CouldNotRun: the target refuses it.
        """
        return _carried_out(self.try_progress(job, output), "the progress post").need("cancelled") is True

    def find_id(self) -> str | None:
        """The worker's id, as the target lists it; None where it does not (yet)."""
        profile = self.client.profile
        listed = self.client.call("workers", kind="workers", actor=self.name, key=self.owner.key)
        shown = listed.body if isinstance(listed.body, list) else []
        ids = [profile.read("worker", "id", w) for w in shown if profile.read("worker", "name", w) == self.name]
        return str(ids[0]) if ids else None

    def set_maintenance(self, *, on: bool) -> None:
        """Switch the worker's maintenance, as its owner.

        Raises:
            CouldNotRun: the target does not know the worker or refuses it.
        """
        id = self.find_id()
        if id is None:
            raise CouldNotRun(f"the target does not list worker {self.name}")
        body = self.client.profile.build("modify_worker", {"maintenance": on})
        answer = self.client.call("modify_worker", kind="modify", actor=self.name, key=self.owner.key, body=body, id=id)
        _carried_out(answer, "the switch of the worker's maintenance")


def balance(client: Client, account: Account) -> float:
    """An account's kudos, as the account's route shows them.

    Raises:
        CouldNotRun: the target does not show them.
    """
    answer = client.call("account", kind="account", actor=account.role, key=account.key)
    return _carried_out(answer, "the account's route").number("kudos")


def _carried_out(answer: Answer, what: str) -> Answer:
    if not answer.accepted:
        raise CouldNotRun(f"{what} was not carried out: {answer}")
    return answer
