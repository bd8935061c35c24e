"""What the suites on money and limits tell alike: a request that runs its course, and a reply of a length."""

from __future__ import annotations

from typing import Any

from conformance.actors import Family, Request, Worker
from conformance.stage import Stage
from conformance.twins import Kudos


def words(length: int) -> str:
    """A reply of that many characters."""
    return "x" * length


def tokens(stage: Stage, number: int) -> int:
    """The characters that are exactly that many tokens."""
    return number * stage.profile.tokens.characters


def answered(
    stage: Stage, family: Family, *replies: str, worker: Worker | None = None, max_length: int = 120, **fields: Any
) -> tuple[Request, list[float]]:
    """A request of as many generations as there are replies, each answered in turn; and what the replies earned.

    Its content is a twin's, unless one is given: whatever its length, the prompt's estimate is capped.
    """
    worker = worker or stage.serving(family, stage.model())
    fields = {"content": stage.twin_content(max_length), "n": len(replies), "max_length": max_length, **fields}
    request = stage.submit(family, *worker.declaration["models"], **fields)
    rewards = [worker.reply(worker.pop_job(request), reply) for reply in replies]
    request.ended = True
    return request, rewards


def settled(stage: Stage, request: Request, rewards: list[float]) -> dict[str, object]:
    """What such a request cost, what its replies earned by their answers and, with a ledger, what was paid."""
    seen: dict[str, object] = {"the charge": Kudos(stage.money.charged(request), 1 + len(rewards))}
    seen |= {f"reward {place + 1}": Kudos(reward) for place, reward in enumerate(rewards)}
    if stage.money.exact:
        seen["the pay"] = Kudos(stage.money.paid(*request.jobs), len(rewards))
    return seen
