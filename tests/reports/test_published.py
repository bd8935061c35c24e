"""A report that some published version wrote can be read for ever, and what is not one is a named situation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from reports.errors import AlteredReport, ReportError, UnreadableReport
from reports.load import read_report
from reports.model import READABLE, Catalogue, catalogue_sha256
from reports.schema import SCHEMA_PATH
from reports.write import write_report

if TYPE_CHECKING:
    from tests.reports.conftest import Maker

PUBLISHED = Path(__file__).with_name("published")


@pytest.mark.parametrize("version", READABLE)
def test_a_report_of_each_published_version_is_read_and_fits_its_schema(version: str) -> None:
    path = PUBLISHED / f"report-{version}.json"
    stored = json.loads(path.read_text("utf-8"))
    schema = json.loads(SCHEMA_PATH.with_name(f"report-{version}.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(stored)
    report = read_report(path)
    assert stored["schema_version"] == version
    assert (report.verdict, report.exit_code, report.counts.failed) == ("not conformant", 1, 1)
    assert [row.id for row in report.requirements if row.verdict == "failed"] == ["POP-01"]


def test_an_older_report_is_written_again_as_the_newest(tmp_path: Path) -> None:
    report = read_report(PUBLISHED / "report-1.json")
    written = write_report(report, tmp_path)
    assert json.loads(written.read_text("utf-8"))["schema_version"] == READABLE[-1]
    assert read_report(written) == report


def test_an_older_report_whose_verdict_was_edited_is_refused(tmp_path: Path) -> None:
    stored = json.loads((PUBLISHED / "report-1.json").read_text("utf-8"))
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**stored, "verdict": "conformant"}))
    with pytest.raises(AlteredReport, match="verdict"):
        read_report(path)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_a_truncated_report_is_a_named_situation(tmp_path: Path, share: float) -> None:
    whole = (PUBLISHED / "report-1.json").read_bytes()
    path = tmp_path / "report.json"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(UnreadableReport, match="no JSON"):
        read_report(path)


def catalogued(make: Maker) -> dict[str, Any]:
    rows = make.mixed().requirements
    said = Catalogue(version="1", sha256=catalogue_sha256(row.model_dump() for row in rows))
    denominator = ["FAM-01", "FAM-02", "FAM-03", "REQ-01", "REQ-02", "REQ-04"]
    stored: dict[str, Any] = json.loads(make.report(*rows, catalogue=said, denominator=denominator).model_dump_json())
    return stored


def test_a_report_with_hashes_and_denominator_is_read(make: Maker, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(catalogued(make)))
    assert read_report(path).denominator is not None


def soften(stored: dict[str, Any]) -> None:
    stored["requirements"][1]["level"] = "INFO"


def reword(stored: dict[str, Any]) -> None:
    stored["requirements"][0]["statement"] = "It is nice."


def take_out(stored: dict[str, Any]) -> None:
    del stored["requirements"][1]


def deselect(stored: dict[str, Any]) -> None:
    stored["requirements"][2] |= {"verdict": "not_selected", "checks": []}


@pytest.mark.parametrize("edit", [soften, reword, take_out, deselect], ids=lambda edit: edit.__name__)
def test_a_report_whose_rows_were_edited_is_refused(make: Maker, tmp_path: Path, edit: Any) -> None:
    stored = catalogued(make)
    edit(stored)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(stored))
    with pytest.raises(ReportError, match=r"denominator|worded"):
        read_report(path)
