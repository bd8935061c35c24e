"""Sweeps and amplifications as reports of their own: what a session shows of its runs, these show of their counts."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from load.amplification import Branch, Measured
from load.statistics import Outcome, elasticity
from load.sweeps import judging
from load.sweeps.cells import Axis
from load.sweeps.cells import Branch as PopBranch
from load.sweeps.cells import Sweep as Swept
from load.telling.growing import told_amplification, told_sweep
from load.telling.place import machine
from reports.measured import parts
from reports.measured.model import AMPLIFICATION, LoadReport
from reports.measured.parts import Database, Finding, Machine, Sweep, Table, Target
from reports.model import Harness

if TYPE_CHECKING:
    from load.sweeps.cli import Measured as SweepMeasured

_OUTCOMES: dict[Outcome | None, parts.Outcome] = {
    Outcome.PASSED: "pass", Outcome.FAILED: "fail", Outcome.INVALID: "inconclusive", None: "recorded",
}  # fmt: skip
_OVER = {Axis.PAYLOAD: "payload", Axis.DEPTH: "waiting rows", Axis.REFUSED: "rows refused ahead"}
_HARNESS = "horde-conformance"


@dataclass(frozen=True)
class Start:
    """When, where and how a command was begun: made before its load, whose own load average is no news."""

    command: str = field(default_factory=lambda: shlex.join([_HARNESS, *sys.argv[1:]]))
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    machine: Machine = field(default_factory=machine)


def harness() -> Harness:
    """The harness that measured."""
    return Harness(name=_HARNESS, version=version(_HARNESS))


def kept(report: LoadReport, folder: Path) -> Path:
    """Write a report and its rows into a folder; the page."""
    # What draws takes seconds to load.
    from reports.measured.write import write_load_report  # noqa: PLC0415

    return write_load_report(report, folder).page


# ---------------------------------------------------------------------------------------- amplification


def tell_amplification(
    measured: Measured, start: Start, target: Target, database: Database | None = None
) -> LoadReport:
    """An amplification as a report shows it: a line for each branch, which no limit speaks of."""
    findings = tuple(_amplified(one) for one in measured.branches)
    return LoadReport(
        harness=harness(), title="Payload amplification", command=start.command, seed=1, started_at=start.at,
        ended_at=datetime.now(UTC), machine=start.machine, database=database, targets=(target,), findings=findings,
        amplification=told_amplification(measured), unmeasured=tuple(fact.why for fact in measured.not_measured),
    )  # fmt: skip


def _amplified(one: Branch) -> Finding:
    exact = "every time the same" if one.line.exact else "not every time the same"
    sentence = (
        f"{one.branch.capitalize()} ({one.takes} worker), {one.way}: {one.line.slope:.3f} bytes from the database for "
        f"each byte of payload, {one.line.points} counts, {exact}."
    )
    return Finding(
        name=f"{one.branch} ({one.takes}), {one.way}", kind="figure", outcome="recorded", sentence=sentence,
        rows=AMPLIFICATION, requirement="LOD-06",
    )  # fmt: skip


# ---------------------------------------------------------------------------------------- sweeps


def tell_sweeps(
    measured: Sequence[tuple[Swept, SweepMeasured]], start: Start, target: Target, *, seed: int,
    database: Database | None = None,
) -> LoadReport:  # fmt: skip
    """Sweeps over one axis after the other as one report."""
    sweeps = [sweep for swept, found in measured for sweep in _sweeps(swept, found)]
    tables = [table for swept, found in measured for table in _tables(swept, found)]
    findings = [told for swept, found in measured for told in _findings(swept, found)]
    unmeasured = dict.fromkeys(fact.why for _, found in measured for fact in found.not_measured)
    axes = ", ".join(str(swept.axis) for swept, _ in measured)
    return LoadReport(
        harness=harness(), title=f"What a pop takes over {axes}", command=start.command, seed=seed,
        started_at=start.at, ended_at=datetime.now(UTC), machine=start.machine, database=database, targets=(target,),
        findings=tuple(findings), sweeps=tuple(sweeps), tables=tuple(tables), unmeasured=tuple(unmeasured),
    )  # fmt: skip


def _sweeps(swept: Swept, found: SweepMeasured) -> Iterator[Sweep]:
    if swept.axis is Axis.AHEAD:
        return
    over = _OVER[swept.axis]
    unit: Literal["bytes", "rows"] = "bytes" if swept.axis is Axis.PAYLOAD else "rows"
    rounds = {branch.value: judging.rounds(found.timings, branch) for branch in _branches(found)}
    # Of refused rows the sentence tells what each costs: from none of them there is no exponent.
    slopes = {} if swept.axis is Axis.REFUSED else {name: elasticity(each) for name, each in rounds.items()}
    yield told_sweep(f"time-over-{swept.axis}", "time of a pop", over, unit, rounds, found=slopes)
    if counted := _counted(found, "statements"):
        yield told_sweep(
            f"statements-over-{swept.axis}", "statements of a pop", over, unit, counted, figure_unit="statements"
        )
    if counted := _counted(found, "received_bytes"):
        yield told_sweep(
            f"bytes-over-{swept.axis}", "bytes from the database per pop", over, unit, counted, figure_unit="bytes"
        )


def _branches(found: SweepMeasured) -> Iterable[PopBranch]:
    return dict.fromkeys(timing.branch for timing in found.timings)


def _counted(found: SweepMeasured, name: str) -> Mapping[str, list[dict[float, float]]]:
    """One round of counts for each branch, of what was counted at all."""
    counts: dict[str, dict[float, float]] = {}
    for one in found.counts:
        if getattr(one, name) is not None:
            counts.setdefault(one.branch.value, {})[one.level] = float(getattr(one, name))
    return {branch: [levels] for branch, levels in counts.items()}


def _tables(swept: Swept, found: SweepMeasured) -> Iterator[Table]:
    if swept.axis is Axis.AHEAD:
        yield Table(
            slug=_times(swept), title="A text job behind rows of the other family, and behind refused ones",
            note="Each row is the median of one block; the rows ahead are named.",
            columns=("rows ahead", "branch", "round", "median_seconds"),
            rows=tuple((swept.name(one.level), one.branch.value, one.round, one.median) for one in found.timings),
        )  # fmt: skip
    if found.orders:
        yield Table(
            slug=f"order-over-{swept.axis}", title="In which order concurrent workers were handed what waited",
            columns=("rows refused ahead", "workers", "jobs", "wrong_pairs", "worst", "unknown"),
            rows=tuple(
                (one.level, one.workers, one.order.jobs, one.order.inversions, one.order.worst, one.unknown)
                for one in found.orders
            ),
        )  # fmt: skip


def _times(swept: Swept) -> str:
    return f"time-over-{swept.axis}"


def _findings(swept: Swept, found: SweepMeasured) -> Iterator[Finding]:
    for one in found.findings:
        rows = {"statements": f"statements-over-{swept.axis}", "order": f"order-over-{swept.axis}"}
        said = f"{one.branch}: {one.reason}"
        yield Finding(
            name=f"{swept.axis}: {one.branch}", kind="figure", outcome=_OUTCOMES[one.outcome],
            sentence=f"{said[:1].upper()}{said[1:]}.", rows=rows.get(one.of, _times(swept)),
            requirement=one.requirement,
        )  # fmt: skip
