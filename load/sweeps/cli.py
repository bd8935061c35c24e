"""The command `load sweep`: options in, a sweep measured, a table, a verdict and an exit code out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from conformance import profile as profiles
from conformance.errors import Exit
from conformance.profile import Profile
from fixtures.postgres import open_server
from load.errors import BadTarget
from load.probes.facts import Fact, NotMeasured
from load.statistics import Outcome
from load.sweeps import counting, finding, judging, measuring, ordering, planting, regressions
from load.sweeps.cells import BASE_DEPTH, BASE_PAYLOAD, BASE_REFUSED, FULL, NOTHING, QUICK, Axis, Branch, Sweep, sweep
from load.sweeps.counting import Count
from load.sweeps.judging import Finding
from load.sweeps.measuring import Plan, Timing
from load.sweeps.ordering import Handed
from load.sweeps.popping import can_put_back
from load.sweeps.standing import Bench, InTurn, SideBySide, side_by_side
from reports import write
from reports.measured.parts import Target

T = TypeVar("T")

DEFAULT_FOLDER = Path("build/sweeps")
_EXITS = {Outcome.PASSED: Exit.CONFORMANT, Outcome.FAILED: Exit.NOT_CONFORMANT, Outcome.INVALID: Exit.COULD_NOT_RUN}
_QUICK_PLAN = Plan(rounds=10, pops=6, block_seconds=0.2)


class Measured(Fact):
    """All of one sweep: raw rows, what is said of them, and what could not be had."""

    timings: tuple[Timing, ...]
    counts: tuple[Count, ...] = ()
    orders: tuple[Handed, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_measured: tuple[NotMeasured, ...] = ()


def sweep_command(
    axes: Annotated[list[Axis] | None, typer.Argument(help="Which axes; all of them unless some are named.")] = None,
    target: Annotated[str | None, typer.Option(help="Root URL of a server; the embedded reference by default.")] = None,
    profile: Annotated[str, typer.Option(help="A built-in profile or a TOML file.")] = "reference",
    database_url: Annotated[
        str | None,
        typer.Option(
            help="With --target: its database, to write queues into. Without: a PostgreSQL; embedded by default."
        ),
    ] = None,
    fault: Annotated[str | None, typer.Option(help="A named fault to start the reference with.")] = None,
    levels: Annotated[str, typer.Option(help="With one axis: its levels, separated by commas.")] = "",
    payload: Annotated[int, typer.Option(help="Payload bytes where they do not vary.")] = BASE_PAYLOAD,
    depth: Annotated[int, typer.Option(help="Waiting rows where they do not vary.")] = BASE_DEPTH,
    refused: Annotated[int, typer.Option(help="Refused rows ahead where they do not vary.")] = BASE_REFUSED,
    rounds: Annotated[int | None, typer.Option(min=5, help="Rounds through all levels.")] = None,
    seed: Annotated[int, typer.Option(help="Of the order of levels and branches.")] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller levels, fewer pops.")] = False,
    out: Annotated[
        Path, typer.Option(help="Folder of the report, and of the raw rows: a file of JSON lines for each axis.")
    ] = DEFAULT_FOLDER,
) -> None:
    """Measure how a pop grows with payload, queue depth and refused rows ahead, and hold it to its limits.

    Ends with 0 where all hold, with 1 where one does not, with 3 where an interval is too wide to say (INVALID).
    """
    from load.telling import measures, place  # noqa: PLC0415 - a second, that whoever lists sessions need not wait for

    protocol, start = profiles.load(profile), measures.Start()
    write.check_writable(out)
    plan = (_QUICK_PLAN if quick else Plan()).model_copy(update={"seed": seed} | ({"rounds": rounds} if rounds else {}))
    console, done, database = Console(highlight=False), list[tuple[Sweep, Measured]](), None
    for axis in axes or list(Axis):
        chosen = [int(level) for level in levels.split(",")] if levels else (QUICK if quick else FULL)[axis]
        swept = sweep(axis, chosen, payload=payload, depth=depth, refused=refused)
        with _bench(swept, protocol, target, database_url, fault) as bench:
            database = place.database(_database(swept, bench, database_url))
            measured = run(swept, bench, plan, protocol, database_url, fault)
        keep(out / f"{axis.value}.jsonl", measured)
        show(swept, measured, console)
        done.append((swept, measured))
    told = Target(address=target or "the reference, started for it", profile=protocol.name)
    page = measures.kept(measures.tell_sweeps(done, start, told, seed=seed, database=database), out)
    sys.stdout.write(f"Raw rows: {out}\nDrawings and verdicts: {page}\n")
    said = [judging.verdict(measured.findings) for _, measured in done]
    raise typer.Exit(
        max((_EXITS[one] for one in said), key=(Exit.CONFORMANT, Exit.COULD_NOT_RUN, Exit.NOT_CONFORMANT).index)
    )


def _database(swept: Sweep, bench: Bench, database_url: str | None) -> str | None:
    """The database behind what is swept: of several of ours any one, for they are on one server."""
    if not isinstance(bench, SideBySide):
        return database_url
    with bench.at(next(iter(swept.cells))) as standing:
        return standing.database_url


@contextmanager
def _bench(
    swept: Sweep, profile: Profile, url: str | None, database_url: str | None, fault: str | None
) -> Iterator[Bench]:
    if url is not None:
        if fault is not None:
            raise BadTarget("A fault is put into the reference, not into a target.", "Leave --target or --fault out.")
        yield InTurn(swept, profile, url, database_url)
        return
    with open_server(database_url, durable=True) as postgres, side_by_side(swept, profile, postgres, fault) as bench:
        yield bench


def run(
    swept: Sweep, bench: Bench, plan: Plan, profile: Profile, database_url: str | None, fault: str | None = None
) -> Measured:
    """Measure a sweep: times, then counts and the order where both can be had."""
    ours = isinstance(bench, SideBySide)
    missing: list[NotMeasured] = []
    branches = swept.branches
    if not ours and not can_put_back(profile, database_url):
        branches = tuple(branch for branch in branches if branch in NOTHING)
        missing.append(NotMeasured(not_measured="pops with a job", reason="they could not be put back (put_back)"))
    blocks = plan.rounds * len(swept.cells) * len(branches)
    timings = tuple(_bar(measuring.measure(swept, bench, plan, branches), blocks, f"Sweep: {swept.axis}"))
    counts: tuple[Count, ...] = ()
    orders: tuple[Handed, ...] = ()
    if ours:
        cells = len(swept.cells) * len(branches)
        counts = tuple(_bar(counting.count(swept, bench, profile.server.command, fault), cells, "Counting"))
    else:
        told = list(counting.count_statements(swept, bench, branches))
        counts = tuple(one for one in told if isinstance(one, Count))
        missing += [one for one in told if isinstance(one, NotMeasured)]
        missing.append(NotMeasured(not_measured="bytes", reason="only a server that we start is behind our proxy"))
    if swept.axis is Axis.REFUSED and (ours or can_put_back(profile, database_url)):
        orders = tuple(ordering.handed(swept, bench))
    said = judging.findings(swept.axis, timings, counts, orders)
    return Measured(timings=timings, counts=counts, orders=orders, findings=tuple(said), not_measured=tuple(missing))


def _bar(items: Iterable[T], count: int, what: str) -> Iterator[T]:
    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=count, description=what)


def keep(file: Path, measured: Measured) -> None:
    """Write the raw rows, one a line, each with its kind."""
    file.parent.mkdir(parents=True, exist_ok=True)
    kinds = ("timings", "counts", "orders", "findings", "not_measured")
    lines = [
        json.dumps({"kind": kind, **row.model_dump(mode="json")}) + "\n"
        for kind in kinds
        for row in getattr(measured, kind)
    ]
    file.write_text("".join(lines), encoding="utf-8")


def show(swept: Sweep, measured: Measured, console: Console) -> None:
    """Print each cell, then what is said of each branch."""
    table = Table("level", "branch", "median ms", "statements", "bytes", "out of line", title=f"Sweep: {swept.axis}")
    counts = {(count.level, count.branch): count for count in measured.counts}
    for level in swept.cells:
        for branch in (one for one in Branch if any(timing.branch is one for timing in measured.timings)):
            times = [t.median for t in measured.timings if (t.level, t.branch) == (level, branch)]
            found = counts.get((level, branch))
            told = ("", "", "") if found is None else _counted(found)
            table.add_row(swept.name(level), branch.value, f"{median(times) * 1000:.2f}", *told)
    console.print(table)
    for one in measured.findings:
        said = one.outcome.value.upper() if one.outcome else "told"
        console.print(f"{one.requirement} {one.branch}: {said}, {one.reason}", soft_wrap=True)
    for fact in measured.not_measured:
        console.print(str(fact), soft_wrap=True)


def _counted(count: Count) -> tuple[str, str, str]:
    received = "" if count.received_bytes is None else f"{count.received_bytes:,}"
    return str(count.statements), received, "" if count.reads is None else f"{count.reads:.2f}"


# ---------------------------------------------------------------------------------------- planted faults


def regressions_command(
    names: Annotated[list[str] | None, typer.Argument(help="Performance faults; all of them unless named.")] = None,
    rounds: Annotated[int, typer.Option(min=10, help="Pairs of blocks of each call.")] = 12,
    seed: Annotated[int, typer.Option(help="Of the order of the blocks.")] = 1,
    database_url: Annotated[str | None, typer.Option(help="A PostgreSQL with pg_stat_statements; embedded.")] = None,
    out: Annotated[Path, typer.Option(help="The file of raw rows; what it holds is not measured again.")] = (
        DEFAULT_FOLDER.parent / "regressions" / "measured.jsonl"
    ),
    write: Annotated[Path | None, typer.Option(help="A Markdown file for the table.")] = None,
) -> None:
    """Measure each planted performance fault beside the reference, and say which measure finds it.

    Ends with 0 where each is found and the reference beside itself trips nothing, with 1 otherwise.
    """
    protocol, chosen = profiles.load("reference"), planting.wanted(names or [])
    plan = regressions.Plan(rounds=rounds, seed=seed)
    count = len(chosen) * len(regressions.PAYLOADS)
    with open_server(database_url) as postgres:
        played = planting.play(chosen, regressions.PAYLOADS, protocol, postgres, plan, out)
        measured = list(_bar(played, count, "Planted faults"))
    for one in measured:
        told = ", ".join(f"{part.measure} ({part.call.value}) {part.told}" for part in finding.found(one)) or "nothing"
        sys.stdout.write(f"{one.fault}, {one.payload_bytes // 1024} KiB: {told}\n")
    if write is not None:
        write.write_text(planting.table(planting.kept(out)), encoding="utf-8")
    wrong = finding.right(measured)
    sys.stdout.write("".join(f"Not as it has to be: {one}.\n" for one in wrong) + f"Raw rows: {out}\n")
    raise typer.Exit(Exit.NOT_CONFORMANT if wrong else Exit.CONFORMANT)
