"""Rounds over the levels of a sweep: in each, some pops of every branch at every level, in an order drawn anew."""

from __future__ import annotations

import gc
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from pydantic import Field

from load.probes.facts import Fact
from load.sweeps.cells import Axis, Branch, Sweep
from load.sweeps.popping import Popper
from load.sweeps.standing import Bench, Standing


class Plan(Fact):
    """How a sweep is measured: rounds, timed pops of a branch at each level of a round, those before that do not count.

    A block whose pops are slow ends after `block_seconds`, but has three at least.
    """

    rounds: int = Field(24, ge=5, le=1000)
    pops: int = Field(12, ge=3, le=1000)
    warm_up: int = Field(2, ge=0, le=100)
    block_seconds: float = Field(0.6, gt=0, le=60)
    seed: int = 1


class Timing(Fact):
    """The pops of one branch at one level in one round, each with its seconds."""

    axis: Axis
    level: float
    branch: Branch
    round: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The seconds that half of them took at most."""
        return statistics.median(self.seconds)


_FEWEST = 3


def measure(sweep: Sweep, bench: Bench, plan: Plan, branches: Sequence[Branch]) -> Iterator[Timing]:
    """Every block, as it is measured."""
    rng = random.Random(plan.seed)
    poppers: dict[str, Popper] = {}
    with ExitStack() as stack:
        for number in range(plan.rounds):
            levels = list(sweep.cells)
            rng.shuffle(levels)
            for level in levels:
                order = list(branches)
                rng.shuffle(order)
                with bench.at(level) as standing:
                    popper = _popper(standing, poppers, stack)
                    for branch in order:
                        seconds = block(popper, branch, plan)
                        yield Timing(axis=sweep.axis, level=level, branch=branch, round=number, seconds=seconds)


def _popper(standing: Standing, known: dict[str, Popper], stack: ExitStack) -> Popper:
    """One for each queue that stands: a worker's first pop is dearer than its next."""
    run = standing.queues[-1].run
    if run not in known:
        known[run] = stack.enter_context(standing.popper())
    return known[run]


def block(popper: Popper, branch: Branch, plan: Plan) -> tuple[float, ...]:
    """The seconds of pops one after the other; what each was handed is back in the queue before the next."""
    seconds: list[float] = []
    with uncollected():
        deadline = time.perf_counter() + plan.block_seconds
        for number in range(-plan.warm_up, plan.pops):
            popped = popper.pop(branch)
            popper.put_back(popped.ids)
            if number >= 0:
                seconds.append(popped.seconds)
            if len(seconds) >= _FEWEST and time.perf_counter() > deadline:
                break
    return tuple(seconds)


@contextmanager
def uncollected() -> Iterator[None]:
    """The client's own garbage is nobody's time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
