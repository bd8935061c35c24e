"""The experiment `duet-power`: how often the duet raises a false alarm, and how often it finds a server 9 % slower.

`python -P -m load.duet.power --runs 100` plays a hundred duets of the reference against itself and a hundred against
the reference slowed from outside, each with launches of its own, one file of raw rounds a run. It may be stopped and
started again: runs that are there are not played again. The tables say how many runs they stand on.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from conformance import profile as profiles
from conformance.errors import Exit, Situation
from fixtures.postgres import PostgresError, open_server
from load.duet.arms import OWN, target
from load.duet.deciding import Verdict, decide
from load.duet.rounds import Head, Plan, Round, keep, play, read
from load.statistics import Answer

DEFAULT_FOLDER = Path("build/duet-power")
SHARE = 0.09
# A server slowed so is to be found in so many of a hundred runs.
FOUND = 0.95
_SLOWED = (
    f"{{python}} -P -m load.duet.slowed --share {SHARE} "
    "--database-url {database_url} --port {port} --end-with-stdin"
)
KINDS = {"same": OWN, "slowed": _SLOWED}
_LAUNCHES = 4
_RESAMPLED_PAIRS = (24, 48, 100, 200)


@dataclass(frozen=True)
class Kept:
    """One finished run."""

    head: Head
    rounds: Sequence[Round]
    verdict: Verdict


def main(
    runs: Annotated[int, typer.Option(min=0, max=1000, help="Duets of each kind, with those that are there.")] = 100,
    folder: Annotated[Path, typer.Option(help="Where each run has its file.")] = DEFAULT_FOLDER,
    minutes: Annotated[float, typer.Option(min=0, help="After this no further run begins.")] = 600,
    seconds: Annotated[float, typer.Option(min=0.05, max=5, help="How long a block takes.")] = 0.2,
    resampled: Annotated[int, typer.Option(min=0, max=1000, help="Runs to draw from the raw rounds.")] = 100,
) -> None:
    """Play what is not there yet, and print the tables; ends with 1 where a bar is missed, with 3 where runs lack."""
    try:
        _play_missing(folder, runs, time.monotonic() + 60 * minutes, seconds)
        kept = {kind: list(finished(folder, kind)) for kind in KINDS}
    except (Situation, PostgresError) as problem:
        sys.stderr.write(f"{problem}\n{getattr(problem, 'hint', '')}\n")
        raise typer.Exit(Exit.COULD_NOT_RUN) from None
    console = Console(highlight=False, width=140)
    console.print(_table_of_runs(kept))
    if resampled:
        console.print(_table_of_resampled(kept, resampled))
    raise typer.Exit(judged(kept, runs))


def judged(kept: dict[str, list[Kept]], runs: int) -> Exit:
    """Whether both bars hold over the runs that were played."""
    alarms = sum(run.verdict.answer in {Answer.SLOWER, Answer.FASTER} for run in kept["same"])
    found = sum(run.verdict.answer is Answer.SLOWER for run in kept["slowed"])
    if alarms or found < FOUND * len(kept["slowed"]):
        return Exit.NOT_CONFORMANT
    return Exit.COULD_NOT_RUN if min(len(k) for k in kept.values()) < runs else Exit.CONFORMANT


def finished(folder: Path, kind: str) -> Iterator[Kept]:
    """The runs of a kind that are there, each judged from its raw rounds.

    Raises:
        BadPairs: a file is broken.
        BadMeasurements: a run has too few whole rounds.
    """
    for path in sorted(folder.glob(f"{kind}-*.jsonl")):
        head, rounds = read(path)
        yield Kept(head, rounds, decide(rounds, head.plan))


def resample(kept: Sequence[Kept], pairs: int, rng: random.Random) -> Verdict:
    """The verdict of a run drawn from the raw rounds: launches from all runs, and rounds from each of these."""
    plan = kept[0].head.plan.model_copy(update={"seed": rng.randrange(2**32)})
    drawn: list[Round] = []
    for launch in range(_LAUNCHES):
        run = rng.choice(kept)
        chosen = rng.choice(sorted({one.launch for one in run.rounds}))
        rounds = [one for one in run.rounds if one.launch == chosen]
        some = rng.choices(rounds, k=pairs // _LAUNCHES)
        drawn += [one.model_copy(update={"launch": launch}) for one in some]
    return decide(drawn, plan)


def _play_missing(folder: Path, runs: int, deadline: float, seconds: float) -> None:
    missing = [(i, kind) for i in range(runs) for kind in KINDS if not (folder / f"{kind}-{i:03}.jsonl").exists()]
    if not missing or time.monotonic() >= deadline:
        return
    protocol = profiles.load("reference")
    with open_server() as postgres:
        for number, kind in missing:
            if time.monotonic() >= deadline:
                return
            plan = Plan(launches=_LAUNCHES, block_seconds=seconds, seed=2 * number + (kind == "slowed"))
            path = folder / f"{kind}-{number:03}.jsonl"
            unfinished = path.with_suffix(".part")
            head = Head(a=OWN, b=KINDS[kind], plan=plan)
            played = play(target(OWN, protocol), target(KINDS[kind], protocol), plan, protocol, postgres)
            rounds = list(keep(unfinished, head, played))
            # Only a whole run counts as there.
            unfinished.replace(path)
            verdict = decide(rounds, plan)
            sys.stderr.write(f"{path.name}: {verdict.answer.value} — {verdict.reason}\n")


def _table_of_runs(kept: dict[str, list[Kept]]) -> Table:
    title = f"Duets played, {sum(map(len, kept.values()))} runs, each with launches of its own"
    table = Table("B is", "runs", *(answer.value for answer in Answer), "ratio", "would find", "crowding", title=title)
    for kind, runs in kept.items():
        if runs:
            deciding = [run.verdict.deciding for run in runs]
            compared = [told.comparison for told in deciding if told]
            table.add_row(
                kind,
                str(len(runs)),
                *_counted([run.verdict for run in runs]),
                f"{statistics.median(c.ratio for c in compared):.3f}" if compared else "",
                f"{statistics.median(c.smallest_effect for c in compared):+.1%}" if compared else "",
                f"{statistics.median(run.head.load_average for run in runs):.1f}",
            )
    return table


def _table_of_resampled(kept: dict[str, list[Kept]], count: int) -> Table:
    stands = ", ".join(f"{len(runs)} {kind}" for kind, runs in kept.items())
    title = f"Drawn again from the raw rounds of these runs ({stands}): {count} a row, not independent of each other"
    table = Table("B is", "pairs", *(answer.value for answer in Answer), title=title)
    rng = random.Random(0)
    for kind, runs in kept.items():
        for pairs in _RESAMPLED_PAIRS if runs else ():
            table.add_row(kind, str(pairs), *_counted([resample(runs, pairs, rng) for _ in range(count)]))
    return table


def _counted(verdicts: Sequence[Verdict]) -> list[str]:
    counts = Counter(verdict.answer for verdict in verdicts)
    return [str(counts[answer]) for answer in Answer]


if __name__ == "__main__":
    typer.run(main)
