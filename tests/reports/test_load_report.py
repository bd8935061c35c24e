"""A load report says what its findings say, is written whole with its rows, and reads back as it was."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError
from rich.console import Console

from reports.errors import AlteredReport, MismatchedVersion, UnreadableReport
from reports.measured.live import Live
from reports.measured.model import LoadReport
from reports.measured.page import page
from reports.measured.parts import Amplified, Check, Database, Phase, Table, Target
from reports.measured.rows import all_rows
from reports.measured.sections import times
from reports.measured.summary import print_load_summary
from reports.measured.write import read_load_report, write_load_report
from reports.schema import LOAD_SCHEMA_PATH, load_schema_text
from tests.reports import hand_written as written

RUN = "run-1-mixed"


def judged(*findings: tuple[str, str, str | None]) -> LoadReport:
    """A report of findings as (outcome, kind, run)."""
    return written.bare(
        runs=(written.run(2), written.run(2, slug="run-2-other", name="other")),
        findings=tuple(
            written.finding(outcome, kind, run=run, sentence=f"{kind} {outcome}") for outcome, kind, run in findings
        ),
    )


@pytest.mark.parametrize(
    ("findings", "verdict", "sentence", "code"),
    [
        ((), "NOTHING JUDGED", "NOTHING JUDGED: nothing was measured.", 3),
        ((("recorded", "figure", None),), "RECORDED", "RECORDED: figure recorded", 0),
        ((("recorded", "figure", None), ("pass", "gate", RUN)), "PASS", "PASS: gate pass", 0),
        ((("recorded", "gate", RUN), ("invalid", "generator", RUN)), "INVALID", None, 3),
        ((("pass", "gate", RUN),), "PASS", "PASS: gate pass", 0),
        (
            (("pass", "gate", RUN), ("pass", "generator", RUN)),
            "PASS",
            "PASS: all 2 rules and limits are kept.",
            0,
        ),
        ((("pass", "gate", RUN), ("fail", "gate", RUN)), "FAIL", "FAIL: gate fail", 1),
        ((("fail", "gate", RUN), ("fail", "gate", RUN)), "FAIL", "FAIL: gate fail (1 more)", 1),
        # A generator that measured itself says nothing of times,
        ((("fail", "gate", RUN), ("invalid", "generator", RUN)), "INVALID", "INVALID: generator invalid", 3),
        # but a rule that the target broke is broken.
        ((("fail", "rule", RUN), ("invalid", "generator", RUN)), "FAIL", "FAIL: rule fail", 1),
        # Each run is judged on its own, and the worst is the session's.
        ((("invalid", "generator", RUN), ("fail", "gate", "run-2-other")), "FAIL", "FAIL: gate fail", 1),
        ((("pass", "gate", RUN), ("inconclusive", "figure", None)), "INCONCLUSIVE", None, 3),
    ],
)
def test_the_verdict_follows_from_the_findings(
    findings: tuple[tuple[str, str, str | None], ...], verdict: str, sentence: str | None, code: int
) -> None:
    report = judged(*findings)
    assert (report.verdict, report.exit_code) == (verdict, code)
    assert sentence is None or report.sentence == sentence


def test_what_does_not_decide_is_shown_and_is_no_part_of_the_verdict() -> None:
    step = written.finding("fail", "rule", run=RUN, decides=False, sentence="The step broke.", name="a step")
    report = written.bare(runs=(written.run(2),), findings=(step, written.finding("pass", sentence="The knee.")))
    assert (report.verdict, report.sentence) == ("PASS", "PASS: The knee.")
    assert "The step broke." in page(report)
    assert "The step broke." not in said(report)
    assert written.bare(runs=(written.run(2),), findings=(step,)).verdict == "NOTHING JUDGED"


def test_the_committed_schema_is_the_generated_one() -> None:
    assert LOAD_SCHEMA_PATH.read_text("utf-8") == load_schema_text(), "run `python -P -m reports.schema`"


@pytest.mark.parametrize("report", [written.full(3), written.bare()], ids=["full", "bare"])
def test_what_is_written_matches_the_schema_and_reads_back(report: LoadReport, tmp_path: Path) -> None:
    files = write_load_report(report, tmp_path / "new" / "folder")
    schema = json.loads(LOAD_SCHEMA_PATH.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(files.json.read_text("utf-8")))
    assert read_load_report(files.json) == report
    assert files.page.is_file()


@pytest.mark.parametrize(
    ("change", "situation"),
    [
        ({"verdict": "PASS"}, AlteredReport),
        ({"sentence": "PASS: of course."}, AlteredReport),
        ({"schema_version": "0"}, MismatchedVersion),
        ({"seed": "seven"}, UnreadableReport),
        ({"extra": 1}, UnreadableReport),
    ],
)
def test_a_file_that_is_no_such_report_is_refused(
    change: dict[str, Any], situation: type[Exception], tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(json.loads(written.full(2).model_dump_json()) | change))
    with pytest.raises(situation):
        read_load_report(path)


@pytest.mark.parametrize(
    "given",
    [
        {"findings": (written.finding(rows="elsewhere"),)},
        {"findings": (written.finding(run="run-9"),)},
        {"runs": (written.run(2), written.run(2))},
        {"sweeps": (written.sweeps()[0], written.sweeps()[0])},
    ],
)
def test_a_report_that_does_not_hold_together_is_none(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        written.bare(**given)


@pytest.mark.parametrize("slug", ["../../etc", "a/b", "", "Ä", "x" * 61])
def test_rows_are_named_so_that_a_file_can_be(slug: str) -> None:
    with pytest.raises(ValidationError):
        Table(slug=slug, title="", columns=("a",), rows=())


def test_a_table_is_even() -> None:
    with pytest.raises(ValidationError, match="2 cells"):
        Table(slug="even", title="", columns=("a", "b"), rows=((1,),))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_figure_is_less_than_a_number(value: float) -> None:
    with pytest.raises(ValidationError):
        Amplified(branch="pop", counts=((0, 1.0),), slope=value, intercept_bytes=0, largest_residual=0, exact=True)


def test_nobody_reads_a_password() -> None:
    report = written.bare(
        command="load run --target http://me:hunter2@host/ --database-url 'postgresql:///x?user=me&password=hunter2'",
        targets=(Target(address="http://me:hunter2@host/", profile="reference"),),
    )
    assert "hunter2" not in report.model_dump_json()
    assert "@host/" in report.command


@pytest.mark.parametrize(
    ("settings", "durable"),
    [
        ({"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}, True),
        ({"fsync": "on", "synchronous_commit": "off", "full_page_writes": "on"}, False),
        ({"fsync": "off"}, False),
        ({"jit": "on"}, None),
    ],
)
def test_durability_is_said(settings: dict[str, str], durable: bool | None) -> None:
    assert Database(version="18.6", settings=settings).durable is durable


@pytest.mark.parametrize(
    ("value", "at_least", "within", "strain"),
    [(0.5, False, True, 0.5), (2.0, False, False, 2.0), (2.0, True, True, 0.5), (0.5, True, False, 2.0)],
)
def test_a_limit_is_kept_from_its_own_side(value: float, at_least: bool, within: bool, strain: float) -> None:
    check = Check(measure="lag", value=value, limit=1.0, at_least=at_least)
    assert (check.within, check.strain) == (within, strain)


def test_every_drawing_and_every_verdict_has_its_rows(tmp_path: Path) -> None:
    report = written.full(5)
    files = write_load_report(report, tmp_path)
    assert {path.stem for path in files.rows} == set(report.rows)
    for path in files.rows:
        text = path.read_text("utf-8")
        if path.suffix == ".json":
            told = [tuple(row.values()) for row in json.loads(text)]
        else:
            told = [tuple(row) for row in csv.reader(io.StringIO(text))][1:]
        assert len(told) == len(all_rows(report)[path.stem].cells), path.name


def test_rows_are_raw() -> None:
    rows = all_rows(written.full(5))
    assert len(rows[f"{RUN}-seconds"].cells) == 10
    assert rows["amplification"].cells[0] == ("empty pop", "bytes from the database per pop", 0, 1979.0)
    assert rows["latency-over-depth"].columns == ("series", "round", "rows", "figure_seconds")
    assert len(rows["latency-over-depth"].cells) == 3 * 4
    assert len(rows["duet"].cells) == 12
    assert rows[f"{RUN}-counts"].cells[0] == ("alone", "statements per empty pop", 5.0)
    assert rows[f"{RUN}-statements"].cells[1][1:3] == ("DELETE FROM old", 9)
    assert rows[f"{RUN}-statements"].columns[-1] == "uncalled"
    assert [row[-1] for row in rows[f"{RUN}-statements"].cells] == ["no", "yes"]
    assert "LWLock: WALWrite 1; Lock: tuple 2" in rows[f"{RUN}-database"].cells[0]
    assert len(rows["ramp-1"].cells) == 5
    assert ("loop lag", 1, 0.0031, 0.0005, "at most", "seconds", "no") in rows[f"{RUN}-generator"].cells


def said(report: LoadReport, width: int = 40) -> str:
    out = io.StringIO()
    print_load_summary(report, Console(file=out, width=width), written=Path("load-report.html"))
    return out.getvalue()


def test_the_summary_ends_with_the_verdict_and_keeps_numbers_whole() -> None:
    lines = said(written.full(5)).splitlines()
    assert lines[-1].startswith("INVALID: Of process 1: its loop was 3.10 ms late")
    assert any(line.split()[:4] == ["steady", "pop", "5,015", "0.06%"] for line in lines)
    assert any("chat job: 1.021 bytes per byte of payload" in line for line in lines)
    assert any("fsync off" in line and "seed 7" in line for line in lines)


def test_the_summary_takes_no_text_for_more_than_text() -> None:
    hostile = written.bare(findings=(written.finding("fail", sentence=f"[red]{written.HOSTILE}"),))
    told = said(hostile)
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "[red]<script>" in told


class Beat:
    """One second, as the load room tells it."""

    def __init__(self, second: int, **counts: int) -> None:
        self.second, self.counts = second, counts


PHASES = (Phase(name="warm-up", begin=0, end=2, rate=5), Phase(name="steady", begin=2, end=4, rate=10))


def test_the_live_line_says_phase_rate_and_errors() -> None:
    out = io.StringIO()
    with Live("mixed", PHASES, ("done", "limited"), Console(file=out, width=200)) as live:
        for beat in (Beat(0, done=9, limited=1), Beat(1, done=8, crashed=2), Beat(2, done=10), Beat(9, done=0)):
            live.heard(beat)
    assert out.getvalue().splitlines() == [
        "mixed: warm-up: 10 calls/s, 0 errors (0.00%)",
        "mixed: steady: 10 calls/s, 2 errors (6.67%)",
        "mixed: ending: 0 calls/s, 2 errors (6.67%)",
    ]


def test_the_live_bar_moves_on_a_terminal() -> None:
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=True)
    with Live("[red]mixed", PHASES, console=console) as live:
        live.heard(Beat(1, done=1234))
    assert "[red]mixed" in out.getvalue()
    assert "warm-up: 1,234 calls/s, 0 errors" in out.getvalue()


@pytest.mark.parametrize(
    ("calls", "told"), [(9, ("2 ms", "–", "–")), (99, ("2 ms", "4 ms", "–")), (100, ("2 ms", "4 ms", "10 ms"))]
)
def test_of_few_calls_no_high_quantile_is_told(calls: int, told: tuple[str, ...]) -> None:
    assert times(written.quantiles(0.002), calls) == told
    assert times(None, calls) == ("–", "–", "–")
