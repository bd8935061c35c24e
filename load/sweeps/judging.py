"""What a sweep says: slopes with their intervals, and what the catalogue holds them to. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from load.errors import BadMeasurements
from load.probes.facts import Fact
from load.statistics import (
    Judged,
    Outcome,
    Slope,
    compare,
    elasticity,
    increase,
    judge_depth,
    judge_payload,
)
from load.sweeps.cells import Axis, Branch
from load.sweeps.counting import Count
from load.sweeps.measuring import Timing
from load.sweeps.ordering import Handed

# LOD-04: behind the other family a pop takes at most so many times what it takes behind its own.
FACTOR = 2.0


class Finding(Fact):
    """What is said of one branch: a requirement's outcome with its reason; without an outcome it is told only.

    `of` names the rows that it rests on.
    """

    requirement: str
    branch: str
    outcome: Outcome | None
    reason: str
    of: Literal["time", "statements", "order"] = "time"


def verdict(findings: Sequence[Finding]) -> Outcome:
    """The worst that is said: a limit that does not hold is said even where something else could not be measured.

    Where nothing was held to a limit, nothing passed.
    """
    said = {finding.outcome for finding in findings}
    order = (Outcome.FAILED, Outcome.INVALID, Outcome.PASSED)
    return next((one for one in order if one in said), Outcome.INVALID)


def findings(
    axis: Axis, timings: Sequence[Timing], counts: Sequence[Count] = (), orders: Sequence[Handed] = ()
) -> list[Finding]:
    """All that is said of a sweep."""
    if axis is Axis.AHEAD:
        return [starvation(timings)]
    branches = list(dict.fromkeys(timing.branch for timing in timings))
    if axis is Axis.PAYLOAD:
        return [_judged("LOD-01", branch, timings, judge_payload) for branch in branches]
    if axis is Axis.DEPTH:
        # What the empty pop's worker meets are rows that its rules refuse, all of them: that is LOD-07's, and is told.
        return [
            refused(branch, timings) if branch is Branch.EMPTY else _judged("LOD-02", branch, timings, judge_depth)
            for branch in branches
        ]
    told = [refused(branch, timings) for branch in branches]
    told += [statements(branch, counts) for branch in branches if any(c.branch is branch for c in counts)]
    return told + [_order(orders)] * bool(orders)


def rounds(timings: Sequence[Timing], branch: Branch) -> list[dict[float, float]]:
    """The medians of each round by level, in the order of the rounds."""
    by_round: dict[int, dict[float, float]] = {}
    for timing in timings:
        if timing.branch is branch:
            by_round.setdefault(timing.round, {})[timing.level] = timing.median
    return [by_round[number] for number in sorted(by_round)]


def _judged(requirement: str, branch: Branch, timings: Sequence[Timing], judge: Callable[[Slope], Judged]) -> Finding:
    judged = judge(elasticity(rounds(timings, branch)))
    return Finding(requirement=requirement, branch=branch, outcome=judged.outcome, reason=judged.reason)


def refused(branch: Branch, timings: Sequence[Timing]) -> Finding:
    """How time grows with refused rows ahead: a figure for each row, and the exponent of the last tenfold."""
    measured = rounds(timings, branch)
    line = increase(measured)
    last = sorted(line.levels)[-2:]
    exponents = [math.log(one[last[1]] / one[last[0]]) / math.log(last[1] / last[0]) for one in measured if last[0]]
    steepest = f"; exponent from {last[0]:,.0f} to {last[1]:,.0f} rows {sum(exponents) / len(exponents):.2f}"
    reason = (
        f"{line.value * 1e6:.3f} µs for each refused row (95 % interval {line.low * 1e6:.3f} to {line.high * 1e6:.3f}, "
        f"{line.rounds} rounds){steepest if exponents else ''}"
    )
    return Finding(requirement="LOD-07", branch=branch, outcome=None, reason=reason)


def statements(branch: Branch, counts: Sequence[Count]) -> Finding:
    """Whether a pop makes more statements the more rows it refuses: the one count that has to stand still."""
    made = {count.level: count.statements for count in counts if count.branch is branch}
    first, last = made[min(made)], made[max(made)]
    outcome = Outcome.PASSED if last <= first else Outcome.FAILED
    reason = f"{first} statements a pop without refused rows, {last} with {max(made):,.0f}"
    return Finding(requirement="LOD-07", branch=branch, outcome=outcome, reason=reason, of="statements")


def _order(orders: Sequence[Handed]) -> Finding:
    jobs, wrong = sum(one.order.jobs for one in orders), sum(one.order.inversions for one in orders)
    worst, unknown = max(one.order.worst for one in orders), sum(one.unknown for one in orders)
    reason = f"{orders[0].workers} workers at once: {jobs} jobs, {wrong} pairs in the wrong order"
    reason += f", {worst} overtook the one that fared worst" if wrong else ""
    reason += f", {unknown} jobs not found in the queue" if unknown else ""
    return Finding(requirement="LOD-07", branch="text jobs, in order", outcome=None, reason=reason, of="order")


def starvation(timings: Sequence[Timing]) -> Finding:
    """LOD-04: the same text row, behind rows of the other family and behind refused ones of its own."""
    pairs = [math.log(one[1.0] / one[0.0]) for one in rounds(timings, Branch.TEXT) if {0.0, 1.0} <= one.keys()]
    if not pairs:
        raise BadMeasurements("No round has both queues.", "Measure more rounds.")
    compared = compare([pairs])
    outcome = Outcome.INVALID
    if compared.high <= FACTOR:
        outcome = Outcome.PASSED
    elif compared.low > FACTOR:
        outcome = Outcome.FAILED
    reason = (
        f"{compared.ratio:.3f} times as long behind chat rows as behind refused text rows (95 % interval "
        f"{compared.low:.3f} to {compared.high:.3f}, {compared.pairs} rounds), at most {FACTOR:g}"
    )
    return Finding(requirement="LOD-04", branch=Branch.TEXT, outcome=outcome, reason=reason)
