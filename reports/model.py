"""The model of one run: what `report.json` holds, and what follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, Literal

from pydantic import (
    AwareDatetime,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    computed_field,
    field_validator,
    model_validator,
)

from reports import known
from reports.evidence import Evidence
from reports.known import Expectation, KnownFailure
from reports.redact import without_keys
from reports.values import Frozen, Headers, Notes
from reports.values import Text as Text  # noqa: PLC0414 - the load report is made of it too

SCHEMA_VERSION: Literal["2"] = "2"
READABLE: tuple[str, ...] = ("1", SCHEMA_VERSION)

Level = Literal["MUST", "SHOULD", "INFO"]
Basis = Literal["adr", "text", "chosen"]
Half = Literal["chat", "text", "both"]
CheckVerdict = Literal["passed", "failed", "could_not_run"]
RequirementVerdict = Literal["passed", "failed", "could_not_run", "not_declared", "not_selected", "no_check_yet"]
RunVerdict = Literal["conformant", "conformant so far", "not conformant, as known", "not conformant", "nothing judged"]


class Exchange(Frozen):
    """One HTTP request and its answer, as the client saw them.

    `started` is in seconds since the start of the run, `operation` the profile's name of the call. Without an answer
    `status` is None, and `error` says why.
    """

    actor: Text
    operation: Text = ""
    method: Text
    url: Text
    request_headers: Headers = {}
    request_body: Text | None = None
    status: int | None = None
    response_headers: Headers = {}
    response_body: Text | None = None
    started: NonNegativeFloat
    seconds: NonNegativeFloat
    error: Text | None = None


class CheckResult(Frozen):
    """One check (a test): its verdict, what it recorded, and the exchanges that are its evidence.

    `waited` are those of its seconds in which at least one of its `calls` was under way. `again` says why it was run
    once more; all else is of the second run then. `story` is the check's sentence; only a failed check has `evidence`.
    """

    name: Text
    story: Text = ""
    verdict: CheckVerdict
    reason: Text | None = None
    seconds: NonNegativeFloat
    calls: NonNegativeInt = 0
    waited: NonNegativeFloat = 0.0
    again: Text | None = None
    notes: Notes = {}
    exchanges: list[Exchange] = []
    evidence: Evidence | None = None


def requirement_verdict(checks: Sequence[CheckResult]) -> tuple[RequirementVerdict, str | None]:
    """Judge a requirement by its checks: it passes only if there are some and each ran and passed.

    The reason is that of the deciding checks, each under its name where there are several checks.
    """
    if not checks:
        return "no_check_yet", None
    for verdict in ("failed", "could_not_run"):
        deciding = [check for check in checks if check.verdict == verdict]
        if deciding:
            return verdict, "; ".join(_reason(check, alone=len(checks) == 1) for check in deciding)
    return "passed", None


def _reason(check: CheckResult, *, alone: bool) -> str:
    reason = check.reason or "no reason given"
    return reason if alone else f"{check.name}: {reason}"


class RequirementResult(Frozen):
    """One row of the catalogue as this run saw it; for an INFO row `passed` means recorded.

    `record` holds the sentences of the decision record that it serves.
    """

    id: str
    area: str
    level: Level
    basis: Basis
    half: Half
    statement: str
    capabilities: list[str] = []
    marks: list[str] = []
    record: list[str] = []
    verdict: RequirementVerdict
    reason: Text | None = None
    checks: list[CheckResult] = []

    @model_validator(mode="after")
    def _follows_from_checks(self) -> RequirementResult:
        """Without this a row could pass on nothing, or beside a failed check."""
        if self.checks:
            expected, _ = requirement_verdict(self.checks)
            if self.verdict != expected:
                raise ValueError(f"{self.id}: its checks say {expected}, the row says {self.verdict}")
        elif self.verdict in ("passed", "failed"):
            raise ValueError(f"{self.id}: {self.verdict} without a check")
        return self


class Harness(Frozen):
    """The program that judged."""

    name: str
    version: str


class Target(Frozen):
    """What was judged; `fault` names the fault put into the embedded reference, if any.

    `profile_sha256` is of the profile with all that it inherits and that options changed; None: not known.
    """

    url: Text
    kind: Literal["embedded", "url"]
    profile: str
    profile_sha256: str | None = None
    fault: str | None = None


class Catalogue(Frozen):
    """The catalogue of requirements that was judged by: its version, and `catalogue_sha256` of its rows."""

    version: str
    sha256: str


_WORDED = ("id", "level", "basis", "half", "capabilities", "marks", "statement")


def catalogue_sha256(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the hash of what a catalogue says: of its rows, in their order, how they are worded and what they need."""
    said = [{name: row[name] for name in _WORDED} for row in rows]
    return sha256_of(said)


