"""What a generation can have cost: known where its reply was rewarded, bounded by what others like it cost.

Two generations are alike where only the length of their output makes a difference in price. A longer output costs no
less, and no more than in proportion (facts, 3.1: in proportion for a known model, the same for any other); so each
rewarded reply bounds the price of every other length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from conformance.histories.books import Books, Generation, Request
from conformance.histories.model import AnyOperation, Cancel, Outcome, Progress, Reply

Likeness = tuple[str, int, str, str, str]
NOTHING = (0.0, 0.0)
# Half of the hundredth of a kudo to which movements are rounded, and what sums of floats are off.
_CENT = 0.005
_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class Point:
    """What an output of so many tokens was worth, and the reply that tells it."""

    tokens: int
    worth: float
    generation: Generation
    reply: Reply

    @property
    def operations(self) -> list[AnyOperation]:
        """What tells this price."""
        request = self.generation.request
        return [*(request.submits if request else ()), *self.generation.pops, self.reply]


class Prices:
    """The rewards of a history, by what they were paid for."""

    def __init__(self, books: Books) -> None:
        self._terms = books.terms
        self._generations = books.generations
        self._points: dict[Likeness, dict[int, Point]] | None = None
        self._worth: dict[tuple[Likeness | None, int], tuple[float, float]] = {}

    def charge(self, reply: Reply, generation: Generation) -> tuple[float, float]:
        """The least and the most that a reply can have cost, its fee included."""
        fee = self._terms.finish_fee
        if not reply.reward:
            most = 0.0 if reply.reward == 0 else self.worth(generation, self._bounded(reply.tokens, generation))[1]
            return 0.0, most + fee
        if not reply.usual:
            return 0.0, reply.reward + fee
        if reply.state != "ok":
            return fee, fee
        blur = _blur(reply.reward)
        return reply.reward + fee - blur, reply.reward + fee + blur

    def settlement(self, generation: Generation, cancel: Cancel) -> tuple[float, float]:
        """The least and the most that a streamed cancel can have cost; a finished one's fee may be taken or not."""
        shortest, longest = (self._bounded(tokens, generation) for tokens in posted(generation, cancel))
        # Of a max_length below the floor the specification leaves open which of them bounds the other (CAN-13).
        least = self.worth(generation, shortest)[0]
        most = self.worth(generation, max(longest, self._terms.floor))[1]
        return least, most + self._terms.finish_fee

    def payment(self, act: object, charged: tuple[float, float]) -> tuple[float, float]:
        """The least and the most that a worker was paid for what cost its requester so much."""
        if isinstance(act, Reply) and act.reward is not None:
            return act.reward - _blur(act.reward), act.reward + _blur(act.reward)
        return max(0.0, charged[0] - self._terms.finish_fee), charged[1]

    def worth(self, generation: Generation, tokens: int) -> tuple[float, float]:
        """The least and the most that so many settled tokens of a generation can be worth, without fees."""
        key = _likeness(generation), tokens
        if key not in self._worth:
            self._worth[key] = self._bounds(generation, tokens)
        return self._worth[key]

    def _bounds(self, generation: Generation, tokens: int) -> tuple[float, float]:
        least, most = 0.0, math.inf
        for point in self.points(generation):
            share = tokens / max(point.tokens, 1)
            # Both prices were rounded, and the error of the one grows with its share.
            error = _CENT * (1.0 + max(1.0, share))
            least = max(least, point.worth * min(1.0, share) - error)
            most = min(most, point.worth * max(1.0, share) + error)
        # Prices that contradict each other follow from something that the history does not tell.
        return (0.0, math.inf) if least > most else (least, most)

    def points(self, generation: Generation) -> list[Point]:
        """What is known of the price of generations like this one."""
        if self._points is None:
            self._points = self._collected()
        likeness = _likeness(generation)
        return list(self._points.get(likeness, {}).values()) if likeness else []

    def known(self, request: Request) -> list[AnyOperation]:
        """The operations that tell what generations like a request's are worth."""
        return [
            act for generation in request.generations for point in self.points(generation) for act in point.operations
        ]

    def _collected(self) -> dict[Likeness, dict[int, Point]]:
        points: dict[Likeness, dict[int, Point]] = {}
        for generation in self._generations.values():
            for reply in generation.replies:
                if reply.reward and reply.usual and (likeness := _likeness(generation)) is not None:
                    known, tokens = points.setdefault(likeness, {}), self._bounded(reply.tokens, generation)
                    if tokens not in known:
                        known[tokens] = Point(tokens, reply.reward, generation, reply)
        return points

    def _bounded(self, tokens: int, generation: Generation) -> int:
        submit = generation.request.submit if generation.request else None
        return min(max(tokens, self._terms.floor), submit.max_length) if submit else tokens


def posted(generation: Generation, cancel: Cancel) -> tuple[int, int]:
    """The fewest and the most tokens that can have been posted last when a cancel took effect."""
    # A post that was told of the cancel came after it.
    before = [post for post in generation.posts if post.called <= cancel.returned and not post.cancelled]
    sure = [post for post in before if post.outcome is Outcome.DONE and post.returned < cancel.called]
    last = max((post.called for post in sure), default=-math.inf)
    latest = [post.tokens for post in before if not _is_over(post, last)]
    if not sure:
        latest.append(0)
    return min(latest), max(latest)


def _is_over(post: Progress, last: float) -> bool:
    """Whether a post was over before the last one that certainly was before the cancel began."""
    return post.outcome is Outcome.DONE and post.returned < last


def _blur(reward: float) -> float:
    """How far a movement may lie from the reward: not at all from one in whole hundredths, to which movements round."""
    return 0.0 if abs(reward - round(reward, 2)) < _NOISE else _CENT


def _likeness(generation: Generation) -> Likeness | None:
    request = generation.request
    if request is None or not request.submits:
        return None
    submit, pop = request.submits[0], generation.pops[0]
    return submit.shape, submit.max_length, pop.model, pop.account, pop.bridge
