"""How many operations the judge judges in a second, on one core: `python -P -m conformance.histories.benchmark`.

The history is recorded of a run against the embedded reference: sixteen actors at once, both families, a tenth of the
requests cancelled and of the generations given up. Repeated under other names it is as long as a long run's; then it
is judged as it is, and with one generation handed out twice, in the middle and at the end.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from conformance import accounts, targets
from conformance import profile as profiles
from conformance.client import Client
from conformance.histories import History, judge, recorded, save
from conformance.histories.driving import Play
from conformance.histories.model import AnyOperation, Outcome, Pop
from conformance.stage import Resources, Stage
from fixtures.postgres import open_server

# The best of as many: what else a machine does only ever adds.
_ROUNDS = 5


def main() -> None:
    """Record, repeat, judge, and print the rates."""
    options = _options()
    history = _record(options.calls, options.seed)
    typer.echo(f"recorded {_described(history)}")
    if options.save is not None:
        save(history, options.save)
        typer.echo(f"kept in {options.save}")
    long = repeated(history, -(-options.operations // len(history.operations)))
    typer.echo(f"repeated to {len(long.operations):,} operations")
    typer.echo(f"{'as recorded':<24}{_told(long)}")
    for place, share in {"in the middle": 0.5, "at the end": 1.0}.items():
        typer.echo(f"{'twice ' + place:<24}{_told(handed_twice(long, share))}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=4000, help="calls to record")
    parser.add_argument("--operations", type=int, default=100_000, help="operations to judge")
    parser.add_argument("--seed", type=int, default=1, help="of what the actors do")
    parser.add_argument("--save", type=Path, help="keep the recorded history in this file")
    return parser.parse_args()


def _record(calls: int, seed: int) -> History:
    profile = profiles.load("reference")
    with (
        open_server() as postgres,
        targets.embedded(profile, postgres) as target,
        Client(target.url, profile) as client,
    ):
        (cast,) = accounts.provide(client)
        client.recorder.take()
        stage = Stage(Resources(client, cast, None, seed), "benchmark")
        Play(stage, calls, seed).run()
        return recorded(client.recorder.take(), profile)


def _described(history: History) -> str:
    kinds = Counter(act.kind for act in history.operations)
    done = [act for act in history.operations if act.outcome is Outcome.DONE]
    actors = {act.actor for act in history.operations}
    span = max(act.returned for act in done) - min(act.called for act in done)
    told = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    return f"{len(history.operations):,} operations of {len(actors)} names in {span:.1f} s: {told}"


def repeated(history: History, count: int) -> History:
    """The history so many times, one after another, each time of other requests and generations."""
    start = min(act.called for act in history.operations)
    span = max(act.returned for act in history.operations) - start + 1.0
    acts = [_renamed(act, place, place * span) for place in range(count) for act in history.operations]
    return replace(history, operations=tuple(acts))


def _renamed(act: AnyOperation, place: int, later: float) -> AnyOperation:
    changed: dict[str, Any] = {"called": act.called + later, "returned": act.returned + later}
    for name in ("request", "generation", "key"):
        if getattr(act, name, None) is not None:
            changed[name] = f"{getattr(act, name)}/{place}"
    if isinstance(act, Pop):
        changed["generations"] = tuple(f"{id}/{place}" for id in act.generations)
    return replace(act, **changed)


def handed_twice(history: History, share: float) -> History:
    """The history in which the last hand-out of this share of it is repeated by another worker."""
    acts = history.operations
    upto = acts[: int(len(acts) * share)]
    last = next(act for act in reversed(upto) if isinstance(act, Pop) and act.generations)
    again = replace(last, actor="another worker", called=last.called + 1e-4, returned=last.returned + 1e-4)
    return replace(history, operations=(*acts, again))


def _told(history: History) -> str:
    best, witness = float("inf"), None
    for _ in range(_ROUNDS):
        began = time.process_time()
        witness = judge(history)
        best = min(best, time.process_time() - began)
    rate = len(history.operations) / best
    return f"{rate:>10,.0f} operations/s   {witness or 'legal'}"


if __name__ == "__main__":
    main()
