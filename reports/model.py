"""The model of one run: what `report.json` holds, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    JsonValue,
    NonNegativeFloat,
    NonNegativeInt,
    computed_field,
    field_validator,
    model_validator,
)

from reports.redact import without_keys

SCHEMA_VERSION: Literal["1"] = "1"

Level = Literal["MUST", "SHOULD", "INFO"]
Basis = Literal["adr", "text", "chosen"]
Half = Literal["chat", "text", "both"]
CheckVerdict = Literal["passed", "failed", "could_not_run"]
RequirementVerdict = Literal["passed", "failed", "could_not_run", "not_declared", "not_selected", "no_check_yet"]
RunVerdict = Literal["conformant", "conformant so far", "not conformant", "nothing judged"]


def _storable(value: Any) -> Any:
    """Return a value that JSON in UTF-8 can hold: no lone surrogates, no NaN, no foreign types.

    What a target sends reaches notes and reasons; an escape there is better than no report at all.
    """
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {_storable(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_storable(item) for item in value]
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


Text = Annotated[str, BeforeValidator(_storable)]
Notes = Annotated[dict[str, JsonValue], BeforeValidator(_storable)]
Headers = Annotated[dict[str, str], BeforeValidator(_storable)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Exchange(_Frozen):
    """One HTTP request and its answer, as the client saw them.

    `started` is in seconds since the start of the run. Without an answer `status` is None, and `error`
    says why.
    """

    actor: Text
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


class CheckResult(_Frozen):
    """One check (a test): its verdict, what it recorded, and the exchanges that are its evidence.

    `waited` are those of its seconds in which at least one of its `calls` was under way. `again` says why it was run
    once more; all else is of the second run then.
    """

    name: Text
    verdict: CheckVerdict
    reason: Text | None = None
    seconds: NonNegativeFloat
    calls: NonNegativeInt = 0
    waited: NonNegativeFloat = 0.0
    again: Text | None = None
    notes: Notes = {}
    exchanges: list[Exchange] = []


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


class RequirementResult(_Frozen):
    """One row of the catalogue as this run saw it; for an INFO row `passed` means recorded."""

    id: str
    area: str
    level: Level
    basis: Basis
    half: Half
    statement: str
    capabilities: list[str] = []
    marks: list[str] = []
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


class Harness(_Frozen):
    """The program that judged."""

    name: str
    version: str


class Target(_Frozen):
    """What was judged; `fault` names the fault put into the embedded reference, if any."""

    url: Text
    kind: Literal["embedded", "url"]
    profile: str
    fault: str | None = None


class Selection(_Frozen):
    """What was asked for: id patterns (none: all) and the capabilities that the target declares."""

    patterns: list[str] = []
    capabilities: list[str] = []


class Counts(_Frozen):
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


class Report(_Frozen):
    """One run. `counts`, `verdict` and `exit_code` follow from the rows and are never given.

    `aborted` is the reason why nothing was judged, so no row of an aborted run passed or failed.
    API keys that stand in any `apikey` header are taken out of every row.
    """

    schema_version: Literal["1"] = SCHEMA_VERSION
    harness: Harness
    target: Target
    started_at: AwareDatetime
    ended_at: AwareDatetime
    seed: int
    strict: bool = False
    selection: Selection = Selection()
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
        return self

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorator on a property
    @property
    def counts(self) -> Counts:
        """Rows by outcome."""
        return count([row.verdict for row in self.requirements])

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> RunVerdict:
        """The run's verdict; what nobody checked or selected keeps it from being more than "so far"."""
        judged = [row for row in self.requirements if row.level != "INFO"]
        if self.aborted is not None or not any(row.verdict in ("passed", "failed") for row in judged):
            return "nothing judged"
        if any(self.counts_against(row) for row in judged):
            return "not conformant"
        if self.counts.no_check_yet or self.counts.not_selected:
            return "conformant so far"
        return "conformant"

    @computed_field  # type: ignore[prop-decorator]
    @property
    def exit_code(self) -> Literal[0, 1, 3]:
        """The console command's exit code: 0 conformant (so far), 1 not conformant, 3 nothing judged."""
        match self.verdict:
            case "nothing judged":
                return 3
            case "not conformant":
                return 1
            case _:
                return 0

    def counts_against(self, row: RequirementResult) -> bool:
        """Say whether this row alone makes the target not conformant.

        A MUST that failed or could not run does; a SHOULD only under strict; an INFO never.
        """
        binding = row.level == "MUST" or (row.level == "SHOULD" and self.strict)
        return binding and row.verdict in ("failed", "could_not_run")
