"""A harness that lets a broken server pass is worthless: on no null target does one requirement pass."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance import catalogue, profile, run, targets
from conformance.actors import Account
from conformance.client import Client
from conformance.stage import Cast, Resources
from fixtures.nulls import NULL_TARGETS, not_found_after_round_trip, nothing_comes_back_after_round_trip
from reports.load import read_report
from reports.text import closing_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from conformance.profile import Profile
    from fixtures.postgres import Server
    from reports.model import Report, RequirementResult

# The bound that a person waits for "nothing was judged", whatever the target does.
PATIENCE = 30

# The suites that judge the server behind a URL.
SUITES = ("ACC", "API", "CAN", "FAM", "OPK", "POP", "PRG", "REQ", "RPL", "SEC", "TXT")

# They never finish an answer: each call costs the whole wait.
MUTE = ("hanging_socket", "dripping")

# They judge databases and servers that the harness starts itself, whatever stands behind the target's URL.
NOT_ABOUT_THE_TARGET = frozenset({"migration", "server_start"})


def command(*arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "horde-conformance"
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=timeout, check=False)


def passed(rows: list[RequirementResult]) -> list[str]:
    return [row.id for row in rows if row.verdict == "passed"]


def passed_checks(rows: list[RequirementResult]) -> list[str]:
    return [check.name for row in rows for check in row.checks if check.verdict == "passed"]


@pytest.mark.parametrize("name", NULL_TARGETS)
def test_the_command_judges_nothing_and_says_so(name: str, tmp_path: Path) -> None:
    with NULL_TARGETS[name]() as url:
        done = command("run", "--target", url, "--out", str(tmp_path), timeout=PATIENCE)
    assert done.returncode == 3, done.stderr
    report = read_report(tmp_path / "report.json")
    assert report.aborted
    assert report.verdict == "nothing judged"
    assert report.counts.ran == 0
    assert report.counts.could_not_run > 0, "what was selected stays in the denominator"
    assert passed(report.requirements) == []
    assert done.stdout.splitlines()[-1] == closing_line(report.counts)
    assert "Traceback" not in done.stdout + done.stderr
    assert (tmp_path / "junit.xml").exists()


def given_accounts() -> Cast:
    def account(role: str, number: int) -> Account:
        return Account(role, f"key-of-{role}-{number}", f"{role}#{number}", str(number))

    return Cast(
        requesters=[account("requester", number) for number in range(3)],
        owners=[account("owner", number) for number in range(3, 5)],
        untrusted=[account("untrusted", 5)],
        moderators=[account("moderator", 6)],
    )


def impatient(answer: float) -> Profile:
    """Everything that our reference declares of the target, with short waits; `answer` in seconds."""
    reference = profile.load("reference").with_capabilities(without=NOT_ABOUT_THE_TARGET)
    timings = reference.timings.model_copy(update={"answer": answer, "settlement": 0.1, "cleaner": 0.01})
    patience = reference.rate_limit.model_copy(update={"retries": 0})
    return reference.model_copy(update={"timings": timings, "rate_limit": patience})


@pytest.mark.parametrize("name", NULL_TARGETS)
def test_without_a_preflight_every_suite_runs_and_nothing_passes(name: str) -> None:
    hurried = impatient(0.1 if name in MUTE else 10.0)
    selected = catalogue.select(())
    with NULL_TARGETS[name]() as url, Client(url, hurried) as client:
        resources = Resources(client, given_accounts(), None, seed=1)
        outcomes = run.judge(resources, selected, time.monotonic())
    rows = run.rows(selected, hurried, outcomes, None)
    assert passed(rows) == []
    assert passed_checks(rows) == [], "on no server at all, not even a part of a requirement holds"
    declared = {row.id for row in rows if row.verdict not in ("not_declared", "no_check_yet")}
    assert declared == set(outcomes.results), "each requirement that has a check was judged, or tried"
    assert set(SUITES) <= {row.area for row in rows if row.checks}


@pytest.fixture(scope="module")
def reference_url(postgres: Server) -> Iterator[str]:
    with targets.embedded(profile.load("reference"), postgres) as target:
        yield target.url


@pytest.mark.parametrize("proxy", [not_found_after_round_trip, nothing_comes_back_after_round_trip])
def test_a_server_that_is_broken_after_the_round_trip_passes_nothing_that_has_a_control(
    proxy: Callable[[str], AbstractContextManager[str]], reference_url: str, tmp_path: Path
) -> None:
    with proxy(reference_url) as url:
        done = command("run", *SUITES, "--target", url, "--profile", "reference", "--out", str(tmp_path), timeout=300)
    report: Report = read_report(tmp_path / "report.json")
    assert report.aborted is None, "the round trip worked, so the suites judged"
    assert passed(report.requirements) == []
    assert {row.area for row in report.requirements if row.checks} == set(SUITES)
    assert done.returncode == report.exit_code != 0
