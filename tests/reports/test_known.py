"""Known failures: they excuse what they name while they hold, and whatever is wrong with one is an error."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reports.errors import BadKnownFailures
from reports.known import KnownFailure, load

if TYPE_CHECKING:
    from reports.model import Report
    from tests.reports.conftest import Maker

# The runs of `make` are of 2 January 2026.
TODAY = date(2026, 1, 2)


def entry(id: str = "POP-01", **given: Any) -> KnownFailure:
    fields = {"id": id, "reason": "the filter is being written", "link": "https://a/1", "expires": TODAY}
    return KnownFailure(**(fields | given))


def outcome(report: Report) -> tuple[list[str], str, int]:
    return [one.met for one in report.expectations], report.verdict, report.exit_code


def test_a_known_failure_that_fails_is_no_error_and_no_conformance(make: Maker) -> None:
    rows = make.row("FAM-01", make.check()), make.row("POP-01", make.check("failed"))
    assert outcome(make.report(*rows)) == ([], "not conformant", 1)
    report = make.report(*rows, known_failures=[entry()])
    assert outcome(report) == (["failed as known"], "not conformant, as known", 0)


def test_a_failure_beside_the_known_ones_is_not_excused(make: Maker) -> None:
    rows = make.row("POP-02", make.check("failed")), make.row("POP-01", make.check("failed"))
    assert outcome(make.report(*rows, known_failures=[entry()])) == (["failed as known"], "not conformant", 1)


def test_an_unexpected_pass_is_an_error(make: Maker) -> None:
    report = make.report(make.row("POP-01", make.check()), known_failures=[entry()])
    assert outcome(report) == (["passed"], "conformant", 4)


def test_an_entry_holds_through_its_day_and_no_longer(make: Maker) -> None:
    row = make.row("POP-01", make.check("failed"))
    report = make.report(row, known_failures=[entry(expires=date(2026, 1, 1))])
    assert outcome(report) == (["expired"], "not conformant", 4)
    assert "2026-01-01" in report.expectations[0].sentence
    assert outcome(make.report(row, known_failures=[entry(expires=TODAY)]))[2] == 0


def test_an_expired_entry_does_not_hide_another_failure(make: Maker) -> None:
    rows = make.row("POP-01", make.check("failed")), make.row("POP-02", make.check("failed"))
    assert outcome(make.report(*rows, known_failures=[entry(expires=date(2025, 1, 1))]))[2] == 1


@pytest.mark.parametrize("id", ["POP-99", "POP-01/test_of_another_name", "nonsense", "pop-01"])
def test_an_entry_that_matches_nothing_is_an_error(make: Maker, id: str) -> None:
    passed = make.row("POP-01", make.check())
    assert outcome(make.report(passed, known_failures=[entry(id)])) == (["matches nothing"], "conformant", 4)


@pytest.mark.parametrize("verdict", ["not_declared", "no_check_yet"])
def test_an_entry_for_what_is_not_judged_matches_nothing(make: Maker, verdict: str) -> None:
    rows = make.row("FAM-01", make.check()), make.row("POP-01", verdict=verdict)
    assert outcome(make.report(*rows, known_failures=[entry()]))[0] == ["matches nothing"]


def test_an_entry_outside_the_selection_is_no_error(make: Maker) -> None:
    rows = make.row("FAM-01", make.check()), make.row("POP-01", verdict="not_selected")
    assert outcome(make.report(*rows, known_failures=[entry()])) == (["not selected"], "conformant so far", 0)
    late = make.report(*rows, known_failures=[entry(expires=date(2025, 1, 1))])
    assert outcome(late) == (["expired"], "conformant so far", 4), "a file that nobody keeps is told in each run"


def test_what_could_not_run_is_no_known_failure(make: Maker) -> None:
    rows = make.row("FAM-01", make.check()), make.row("POP-01", make.check("could_not_run"))
    assert outcome(make.report(*rows, known_failures=[entry()])) == (["could not run"], "not conformant", 4)


def test_a_failed_row_of_which_a_check_could_not_run_is_not_excused(make: Maker) -> None:
    row = make.row("POP-01", make.check("failed", name="test_a"), make.check("could_not_run", name="test_b"))
    assert outcome(make.report(row, known_failures=[entry()]))[2] == 4
    assert outcome(make.report(row, known_failures=[entry("POP-01/test_a")]))[1:] == ("not conformant", 1)


def test_an_entry_for_one_check_excuses_that_check_alone(make: Maker) -> None:
    one, two = make.check("failed", name="test_a"), make.check("failed", name="test_b")
    known = [entry("POP-01/test_a")]
    alone = make.report(make.row("POP-01", one, make.check(name="test_b")), known_failures=known)
    assert outcome(alone) == (["failed as known"], "not conformant, as known", 0)
    assert outcome(make.report(make.row("POP-01", one, two), known_failures=known))[2] == 1
    both = [*known, entry("POP-01/test_b")]
    assert outcome(make.report(make.row("POP-01", one, two), known_failures=both))[2] == 0


def test_a_run_that_judged_nothing_stays_that(make: Maker) -> None:
    report = make.report(make.row("POP-01", verdict="could_not_run"), aborted="no heartbeat", known_failures=[entry()])
    assert outcome(report) == (["could not run"], "nothing judged", 3)


def test_a_known_failure_of_a_should_is_met_without_counting(make: Maker) -> None:
    rows = make.row("FAM-01", make.check()), make.row("POP-15", make.check("failed"), level="SHOULD")
    assert outcome(make.report(*rows, known_failures=[entry("POP-15")])) == (["failed as known"], "conformant", 0)
    assert outcome(make.report(*rows, strict=True, known_failures=[entry("POP-15")]))[1] == "not conformant, as known"


GOOD = """
[[failure]]
id = "POP-01"
reason = "the filter is being written"
link = "https://a/1"
expires = 2026-01-02
"""


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(GOOD)
    assert load(path) == (entry(),)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[failure]]\nid = 3 3", "no TOML"),
        ("", "failure: Field required"),
        (GOOD.replace('link = "https://a/1"', ""), "failure.0.link: Field required"),
        (GOOD.replace("the filter is being written", "  "), "failure.0.reason"),
        (GOOD.replace("2026-01-02", '"soon"'), "failure.0.expires"),
        (GOOD + 'owner = "us"', "failure.0.owner"),
        (GOOD + GOOD, "listed twice: POP-01"),
        ("\xff", "no TOML"),
        (None, "No such file"),
    ],
)
def test_a_file_that_lacks_something_is_a_named_situation(tmp_path: Path, text: str | None, why: str) -> None:
    path = tmp_path / "known.toml"
    if text is not None:
        path.write_text(text, "latin-1")
    with pytest.raises(BadKnownFailures, match=why) as caught:
        load(path)
    assert "expires = 2026-12-31" in str(caught.value)