def sha256_of(value: Any) -> str:
    """Return the hash of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


class Environment(Frozen):
    """Where the harness ran."""

    python: str
    system: str
    cores: PositiveInt | None = None


class Selection(Frozen):
    """What was asked for: id patterns (none: all) and the capabilities that the target declares."""

    patterns: list[str] = []
    capabilities: list[str] = []


class Counts(Frozen):
    """Rows by outcome; `ran = passed + failed`, `selected = ran + could_not_run`.

    The last three stand outside the denominator. All but `selected` and `ran` add up to the catalogue's rows.
    """

    selected: int
    ran: int
    passed: int
    failed: int
    could_not_run: int
    not_declared: int
    not_selected: int
    no_check_yet: int


def count(verdicts: Sequence[RequirementVerdict]) -> Counts:
    """Count rows by verdict."""
    passed, failed = verdicts.count("passed"), verdicts.count("failed")
    could_not_run = verdicts.count("could_not_run")
    return Counts(
        selected=passed + failed + could_not_run,
        ran=passed + failed,
        passed=passed,
        failed=failed,
        could_not_run=could_not_run,
        not_declared=verdicts.count("not_declared"),
        not_selected=verdicts.count("not_selected"),
        no_check_yet=verdicts.count("no_check_yet"),
    )


class Report(Frozen):
    """One run. `counts`, `verdict` and `exit_code` follow from the rows and are never given.

    `aborted` is the reason why nothing was judged, so no row of an aborted run passed or failed.
    API keys that stand in any `apikey` header are taken out of every row. `denominator` are the selected ids
    that the target declares, fixed before the first request; only rows without a check yet are taken out of it later.
    What is None was not known to the version that wrote the report.
    """

    schema_version: Literal["2"] = SCHEMA_VERSION
    harness: Harness
    catalogue: Catalogue | None = None
    environment: Environment | None = None
    target: Target
    started_at: AwareDatetime
    ended_at: AwareDatetime
    seed: int
    strict: bool = False
    selection: Selection = Selection()
    denominator: list[str] | None = None
    known_failures: list[KnownFailure] = []
    requirements: list[RequirementResult]
    aborted: Text | None = None

    @field_validator("requirements", mode="after")
    @classmethod
    def _hide_keys(cls, rows: list[RequirementResult]) -> list[RequirementResult]:
        stored = [row.model_dump() for row in rows]
        return [RequirementResult.model_validate(row) for row in without_keys(stored)]

    @model_validator(mode="after")
    def _consistent(self) -> Report:
        ids = [row.id for row in self.requirements]
        if twice := sorted({each for each in ids if ids.count(each) > 1}):
            raise ValueError(f"rows given twice: {', '.join(twice)}")
        if self.aborted is not None and self.counts.ran:
            raise ValueError("an aborted run judged nothing, but rows passed or failed")
        judged = [row.id for row in self.requirements if row.verdict not in ("not_declared", "not_selected")]
        if self.denominator is not None and sorted(self.denominator) != sorted(judged):
            odd = ", ".join(sorted(set(self.denominator) ^ set(judged))[:5])
            raise ValueError(f"the denominator is not what the rows judge: {odd}")
        rows = (row.model_dump() for row in self.requirements)
        if self.catalogue is not None and self.catalogue.sha256 != catalogue_sha256(rows):
            raise ValueError("the rows are not worded as the catalogue whose hash the report gives")
        return self

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator on a property
    @property
    def counts(self) -> Counts:
        """Rows by outcome."""
        return count([row.verdict for row in self.requirements])

    @computed_field  # type: ignore[prop-decorator]
    @property
    def expectations(self) -> list[Expectation]:
        """What became of each known failure, in the file's order."""
        rows = {row.id: row for row in self.requirements}
        return known.held(self.known_failures, rows, self.started_at.astimezone(UTC).date())

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> RunVerdict:
        """The run's verdict; what nobody checked or selected keeps it from being more than "so far"."""
        judged = [row for row in self.requirements if row.level != "INFO"]
        if self.aborted is not None or not any(row.verdict in ("passed", "failed") for row in judged):
            return "nothing judged"
        if against := [row for row in judged if self.counts_against(row)]:
            expectations = self.expectations
            excused = all(known.excuses(expectations, row) for row in against)
            return "not conformant, as known" if excused else "not conformant"
        if self.counts.no_check_yet or self.counts.not_selected:
            return "conformant so far"
        return "conformant"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def exit_code(self) -> Literal[0, 1, 3, 4]:
        """The console command's exit code, the first that applies.

        3 nothing judged; 1 a failure that no known failure names; 4 an entry of the known failures is in error;
        0 conformant (so far), or not conformant as known.
        """
        if self.verdict == "nothing judged":
            return 3
        expectations = self.expectations
        against = [row for row in self.requirements if self.counts_against(row)]
        if not all(known.names(expectations, row) for row in against):
            return 1
        return 0 if all(one.met in known.RIGHT for one in expectations) else 4

    def counts_against(self, row: RequirementResult) -> bool:
        """Say whether this row alone makes the target not conformant.

        A MUST that failed or could not run does; a SHOULD only under strict; an INFO never.
        """
        binding = row.level == "MUST" or (row.level == "SHOULD" and self.strict)
        return binding and row.verdict in ("failed", "could_not_run")
