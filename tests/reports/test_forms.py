"""A report in other people's forms: a pull request's summary, a badge, a list of alerts."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.badge import badge
from reports.load import read_report
from reports.markdown import code, markdown, plain
from reports.model import READABLE
from reports.render import Form, render
from reports.sarif import sarif

if TYPE_CHECKING:
    from tests.reports.conftest import Maker

PUBLISHED = Path(__file__).with_name("published")
KNOWN = [{"id": "FAM-02", "reason": "r", "link": "l", "expires": "2026-12-31"}]


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("version", READABLE)
def test_every_form_can_be_made_of_every_published_report_and_twice_the_same(version: str, form: Form) -> None:
    report = read_report(PUBLISHED / f"report-{version}.json")
    text = render(report, form)
    assert "not conformant" in text
    assert text == render(report, form)


def open_lines(text: str) -> list[str]:
    """What a reader sees before unfolding anything."""
    lines, folded = [], False
    for line in text.splitlines():
        folded = folded or line.startswith("<details>")
        if not folded or line.startswith("<details>"):
            lines.append(line)
        folded = folded and line != "</details>"
    return [line for line in lines if line]


def test_markdown_begins_with_the_verdict_and_stays_on_one_screen(make: Maker) -> None:
    rows = [make.row(f"POP-{number:02}", make.check("failed", exchanges=[make.exchange()])) for number in range(1, 80)]
    text = markdown(make.report(*rows))
    assert text.startswith("## ❌ not conformant: 79 requirements failed or could not run\n")
    folds = sum(line.startswith("<details>") for line in open_lines(text))
    assert len(open_lines(text)) - folds < 20
    assert folds <= 41
    assert "and 69 more: POP-11 12 13" in text
    assert text.count("<details>") == text.count("</details>")


def test_markdown_tells_of_evidence_known_failures_and_areas(make: Maker) -> None:
    text = markdown(make.report(*make.mixed().requirements, known_failures=[*KNOWN, KNOWN[0] | {"id": "FAM-01"}]))
    assert "**Known failures in error:**\n\n- FAM-01 passed" in text
    assert "| **FAM-02** | MUST | failed, known |" in text
    assert text.count("GET /api/v2/generate/chat/status/1  ->  404") == 5
    assert "| FAM | 1 | 1 | 1 |  |  |  |" in text


def test_markdown_of_a_run_that_judged_nothing_says_why(make: Maker) -> None:
    text = markdown(make.report(make.row("FAM-01", verdict="could_not_run"), aborted="No *heartbeat*."))
    assert "**Nothing was judged.** No \\*heartbeat\\*." in text
    assert "<details><summary>FAM-01" not in text


@given(st.text(st.characters()))
def test_what_a_target_says_is_no_markup_in_markdown(text: str) -> None:
    said = plain(text, 500)
    assert len(said.splitlines()) <= 1
    for place, character in enumerate(said):
        if character in "<>|`*[]@":
            assert said[place - 1] == "\\"
    assert "www." not in said


@given(st.lists(st.text("`~ab\n"), max_size=5))
def test_no_line_of_a_targets_ends_the_fence(lines: list[str]) -> None:
    block = code(lines).splitlines()
    fence = block[0].removesuffix("text")
    assert block[-1] == fence
    assert not any(fence in line for line in block[1:-1])


@pytest.mark.parametrize(("colour", "failed"), [("#13795b", False), ("#b3261e", True)])
def test_a_badge_says_the_verdict_and_how_many_passed(make: Maker, colour: str, failed: bool) -> None:
    rows = [make.row("FAM-01", make.check()), make.row("FAM-02", make.check("failed" if failed else "passed"))]
    text = badge(make.report(*rows))
    root = ET.fromstring(text)  # noqa: S314 - our own text
    words = "not conformant, 1/2" if failed else "conformant, 2/2"
    assert root.get("aria-label") == f"chat conformance: {words}"
    assert colour in text


def test_a_badge_of_nothing_judged_counts_nothing(make: Maker) -> None:
    assert "nothing judged</title>" in badge(make.report(aborted="x"))


def results(report: Any) -> dict[str, Any]:
    (run,) = json.loads(sarif(report))["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    return {result["ruleId"]: result for result in run["results"]}


def test_sarif_has_a_result_for_what_is_not_met_and_nothing_else(make: Maker) -> None:
    should = make.row("FAM-06", make.check("failed"), level="SHOULD")
    found = results(make.report(*make.mixed().requirements, should, known_failures=KNOWN))
    assert {id: result["level"] for id, result in found.items()} == {
        "FAM-02": "error", "FAM-03": "error", "FAM-06": "note",
    }  # fmt: skip
    assert [id for id, result in found.items() if "suppressions" in result] == ["FAM-02"]
    assert all(result["locations"] for result in found.values()), "a code host shows only what has a place"


def test_sarif_says_what_ended_the_run(make: Maker) -> None:
    (run,) = json.loads(sarif(make.report(aborted="No heartbeat.")))["runs"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["exitCode"] == 3
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == "No heartbeat."
