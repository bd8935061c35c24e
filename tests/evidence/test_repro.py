"""Scripts that show a failure again: they tell faulty from healthy, hold no secret, and need no more than they say."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conformance import catalogue, run
from conformance.evidence import selftest
from fixtures import faults
from fixtures.postgres import Server
from reports.model import CheckResult

# One for each way in which a story is told again: a status, a job, a number, a row, a poll, a race, an id in capitals.
FAULTS = (
    "pop-ignores-declaration",
    "text-status-finds-chat",
    "overlong-chat-reply-is-charged-in-full",
    "not-found-names-the-family",
    "another-spelling-cancels-nothing",
    "families-meet-when-faulted",
)
KEY = re.compile(r"\b(?=[\w-]*[A-Z])(?=[\w-]*[0-9])[A-Za-z0-9_-]{22}\b")


def test_each_script_tells_the_faulty_reference_from_the_healthy_one(postgres: Server) -> None:
    told = selftest.tell([faults.get(name) for name in FAULTS], database_url=postgres.url())
    assert [one.line() for one in told if not one.apart] == []
    assert {one.fault for one in told} == set(FAULTS)


@pytest.fixture(scope="module")
def failed(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[CheckResult], Path]:
    folder = tmp_path_factory.mktemp("report")
    report = run.run(
        run.Options(
            patterns=("POP-01",), fault="pop-ignores-declaration", seed=1, database_url=postgres.url(), evidence=folder
        )
    )
    return [check for row in report.requirements for check in row.checks if check.verdict == "failed"], folder


def test_a_failure_says_what_was_expected_what_came_and_what_decided_it(
    failed: tuple[list[CheckResult], Path],
) -> None:
    for check in failed[0]:
        assert check.evidence is not None
        assert check.evidence.expected == catalogue.requirements()["POP-01"].statement
        assert "was handed chat request" in check.evidence.came
        assert "id" in {one.place for one in check.evidence.deciding}
        for one in check.evidence.deciding:
            assert check.exchanges[one.exchange].operation == "pop"
        assert [rows.table for rows in check.evidence.server] == ["waiting_prompts", "processing_gens"]


def test_the_files_stand_beside_the_report_and_say_the_same(failed: tuple[list[CheckResult], Path]) -> None:
    checks, folder = failed
    files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    named = set()
    for check in checks:
        assert check.evidence is not None
        assert check.evidence.repro is not None
        assert check.evidence.har is not None
        named |= {check.evidence.repro.file, check.evidence.har}
        assert (folder / check.evidence.repro.file).read_text("utf-8") == check.evidence.repro.script
    assert files == named


def test_a_script_holds_no_key_and_is_a_shells(failed: tuple[list[CheckResult], Path]) -> None:
    for script in failed[1].rglob("*.sh"):
        assert not KEY.findall(script.read_text("utf-8"))
        subprocess.run(["sh", "-n", str(script)], check=True)


def test_a_script_that_reaches_nobody_could_not_be_told(failed: tuple[list[CheckResult], Path]) -> None:
    script = next(failed[1].rglob("*.sh"))
    done = subprocess.run(["sh", str(script), "http://127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "could not be told" in done.stdout


def test_every_call_says_on_behalf_of_which_requirement_it_is_made(failed: tuple[list[CheckResult], Path]) -> None:
    agents = {e.request_headers["Client-Agent"] for check in failed[0] for e in check.exchanges}
    assert {agent.rpartition("#")[2] for agent in agents} == {"POP-01"}
