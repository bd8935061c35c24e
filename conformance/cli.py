"""The console command `horde-conformance`, in one thin place: options in, a room's work, an exit code out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NoReturn, cast

import typer
from rich.console import Console

from conformance import catalogue, faultmatrix, histories, listing, reference, run
from conformance import profile as profiles
from conformance.errors import Exit, NothingMatches, Situation
from conformance.stories import planted
from fixtures.faults import FaultError
from fixtures.postgres import PostgresError
from reports import comparison, diff, junit, known, load, render, slowest, terminal, write
from reports.errors import ReportError
from reports.model import CheckResult, Report

app = typer.Typer(
    help="Decides whether a chat server is what it claims.", no_args_is_help=True, add_completion=False,
    pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip
TRACEBACK = "HORDE_CONFORMANCE_TRACEBACK"
errors = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

Patterns = Annotated[
    list[str] | None,
    typer.Argument(metavar="PATTERN", help="Ids, areas or patterns: FAM-01, FAM, 'POP-1*'. All by default."),
]
ProfileOption = Annotated[str | None, typer.Option("--profile", help="A built-in profile or a TOML file.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option(
        help="With --target: the target's database, for rows that look into it. "
        "Without: a PostgreSQL for the reference; embedded by default."
    ),
]
Fault = Annotated[str | None, typer.Option("--fault", help="Put a named fault into the reference.")]


@app.command("run")
def run_command(
    patterns: Patterns = None,
    target: Annotated[
        str | None, typer.Option(help="Root URL of the server to judge; the embedded reference by default.")
    ] = None,
    profile: ProfileOption = None,
    database_url: DatabaseOption = None,
    database_proxy: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="With --target and --database-url: listen here and forward to the database, counting. "
            "Point the server at it, for rows about what is read.",
        ),
    ] = None,
    baseline: Annotated[str | None, typer.Option(help="SQL of the schema before the migration.")] = None,
    migration: Annotated[str | None, typer.Option(help="SQL of the migration.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for report.json and junit.xml.")] = write.DEFAULT_DIRECTORY,
    seed: Annotated[int | None, typer.Option(help="Seed of the examples; printed and in the report.")] = None,
    explore: Annotated[
        bool, typer.Option("--explore", help="Hold the target to its contract with fresh seeds as long as time allows.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A SHOULD that fails makes the target not conformant.")
    ] = False,
    known_failures: Annotated[
        Path | None,
        typer.Option(help="A TOML file of failures that are known, each with reason, link and expiry date."),
    ] = None,
    fault: Fault = None,
) -> None:
    """Judge a server and write report.json and junit.xml."""
    options = run.Options(
        patterns=tuple(patterns or ()), target=target, profile=profile, database_url=database_url,
        database_proxy=database_proxy, baseline=baseline,
        migration=migration, seed=seed, explore=explore, strict=strict, fault=fault,
        known_failures=known.load(known_failures) if known_failures else (),
    )  # fmt: skip
    # A run may take minutes: what cannot be written afterwards is better said before.
    write.check_writable(out)
    with _progress() as told:
        report = run.run(replace(options, evidence=out, on_result=told, on_begin=lambda report: _write(report, out)))
    written = _write(report, out)
    _summarise(report, written)
    raise typer.Exit(report.exit_code)


def _write(report: Report, out: Path) -> Path:
    written = write.write_report(report, out)
    junit.write_junit(report, out)
    return written


@contextmanager
def _progress() -> Iterator[Callable[[str, CheckResult], None] | None]:
    """On a terminal, one line that says what was judged last; nothing where nobody watches."""
    if not errors.is_terminal:
        yield None
        return
    with errors.status("Starting what is judged.") as line:
        yield lambda id, result: line.update(f"{id} {result.verdict.replace('_', ' ')}")


def _print(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    _tell(lambda: sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding)))


def _summarise(report: Report, written: Path) -> None:
    _tell(lambda: terminal.print_summary(report, written=written))


def _tell(tell: Callable[[], object]) -> None:
    try:
        tell()
        sys.stdout.flush()
    except (OSError, SystemExit):
        # Nobody reads any more (rich ends the program then), or there is no room. The verdict stands in the report,
        # and in the exit code, where a 1 of the pipe's would say *not conformant*.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@app.command("list")
def list_command(
    patterns: Patterns = None,
    output: Annotated[listing.Format, typer.Option("--format", help="How to print it.")] = listing.Format.TEXT,
) -> None:
    """List the requirements, and how many checks each has."""
    sys.stdout.write(listing.requirements(catalogue.select(patterns or []), output))


@app.command("explain")
def explain_command(id: Annotated[str, typer.Argument(help="A requirement's id, such as POP-01.")]) -> None:
    """Explain one requirement: its statement, where it comes from, what it needs, its checks."""
    if id.upper() not in catalogue.requirements():
        raise NothingMatches(f"There is no requirement {id!r}.", "`horde-conformance list` shows them all.")
    sys.stdout.write(listing.explanation(id.upper()))


@app.command("slowest")
def slowest_command(
    report: Annotated[Path, typer.Argument(help="A report.json.")] = write.DEFAULT_DIRECTORY / write.REPORT_NAME,
) -> None:
    """Print the slowest checks of a run, and how much of its time went into waiting for the target."""
    slowest.print_slowest(load.read_report(report))


@app.command("render")
def render_command(
    report: Annotated[Path, typer.Argument(help="A report.json, of this version or an older one.")],
    form: Annotated[render.Form, typer.Option("--as", help="What to make of it.")] = render.Form.TERMINAL,
    out: Annotated[Path | None, typer.Option(help="The file to write; by default it is printed.")] = None,
) -> None:
    """Render a report that a run wrote: for a terminal, a browser, a pull request, a CI, a README, a list of alerts."""
    text = render.render(load.read_report(report), form)
    if out is None:
        _print(text)
    else:
        write.write_text(out, text)


@app.command("diff")
def diff_command(
    old: Annotated[Path, typer.Argument(help="The report.json of the older run.")],
    new: Annotated[Path, typer.Argument(help="The report.json of the newer run.")],
    form: Annotated[comparison.Form, typer.Option("--as", help="How to tell it.")] = comparison.Form.TERMINAL,
    out: Annotated[Path | None, typer.Option(help="The file to write; by default it is printed.")] = None,
) -> None:
    """Compare two reports: what regressed, was fixed, is new, gone, or can no longer be judged; 5 if it got worse."""
    compared = diff.diff(load.read_report(old), load.read_report(new))
    text = comparison.told(compared, form)
    if out is None:
        _print(text)
    else:
        write.write_text(out, text)
    raise typer.Exit(Exit.WORSE if compared.worse else Exit.CONFORMANT)


@app.command("history")
def history_command(
    file: Annotated[Path, typer.Argument(help="A recorded history, as the benchmark's --save keeps one.")],
) -> None:
    """Judge a recorded history: whether a legal order of its operations exists, and if not, what shows it."""
    history = histories.load(file)
    witness = histories.judge(history)
    if witness is None:
        typer.echo(f"legal: {len(history.operations)} operations break no rule")
        return
    typer.echo(f"{witness.rule}: {witness}")
    raise typer.Exit(Exit.NOT_CONFORMANT)


@app.command("profile")
def profile_command(
    name: Annotated[str, typer.Argument(help="A built-in profile or a TOML file.")] = profiles.BASE,
) -> None:
    """Check a profile and print its text; the base profile shows every key."""
    profiles.load(name)
    sys.stdout.write(profiles.source(name))


@app.command("reference")
def reference_command(
    database_url: Annotated[
        str | None, typer.Option(help="A PostgreSQL server to make its database on; embedded by default.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")] = 0,
    fault: Fault = None,
) -> None:
    """Run the reference server alone, until Ctrl-C, for an implementer to play with."""
    reference.serve(database_url, port, fault)


@app.command("faults")
def faults_command(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN", help="Names of faults or ids that they break."),
    ] = None,
    list_only: Annotated[bool, typer.Option("--list", help="List them; run nothing.")] = False,
    scope: Annotated[
        faultmatrix.Scope, typer.Option(help="The checks to run: of the requirement it names, of its area, or all.")
    ] = faultmatrix.Scope.WHOLE,
    write_to: Annotated[
        Path | None, typer.Option("--write", help="Write the table, fault by requirement, to this file.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=8, help="Faults judged at the same time.")] = 2,
) -> None:
    """Put each named fault into the reference and see which requirements turn red."""
    chosen = faultmatrix.choose(patterns or [])
    if list_only:
        sys.stdout.write(faultmatrix.listed(chosen))
        return
    if write_to:
        write.check_replaceable(write_to)

    def tell(finding: faultmatrix.Finding) -> None:
        errors.print(finding.line())
        # After each, for a whole run is long: what was found before an interruption stays.
        if write_to:
            before = write_to.read_text("utf-8") if write_to.is_file() else ""
            write.write_text(write_to, faultmatrix.table([finding], before))

    findings = faultmatrix.judge(chosen, scope=scope, jobs=jobs, on_finding=tell)
    raise typer.Exit(Exit.CONFORMANT if all(f.right for f in findings) else Exit.NOT_CONFORMANT)


@app.command("repros")
def repros_command(
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN", help="Names of faults or ids that they break."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=8, help="Faults tried at the same time.")] = 2,
) -> None:
    """Run each fault's script against the faulty reference and a healthy one: it must tell them apart."""
    from conformance.evidence import selftest  # noqa: PLC0415 - nobody else pays for it

    chosen = faultmatrix.choose(patterns or [])
    told = selftest.tell(chosen, jobs=jobs, on_told=lambda one: typer.echo(one.line()))
    typer.echo(selftest.summary(told))
    raise typer.Exit(Exit.CONFORMANT if all(one.apart for one in told) else Exit.NOT_CONFORMANT)


