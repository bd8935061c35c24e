"""The model of a load session's report: what `load-report.json` holds, and what follows from it."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, computed_field, model_validator

from reports.measured.parts import (
    Amplified,
    Database,
    Duet,
    Finding,
    Knee,
    Machine,
    Open,
    Part,
    Run,
    Sweep,
    Table,
    Target,
)
from reports.model import Harness, Text

SCHEMA_VERSION: Literal["1"] = "1"
Verdict = Literal["PASS", "FAIL", "INVALID", "INCONCLUSIVE", "RECORDED", "NOTHING JUDGED"]

# The rows of these stand once in a report.
AMPLIFICATION, DUET, FINDINGS = "amplification", "duet", "findings"
# Of a run's slug.
SECONDS, OPERATIONS, GENERATOR = "seconds", "operations", "generator"
COUNTS, STATEMENTS, SESSIONS = "counts", "statements", "database"

_RANKING: tuple[Verdict, ...] = ("FAIL", "INVALID", "INCONCLUSIVE", "PASS", "RECORDED")


class LoadReport(Part):
    """One load session. Its verdict follows from its findings and is never given.

    `command` is what was typed; `seed` gives the same arrivals, payloads and orders again. `unmeasured` says in
    sentences what could not be looked at, and why.
    """

    schema_version: Literal["1"] = SCHEMA_VERSION
    kind: Literal["load"] = "load"
    harness: Harness
    title: Text
    command: Open
    seed: int
    started_at: AwareDatetime
    ended_at: AwareDatetime
    machine: Machine
    database: Database | None = None
    targets: tuple[Target, ...]
    findings: tuple[Finding, ...] = ()
    runs: tuple[Run, ...] = ()
    knees: tuple[Knee, ...] = ()
    amplification: tuple[Amplified, ...] = ()
    sweeps: tuple[Sweep, ...] = ()
    duet: Duet | None = None
    tables: tuple[Table, ...] = ()
    unmeasured: tuple[Text, ...] = ()

    @property
    def rows(self) -> list[str]:
        """The names of all rows that this report has."""
        names = [FINDINGS]
        names += [f"{run.slug}-{of}" for run in self.runs for of in (SECONDS, OPERATIONS, GENERATOR)]
        for run in self.runs:
            seen = ((COUNTS, run.counts), (STATEMENTS, run.statements), (SESSIONS, run.sessions))
            names += [f"{run.slug}-{of}" for of, there in seen if there]
        names += [knee.slug for knee in self.knees]
        names += [AMPLIFICATION] * bool(self.amplification) + [DUET] * (self.duet is not None)
        return [*names, *(sweep.slug for sweep in self.sweeps), *(table.slug for table in self.tables)]

    @model_validator(mode="after")
    def _consistent(self) -> LoadReport:
        names = self.rows
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rows of one name: {', '.join(twice)}")
        if lost := sorted({finding.rows for finding in self.findings} - set(names)):
            raise ValueError(f"findings rest on rows that are not there: {', '.join(lost)}")
        runs = {run.slug for run in self.runs}
        named = [one.run for one in self.findings if one.run] + [s.run for knee in self.knees for s in knee.steps]
        if lost := sorted(set(named) - runs):
            raise ValueError(f"findings or steps of runs that are not there: {', '.join(lost)}")
        return self

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator on a property
    @property
    def verdict(self) -> Verdict:
        """The worst of the runs' verdicts; what is no run's is judged on its own."""
        return self._judged()[0]

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The verdict in one sentence, with the first reason."""
        verdict, deciding = self._judged()
        if verdict == "NOTHING JUDGED":
            return "NOTHING JUDGED: nothing was measured."
        if verdict == "PASS" and len(deciding) > 1:
            return f"PASS: all {len(deciding)} rules and limits are kept."
        more = f" ({len(deciding) - 1} more)" if len(deciding) > 1 else ""
        return f"{verdict}: {deciding[0].sentence}{more}"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def exit_code(self) -> Literal[0, 1, 3]:
        """The console command's exit code: 0 passed, or there was no limit; 1 failed, 3 nothing can be said."""
        return 0 if self.verdict in {"PASS", "RECORDED"} else 1 if self.verdict == "FAIL" else 3

    def _judged(self) -> tuple[Verdict, list[Finding]]:
        """The verdict and the findings that decide it, those of the first run first."""
        groups: dict[str | None, list[Finding]] = {}
        for finding in (one for one in self.findings if one.decides):
            groups.setdefault(finding.run, []).append(finding)
        judged = [_group(group) for group in groups.values()]
        for verdict in _RANKING:
            deciding = [finding for told, findings in judged if told == verdict for finding in findings]
            if deciding:
                return verdict, deciding
        return "NOTHING JUDGED", []


def _group(findings: list[Finding]) -> tuple[Verdict, list[Finding]]:
    """What is true first, then what may be believed, then what is fast enough."""

    def those(outcome: str, *kinds: str) -> list[Finding]:
        return [one for one in findings if one.outcome == outcome and (not kinds or one.kind in kinds)]

    ladder: tuple[tuple[Verdict, list[Finding]], ...] = (
        ("FAIL", those("fail", "rule")),
        ("INVALID", those("invalid")),
        ("FAIL", those("fail")),
        ("INCONCLUSIVE", those("inconclusive")),
        ("PASS", those("pass")),
        ("RECORDED", those("recorded")),
    )
    return next(((verdict, found) for verdict, found in ladder if found), ("NOTHING JUDGED", []))
