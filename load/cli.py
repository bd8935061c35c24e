"""The sub-commands of `horde-conformance load`: options in, a session's work, a verdict and an exit code out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TaskID

from conformance import profile as profiles
from conformance.errors import BadOptions, Exit
from load import seeding, sessions
from load.amplification import amplification_command
from load.counts import counts_command
from load.duet.cli import duet_command
from load.joining import join_command
from load.running import Beat, Meeting
from load.scenarios.table import SCENARIOS
from load.sessions import Options, Run, Session, Verdict
from load.sessions.ramp import lines
from load.sweeps.cli import regressions_command, sweep_command
from reports import write
from reports.measured.parts import Database

app = typer.Typer(help="Loads a server and says what may be believed of it.", no_args_is_help=True)
app.command("join")(join_command)
app.command("duet")(duet_command)
app.command("sweep")(sweep_command)
app.command("amplification")(amplification_command)
app.command("counts")(counts_command)
app.command("regressions")(regressions_command)

DEFAULT_FOLDER = Path("load-report")
RESULT_NAME = "session.json"
_EXITS = {Verdict.PASS: Exit.CONFORMANT, Verdict.FAIL: Exit.NOT_CONFORMANT, Verdict.INVALID: Exit.COULD_NOT_RUN}

ProfileOption = Annotated[str | None, typer.Option("--profile", help="A built-in profile or a TOML file.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        help="With --target: the target's database, to seed queues by COPY and to count. "
        "Without: a PostgreSQL for the reference; embedded by default."
    ),
]


@app.command("run")
def run_command(
    session: Annotated[str, typer.Argument(help="A built-in session or a TOML file; `load list` shows them.")] = (
        "default"
    ),
    target: Annotated[
        str | None, typer.Option(help="Root URL of the server to load; the embedded reference by default.")
    ] = None,
    profile: ProfileOption = None,
    database_url: DatabaseOption = None,
    database_proxy: Annotated[
        str | None,
        typer.Option(help="host:port where we listen, through which the server reaches its database: counts bytes."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of arrivals, payloads and choices.")] = 1,
    listen: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Where workers of other hosts come (`load join`); none starts here."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for what was measured.")] = DEFAULT_FOLDER,
) -> None:
    """Load a server through a session's runs and say whether it kept its rules and its gates.

    Ends with 0 for PASS, with 1 for FAIL, with 3 where the generator may not be believed (INVALID).
    """
    # What tells and draws takes seconds to load, which nobody waits for who only lists or seeds.
    from load import telling  # noqa: PLC0415
    from load.telling import measures  # noqa: PLC0415
    from reports.measured.summary import print_load_summary  # noqa: PLC0415

    described = sessions.named(session)
    for run in described.run:
        # A queue that cannot be read is better said before half of the session is over.
        _ = run.description
    write.check_writable(out)
    meeting = Meeting.read(listen) if listen else None
    if meeting is not None:
        meeting.check(target or "http://127.0.0.1")
    options = Options(
        target=target, profile=profile, database_url=database_url, seed=seed, database_proxy=database_proxy,
        meeting=meeting,
    )  # fmt: skip
    start = measures.Start()
    seen: list[Database | None] = []
    with _progress(described) as progress:
        outcome = sessions.play(
            described, options, found=lambda target: seen.append(telling.database(target.database_url)),
            begun=progress.begin, heard=progress.hear,
        )  # fmt: skip
    kept = write.write_text(out / RESULT_NAME, outcome.model_dump_json(indent=1))
    report = telling.tell(
        outcome, command=start.command, started_at=start.at, machine=start.machine, database=seen[0]
    )  # fmt: skip
    print_load_summary(report, written=measures.kept(report, out))
    for line in (line for knee in outcome.knees for line in lines(knee)):
        sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"All that was measured: {kept}\n")
    raise typer.Exit(_EXITS[outcome.judgement.verdict])


@app.command("list")
def list_command() -> None:
    """List the sessions, the scenarios and the queues that come with the harness."""
    console = Console(highlight=False, soft_wrap=True)
    for title, rows in (
        ("Sessions", [(name, sessions.named(name).sentence) for name in sessions.built_in()]),
        ("Scenarios", [(scenario.name, scenario.sentence) for scenario in SCENARIOS]),
        ("Queues", [(name, _shape(name)) for name in seeding.built_in()]),
    ):
        console.print(title, style="bold")
        width = max(len(name) for name, _ in rows)
        for name, said in rows:
            console.print(f"  {name:{width}}  {said}", markup=False)


def _shape(name: str) -> str:
    queue = seeding.example(name)
    smallest, largest = queue.payload.bytes
    size = f"{smallest}" if smallest == largest else f"{smallest} to {largest}"
    beside = [
        f"{part.rows} {what}"
        for part, what in ((queue.refused, "refused ahead"), (queue.expired, "expired"))
        if part.rows
    ]
    return ", ".join([f"{queue.rows} rows of {size} bytes, {queue.chat_share:.0%} chat", *beside])


@app.command("seed")
def seed_command(
    queue: Annotated[str | None, typer.Argument(help="A built-in queue or a TOML file.")] = None,
    database_url: Annotated[str | None, typer.Option(help="The target's database.")] = None,
    target: Annotated[
        str | None, typer.Option(help="With --remove, where there is no database: the target's URL.")
    ] = None,
    profile: ProfileOption = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove every seeded queue that nobody uses.")] = False,
) -> None:
    """Write a queue that stays, or remove those that stand."""
    protocol = profiles.load(profile or "reference")
    if (queue is None) != remove:
        raise BadOptions("Either a queue is seeded or queues are removed.", "Name a queue, or give --remove.")
    if queue is None:
        gone = seeding.remove(protocol, database_url=database_url, url=target)
        sys.stdout.write(f"Removed: {', '.join(gone) or 'nothing stood'}.\n")
        return
    if database_url is None:
        raise BadOptions(
            "A queue that stays is written into the target's database, whose URL is missing.", "Give --database-url."
        )
    described = seeding.example(queue) if queue in seeding.built_in() else seeding.read(Path(queue))
    sys.stdout.write(f"{seeding.seed(described, protocol, database_url).summary}\n")


@dataclass
class _Watch:
    """The bar of a session, and the line of what happens now."""

    bar: Progress
    task: TaskID
    run: str = ""

    def begin(self, run: Run) -> None:
        self.run = run.name
        self.bar.update(self.task, description=run.name)

    def hear(self, beat: Beat) -> None:
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(beat.counts.items()))
        self.bar.update(self.task, advance=1, description=f"{self.run}: {told or 'nothing'} in second {beat.second}")


@contextmanager
def _progress(session: Session) -> Iterator[_Watch]:
    with Progress(console=Console(stderr=True), transient=True) as bar:
        yield _Watch(bar, bar.add_task("Starting what is loaded", total=session.seconds))
