"""Known failures: what a file says will fail, held against what did."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import StringConstraints, ValidationError

from reports.errors import BadKnownFailures
from reports.values import Frozen, Text

if TYPE_CHECKING:
    from reports.model import RequirementResult

Met = Literal["failed as known", "not selected", "passed", "could not run", "expired", "matches nothing"]

# The rest are mistakes in the file, or news of the target: an error, never an excuse.
RIGHT: frozenset[Met] = frozenset({"failed as known", "not selected"})
# These name a failure that somebody wrote down; whether the entry may stay is another question.
_NAMING: frozenset[Met] = frozenset({"failed as known", "could not run", "expired"})

_Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class KnownFailure(Frozen):
    """One entry of the file: a requirement's id, or `ID/check name`; why, where it is followed up, and until when.

    It holds through the day `expires`.
    """

    id: _Said
    reason: _Said
    link: _Said
    expires: date


class Expectation(Frozen):
    """What became of one entry in a run, with a sentence for the person who keeps the file."""

    id: str
    met: Met
    sentence: Text


class _File(Frozen):
    failure: tuple[KnownFailure, ...]


def load(path: Path) -> tuple[KnownFailure, ...]:
    """The entries of a file; raises `BadKnownFailures`."""
    try:
        entries = _File.model_validate(tomllib.loads(path.read_text("utf-8"))).failure
    except OSError as error:
        raise BadKnownFailures(path, error.strerror or str(error)) from None
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"])) or "the file"
        raise BadKnownFailures(path, f"{place}: {problem['msg']}") from None
    except ValueError as error:
        raise BadKnownFailures(path, f"it is no TOML in UTF-8 ({error})") from None
    ids = [entry.id for entry in entries]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise BadKnownFailures(path, f"listed twice: {', '.join(twice)}")
    return entries


def held(entries: Sequence[KnownFailure], rows: Mapping[str, RequirementResult], day: date) -> list[Expectation]:
    """What became of each entry in a run of that day, in the file's order."""
    return [_held(entry, rows, day) for entry in entries]


def excuses(expectations: Sequence[Expectation], row: RequirementResult) -> bool:
    """Whether entries that hold name all that failed in this row."""
    return row.verdict == "failed" and _covered(expectations, row, frozenset({"failed as known"}))


def names(expectations: Sequence[Expectation], row: RequirementResult) -> bool:
    """Whether entries name all that went wrong in this row, be they expired or otherwise in error."""
    return _covered(expectations, row, _NAMING)


def _covered(expectations: Sequence[Expectation], row: RequirementResult, by: frozenset[Met]) -> bool:
    ids = {one.id for one in expectations if one.met in by}
    wrong = [check for check in row.checks if check.verdict != "passed"]
    return row.id in ids or (bool(wrong) and all(f"{row.id}/{check.name}" in ids for check in wrong))


def _held(entry: KnownFailure, rows: Mapping[str, RequirementResult], day: date) -> Expectation:
    row = rows.get(entry.id.partition("/")[0])
    met, sentence = _matched(entry, row, day) or _judged(entry, row)
    return Expectation(id=entry.id, met=met, sentence=f"{entry.id} {sentence}")


def _matched(entry: KnownFailure, row: RequirementResult | None, day: date) -> tuple[Met, str] | None:
    """What can be said before a verdict is looked at; None where that is to decide."""
    if row is None:
        return "matches nothing", "is no requirement of the catalogue: mend the id, or take the entry out."
    if row.verdict in ("not_declared", "no_check_yet"):
        words = row.verdict.replace("_", " ")
        return "matches nothing", f"was not judged ({words}): an entry for it excuses nothing, take it out."
    if entry.expires < day:
        return "expired", f"was to be mended by {entry.expires}: mend it, or agree on a new date ({entry.link})."
    if row.verdict == "not_selected":
        return "not selected", "was not selected in this run."
    return None


def _judged(entry: KnownFailure, row: RequirementResult | None) -> tuple[Met, str]:
    assert row is not None
    name = entry.id.partition("/")[2]
    checks = [check for check in row.checks if name in ("", check.name)]
    if row.checks and not checks:
        known = ", ".join(f"{row.id}/{check.name}" for check in row.checks)
        return "matches nothing", f"is no check of this run; there is {known}."
    verdicts = {check.verdict for check in checks}
    if not checks or "could_not_run" in verdicts:
        return "could not run", "could not run: a known failure is no excuse for that."
    if "failed" in verdicts:
        return "failed as known", f"failed as known: {entry.reason} ({entry.link}, until {entry.expires})."
    return "passed", "passed, but is listed as a known failure: take the entry out."
