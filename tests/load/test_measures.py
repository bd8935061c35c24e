"""Sweeps, amplifications and duets are reports of their own: each verdict as it was said, on rows that exist."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from load.amplification import Measured, Pop, lines
from load.cli import app
from load.probes.facts import NotMeasured
from load.statistics import Order, Outcome
from load.sweeps import judging
from load.sweeps.cells import Axis, Branch, sweep
from load.sweeps.cli import Measured as SweepMeasured
from load.sweeps.counting import Count
from load.sweeps.measuring import Timing
from load.sweeps.ordering import Handed
from load.telling import measures
from reports.measured.parts import Target
from reports.measured.write import read_load_report

TARGET = Target(address="http://127.0.0.1:1", profile="reference")
PAYLOADS, REFUSED = (1024, 16384, 262144), (0, 100, 1000)


def timings(axis: Axis, levels: tuple[float, ...], exponent: float = 0.0) -> tuple[Timing, ...]:
    return tuple(
        Timing(
            axis=axis, level=level, branch=Branch.TEXT, round=number,
            seconds=(0.004 * max(level, 1) ** exponent * (1 + number / 1000),),
        )
        for number in range(20)
        for level in levels
    )  # fmt: skip


def counts(levels: tuple[int, ...], statements: tuple[int, ...]) -> tuple[Count, ...]:
    return tuple(
        Count(
            axis=Axis.REFUSED, level=level, branch=Branch.TEXT, statements=made, received_bytes=100 * made, reads=None
        )
        for level, made in zip(levels, statements, strict=True)
    )


def swept(axis: Axis, **parts: object) -> SweepMeasured:
    found = SweepMeasured.model_validate(parts)
    said = judging.findings(axis, found.timings, found.counts, found.orders)
    return found.model_copy(update={"findings": tuple(said)})


@pytest.mark.parametrize(("exponent", "verdict"), [(0.0, "PASS"), (0.3, "FAIL")])
def test_a_sweeps_verdict_is_the_reports_and_rests_on_its_rows(exponent: float, verdict: str, tmp_path: Path) -> None:
    missing = NotMeasured(not_measured="bytes", reason="no proxy")
    found = swept(Axis.PAYLOAD, timings=timings(Axis.PAYLOAD, PAYLOADS, exponent), not_measured=(missing,))
    made = [(sweep(Axis.PAYLOAD, PAYLOADS), found)]
    report = measures.tell_sweeps(made, measures.Start(), TARGET, seed=3)
    assert report.verdict == verdict
    assert {"PASS": Outcome.PASSED, "FAIL": Outcome.FAILED}[verdict] is judging.verdict(found.findings)
    (finding,) = report.findings
    assert (finding.requirement, finding.rows) == ("LOD-01", "time-over-payload")
    (drawn,) = report.sweeps
    assert drawn.curves[0].slope is not None
    assert drawn.curves[0].slope.value == pytest.approx(exponent, abs=0.001)
    assert report.unmeasured == ("bytes: no proxy",)
    page = measures.kept(report, tmp_path)
    assert read_load_report(tmp_path / "load-report.json") == report
    assert "#rows-time-over-payload" in page.read_text("utf-8")
    assert (tmp_path / "rows" / "time-over-payload.csv").read_text("utf-8").count("\n") == 1 + 20 * 3


def test_statements_and_order_have_rows_of_their_own() -> None:
    order = Handed(level=0.0, workers=4, order=Order(jobs=20, inversions=1, worst=1), unknown=0)
    found = swept(
        Axis.REFUSED, timings=timings(Axis.REFUSED, REFUSED), counts=counts(REFUSED, (4, 4, 9)), orders=(order,)
    )
    report = measures.tell_sweeps([(sweep(Axis.REFUSED, REFUSED), found)], measures.Start(), TARGET, seed=3)
    assert [(one.rows, one.outcome) for one in report.findings] == [
        ("time-over-refused", "recorded"), ("statements-over-refused", "fail"), ("order-over-refused", "recorded"),
    ]  # fmt: skip
    assert [one.slug for one in report.sweeps] == ["time-over-refused", "statements-over-refused", "bytes-over-refused"]
    assert report.tables[0].rows == ((0.0, 4, 20, 1, 1, 0),)


def test_two_queues_are_a_table_and_an_interval_too_wide_is_inconclusive() -> None:
    ahead = sweep(Axis.AHEAD, (100,))
    found = swept(Axis.AHEAD, timings=timings(Axis.AHEAD, (0.0, 1.0)))
    report = measures.tell_sweeps([(ahead, found)], measures.Start(), TARGET, seed=3)
    assert (report.verdict, report.sweeps, report.tables[0].slug) == ("PASS", (), "time-over-head-of-line")
    assert {row[0] for row in report.tables[0].rows} == {"100 text", "100 chat"}
    wide = found.findings[0].model_copy(update={"outcome": Outcome.INVALID})
    unsure = [(ahead, found.model_copy(update={"findings": (wide,)}))]
    assert measures.tell_sweeps(unsure, measures.Start(), TARGET, seed=3).verdict == "INCONCLUSIVE"


def test_an_amplification_is_recorded_by_branch() -> None:
    pops = tuple(
        Pop(
            way="natural", branch="laden chat job", takes="chat", payload_bytes=size, received_bytes=900 + 3 * size,
            sent_bytes=10, statements=4, by_statement={},
        )
        for size in (0, 1024, 65536)
    )  # fmt: skip
    found = Measured(pops=pops, branches=tuple(lines(pops)), not_measured=())
    report = measures.tell_amplification(found, measures.Start(), TARGET)
    assert (report.verdict, report.exit_code) == ("RECORDED", 0)
    assert "3.000 bytes from the database for each byte of payload" in report.findings[0].sentence
    assert report.findings[0].rows == "amplification"


def test_who_only_lists_waits_for_no_library_that_computes_or_draws() -> None:
    look = "import sys, load.cli; print(*{'scipy', 'matplotlib', 'locust', 'gevent'} & sys.modules.keys())"
    loaded = subprocess.run([sys.executable, "-P", "-c", look], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
    listed = CliRunner().invoke(app, ["list"])
    assert listed.exit_code == 0
    assert "default" in listed.stdout
