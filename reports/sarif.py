"""Renders a report as SARIF 2.1.0, for a code host's list of alerts: one result a requirement that is not met."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reports.problems import deciding, entry_for, problems
from reports.text import one_line, visible

if TYPE_CHECKING:
    from reports.model import Report, RequirementResult

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"MUST": "error", "SHOULD": "warning", "INFO": "note"}
# A requirement is of a server, not of a line; a code host shows only results that have a place.
_PLACE = {"physicalLocation": {"artifactLocation": {"uri": "report.json"}, "region": {"startLine": 1}}}
_LONGEST = 1000


def sarif(report: Report) -> str:
    """Return the report as SARIF; a known failure that holds is suppressed, with its reason."""
    driver = {
        "name": report.harness.name,
        "version": report.harness.version,
        "rules": [_rule(row) for row in report.requirements],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "invocations": [_invocation(report)],
        "results": [_result(row, report) for row in problems(report)],
        "columnKind": "unicodeCodePoints",
        "properties": {"verdict": report.verdict, "seed": report.seed, "profile": report.target.profile},
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _invocation(report: Report) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": report.aborted is None,
        "exitCode": report.exit_code,
        "startTimeUtc": report.started_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "endTimeUtc": report.ended_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    said = [one.sentence for one in report.expectations if one.met != "failed as known"]
    said += [report.aborted] if report.aborted is not None else []
    if said:
        invocation["toolExecutionNotifications"] = [
            {"level": "error", "message": {"text": visible(sentence)}} for sentence in said
        ]
    return invocation


def _rule(row: RequirementResult) -> dict[str, Any]:
    return {
        "id": row.id,
        "shortDescription": {"text": visible(row.statement)},
        "defaultConfiguration": {"level": _LEVELS[row.level]},
        "properties": {"tags": [row.area, row.level, row.basis]},
    }


def _result(row: RequirementResult, report: Report) -> dict[str, Any]:
    words = row.verdict.replace("_", " ")
    text = one_line(f"{row.id} {words}: {row.statement} {row.reason or 'No reason given.'}", _LONGEST)
    result: dict[str, Any] = {
        "ruleId": row.id,
        "level": _LEVELS[row.level] if report.counts_against(row) else "note",
        "message": {"text": text},
        "locations": [_PLACE],
        # The same failure of the next run is the same alert.
        "partialFingerprints": {"requirement/v1": row.id},
        "properties": {"verdict": row.verdict, "checks": [visible(check.name) for check in deciding(row)]},
    }
    if known := entry_for(report, row):
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": visible(known)}]
    return result
