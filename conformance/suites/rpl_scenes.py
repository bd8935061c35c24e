"""What the RPL suites tell alike: a request in flight, and a right reply to a job."""

from __future__ import annotations

from typing import Any

from conformance.actors import Family, Job, Request, Worker
from conformance.client import Answer
from conformance.stage import Stage

Message = dict[str, Any]


def in_flight(stage: Stage, family: Family = Family.CHAT, n: int = 1, **fields: Any) -> tuple[Request, Worker]:
    """A request whose n generations are in flight with one worker; the jobs stand in the request."""
    model = stage.model()
    worker = stage.serving(family, model)
    request = stage.submit(family, model, n=n, **fields)
    for _ in range(n):
        worker.pop_job(request)
    return request, worker


def assistant(content: str | None, *tool_calls: Message) -> Message:
    """A worker's message, with tool calls where there are some."""
    message: Message = {"role": "assistant", "content": content}
    return {**message, "tool_calls": list(tool_calls)} if tool_calls else message


def tool_call(name: str = "look_up", arguments: str = "{}") -> Message:
    """One call of a tool."""
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def reply_in_chat(job: Job, message: Any, **reply: Any) -> Answer:
    """The worker's structured reply, beside the string that a text reply would be."""
    content = message.get("content") if isinstance(message, dict) else None
    given = {"generation": content if isinstance(content, str) else "", "finish_reason": "stop", **reply}
    return job.worker.try_reply(job, message=message, **given)


def right_reply(job: Job, content: str = "A right reply.") -> Answer:
    """A reply as the job's family wants it."""
    if job.family is Family.TEXT:
        return job.worker.try_reply(job, generation=content)
    return reply_in_chat(job, assistant(content))
