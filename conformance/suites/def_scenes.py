"""What the suite on deferral tells alike: requests that weigh much, and pops that pass them by."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import linear_regression
from typing import Any

from conformance.actors import Family, Job, Request, Worker
from conformance.equality import same_json
from conformance.errors import CouldNotRun
from conformance.stage import Stage

# Letters in the messages of a request, and as many in its tools: from what stays in the row to what never does.
SIZES = (0, 2048, 16384, 131072)
# Each call is counted this often, and the least counts: what a server does besides comes at times of its own.
REPEATS = 2
# More heavy requests than one: a page that is read is read whole.
HEAVY = 2


def letters(stage: Stage, size: int) -> str:
    """Letters that no compression of PostgreSQL's makes fewer than they are."""
    return b64encode(stage.random.randbytes(size)).decode()[:size]


def heavy(stage: Stage, *models: str, size: int, tools: bool = True, over_http: bool = False, **fields: Any) -> Request:
    """A chat request whose messages weigh that much, and as much again its tools, and whose prompt is short.

    Where the target's database may be written, both are put there after the submit, for nobody knows what a prompt
    makes of a picture; `over_http` submits them all the same.
    """
    extras = {"tools": [_tool(stage, size)]} if tools else {}
    replace = stage.profile.database.replace_content
    if over_http or not replace or "database_write" not in stage.profile.capabilities:
        return stage.chat(*models, messages=[_picture(stage, size)], **extras, **fields)
    request = stage.chat(*models, **fields)
    content: dict[str, Any] = {"messages": [{"role": "user", "content": letters(stage, size)}], **extras}
    values = {"messages": json.dumps(content["messages"]), "extras": json.dumps(extras) if tools else None}
    if stage.database.run(replace, id=request.id, **values) != 1:
        raise CouldNotRun(f"the content of {request.id} could not be replaced: no such row")
    request.sent = {**request.sent, **content}
    return request


def _tool(stage: Stage, size: int) -> dict[str, Any]:
    function = {"name": "look_up", "description": letters(stage, size), "parameters": {"type": "object"}}
    return {"type": "function", "function": function}


def _picture(stage: Stage, size: int) -> dict[str, Any]:
    """A message whose weight is in a picture, of which a rendering as text makes a few letters at most."""
    url = f"data:image/png;base64,{letters(stage, size - size % 4)}"
    return {"role": "user", "content": [{"type": "text", "text": "What is this?"}, _image(url)]}


def _image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def weight(request: Request) -> int:
    """The bytes of a request's messages and extras."""
    sent = [request.sent[name] for name in ("messages", "tools") if name in request.sent]
    return sum(len(json.dumps(content, ensure_ascii=False).encode()) for content in sent)


def only_this_grew(stage: Stage, light: Request, laden: Request) -> None:
    """Between two requests nothing differs in size but messages and extras, where the row can be seen.

    Raises:
        CouldNotRun: another column grew with them, so that its bytes would be taken for theirs.
    """
    if not stage.profile.database.request_row or "database" not in stage.profile.capabilities:
        return
    small, large = _columns(stage, light), _columns(stage, laden)
    grown = [name for name in large if large[name] - small.get(name, 0) > 0.01 * weight(laden)]
    if grown:
        raise CouldNotRun(
            f"with messages and extras there grows {', '.join(grown)}: nothing else may, to tell them apart"
        )


def _columns(stage: Stage, request: Request) -> dict[str, int]:
    names = stage.profile.database
    rows = stage.database.rows(names.request_row, id=request.id)
    if not rows:
        raise CouldNotRun(f"request {request.id} has no row")
    return {k: len(str(v)) for k, v in rows[0].items() if k not in (names.messages_column, names.extras_column)}


def slope(points: Mapping[int, int]) -> float:
    """Bytes more for each byte of weight, by least squares over points of weight and bytes."""
    return linear_regression(list(points), list(points.values())).slope


def carries(job: Job, request: Request) -> Job:
    """The job, which brings the request's messages and tools to the worker.

    Raises:
        CouldNotRun: it does not, so that nobody needed to read them.
    """
    if not same_json(job.messages, request.messages) or not same_json(job.read("tools"), request.sent.get("tools")):
        raise CouldNotRun(f"job {job.id} does not carry the messages and tools of request {request.id}")
    return job


Pop = tuple[str, Callable[[], object]]


class Queue:
    """A small chat request and a text request, and behind them chat requests that `lays` them there."""

    def __init__(self, stage: Stage, lay: Callable[[str], Request]) -> None:
        self.stage = stage
        self.model = stage.model()
        self.small: Sequence[Request] = (stage.chat(self.model, n=REPEATS), stage.text(self.model, n=REPEATS))
        self.heavy = [lay(self.model) for _ in range(HEAVY)]
        self.worker = stage.chat_worker(self.model)

    def pops(self) -> Iterator[Pop]:
        """Pops that pass the heavy requests by: each hands out a small one, or nothing as none fits the worker."""
        for request in self.small:
            for _ in range(REPEATS):
                yield f"a pop that hands out a small {request.family} job", partial(self._is_of, request)
        too_small = self.stage.chat_worker(self.model, max_length=self.stage.profile.limits.max_length_minimum)
        for _ in range(REPEATS):
            yield "a pop that hands out nothing", lambda: _hands_out_nothing(too_small)

    def hand_out(self) -> Job:
        """A heavy request's job, once the small ones are gone."""
        return carries(self.worker.pop_job(), self.heavy[0])

    def clear(self) -> None:
        """Take away what is left."""
        for request in self.heavy:
            request.cancel()

    def _is_of(self, request: Request) -> None:
        job = self.worker.pop_job(request)
        words = job.prompt if request.family is Family.TEXT else job.messages
        if not same_json(words, request.prompt if request.family is Family.TEXT else request.messages):
            raise CouldNotRun(f"worker {self.worker.name} was handed another job than the small {request.family} one")


def _hands_out_nothing(worker: Worker) -> None:
    if worker.pop() is not None:
        raise CouldNotRun(f"worker {worker.name}, for whom every request is too long, was handed one")
