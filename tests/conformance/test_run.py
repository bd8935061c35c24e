"""The console command on the reference: what it writes, says and returns; and what a report's rows say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, TestCase

from conformance import catalogue, profile, run
from conformance.plugin import Outcomes
from fixtures import faults
from fixtures.postgres import Server
from reports import model
from reports.load import read_report


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("horde-conformance")
    return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def judged(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    folder = tmp_path_factory.mktemp("judged")
    return command(folder, "run", "FAM-01", "FAM-02", "--seed", "7", "--database-url", postgres.url()), folder


def test_the_reference_is_conformant_so_far(judged: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    result, folder = judged
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "selected 2 / ran 2 / passed 2 / failed 0 / could not run 0"
    report = read_report(folder / "report" / "report.json")
    assert (report.verdict, report.seed, report.target.kind) == ("conformant so far", 7, "embedded")
    assert [r.id for r in report.requirements] == list(catalogue.judged())
    assert not [r.id for r in report.requirements if r.verdict == "no_check_yet"]


def junit_cases(folder: Path) -> list[TestCase]:
    return [case for suite in JUnitXml.fromfile(str(folder / "report" / "junit.xml")) for case in suite]


def test_junit_holds_each_requirement(judged: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    _, folder = judged
    assert {case.name for case in junit_cases(folder)} >= {"FAM-01", "FAM-02"}


def test_a_fault_is_a_failure_with_its_evidence(postgres: Server, tmp_path: Path) -> None:
    fault = next(f.name for f in faults.known().values() if f.breaks == "FAM-01")
    result = command(tmp_path, "run", "FAM-01", "--fault", fault, "--database-url", postgres.url())
    assert result.returncode == 1, result.stdout + result.stderr
    assert re.search(r"^FAM-01 +MUST +failed", result.stdout, re.MULTILINE)
    assert result.stdout.splitlines()[-1] == "selected 1 / ran 1 / passed 0 / failed 1 / could not run 0"
    report = read_report(tmp_path / "report" / "report.json")
    (row,) = (r for r in report.requirements if r.id == "FAM-01")
    failed = [check for check in row.checks if check.verdict == "failed"]
    assert failed
    assert all(check.reason and check.exchanges for check in failed)
    failures = [r for case in junit_cases(tmp_path) for r in case.result if isinstance(r, Failure)]
    assert len(failures) == len(failed)


@pytest.mark.parametrize("pattern", ["LOD-01", "lod", "LOD-*"])
def test_what_a_load_run_measures_is_not_selected_for_checks(pattern: str, tmp_path: Path) -> None:
    result = command(tmp_path, "run", "FAM-01", pattern)
    assert result.returncode == 2
    assert "measured by a load run" in result.stderr
    assert "horde-conformance load" in result.stderr


def test_rows_tell_apart_what_was_not_judged() -> None:
    reference = profile.load("reference").with_capabilities(without=frozenset({"streaming"}))
    passed = model.CheckResult(name="c", verdict="passed", seconds=0)
    outcomes = Outcomes(checked={"FAM-01", "FAM-02", "CAN-01"}, results={"FAM-01": [passed]})
    rows = {r.id: r for r in run.rows({"FAM-01", "FAM-02", "CAN-01", "REQ-01"}, reference, outcomes, None)}
    assert rows["FAM-01"].verdict == "passed"
    assert (rows["FAM-02"].verdict, rows["FAM-02"].reason) == ("could_not_run", "no check of this row ran")
    assert (rows["CAN-01"].verdict, rows["CAN-01"].reason) == ("not_declared", "not declared: streaming")
    assert rows["REQ-01"].verdict == "no_check_yet"
    assert "LOD-01" not in rows
    assert rows["POP-01"].verdict == "not_selected"


def test_nothing_passes_in_an_aborted_run() -> None:
    outcomes = Outcomes(checked={"FAM-01"})
    rows = run.rows({"FAM-01"}, profile.load("reference"), outcomes, "the target does not answer")
    assert {r.verdict for r in rows} == {"could_not_run", "not_selected"}


def test_a_target_with_a_password_in_its_url_is_refused_without_printing_it(tmp_path: Path) -> None:
    result = command(tmp_path, "run", "FAM-01", "--target", "http://somebody:hunter2@127.0.0.1:1")
    assert result.returncode == 2
    assert "hunter2" not in result.stdout + result.stderr


def test_the_package_is_the_command_too(tmp_path: Path) -> None:
    module = [sys.executable, "-P", "-m", "conformance", "explain", "FAM-01"]
    result = subprocess.run(module, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("FAM-01 (MUST)")


def test_a_selection_of_which_nothing_is_declared_says_what_to_give(tmp_path: Path) -> None:
    result = command(tmp_path, "run", "MIG", "--target", "http://127.0.0.1:1")
    assert result.returncode == 2
    assert "migration" in result.stderr
    assert "--baseline" in result.stderr


@pytest.mark.parametrize(
    ("options", "absent"),
    [
        (run.Options(target="http://127.0.0.1:1"), {"database", "database_write", "migration", "server_start", "time"}),
        (run.Options(target="http://127.0.0.1:1", profile="reference"), {"database", "migration", "time"}),
        (run.Options(target="http://127.0.0.1:1", profile="reference", database_url="postgresql://h/d"), {"migration"}),
    ],
)
def test_a_capability_that_the_options_do_not_give_is_not_declared(options: run.Options, absent: set[str]) -> None:
    assert absent.isdisjoint(run.resolve(options).capabilities)
    assert "chat" in run.resolve(options).capabilities


# What another thread's test does to the filters while `requests` is imported: its own one is undone.
UNDONE = """
import warnings
warnings.simplefilter = lambda *_, **__: None
from conformance import run
run._importing().join()
"""


def test_nothing_is_said_of_what_is_imported_ahead() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", UNDONE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
