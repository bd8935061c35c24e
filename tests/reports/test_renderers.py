"""JUnit XML holds real failures; the summary is plain text whose last line always counts."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from rich.console import Console

from reports.junit import junit_xml, write_junit
from reports.slowest import print_slowest
from reports.terminal import SHOWN_FAILURES, print_summary
from reports.text import one_line, visible

if TYPE_CHECKING:
    from pathlib import Path

    from reports.model import Report
    from tests.reports.conftest import Maker

LAST_LINE = re.compile(r"selected \d+ / ran \d+ / passed \d+ / failed \d+ / could not run \d+")
HOSTILE = "\x1b[31mred [bold]loud[/bold] :boom: \x00\x9b \ufffe \u202e \u2028 <b>&amp;]]> \r\nselected 9 / ran 9"


def summary(report: Report, width: int = 80, *, terminal: bool = False) -> str:
    out = io.StringIO()
    print_summary(report, Console(file=out, width=width, force_terminal=terminal, color_system=None))
    return out.getvalue()


def test_junit_has_a_suite_an_area_and_a_case_a_requirement(make: Maker) -> None:
    several = make.row("FAM-05", make.check(name="test_one"), make.check("failed", name="test_two"))
    report = make.report(several, *make.mixed().requirements)
    suites = {suite.name: suite for suite in JUnitXml.fromstring(junit_xml(report).encode())}
    assert list(suites) == ["FAM", "POP", "REQ"]
    cases = [(case.classname, case.name) for case in suites["FAM"]]
    assert cases == [("FAM", "FAM-05"), ("FAM", "FAM-01"), ("FAM", "FAM-02"), ("FAM", "FAM-03")]
    assert [(each.tests, each.failures, each.errors, each.skipped) for each in suites.values()] == [
        (4, 2, 1, 0),
        (2, 0, 0, 2),
        (3, 0, 0, 3),
    ]


REPEATED = "the connection was lost"


def test_a_check_that_was_run_once_more_is_told_so(make: Maker) -> None:
    report = make.report(make.row("FAM-01", make.check(again=REPEATED)), make.row("FAM-02", make.check()))
    assert summary(report).count("was run once more") == 1
    assert f"FAM-01 was run once more (test_a_rule): {REPEATED}" in summary(report)
    told = [case.system_out for suite in JUnitXml.fromstring(junit_xml(report).encode()) for case in suite]
    assert [REPEATED in str(text) for text in told] == [True, False]


def slowest(report: Report) -> list[str]:
    out = io.StringIO()
    print_slowest(report, Console(file=out, width=40, color_system=None))
    return out.getvalue().splitlines()


def test_the_slowest_checks_come_first_and_ten_of_them(make: Maker) -> None:
    rows = [make.row(f"FAM-{i:02}", make.check(name=f"test_{i}", seconds=i)) for i in range(12)]
    lines = slowest(make.report(*rows))
    assert [line.split()[-1] for line in lines[:-1]] == [f"test_{i}" for i in range(11, 1, -1)]


def test_the_share_of_waiting_is_of_the_checks_own_time(make: Maker) -> None:
    checks = [make.check(name="test_a", seconds=4, waited=3, calls=5), make.check(name="test_b", seconds=4, calls=2)]
    one, two, sums = slowest(make.report(make.row("FAM-01", *checks)))
    assert one.split() == ["4.00", "s", "75", "%", "waiting", "5", "calls", "FAM-01", "test_a"]
    assert two.split() == ["4.00", "s", "0", "%", "waiting", "2", "calls", "FAM-01", "test_b"]
    assert sums.startswith("2 checks took 8.0 s of their lanes in a run of 7.0 s; 38 % of it they waited")
    assert sums.endswith("in 7 calls.")


def test_a_check_of_several_requirements_takes_its_time_once(make: Maker) -> None:
    shared = make.check(seconds=0.123456, calls=3)
    lines = slowest(make.report(make.row("FAM-05", shared), make.row("ACC-06", shared)))
    assert len(lines) == 2
    assert lines[-1].startswith("1 checks took 0.1 s")


def test_a_run_without_checks_has_no_slowest(make: Maker) -> None:
    assert slowest(make.report(make.row("FAM-01"))) == [
        "0 checks took 0.0 s of their lanes in a run of 7.0 s; - of it they waited for the target, in 0 calls."
    ]


def test_junit_tells_failures_errors_and_skips_apart(make: Maker) -> None:
    root = ET.fromstring(junit_xml(make.mixed()))  # noqa: S314  # our own text
    outcomes = {
        case.get("name"): [child.tag for child in case if child.tag != "system-out"] for case in root.iter("testcase")
    }
    assert outcomes == {
        "FAM-01": [],
        "FAM-02": ["failure"],
        "FAM-03": ["error"],
        "POP-01": ["skipped"],
        "POP-02": ["skipped"],
        "REQ-01": ["skipped"],
        "REQ-02": ["skipped"],
        "REQ-04": ["skipped"],
    }
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert "it failed" in failure.get("message", "")
    assert failure.text.count("GET /api/v2/generate/chat/status/1  ->  404") == 5, "each exchange is evidence"


def test_an_info_row_is_never_a_failure(make: Maker) -> None:
    report = make.report(make.row("CAN-13", make.check("failed"), level="INFO"))
    assert 'failures="0" errors="0" skipped="1"' in junit_xml(report)


def test_a_known_failure_is_skipped_and_an_entry_in_error_fails(make: Maker) -> None:
    known = [{"id": id, "reason": "r", "link": "l", "expires": "2026-12-31"} for id in ("FAM-01", "FAM-02")]
    report = make.report(*make.mixed().requirements, known_failures=known)
    suites = {suite.name: suite for suite in JUnitXml.fromstring(junit_xml(report).encode())}
    assert [(type(case.result[0]).__name__) for case in suites["known failures"]] == ["Failure", "Skipped"]
    (excused,) = (case for case in suites["FAM"] if case.name == "FAM-02")
    assert excused.result[0].message.startswith("known failure: r (l, until 2026-12-31). MUST")
    assert "known failure in error: FAM-01 passed" in summary(report)
    assert "FAM-02  MUST  failed (known)" in summary(report)


def test_could_not_run_without_a_check_is_an_error(make: Maker) -> None:
    report = make.report(make.row("MIG-01", verdict="could_not_run", reason="The baseline does not parse."))
    assert "could not run: The baseline does not parse." in junit_xml(report)
    assert 'errors="1"' in junit_xml(report)


@given(st.text(st.characters()))
def test_any_text_makes_well_formed_xml(make: Maker, text: str) -> None:
    evidence = [make.exchange(response_body=text, actor=text, error=text, url=f"http://[{text}/{text}")]
    check = make.check("failed", name=text, reason=text, exchanges=evidence)
    report = make.report(make.row("FAM-01", check, statement="S."), aborted=None)
    root = ET.fromstring(junit_xml(report))  # noqa: S314  # our own text
    assert root.find(".//failure") is not None


def test_junit_is_written_beside_the_report(make: Maker, tmp_path: Path) -> None:
    path = write_junit(make.mixed(), tmp_path)
    assert path == tmp_path / "junit.xml"
    assert len(JUnitXml.fromfile(str(path))) == 3


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("width", [20, 80, 300])
def test_the_last_line_always_counts(make: Maker, width: int, *, terminal: bool) -> None:
    rows = make.mixed().requirements
    aborted = make.report(make.row("FAM-01", verdict="could_not_run"), aborted="The heartbeat failed.")
    for report in (make.mixed(), make.report(), aborted, make.report(*rows[:1]), make.report(*rows[3:])):
        text = summary(report, width, terminal=terminal)
        assert text.endswith("\n")
        assert LAST_LINE.fullmatch(text.splitlines()[-1])
    assert summary(make.mixed(), width).splitlines()[-1] == (
        "selected 3 / ran 2 / passed 1 / failed 1 / could not run 1"
    )


def test_failures_come_first_with_their_last_exchanges(make: Maker) -> None:
    lines = summary(make.mixed()).splitlines()
    assert lines[1].startswith("FAM-02  MUST  failed  A chat id is not found")
    assert lines[2].strip() == "it failed"
    assert [re.search(r"worker \d", line)[0] for line in lines[3:6]] == ["worker 2", "worker 3", "worker 4"]  # type: ignore[index]
    assert lines[6].startswith("FAM-03  MUST  could not run")


def test_a_must_comes_before_a_should_that_does_not_count(make: Maker) -> None:
    report = make.report(
        make.row("FAM-06", make.check("failed"), level="SHOULD"),
        make.row("FAM-09", make.check("could_not_run")),
        make.row("FAM-01", make.check("failed")),
    )
    ids = re.findall(r"^(FAM-\d\d)  (?:MUST|SHOULD)", summary(report), re.MULTILINE)
    assert ids == ["FAM-01", "FAM-09", "FAM-06"]
    assert "FAM-06  SHOULD  failed (not counted)" in summary(report)
    assert "not counted" not in summary(report.model_copy(update={"strict": True}))


def test_many_failures_stay_on_one_screen_and_each_id_is_named(make: Maker) -> None:
    report = make.report(*(make.row(f"POP-{number:02}", make.check("failed")) for number in range(1, 80)))
    text = summary(report)
    assert len(text.splitlines()) < 40
    assert f"and {79 - SHOWN_FAILURES} more: POP-09 10 11" in text
    assert " 79" in text


def test_every_area_has_its_line_and_every_open_id_its_place(make: Maker) -> None:
    text = summary(make.mixed(), width=20)
    assert re.search(r"^FAM +1 +1 +1 +- +- +-$", text, re.MULTILINE)
    assert re.search(r"^REQ +- +- +- +- +- +3$", text, re.MULTILINE)
    assert "no check yet (3): REQ-01 02 04\n" in text
    assert "not declared (1): POP-01\n" in text


def test_the_verdict_says_what_is_open(make: Maker) -> None:
    passed = make.row("FAM-01", make.check())
    verdicts = {
        "verdict: conformant\n": make.report(passed),
        "verdict: conformant so far: 1 requirement has no check yet\n": make.report(passed, make.row("REQ-01")),
        "verdict: conformant so far: 1 requirement was not selected\n": make.report(
            passed, make.row("POP-01", verdict="not_selected")
        ),
        "verdict: not conformant: 2 requirements failed or could not run\n": make.mixed(),
        "Nothing was judged: The heartbeat failed.\nverdict: nothing judged\n": make.report(
            aborted="The heartbeat failed."
        ),
    }
    for words, report in verdicts.items():
        assert words in summary(report)


def test_what_a_target_says_stays_text(make: Maker) -> None:
    evidence = [make.exchange(actor=HOSTILE, url=f"http://a/{HOSTILE}", response_body=HOSTILE)]
    check = make.check("failed", reason=HOSTILE, exchanges=evidence)
    text = summary(make.report(make.row("FAM-01", check, statement=HOSTILE)), terminal=True)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "[bold]loud[/bold] :boom:" in text
    assert len(text.splitlines()) == 8, "no line break of the target's is one of ours"


def test_an_old_encoding_loses_no_line(make: Maker) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    report = make.report(make.row("FAM-01", make.check("failed", reason="“naïve” 🙂")))
    print_summary(report, Console(file=out, width=80))
    out.seek(0)
    text = out.read()
    assert "\\u201cna\\xefve\\u201d \\U0001f642" in text
    assert LAST_LINE.fullmatch(text.splitlines()[-1])


@given(st.text(st.characters()), st.integers(2, 40))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert visible(line) == line
