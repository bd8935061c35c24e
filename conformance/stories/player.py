"""Plays the calls of a story on a stage: names become actors, requests and jobs, and answers become what was seen."""

from __future__ import annotations

from functools import partial
from typing import Any

from conformance.actors import Family, Job, Request, Worker
from conformance.client import Answer
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.statuses import Generation, Status
from conformance.stories.calls import (
    Across,
    Call,
    Cancel,
    GiveUp,
    Hand,
    JobKey,
    Kind,
    Length,
    Outcome,
    Pop,
    Post,
    Route,
    Seen,
    Shown,
    Single,
    Submit,
    Together,
)

Crew = dict[str, Worker]

# Tokens of output: below the floor, which counts as the floor, and well above it.
_TOKENS = {Length.SHORT: 10, Length.LONG: 60}


def crew(stage: Stage) -> Crew:
    """Three workers. What they declare they declare with each pop."""
    return {letter: stage.worker([]) for letter in "ABC"}


class Player:
    """One story's actors. Its model, its requests and their contents are its own."""

    def __init__(self, stage: Stage, workers: Crew) -> None:
        self.stage = stage
        self.workers = workers
        self.model, self.other = stage.model(), stage.model()
        self.requests: dict[str, Request] = {}
        self.jobs: dict[JobKey, Job] = {}
        self._replies: dict[str, str] = {}

    def play(self, call: Call) -> tuple[Seen, ...]:
        """Make a call, or two at the same time, and give what was seen of each.

        Raises:
            CouldNotRun: a submit is not taken, an answer makes no sense, or the target only asks for patience.
        """
        if isinstance(call, Together):
            pair = (call.first, call.second)
            answers = self.stage.at_once(*(partial(self._send, single) for single in pair))
            return tuple(self._see(single, answer) for single, answer in zip(pair, answers, strict=True))
        return (self._see(call, self._send(call)),)

    def look(self, name: str) -> Shown | Seen:
        """The request's status on its own family's route, or what was answered instead."""
        request = self.requests[name]
        answer = request.requester.try_status(request)
        if not answer.accepted:
            return _plain(answer)
        status, late = Status(answer), self.stage.profile.timings.settlement > 0
        return Shown(
            status.finished, status.processing, status.restarted, status.waiting, status.done,
            None if late else status.kudos, tuple(map(self._whose, status.generations)),
        )  # fmt: skip

    def forget(self, name: str) -> None:
        """Cancel a request that the story left waiting."""
        self.requests[name].requester.try_cancel(self.requests[name])

    def _send(self, call: Single) -> Answer:
        if isinstance(call, Submit):
            return self._submit(call)
        if isinstance(call, Pop):
            return self.workers[call.worker].try_pop(
                models=[self.model, self.other], amount=call.amount, **self._declared(call.kind)
            )
        if isinstance(call, Cancel | Across):
            return self._ask(call)
        job = self.jobs[call.job]
        if isinstance(call, GiveUp):
            return job.worker.try_fault(job)
        output = self._output(job, call.length)
        if isinstance(call, Post):
            return job.worker.try_progress(job, output)
        told: dict[str, Any] = {"generation": output}
        if job.family is Family.CHAT:
            told |= {"message": {"role": "assistant", "content": output}, "finish_reason": "stop"}
        return job.worker.try_reply(job, **told)

    def _submit(self, call: Submit) -> Answer:
        requester = self.stage.requester(call.requester - 1)
        words = f"Tell me about {self.stage.unique()}."
        chat = {"messages": [{"role": "user", "content": words}], **({"stream": True} if call.stream else {})}
        content = chat if call.family is Family.CHAT else {"prompt": words}
        fields = {"models": [self.model], "n": call.n, "max_length": 80, **content}
        answer = requester.try_submit(call.family, fields)
        if not answer.accepted:
            raise CouldNotRun(f"the {call.family} submit was not carried out: {answer}")
        self.requests[call.request] = Request(answer.id("id"), call.family, requester, (self.model,), fields)
        return answer

    def _declared(self, kind: Kind) -> dict[str, Any]:
        chat = {Kind.BOTH: [self.model], Kind.CHAT: [self.model], Kind.ELSEWHERE: [self.other]}
        declared: dict[str, Any] = {"chat_models": chat[kind]} if kind in chat else {}
        return declared if kind.takes(Family.TEXT) else {**declared, "accept_text": False}

    def _ask(self, call: Cancel | Across) -> Answer:
        request = self.requests[call.request]
        if isinstance(call, Cancel):
            return request.requester.try_cancel(request)
        ask = request.requester.try_status if call.route is Route.STATUS else request.requester.try_cancel
        return ask(request, request.family.other)

    def _output(self, job: Job, length: Length) -> str:
        size = _TOKENS[length] * self.stage.profile.tokens.characters
        output = f"This is {self.stage.unique()}: ".ljust(size, "x")
        self._replies[output] = job.id
        return output

    def _see(self, call: Single, answer: Answer) -> Seen:
        seen = _plain(answer)
        if not (isinstance(call, Pop) and answer.accepted):
            return seen
        job = self.workers[call.worker].job_in(answer)
        if job is None:
            return seen
        name = next((name for name, request in self.requests.items() if _carries(job, request)), None)
        for place, one in enumerate(job.each()):
            self.jobs[call.pop, place] = one
        if name is not None:
            self.requests[name].jobs += job.each()
        return Seen(seen.outcome, seen.said, hand=Hand(name, job.ids))

    def _whose(self, generation: Generation) -> str:
        content = generation.text
        if generation.chat is not None:
            content = generation.message.get("content") if isinstance(generation.message, dict) else None
        return self._replies.get(content, repr(content)[:60]) if isinstance(content, str) else repr(content)


def _carries(job: Job, request: Request) -> bool:
    if job.family is not request.family:
        return False
    if job.family is Family.CHAT:
        return same_json(job.messages, request.messages)
    return bool(job.prompt == request.prompt)


def _plain(answer: Answer) -> Seen:
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    said = f"{answer.status} {answer.code}" if answer.code else f"{answer.status}"
    reward = answer.read("reward") if answer.kind == "reply" and answer.accepted else 0.0
    number = float(reward) if isinstance(reward, int | float) else 0.0
    return Seen(_outcome(answer), said, number)


def _outcome(answer: Answer) -> Outcome:
    if answer.accepted:
        return Outcome.CARRIED_OUT
    if answer.not_found:
        return Outcome.NOT_FOUND
    return Outcome.REFUSED if answer.refused else Outcome.CRASHED
