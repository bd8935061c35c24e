"""Which requirements turn red when a named fault is put into the reference: the proof that the checks can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import partial
from multiprocessing import active_children, get_context

from conformance import catalogue, run
from conformance.errors import Exit, NothingMatches, Situation
from fixtures import faults
from fixtures.faults import Fault


class RunLost(Situation):
    """A process that judged a fault did not come back."""

    exit = Exit.COULD_NOT_RUN


class Scope(StrEnum):
    """The checks that are run with a fault: of the requirement it names, of that one's area, or all that can see it."""

    NAMED = "named"
    AREA = "area"
    WHOLE = "whole"


_SCOPES = {
    Scope.NAMED: "the checks of the requirement that the fault names",
    Scope.AREA: "every check of the area of the requirement that the fault names, and of the consequences it names",
    Scope.WHOLE: "every check that meets a server with a server's fault, every check that runs it with a migration's",
}


@dataclass(frozen=True)
class Finding:
    """What one fault did: the ids that failed, those that could not run, and whether that is what it says."""

    fault: str
    breaks: str
    also: tuple[str, ...]
    red: tuple[str, ...]
    stopped: tuple[str, ...]
    scope: Scope
    problem: str = ""

    @property
    def right(self) -> bool:
        """The named requirement failed and, in a whole run, exactly its named consequences with it."""
        if self.problem:
            return False
        if self.scope is Scope.NAMED:
            return self.breaks in self.red
        return set(self.red) == {self.breaks, *self.also}

    def line(self) -> str:
        """One line for a person."""
        if self.problem:
            return f"{self.fault}: {self.problem}"
        said = f"{self.fault} ({self.breaks}): " + (", ".join(self.red) or "nothing") + " red"
        if self.stopped:
            said += f"; could not run: {', '.join(self.stopped)}"
        missing, extra = {self.breaks, *self.also} - set(self.red), set(self.red) - {self.breaks, *self.also}
        if not self.right:
            said += "".join(
                [
                    f"; EXPECTED BUT NOT RED: {', '.join(sorted(missing))}" if missing else "",
                    f"; RED BUT NOT EXPECTED: {', '.join(sorted(extra))}" if extra else "",
                ]
            )
        return said


def choose(patterns: Iterable[str]) -> list[Fault]:
    """The faults that the patterns name: by a fault's name or by the id that it breaks.

    Raises:
        NothingMatches: a pattern names none.
    """
    known = list(faults.known().values())
    chosen: set[str] = set()
    for pattern in patterns:
        matched = {
            f.name
            for f in known
            if fnmatchcase(f.name, pattern)
            or fnmatchcase(f.breaks, pattern.upper())
            or f.breaks.startswith(f"{pattern.upper()}-")
        }
        if not matched:
            raise NothingMatches(
                f"The pattern {pattern!r} names no fault.",
                "`horde-conformance faults --list` shows them all.",
            )
        chosen |= matched
    return [f for f in known if not patterns or f.name in chosen]


def listed(chosen: Iterable[Fault]) -> str:
    """The faults, one line each."""
    return "".join(f"{f.name:44} {f.breaks:7} {f.summary}\n" for f in chosen)


def judge(
    chosen: list[Fault],
    *,
    scope: Scope = Scope.WHOLE,
    jobs: int = 2,
    database_url: str | None = None,
    on_finding: Callable[[Finding], None] | None = None,
) -> list[Finding]:
    """Put each fault into a reference of its own and run the suites on it, `jobs` at a time.

    Args:
        scope: the checks that are run on each.
        database_url: a PostgreSQL server for all of them; by default each starts one of its own.

    Raises:
        RunLost: a process that judged one was killed.
    """
    findings = []
    one = partial(_judge, scope=scope, database_url=database_url)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        try:
            for finding in pool.map(one, [f.name for f in chosen]):
                findings.append(finding)
                if on_finding is not None:
                    on_finding(finding)
        except BrokenProcessPool:
            raise RunLost(
                "A process that judged a fault was ended from outside.",
                "Start again with the faults that are not told yet.",
            ) from None
        except KeyboardInterrupt:
            # What a run started ends with the process that started it.
            for child in active_children():
                child.terminate()
            raise
    return findings


def selected(fault: Fault, scope: Scope) -> tuple[str, ...]:
    """The ids that are judged with this fault in the reference.

    Of the whole catalogue those that can see it: a server's fault, the rows that meet a server; a migration's, those
    that run the file. The reference itself always stands on the right migration, so the rest cannot turn red.
    """
    if scope is Scope.NAMED:
        return (fault.breaks,)
    rows = catalogue.judged().values()
    if fault.alters_migration:
        return tuple(r.id for r in rows if "migration" in r.capabilities)
    seeing = [r for r in rows if "migration" not in r.capabilities or "server_start" in r.capabilities]
    if scope is Scope.AREA:
        area = catalogue.requirements()[fault.breaks].area
        seeing = [r for r in seeing if r.area == area or r.id in fault.also]
    return tuple(r.id for r in seeing)


def _judge(name: str, *, scope: Scope, database_url: str | None) -> Finding:
    fault = faults.get(name)
    found = partial(Finding, fault.name, fault.breaks, fault.also, scope=scope)
    patterns = selected(fault, scope)
    try:
        report = run.run(run.Options(patterns=patterns, fault=name, seed=1, database_url=database_url))
    except Situation as situation:
        return found((), (), problem=situation.what)
    if report.aborted:
        return found((), (), problem=report.aborted)
    red = tuple(r.id for r in report.requirements if r.verdict == "failed")
    stopped = tuple(r.id for r in report.requirements if r.verdict == "could_not_run")
    return found(red, stopped)


_HEAD = """# Faults of the reference

Made by `horde-conformance faults --write docs/reference/faults.md`; not to be edited by hand.
Each row is a run on the reference with one small programming error in it: the requirement that the fault names, the
others that rightly failed with it, and those whose story could no longer be told. It was judged by

{scopes}

| fault | the error | names | also red | could not run | judged by |
| --- | --- | --- | --- | --- | --- |
"""


def table(findings: Iterable[Finding], before: str = "") -> str:
    """The table, fault by requirement, in Markdown.

    Args:
        findings: what was just found.
        before: the table as it stood; the rows of faults that were not judged now stay.
    """
    known = faults.known()
    rows = {line.split("|")[1].strip(): line for line in before.splitlines() if line.startswith("| ")}
    rows |= {f.fault: _row(f, known[f.fault]) for f in findings}
    scopes = "\n".join(f"- *{scope}*: {what}" for scope, what in _SCOPES.items())
    return _HEAD.format(scopes=scopes) + "".join(f"{rows[name]}\n" for name in known if name in rows)


def _row(finding: Finding, fault: Fault) -> str:
    named = fault.breaks if fault.breaks in finding.red else f"{fault.breaks} (not red)"
    also = ", ".join(i for i in finding.red if i != fault.breaks)
    return f"| {fault.name} | {fault.summary} | {named} | {also} | {', '.join(finding.stopped)} | {finding.scope} |"
