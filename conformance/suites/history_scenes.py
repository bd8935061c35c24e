"""What the suites of things that happen at once tell alike: the history of a check, judged."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from conformance.errors import CouldNotRun
from conformance.histories import Rule, Witness, judge
from conformance.histories.model import Pop
from conformance.histories.stored import plain
from conformance.stage import Stage

# What a queue owes whatever is asked of it at once: nothing twice, nothing lost.
HANDED_OUT_ONCE = (Rule.TWICE, Rule.EXCESS, Rule.LOST)


def broken(stage: Stage, rules: Collection[Rule], *, since: int = 0) -> Witness | None:
    """The first of these rules that what happened breaks, from that many exchanges of the check on.

    Raises:
        CouldNotRun: a job holds the words of no request, or of several, so that hand-outs cannot be counted.
    """
    history = stage.history(since)
    for act in history.operations:
        if isinstance(act, Pop) and act.generations and act.request is None:
            raise CouldNotRun(f"of which request {', '.join(act.generations)} is cannot be told by its words")
    witness = judge(history, rules)
    if witness is not None:
        # Kept with the report: a history of its own, small enough to be judged again by hand.
        stage.note("witness", plain(replace(history, operations=witness.operations)))
    return witness
