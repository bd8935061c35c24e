"""What stands between a server and the harness changes no verdict to a pass, and none to a traceback."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from conformance import profile, targets
from fixtures.nulls import unruly
from reports.load import read_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from fixtures.postgres import Server
    from reports.model import CheckResult, Report

    Weather = Callable[[str], AbstractContextManager[str]]

# A refusal, a refusal of a job, an answer, money: one of each kind of story.
ROWS = ("FAM-01", "FAM-03", "POP-01", "RPL-03", "RPL-05")


def judged(url: str, folder: Path, *rows: str) -> Report:
    program = Path(sys.executable).parent / "horde-conformance"
    done = subprocess.run(
        [program, "run", *rows, "--target", url, "--profile", "reference", "--seed", "1", "--out", folder],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr
    report = read_report(folder / "report.json")
    assert report.aborted is None, "the first round trip worked"
    assert done.returncode == report.exit_code
    return report


def checks(report: Report) -> dict[str, list[CheckResult]]:
    return {row.id: row.checks for row in report.requirements if row.checks}


@pytest.fixture(scope="module")
def reference_url(postgres: Server) -> Iterator[str]:
    with targets.embedded(profile.load("reference"), postgres) as target:
        yield target.url


@pytest.mark.parametrize("weather", [unruly.closing_midway, unruly.half_json, unruly.redirecting])
def test_a_server_that_cannot_be_heard_is_not_judged(weather: Weather, reference_url: str, tmp_path: Path) -> None:
    with weather(reference_url) as url:
        found = checks(judged(url, tmp_path, *ROWS))
    assert set(found) == set(ROWS)
    for results in found.values():
        assert {each.verdict for each in results} == {"could_not_run"}
        assert all(each.reason for each in results)


@pytest.mark.parametrize("weather", [unruly.slow, unruly.rate_limiting])
def test_a_server_that_takes_its_time_passes(weather: Weather, reference_url: str, tmp_path: Path) -> None:
    with weather(reference_url) as url:
        found = checks(judged(url, tmp_path, "FAM-01", "RPL-03"))
    assert {each.verdict for results in found.values() for each in results} == {"passed"}


# Of the first check's calls, of which the third already tidies up.
@pytest.mark.parametrize("call", [1, 2])
def test_a_check_under_which_the_server_is_restarted_is_run_once_more(
    call: int, horde_database_url: str, tmp_path: Path
) -> None:
    command = profile.load("reference").server.command
    with ExitStack() as stack:
        server = stack.enter_context(ExitStack())
        url = server.enter_context(targets.serving(command, horde_database_url))

        def restart() -> None:
            server.close()
            port = urlsplit(url).port or 0
            assert server.enter_context(targets.serving(command, horde_database_url, port=port)) == url

        front = stack.enter_context(unruly.interrupted(url, call, restart))
        found = checks(judged(front, tmp_path, "FAM-01", "FAM-02"))
    results = [each for results in found.values() for each in results]
    assert {each.verdict for each in results} == {"passed"}
    (again,) = (each.again for each in results if each.again)
    assert again.startswith("the connection was lost in the first run")


def test_a_server_that_lost_its_memory_is_judged_no_further(postgres: Server, tmp_path: Path) -> None:
    reference = profile.load("reference")
    with ExitStack() as stack:
        server = stack.enter_context(ExitStack())
        url = server.enter_context(targets.embedded(reference, postgres)).url

        def restart() -> None:
            server.close()
            port = urlsplit(url).port or 0
            assert server.enter_context(targets.embedded(reference, postgres, port=port)).url == url

        front = stack.enter_context(unruly.interrupted(url, 1, restart))
        found = checks(judged(front, tmp_path, "FAM-01", "FAM-02", "RPL-03"))
    for results in found.values():
        assert {each.verdict for each in results} == {"could_not_run"}
    assert any(
        "knows the accounts of this run" in (each.reason or "") for results in found.values() for each in results
    )
