"""Writes a load report: its JSON, its page, and its rows; and reads it back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reports.load import read_as
from reports.measured.model import SCHEMA_VERSION, LoadReport
from reports.measured.page import ROWS_FOLDER, page
from reports.measured.rows import all_rows
from reports.write import write_text

JSON_NAME, PAGE_NAME = "load-report.json", "load-report.html"


@dataclass(frozen=True)
class Written:
    """Where the files of a load report stand."""

    page: Path
    json: Path
    rows: tuple[Path, ...]


def write_load_report(report: LoadReport, folder: Path) -> Written:
    """Write the report into a folder, which is made when absent; the page, which links to the rest, comes last.

    Raises `UnwritableReport`.
    """
    rows = []
    for slug, table in all_rows(report).items():
        rows.append(write_text(folder / ROWS_FOLDER / f"{slug}.csv", table.csv))
        rows.append(write_text(folder / ROWS_FOLDER / f"{slug}.json", table.json))
    json = write_text(folder / JSON_NAME, report.model_dump_json(indent=1) + "\n")
    return Written(write_text(folder / PAGE_NAME, page(report)), json, tuple(rows))


def read_load_report(path: Path) -> LoadReport:
    """Return the load report in a file.

    Raises `UnreadableReport`, `MismatchedVersion`, and `AlteredReport` when its verdict does not follow from its
    findings.
    """
    return read_as(LoadReport, SCHEMA_VERSION, path)
