"""Writes files of a run so that a reader sees a whole one or none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from reports.errors import UnwritableReport

if TYPE_CHECKING:
    from reports.model import Report

DEFAULT_DIRECTORY = Path("report")
REPORT_NAME = "report.json"


def write_report(report: Report, directory: Path = DEFAULT_DIRECTORY) -> Path:
    """Write `report.json` into the directory, which is made when absent, and return its path.

    Raises `UnwritableReport`.
    """
    return write_text(directory / REPORT_NAME, report.model_dump_json(indent=2) + "\n")


def check_writable(directory: Path) -> None:
    """See whether files can be written into the directory, there or yet to be made; raises `UnwritableReport`."""
    places = (directory.absolute(), *directory.absolute().parents)
    try:
        nearest = next(place for place in places if place.exists())
    except OSError as error:
        raise UnwritableReport(directory, error.strerror or str(error)) from error
    if not nearest.is_dir():
        raise UnwritableReport(directory, f"{nearest} is no folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise UnwritableReport(directory, f"{nearest} may not be written to")


def check_replaceable(path: Path) -> None:
    """See whether a file of that name can be written, there or yet to be made; raises `UnwritableReport`."""
    check_writable(path.parent)
    try:
        if path.exists() and not path.is_file():
            raise UnwritableReport(path, "it is no file")
    except OSError as error:
        raise UnwritableReport(path, error.strerror or str(error)) from error


def write_text(path: Path, text: str) -> Path:
    """Replace a file's content as one step, and return its path; raises `UnwritableReport`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, text)
    except OSError as error:
        raise UnwritableReport(path, error.strerror or str(error)) from error
    return path


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
