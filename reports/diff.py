"""Compares two reports: what regressed, what was fixed, what came, went, or can no longer be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports import known

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.model import Report, RequirementResult

    _Pair = tuple[RequirementResult | None, RequirementResult | None]

# A requirement's time is told of where it changed at least so much, both as a share and in seconds: less is noise.
TIMES_FACTOR = 2.0
TIMES_SECONDS = 0.5

_JUDGED = ("passed", "failed")


@dataclass(frozen=True)
class Change:
    """What became of one requirement; `counts` unless it is an INFO row or a known failure of the newer run."""

    id: str
    level: str
    statement: str
    before: str
    after: str
    reason: str | None
    counts: bool


@dataclass(frozen=True)
class Timing:
    """How long a requirement's checks took, in seconds, where it changed."""

    id: str
    before: float
    after: float


@dataclass(frozen=True)
class Diff:
    """Two reports compared, by requirement id; `caveats` say what makes the comparison weaker than it looks.

    `regressed` passed before and fail now, `fixed` the other way round. `untestable` were judged before and are not
    now. `new` are judged now and were not before, or were not known. `gone` are no requirements any more. `failing`
    failed before and still do.
    """

    old: Report
    new_report: Report
    regressed: list[Change]
    fixed: list[Change]
    new: list[Change]
    gone: list[Change]
    untestable: list[Change]
    failing: list[Change]
    timings: list[Timing]
    caveats: list[str]

    @property
    def worse(self) -> bool:
        """Whether something that counts regressed, is gone, can no longer be judged, or is new and fails."""
        lost = any(one.counts for one in (*self.regressed, *self.gone, *self.untestable))
        return lost or any(one.counts and one.after == "failed" and one.before != _UNRUN for one in self.new)


_UNRUN = "could not run"


def diff(old: Report, new: Report) -> Diff:
    """Compare two reports; checks may have been renamed in between, for requirements are compared by their ids.

    Rows that one of the runs did not select are left out, and counted among the caveats.
    """
    before = {row.id: row for row in old.requirements}
    after = {row.id: row for row in new.requirements}
    pairs = [(before.get(id), after.get(id)) for id in dict.fromkeys([*before, *after])]
    unasked = [pair for pair in pairs if any(row and row.verdict == "not_selected" for row in pair)]
    asked = [pair for pair in pairs if pair not in unasked]
    kinds: dict[str, list[Change]] = {}
    for a, b in asked:
        kinds.setdefault(_kind(a, b), []).append(_change(a, b, new))
    named = {name: kinds.get(name, []) for name in ("regressed", "fixed", "new", "gone", "untestable", "failing")}
    timings = [timing for a, b in asked if a and b and (timing := _timing(a, b))]
    return Diff(old=old, new_report=new, **named, timings=timings, caveats=_caveats(old, new, unasked))


def _kind(before: RequirementResult | None, after: RequirementResult | None) -> str:
    if after is None:
        return "gone"
    judged = [row is not None and row.verdict in _JUDGED for row in (before, after)]
    match judged:
        case [True, True]:
            assert before is not None
            return {
                ("passed", "failed"): "regressed",
                ("failed", "passed"): "fixed",
                ("failed", "failed"): "failing",
            }.get((before.verdict, after.verdict), "same")
        case [True, False]:
            return "untestable"
        case [False, True]:
            return "new"
        case _:
            return "new" if before is None else "same"


def _change(before: RequirementResult | None, after: RequirementResult | None, new: Report) -> Change:
    row = after or before
    assert row is not None
    was, is_now = (one.verdict.replace("_", " ") if one else "–" for one in (before, after))
    excused = after is not None and known.excuses(new.expectations, after)
    return Change(
        row.id, row.level, row.statement, was, is_now, after.reason if after else None,
        counts=row.level != "INFO" and not excused,
    )  # fmt: skip


def _timing(before: RequirementResult, after: RequirementResult) -> Timing | None:
    seconds = [sum(check.seconds for check in row.checks) for row in (before, after)]
    low, high = min(seconds), max(seconds)
    if before.verdict not in _JUDGED or after.verdict not in _JUDGED or high - low < TIMES_SECONDS:
        return None
    return Timing(after.id, *seconds) if high >= TIMES_FACTOR * low else None


def _caveats(old: Report, new: Report, unasked: Sequence[_Pair]) -> list[str]:
    told = []
    one_sided = [pair for pair in unasked if any(row and row.verdict in _JUDGED for row in pair)]
    if one_sided:
        told.append(f"The selections differ: {len(one_sided)} requirements were judged in only one of the runs.")
    if old.target.profile != new.target.profile:
        told.append(f"The profiles differ: {old.target.profile}, then {new.target.profile}.")
    elif None not in (hashes := (old.target.profile_sha256, new.target.profile_sha256)) and len(set(hashes)) > 1:
        told.append(f"The profile {new.target.profile} says something else than before.")
    both = old.catalogue and new.catalogue
    if both and old.catalogue != new.catalogue:
        told.append("The catalogues differ: a requirement may be worded otherwise than before.")
    if not both or old.target.profile_sha256 is None:
        told.append("Of one report it is not known which catalogue or profile it was judged by.")
    if old.environment != new.environment:
        told.append("The runs were made in different environments: times may differ for that alone.")
    if old.seed != new.seed:
        told.append(f"The seeds differ: {old.seed}, then {new.seed}.")
    if old.harness != new.harness:
        told.append(f"The harness was {old.harness.version}, then {new.harness.version}.")
    told += [f"The {which} run judged nothing." for which, one in (("older", old), ("newer", new)) if one.aborted]
    return told
