"""A ramp as a report shows it: the verdict on each of its steps, none of which decides, and the knee."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from load.sessions import Played
from load.sessions import ramp as ramps
from load.sessions.ramp import State
from reports.measured import parts
from reports.measured.parts import Finding, Knee, Run, Step

_OUTCOMES: dict[State, parts.Outcome] = {"held": "pass", "broke": "fail", "unknown": "invalid"}


def told_step(played: Played, run: Run) -> Finding:
    """What one step says: a ramp goes on until something breaks, so that it decides nothing by itself."""
    rate = played.run.phase[-1].rate
    made = ramps.step(0, rate, played.result, played.gates, played.witness, played.unjudged)
    why = " ".join(made.reasons) or " ".join(gate.sentence for gate in played.gates)
    return Finding(
        name=f"{played.run.name}: the step", kind="figure", outcome=_OUTCOMES[made.state],
        sentence=f"{made.state.capitalize()} at {rate:g} a second: {why}", rows=f"{run.slug}-operations", run=run.slug,
        decides=False,
    )  # fmt: skip


def told_knees(knees: Sequence[ramps.Knee], runs: Sequence[Run]) -> Iterator[Knee]:
    """The knees with their steps; of a step that was made twice the last run counts."""
    slugs = {run.name: run.slug for run in runs}
    for place, one in enumerate(knees, 1):
        steps = tuple(
            Step(
                ramp=step.ramp + 1, rate=step.rate, state=step.state, reason=" ".join(step.reasons),
                run=slugs[ramps.step_name(one.run, step.ramp, step.rate)],
            )
            for step in one.steps
        )  # fmt: skip
        yield Knee(
            slug=f"ramp-{place}", name=one.run, sentence=f"{one.sentence[:1].upper()}{one.sentence[1:]}.",
            best=one.best, held=one.held, broke=one.broke, steps=steps,
        )  # fmt: skip
