"""Reports to look at, built with plain defaults."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reports.model import (
    CheckResult,
    Exchange,
    Harness,
    Report,
    RequirementResult,
    Target,
    requirement_verdict,
)

STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
URL = "http://127.0.0.1:1"


class Maker:
    """Builds the parts of a report; whatever is given replaces the default."""

    def exchange(self, **given: Any) -> Exchange:
        url = f"{URL}/api/v2/generate/chat/status/1"
        defaults = {
            "actor": "requester",
            "method": "GET",
            "url": url,
            "status": 404,
            "started": 1.5,
            "seconds": 0.2,
        }
        return Exchange.model_validate({**defaults, **given})

    def check(self, verdict: str = "passed", **given: Any) -> CheckResult:
        reason = None if verdict == "passed" else f"it {verdict}"
        defaults = {"name": "test_a_rule", "verdict": verdict, "reason": reason, "seconds": 0.5}
        return CheckResult.model_validate({**defaults, **given})

    def row(self, identifier: str, *checks: CheckResult, **given: Any) -> RequirementResult:
        verdict, reason = requirement_verdict(checks)
        defaults = {
            "id": identifier,
            "area": identifier.partition("-")[0],
            "level": "MUST",
            "basis": "adr",
            "half": "chat",
            "statement": "A chat id is not found on a text route.",
            "verdict": verdict,
            "reason": reason,
            "checks": checks,
        }
        return RequirementResult.model_validate({**defaults, **given})

    def report(self, *rows: RequirementResult, **given: Any) -> Report:
        defaults = {
            "harness": Harness(name="horde-conformance", version="0.1.0"),
            "target": Target(url=URL, kind="url", profile="aihorde"),
            "started_at": STARTED,
            "ended_at": STARTED + timedelta(seconds=7),
            "seed": 42,
            "requirements": rows,
        }
        return Report.model_validate({**defaults, **given})

    def mixed(self) -> Report:
        """A run with every verdict in it."""
        evidence = [self.exchange(actor=f"worker {number}") for number in range(5)]
        return self.report(
            self.row("FAM-01", self.check()),
            self.row("FAM-02", self.check("failed", name="test_two", exchanges=evidence)),
            self.row("FAM-03", self.check("could_not_run", name="test_three")),
            self.row("POP-01", verdict="not_declared", capabilities=["streaming"]),
            self.row("POP-02", verdict="not_selected"),
            self.row("REQ-01"),
            self.row("REQ-02"),
            self.row("REQ-04", level="INFO"),
        )


@pytest.fixture(scope="session")
def make() -> Maker:
    return Maker()
