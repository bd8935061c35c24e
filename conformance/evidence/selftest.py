"""Does a script tell a faulty server from a healthy one? Every fault's script is run against both references."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from conformance import profile as profiles
from conformance import run, targets
from conformance.errors import Situation
from conformance.targets import Target
from fixtures.faults import Fault, get
from fixtures.postgres import open_server
from reports.model import Report

PROFILE = "reference"
# Seconds that a script may take: a race is told again up to twenty times.
_PATIENCE = 60.0
# Of a fault's failed checks as many scripts are run.
_SCRIPTS = 1


@dataclass(frozen=True)
class Told:
    """What became of a script: its exit codes against the faulty server and the healthy one; None where there is none.

    `why` says why there is none, or the last line that it printed where it did not tell them apart.
    """

    fault: str
    breaks: str
    check: str
    faulty: int | None = None
    healthy: int | None = None
    why: str = ""
    lines: int = 0

    @property
    def apart(self) -> bool:
        """It shows the defect where it is, and does not where it is not."""
        return (self.faulty, self.healthy) == (1, 0)

    def line(self) -> str:
        """One line for a person."""
        said = "told apart" if self.apart else "NOT TOLD APART"
        codes = f"{_code(self.faulty)} / {_code(self.healthy)}"
        return f"{self.fault:44} {self.breaks:7} {codes:7} {said}  {self.check}" + (f": {self.why}" if self.why else "")


def _code(code: int | None) -> str:
    return "-" if code is None else str(code)


def tell(
    chosen: Sequence[Fault], *, jobs: int = 2, database_url: str | None = None,
    on_told: Callable[[Told], None] | None = None,
) -> list[Told]:  # fmt: skip
    """Run the scripts of each fault's failures, `jobs` faults at a time; the first of a fault's is the one named first.

    Args:
        database_url: a PostgreSQL server for the references; by default one is started.
    """
    told: list[Told] = []
    with ExitStack() as stack:
        postgres = stack.enter_context(open_server(database_url))
        healthy = stack.enter_context(targets.embedded(profiles.load(PROFILE), postgres))
        pool = stack.enter_context(ProcessPoolExecutor(jobs, mp_context=get_context("spawn")))
        one = partial(_tell, healthy=healthy, postgres_url=postgres.url())
        for found in pool.map(one, [fault.name for fault in chosen]):
            told += found
            for each in found:
                if on_told is not None:
                    on_told(each)
    return told


def _tell(name: str, *, healthy: Target, postgres_url: str) -> list[Told]:
    fault = get(name)
    if fault.alters_migration:
        return [Told(name, fault.breaks, "", why="a fault of the migration: no server shows it")]
    try:
        with ExitStack() as stack:
            postgres = stack.enter_context(open_server(postgres_url))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="horde-conformance-")))
            faulty = stack.enter_context(targets.embedded(profiles.load(PROFILE), postgres, name))
            report = run.run(
                run.Options(
                    patterns=(fault.breaks,), target=faulty.url, profile=PROFILE, database_url=faulty.database_url,
                    seed=1, evidence=folder,
                )
            )  # fmt: skip
            return list(_scripts(fault, report, folder, faulty, healthy))
    except Situation as situation:
        return [Told(name, fault.breaks, "", why=situation.what)]


def _scripts(fault: Fault, report: Report, folder: Path, faulty: Target, healthy: Target) -> Iterator[Told]:
    row = next(row for row in report.requirements if row.id == fault.breaks)
    failed = [check for check in row.checks if check.verdict == "failed"]
    if not failed:
        yield Told(fault.name, fault.breaks, "", why=f"nothing failed: {row.verdict}, {row.reason}")
    for check in failed[:_SCRIPTS]:
        found = partial(Told, fault.name, fault.breaks, check.name)
        evidence = check.evidence
        if evidence is None or evidence.repro is None:
            yield found(why=evidence.no_repro or "" if evidence else "no evidence")
            continue
        script = folder / evidence.repro.file
        codes = [_run(script, target) for target in (faulty, healthy)]
        apart = (codes[0][0], codes[1][0]) == (1, 0)
        yield found(
            codes[0][0], codes[1][0], why="" if apart else " | ".join(said for _, said in codes),
            lines=len(evidence.repro.script.splitlines()),
        )  # fmt: skip


def _run(script: Path, target: Target) -> tuple[int, str]:
    """Run a script against a target; its exit code and its last line."""
    command = ["sh", str(script), target.url, *([target.database_url] if target.database_url else [])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, env=_plain(), check=False)
    except subprocess.TimeoutExpired:
        return 2, f"it took more than {_PATIENCE:g} s"
    said = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, said[-1][:200] if said else ""


def _plain() -> dict[str, str]:
    """An environment of which a script sees nothing but where programs are."""
    return {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}


def summary(told: Iterable[Told]) -> str:
    """The figures: faults whose first script tells them apart, and all scripts."""
    every = list(told)
    first = list({t.fault: t for t in reversed(every)}.values())
    apart, scripts = sum(t.apart for t in first), [t for t in every if t.faulty is not None]
    share = 100 * apart / len(first) if first else 0.0
    return (
        f"{apart} of {len(first)} faults told apart by the script of their first failure ({share:.1f} %); "
        f"{sum(t.apart for t in scripts)} of {len(scripts)} scripts"
    )
