"""What the suites on cancelling tell alike: streams in flight, what was posted, and what a settlement is worth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from conformance.actors import Family, Job, Request, Worker
from conformance.stage import Stage


def words(length: int) -> str:
    """Output of that many characters."""
    return "x" * length


def tokens(stage: Stage, number: int) -> int:
    """The characters of output that are exactly that many tokens."""
    return number * stage.profile.tokens.characters


@dataclass(frozen=True)
class Worth:
    """What a generation brought about: the request's whole cost, and the payment of its worker's owner."""

    cost: float
    payment: float


@dataclass
class Scene:
    """One model, one conversation and one worker: on it only the length of an output makes a difference in price."""

    stage: Stage
    family: Family = Family.CHAT
    max_length: int = 120
    model: str = ""
    content: str = ""
    worker: Worker = field(init=False)
    _finished: dict[int, Worth] = field(default_factory=dict)
    _cancelled: dict[int, Worth] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = self.model or self.stage.model()
        self.content = self.content or f"Tell me about {self.stage.unique()}."
        self.worker = self.stage.serving(self.family, self.model)

    @property
    def longest(self) -> int:
        """Characters of output that are max_length tokens."""
        return tokens(self.stage, self.max_length)

    # Telling

    def submit(self, **fields: Any) -> Request:
        """A request of this scene without a stream hint."""
        fields = {"content": self.content, "max_length": self.max_length, **fields}
        return self.stage.submit(self.family, self.model, **fields)

    def stream(self, **fields: Any) -> Request:
        """A chat request of this scene whose reply is to be streamed."""
        return self.submit(stream=True, **fields)

    def take(self, request: Request, *posts: str) -> Job:
        """The scene's worker takes a generation of the request and posts its output so far, once or more often."""
        job = self.worker.pop_job(request)
        for output in posts:
            self.worker.progress(job, output)
        return job

    def streaming(self, *posts: str, **fields: Any) -> tuple[Request, Job]:
        """A stream with one generation in flight, whose worker has posted this."""
        request = self.stream(**fields)
        return request, self.take(request, *posts)

    def unhinted(self, *posts: str, **fields: Any) -> tuple[Request, Job]:
        """A request without a stream hint with one generation in flight."""
        request = self.submit(**fields)
        job = self.worker.pop_job(request)
        for output in posts:
            # A target may refuse a post that nobody asked for: then there is no posted output that could cost.
            self.worker.try_progress(job, output)
        return request, job

    # Money

    def look(self, *requests: Request) -> list[float]:
        """What these requests have cost and, where the ledger shows it, what was paid for them."""
        money = self.stage.money
        seen = [money.charged(request) for request in requests]
        if money.exact:
            seen += [money.paid(*request.jobs) for request in requests if request.jobs]
        return seen

    def books(self, request: Request) -> dict[str, Any]:
        """All of a request that an act may change: its counts, its replies and its money."""
        return {**request.status().counts, "money": self.look(request)}

    def finished(self, length: int) -> Worth:
        """The finished twin: the same messages, never cancelled, with a reply of that many characters."""
        if length not in self._finished:
            request, job = self.unhinted()
            reward = self.worker.reply(job, words(length))
            self._finished[length] = Worth(self.stage.money.charged(request), reward)
        return self._finished[length]

    def cancelled(self, length: int) -> Worth:
        """The same stream alone, cancelled when its worker had posted that many characters; the ledger's to tell."""
        if length not in self._cancelled:
            request, job = self.streaming(words(length))
            request.cancel()
            money = self.stage.money
            self._cancelled[length] = Worth(money.charged(request), money.paid(job) if money.exact else 0.0)
        return self._cancelled[length]

    def submit_cost(self) -> float:
        """What a submit alone costs: a request of a scene of its own that nobody takes."""
        return self.stage.money.charged(Scene(self.stage, self.family, self.max_length).submit())

    # Judging

    def judge_settled(self, request: Request, length: int, posted: str) -> None:
        """A cancelled request of one generation cost what its finished twin cost, whose reply has that length.

        The finished twin's fee may be taken or not (CAN-04 says which).
        """
        money, fee = self.stage.money, self.stage.profile.money.finish_fee
        cost, twin = money.charged(request), self.finished(length).cost
        assert money.same(cost, twin) or money.same(cost, twin - fee), (
            f"cancelled with {posted} posted, the stream cost {cost} kudos in all; "
            f"its twin, finished with {length} characters, cost {twin}"
        )
