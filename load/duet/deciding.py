"""What a duet's rounds say: CPU time decides where it can be seen, and latency has its say beside it.

Measured on a shared two-core machine: the log ratios of pairs scatter by 0.16 (quiet) to 0.4 (crowded) in the median
latency, and by 0.11 to 0.20 in the CPU time of a call, because the processor itself is faster at one moment than at
another. The client feels that too: what it computes for its side of a call goes up and down with it (correlation 0.70
to 0.85, slope 0.8 to 1.1), so it is the yardstick, and the CPU time of a call in units of it scatters by 0.09 to 0.14.
That decides. Where the client's own time differs between the builds, as with longer answers, it is none, and the bare
CPU time decides. And a server that waits, for a lock or a sleep, computes nothing: a latency beyond its wider margin
is a finding too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from load.duet.driving import Block
from load.duet.rounds import AGAIN, A, B, Plan, Round
from load.statistics import Answer, Comparison, Launches, compare

# Of the rounds, that may have a failed call before nothing is said any more.
_MOST_BROKEN = 0.1
_CONTRARY = {Answer.SLOWER, Answer.FASTER}


class Measure(StrEnum):
    """What is compared."""

    COST = "CPU time per call, in the client's"
    CPU = "CPU time per call"
    WALL = "median latency"
    CLIENT = "the client's CPU time per call"

    def of(self, block: Block) -> float | None:
        """This measure of a block, or None where it could not be taken."""
        if self is Measure.COST:
            return block.cpu_seconds and block.cpu_seconds / block.generator_cpu_seconds
        if self is Measure.CPU:
            return block.cpu_seconds
        return block.median_seconds if self is Measure.WALL else block.generator_cpu_seconds


class Told(BaseModel):
    """One measure: A against A, and B against A."""

    model_config = ConfigDict(frozen=True)

    measure: Measure
    guard: Comparison
    comparison: Comparison


class Verdict(BaseModel):
    """The answer of a duet, why, and the measures that it rests on; the deciding one comes first."""

    model_config = ConfigDict(frozen=True)

    answer: Answer
    reason: str
    told: tuple[Told, ...]
    rounds: int
    broken: int

    @property
    def deciding(self) -> Told | None:
        """The measure that decides; None where nothing could be measured."""
        return self.told[0] if self.told else None


def decide(rounds: Sequence[Round], plan: Plan) -> Verdict:
    """Say whether B is slower than A.

    Raises:
        BadMeasurements: fewer than ten whole rounds.
    """
    whole = [one for one in rounds if one.whole]
    broken = len(rounds) - len(whole)
    if broken > _MOST_BROKEN * len(rounds):
        reason = f"calls failed in {broken} of {len(rounds)} rounds"
        return Verdict(answer=Answer.NO_VERDICT, reason=reason, told=(), rounds=len(rounds), broken=broken)
    told = tuple(_told(whole, plan))
    answer, reason = _answer(told)
    return Verdict(answer=answer, reason=reason, told=told, rounds=len(rounds), broken=broken)


def ratios(rounds: Sequence[Round], measure: Measure, *, guard: bool = False) -> Launches | None:
    """The log ratios of each launch; None where the measure is missing.

    As a guard: A's second launch over its first. Else B over A, whose two blocks of the round are taken together.
    """
    launches: dict[int, list[float]] = {}
    for one in rounds:
        a, again, b = (measure.of(one.blocks[name]) for name in (A, AGAIN, B))
        if not a or not again or not b:
            return None
        ratio = math.log(again / a) if guard else math.log(b) - (math.log(a) + math.log(again)) / 2
        launches.setdefault(one.launch, []).append(ratio)
    return list(launches.values())


def _told(rounds: Sequence[Round], plan: Plan) -> Iterator[Told]:
    wide = max(plan.margin, plan.wall_margin)
    if ratios(rounds, Measure.CPU) is None:
        yield _held(rounds, Measure.WALL, plan.margin, plan.seed)
        return
    yardstick = compare(ratios(rounds, Measure.CLIENT) or (), wide, seed=plan.seed)
    cost = Measure.CPU if yardstick.answer in _CONTRARY else Measure.COST
    yield _held(rounds, cost, plan.margin, plan.seed)
    yield _held(rounds, Measure.WALL, wide, plan.seed)


def _held(rounds: Sequence[Round], measure: Measure, margin: float, seed: int) -> Told:
    pairs, guard = ratios(rounds, measure), ratios(rounds, measure, guard=True)
    assert pairs is not None
    assert guard is not None
    return Told(measure=measure, guard=compare(guard, margin, seed=seed), comparison=compare(pairs, margin, seed=seed))


def _answer(told: Sequence[Told]) -> tuple[Answer, str]:
    for one in told:
        if one.guard.answer in _CONTRARY:
            return Answer.NO_VERDICT, f"A differs from A: {one.measure} {percent(one.guard)}"
    answers = {one.comparison.answer: one for one in reversed(told)}
    if set(answers) >= _CONTRARY:
        return Answer.INCONCLUSIVE, f"the measures contradict each other: {told[0].measure} against {told[1].measure}"
    for answer in (Answer.SLOWER, Answer.FASTER, Answer.INCONCLUSIVE, Answer.EQUIVALENT):
        if answer in answers:
            one = answers[answer]
            return answer, f"{one.measure} {percent(one.comparison)}"
    return Answer.NO_VERDICT, "nothing could be measured"


def percent(comparison: Comparison) -> str:
    """A comparison in words: by how much B's figure differs, and within which bounds."""
    return (
        f"{comparison.ratio - 1:+.1%} ({comparison.low - 1:+.1%} to {comparison.high - 1:+.1%}, "
        f"margin {comparison.margin:.0%})"
    )
