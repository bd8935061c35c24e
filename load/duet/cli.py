"""The command `load duet`: options in, a duet played, a sentence and an exit code out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from conformance import profile as profiles
from conformance.errors import Exit
from fixtures.postgres import Server, open_server
from load.duet.arms import OWN, Played, target
from load.duet.deciding import Verdict, decide, percent
from load.duet.rounds import Head, Plan, Round, keep, play
from load.errors import BadPlan
from load.statistics import SMALLEST_MARGIN, Answer
from reports import write

DEFAULT_FILE = Path("build/duet/rounds.jsonl")
_EXITS = {
    Answer.SLOWER: Exit.NOT_CONFORMANT,
    Answer.INCONCLUSIVE: Exit.COULD_NOT_RUN,
    Answer.NO_VERDICT: Exit.COULD_NOT_RUN,
}
_TARGET = "A URL, `profile` for the profile's own server, or a command with {python}, {port} and {database_url}."


def duet_command(
    a: Annotated[str, typer.Option("--a", help=f"The build to compare with. {_TARGET}")] = OWN,
    b: Annotated[str, typer.Option("--b", help=f"The build that may be slower. {_TARGET}")] = OWN,
    profile: Annotated[str, typer.Option(help="A built-in profile or a TOML file.")] = "reference",
    database_url: Annotated[
        str | None,
        typer.Option(help="A PostgreSQL for servers that are started; embedded by default. CPU time needs that one."),
    ] = None,
    launches: Annotated[int, typer.Option(min=1, max=100, help="How often each server is started.")] = 4,
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Pairs of each launch.")] = 25,
    seconds: Annotated[float, typer.Option(min=0.05, max=5, help="How long a block takes.")] = 0.2,
    margin: Annotated[
        float, typer.Option(min=SMALLEST_MARGIN, max=0.5, help="What counts as no difference.")
    ] = SMALLEST_MARGIN,
    seed: Annotated[int, typer.Option(help="Of the order of the blocks and of the drawing.")] = 0,
    out: Annotated[Path, typer.Option(help="The file of raw rounds, one JSON object a line.")] = DEFAULT_FILE,
) -> None:
    """Say whether server B is slower than server A, or how small a difference would have been found.

    Ends with 0 for faster or equivalent, with 1 for slower, with 3 where nothing can be said. The report stands beside
    the raw rounds.
    """
    from load import telling  # noqa: PLC0415 - it tells of this package
    from load.telling import measures  # noqa: PLC0415

    if launches * rounds < 10:
        raise BadPlan(f"{launches * rounds} pairs are too few.", "Ask for 10 at least; 100 find 9 %.")
    protocol, start = profiles.load(profile), measures.Start()
    write.check_writable(out.parent)
    plan = Plan(launches=launches, rounds=rounds, block_seconds=seconds, margin=margin, seed=seed)
    one, other = target(a, protocol), target(b, protocol)
    head = Head(a=a, b=b, plan=plan)
    with _database(database_url, one, other) as postgres:
        database = telling.database(postgres.url() if postgres else None)
        kept = keep(out, head, play(one, other, plan, protocol, postgres))
        played = list(shown(kept, launches * rounds))
    verdict = decide(played, plan)
    show(verdict, Console(highlight=False))
    report = telling.tell_duet(
        verdict, head, played, profile=protocol.name, command=start.command, started_at=start.at,
        machine=start.machine, database=database,
    )  # fmt: skip
    sys.stdout.write(f"Raw rounds: {out}\nDrawings and verdict: {measures.kept(report, out.parent)}\n")
    raise typer.Exit(_EXITS.get(verdict.answer, Exit.CONFORMANT))


@contextmanager
def _database(url: str | None, *played: Played) -> Iterator[Server | None]:
    if any(one.can_restart for one in played):
        with open_server(url) as postgres:
            yield postgres
    else:
        yield None


def shown(rounds: Iterator[Round], count: int) -> Iterator[Round]:
    """Draw a bar while rounds are played."""
    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(rounds, total=count, description="Duet")


def show(verdict: Verdict, console: Console) -> None:
    """Print a verdict: a sentence, and for each measure what it rests on."""
    console.print(f"B against A: {verdict.answer.value} — {verdict.reason}", soft_wrap=True)
    for told in verdict.told:
        compared = told.comparison
        console.print(
            f"  {told.measure.value}: {compared.answer.value} {percent(compared)}; would have found "
            f"{compared.smallest_effect:+.1%}; A against A {percent(told.guard)}",
            soft_wrap=True,
        )
    if verdict.told:
        pairs = verdict.told[0].comparison
        console.print(f"  {pairs.pairs} pairs of {pairs.launches} launches, {verdict.broken} rounds left out")
