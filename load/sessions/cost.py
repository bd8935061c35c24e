"""What the history checker costs the generator: `python -P -m load.sessions.cost`.

Judging comes when the load is over; what is left is to keep each exchange and to write it. Pairs of blocks, with and
without, in one process at its ceiling, give two ratios: of the CPU time of a call, which is free of most noise, and of
the rate, which is what a person asks for. Two targets answer: the reference, whose answers are as large as they are;
and a small server that answers nothing at once, so that the generator alone is at its ceiling.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import typer

from conformance import profile as profiles
from conformance import targets
from fixtures.postgres import open_server
from load import running
from load.errors import GeneratorNotStarted
from load.scenarios import stall
from load.scenarios.plan import Phase, Plan
from load.statistics import Comparison, compare

BAR = 0.05
_LONGEST = 600.0


@dataclass(frozen=True)
class Cost:
    """What keeping costs: ratios of with to without, so that 1.02 is 2 % more. `cpu` is in seconds a call."""

    target: str
    cpu: float
    rate: float
    of_cpu: Comparison
    of_time: Comparison

    @property
    def lost(self) -> tuple[float, float, float]:
        """Of the generator's rate at its ceiling: what keeping takes, and between which two shares that lies."""
        ratio = self.of_cpu
        return 1 - 1 / ratio.ratio, 1 - 1 / ratio.low, 1 - 1 / ratio.high

    @property
    def held(self) -> bool:
        """Whether the whole interval is within the bar."""
        return self.lost[2] <= BAR


def cost(target: str, measured: Sequence[Sequence[Sequence[float]]], seed: int = 1) -> Cost:
    """The cost by pairs of blocks: of each, CPU and clock of a call without keeping, and with it."""
    ratios = [[math.log(kept[which] / bare[which]) for bare, kept in measured] for which in (0, 1)]
    cpu, wall = (median(bare[which] for bare, _ in measured) for which in (0, 1))
    return Cost(
        target=target,
        cpu=cpu,
        rate=1 / wall,
        of_cpu=compare([ratios[0]], BAR, seed=seed),
        of_time=compare([ratios[1]], BAR, seed=seed),
    )


@contextmanager
def _reference() -> Iterator[Plan]:
    profile, phases = profiles.load("reference"), (Phase(name="steady", seconds=1, rate=1),)
    with open_server() as postgres, targets.embedded(profile, postgres) as target:
        yield running.equipped(target.url, "reference", scenario="mixed", phases=phases)


@contextmanager
def _nothing() -> Iterator[Plan]:
    with stall.stalling(stall=0.0) as server:
        yield stall.plan(server.url, seconds=1, rate=1)


_TARGETS = {"answers nothing": _nothing, "reference": _reference}


def measure(plan: Plan, calls: int, pairs: int) -> list[list[list[float]]]:
    """The pairs of one process.

    Raises:
        GeneratorNotStarted: it gave none.
    """
    command = [sys.executable, "-P", "-m", "load.scenarios.keeping", "--calls", str(calls), "--pairs", str(pairs)]
    with tempfile.TemporaryDirectory() as folder:
        given = plan.model_copy(update={"exchanges": Path(folder)}).model_dump_json()
        ended = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=_LONGEST, check=False, cwd=folder
        )
    if ended.returncode:
        said = ended.stderr.strip().splitlines()[-1:] or ["nothing was said"]
        raise GeneratorNotStarted(f"No block was measured: {said[0]}.", "Is the target up?")
    found: list[list[list[float]]] = json.loads(ended.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where keeping costs more than the bar, or may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=200, help="of each block")
    parser.add_argument("--pairs", type=int, default=100, help="of blocks, for each target")
    options = parser.parse_args(arguments)
    ratios = f"{'CPU with/without':<27}{'time with/without':<27}rate lost"
    typer.echo(f"{'target':<18}{'CPU a call':>12}{'calls/s':>10}   {ratios}")
    held = True
    for name, target in _TARGETS.items():
        with target() as plan:
            found = cost(name, measure(plan, options.calls, options.pairs))
        held &= found.held
        typer.echo(_row(found))
    return 0 if held else 1


def _row(found: Cost) -> str:
    cpu, clock = (f"{c.ratio:.4f} ({c.low:.4f} to {c.high:.4f})" for c in (found.of_cpu, found.of_time))
    lost, least, most = found.lost
    verdict = "within 5 %" if found.held else "not shown to be within 5 %"
    return (
        f"{found.target:<18}{found.cpu * 1e6:>9.0f} µs{found.rate:>10.0f}   {cpu}   {clock}   "
        f"{lost:.1%} ({least:.1%} to {most:.1%}): {verdict}, {found.of_cpu.pairs} pairs"
    )


if __name__ == "__main__":
    sys.exit(main())
