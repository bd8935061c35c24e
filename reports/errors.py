"""Named situations of reading and writing reports, each with what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class ReportError(Exception):
    """A report could not be read or written; `hint` says what to do."""

    hint = "Run `horde-conformance run` again to get a fresh report."

    def __str__(self) -> str:
        return f"{self.args[0]} {self.hint}"


class UnreadableReport(ReportError):
    """The file is missing, is no JSON, or is not a report of this version's shape."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is not a readable report: {why}.")
        self.path = path


class MismatchedVersion(ReportError):
    """The file is a report of a schema version that is not known here, or of none."""

    def __init__(self, path: Path, found: object, known: str) -> None:
        said = "names no schema version" if found is None else f"has schema version {found!r}"
        super().__init__(f"{path} {said}, this program reads up to {known!r}.")
        self.path = path

    hint = "Give the report.json of a run; if it is one, use the release of horde-conformance that wrote it, or newer."


class AlteredReport(ReportError):
    """The counts, verdict or exit code in the file do not follow from its rows."""

    def __init__(self, path: Path, names: list[str]) -> None:
        super().__init__(f"{path} was altered: {', '.join(names)} do not follow from its rows.")
        self.path = path


class BadKnownFailures(ReportError):
    """The file of known failures is missing, or an entry of it lacks something."""

    hint = "Each [[failure]] has an id, a reason, a link and a day `expires`, as in `expires = 2026-12-31`."

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} is no file of known failures: {why}.")
        self.path = path


class UnwritableReport(ReportError):
    """The report's folder or file could not be written."""

    hint = "Name a folder that you may write to with `--out`."

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} could not be written: {why}.")
        self.path = path