@app.command("stories")
def stories_command(
    write_to: Annotated[Path | None, typer.Option("--write", help="Write what was found to this file.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the stories.")] = 1,
    database_url: Annotated[
        str | None, typer.Option(help="A PostgreSQL server for the references; embedded by default.")
    ] = None,
) -> None:
    """Plant each fault of state into the reference and see how soon the state machine finds it, in how few calls."""
    if write_to:
        write.check_replaceable(write_to)
    seen = planted.search(seed=seed, database_url=database_url, on_sighting=lambda s: errors.print(s.line()))
    if write_to:
        write.write_text(write_to, planted.table(seen, seed))
    raise typer.Exit(Exit.CONFORMANT if all(s.right for s in seen) else Exit.NOT_CONFORMANT)


# Typer makes this of a KeyboardInterrupt before we see it.
_TYPERS_INTERRUPT = 130


def _say(what: str, hint: str, code: Exit) -> Exit:
    errors.print(what, style="bold red")
    if hint:
        errors.print(hint)
    return code


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command; every named situation becomes two sentences and an exit code."""
    sys.exit(_guarded(lambda: _called(argv)))


def _called(argv: list[str] | None) -> Any:
    code = app(args=argv, standalone_mode=False)
    if code == _TYPERS_INTERRUPT:
        raise KeyboardInterrupt
    return code


def _guarded(command: Callable[[], Any]) -> int:
    try:
        code = command()
    except typer.Exit as done:
        return done.exit_code
    except Situation as situation:
        return _say(str(situation), situation.hint, situation.exit)
    except FaultError as error:
        return _say(str(error), error.hint, Exit.USAGE)
    except PostgresError as error:
        return _say(_sentence(str(error)), _sentence(error.hint), Exit.COULD_NOT_RUN)
    except ReportError as error:
        return _say(str(error), "", Exit.USAGE)
    except (KeyboardInterrupt, typer.Abort):
        return _say("Interrupted; what was started has been ended.", "", Exit.COULD_NOT_RUN)
    except typer.TyperException as error:
        # Typer types its usage errors as this class, and gives each a way to print itself.
        cast("Any", error).show()
        return Exit.USAGE
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        return _say(
            f"The harness made a mistake: {type(error).__name__}: {error}",
            f"Please report it, with what it prints when {TRACEBACK}=1 is set.",
            Exit.COULD_NOT_RUN,
        )
    return code if isinstance(code, int) else Exit.CONFORMANT
