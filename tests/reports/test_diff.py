"""Two reports compared: each change has its kind, and only what counts makes it worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from reports import comparison
from reports.diff import Diff, diff
from reports.model import Catalogue, catalogue_sha256

if TYPE_CHECKING:
    from reports.model import RequirementResult
    from tests.reports.conftest import Maker

KINDS = ("regressed", "fixed", "new", "gone", "untestable", "failing")


def row(make: Maker, verdict: str, id: str = "POP-01", **given: Any) -> RequirementResult:
    if verdict in ("passed", "failed", "could_not_run"):
        return make.row(id, make.check(verdict, **given.pop("check", {})), **given)
    return make.row(id, verdict=verdict, **given)


def kinds(found: Diff) -> dict[str, list[str]]:
    return {kind: [one.id for one in getattr(found, kind)] for kind in KINDS if getattr(found, kind)}


@pytest.mark.parametrize(
    ("before", "after", "kind", "worse"),
    [
        ("passed", "passed", None, False),
        ("passed", "failed", "regressed", True),
        ("failed", "passed", "fixed", False),
        ("failed", "failed", "failing", False),
        ("passed", "could_not_run", "untestable", True),
        ("failed", "could_not_run", "untestable", True),
        ("passed", "not_declared", "untestable", True),
        ("passed", "no_check_yet", "untestable", True),
        ("could_not_run", "passed", "new", False),
        ("could_not_run", "failed", "new", False),
        ("no_check_yet", "failed", "new", True),
        ("not_declared", "failed", "new", True),
        ("not_declared", "passed", "new", False),
        ("could_not_run", "could_not_run", None, False),
        ("not_declared", "no_check_yet", None, False),
        ("passed", "not_selected", None, False),
        ("not_selected", "failed", None, False),
    ],
)
def test_each_change_has_its_kind(make: Maker, before: str, after: str, kind: str | None, *, worse: bool) -> None:
    found = diff(make.report(row(make, before)), make.report(row(make, after)))
    assert (kinds(found), found.worse) == ({kind: ["POP-01"]} if kind else {}, worse)


def test_rows_come_and_go_with_the_catalogue(make: Maker) -> None:
    old, new = make.report(row(make, "passed", "POP-01")), make.report(row(make, "failed", "POP-02"))
    assert kinds(diff(old, new)) == {"gone": ["POP-01"], "new": ["POP-02"]}
    assert diff(old, make.report()).worse
    assert diff(make.report(), new).worse
    assert not diff(make.report(), old).worse


def test_a_renamed_check_is_no_change(make: Maker) -> None:
    old = make.report(row(make, "passed", check={"name": "test_old"}))
    new = make.report(row(make, "passed", check={"name": "test_new"}, statement="Worded anew."))
    found = diff(old, new)
    assert (kinds(found), found.timings, found.worse) == ({}, [], False)


def test_what_does_not_count_makes_nothing_worse(make: Maker) -> None:
    old = make.report(row(make, "passed", "POP-01"), row(make, "passed", "DEF-05", level="INFO"))
    known = [{"id": "POP-01", "reason": "r", "link": "l", "expires": "2026-12-31"}]
    new = make.report(row(make, "failed", "POP-01"), row(make, "failed", "DEF-05", level="INFO"), known_failures=known)
    found = diff(old, new)
    assert (kinds(found), found.worse) == ({"regressed": ["POP-01", "DEF-05"]}, False)
    expired = new.model_copy(
        update={
            "known_failures": [
                one.model_copy(update={"expires": new.started_at.date().replace(year=2020)})
                for one in new.known_failures
            ]
        }
    )
    assert diff(old, expired).worse


@pytest.mark.parametrize(
    ("before", "after", "told"), [(1.0, 2.0, True), (2.0, 0.9, True), (1.0, 1.9, False), (0.1, 0.4, False)]
)
def test_times_are_told_where_they_changed_by_half_a_second_and_twofold(
    make: Maker, before: float, after: float, *, told: bool
) -> None:
    old, new = (make.report(row(make, "passed", check={"seconds": seconds})) for seconds in (before, after))
    found = diff(old, new)
    assert [(one.before, one.after) for one in found.timings] == ([(before, after)] if told else [])
    assert not found.worse


def test_what_makes_the_comparison_weak_is_said(make: Maker) -> None:
    rows = [row(make, "passed", "POP-01"), row(make, "passed", "POP-02")]
    said = Catalogue(version="1", sha256=catalogue_sha256(one.model_dump() for one in rows))
    target = {"url": "http://a", "kind": "url", "profile": "aihorde", "profile_sha256": "1"}
    old = make.report(*rows, catalogue=said, target=target)
    assert diff(old, old).caveats == []
    other = make.report(rows[0], row(make, "not_selected", "POP-02"), seed=43, target=target | {"profile_sha256": "2"})
    told = " ".join(diff(old, other).caveats)
    for word in (
        "profile aihorde says something else",
        "seeds differ: 42, then 43",
        "selections differ: 1",
        "not known which catalogue",
    ):
        assert word in told
    renamed = make.report(*rows, target=target | {"profile": "elsewhere"})
    assert "profiles differ: aihorde, then elsewhere" in " ".join(diff(old, renamed).caveats)
    assert "newer run judged nothing" in " ".join(diff(old, make.report(aborted="x")).caveats)


def many(make: Maker) -> Diff:
    old = [row(make, "passed", f"POP-{number:02}") for number in range(1, 60)]
    new = [row(make, "failed", f"POP-{number:02}", check={"reason": "<b>|\x1b"}) for number in range(1, 60)]
    return diff(make.report(*old, row(make, "failed", "FAM-01")), make.report(*new, row(make, "passed", "FAM-01")))


def test_markdown_opens_with_what_got_worse_and_folds_what_did_not(make: Maker) -> None:
    told = comparison.markdown(many(make))
    assert told.startswith("## ❌ worse: 59 regressed, 1 fixed\n")
    assert "Verdict before: not conformant. Verdict now: not conformant." in told
    assert "### regressed (59)" in told
    assert "<details><summary>fixed (1)</summary>" in told
    assert r"\<b\>\|\\x1b" in told
    assert "and 34 more: POP-26 27" in told
    assert comparison.markdown(diff(make.report(), make.report())).startswith("## ✅ not worse: nothing changed")


def test_the_terminal_says_the_same_in_lines(make: Maker) -> None:
    lines = comparison.text(many(make)).splitlines()
    assert lines[:3] == ["not conformant -> not conformant", "worse: 59 regressed, 1 fixed", "regressed:"]
    assert lines[3].startswith("    POP-01  MUST  passed -> failed  A chat id is not found")
    assert "\x1b" not in "".join(lines)
