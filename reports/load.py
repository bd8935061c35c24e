"""Reads a report back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from reports.errors import AlteredReport, MismatchedVersion, UnreadableReport
from reports.model import READABLE, SCHEMA_VERSION, Report

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_Read = TypeVar("_Read", bound=BaseModel)


def read_report(path: Path) -> Report:
    """Return the report in a file, whichever published version wrote it.

    Raises `UnreadableReport`, `MismatchedVersion`, and `AlteredReport` when counts, verdict or exit code do
    not follow from the rows.
    """
    return read_as(Report, SCHEMA_VERSION, path, READABLE)


def read_as(model: type[_Read], known: str, path: Path, readable: Sequence[str] = ()) -> _Read:
    """Return the report of this model in a file: of its version or an older one that is `readable`.

    Raises as `read_report`.
    """
    stored = _read_object(path)
    version = stored.get("schema_version")
    if version not in (known, *readable):
        raise MismatchedVersion(path, version, known)
    # Newer versions only added what may be absent; what follows from the rows of an older one is not all in its file.
    older, stored["schema_version"] = version != known, known
    derived = {name: stored.pop(name, None) for name in model.model_computed_fields}
    try:
        report = model.model_validate_json(json.dumps(stored))
    except ValidationError as error:
        raise UnreadableReport(path, _first(error)) from error
    actual = report.model_dump(mode="json", include=set(derived))
    if altered := [n for n in derived if derived[n] != actual[n] and not (older and derived[n] is None)]:
        raise AlteredReport(path, altered)
    return report


def _read_object(path: Path) -> dict[str, Any]:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnreadableReport(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableReport(path, f"it is no JSON ({error})") from error
    if not isinstance(stored, dict):
        raise UnreadableReport(path, "it holds no JSON object")
    return stored


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(map(str, problem["loc"])) or "the report"
    return f"{where}: {problem['msg']}"
