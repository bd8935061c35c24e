"""The raw rows behind each drawing and verdict, as CSV and as JSON. Units stand in the columns' names."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.measured.model import (
    AMPLIFICATION,
    COUNTS,
    DUET,
    FINDINGS,
    GENERATOR,
    OPERATIONS,
    SECONDS,
    SESSIONS,
    STATEMENTS,
    LoadReport,
)
from reports.measured.parts import (
    Amplified,
    Block,
    Cell,
    Check,
    Figure,
    Finding,
    Moment,
    Operation,
    Part,
    Quantiles,
    Ran,
    Run,
    Sessions,
    Step,
    Sweep,
)

_TIMES = tuple(f"{of}_{name}_seconds" for of in ("service", "response") for name in ("p50", "p90", "p99"))


@dataclass(frozen=True)
class Rows:
    """A table of raw rows."""

    slug: str
    columns: tuple[str, ...]
    cells: list[tuple[Cell, ...]]

    @property
    def csv(self) -> str:
        """As CSV, the names of the columns first."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.cells)
        return written.getvalue()

    @property
    def json(self) -> str:
        """As a list of JSON objects, one a line."""
        lines = (json.dumps(dict(zip(self.columns, row, strict=True)), allow_nan=False) for row in self.cells)
        return "[\n" + ",\n".join(lines) + "\n]\n"


def all_rows(report: LoadReport) -> dict[str, Rows]:
    """Every table of a report, by its name."""
    tables = [Rows(FINDINGS, _columns(Finding), [_cells(one) for one in report.findings])]
    for run in report.runs:
        tables += [*_of_run(run), *_of_database(run)]
    tables += [Rows(one.slug, _columns(Step), [_cells(step) for step in one.steps]) for one in report.knees]
    if report.amplification:
        tables.append(Rows(AMPLIFICATION, _AMPLIFIED, list(_amplified(report.amplification))))
    tables += [_swept(sweep) for sweep in report.sweeps]
    if report.duet is not None:
        tables.append(Rows(DUET, _columns(Block), [_cells(block) for block in report.duet.blocks]))
    tables += [Rows(one.slug, tuple(one.columns), [tuple(row) for row in one.rows]) for one in report.tables]
    return {table.slug: table for table in tables}


def _columns(model: type[Part]) -> tuple[str, ...]:
    return tuple(model.model_fields)


def _cells(part: Part) -> tuple[Cell, ...]:
    return tuple(_cell(value) for value in part.model_dump(mode="json").values())


def _cell(value: object) -> Cell:
    """A cell holds one value; names with their counts stand in it as a line."""
    if isinstance(value, dict):
        return "; ".join(f"{name} {count}" for name, count in sorted(value.items()))
    if isinstance(value, bool):
        return "yes" if value else "no"
    assert value is None or isinstance(value, str | int | float)
    return value


def _of_database(run: Run) -> Iterator[Rows]:
    tables: tuple[tuple[str, type[Part], Sequence[Part]], ...] = (
        (COUNTS, Figure, run.counts), (STATEMENTS, Ran, run.statements), (SESSIONS, Sessions, run.sessions),
    )  # fmt: skip
    for of, kind, parts in tables:
        if parts:
            yield Rows(f"{run.slug}-{of}", _columns(kind), [_cells(one) for one in parts])


def _of_run(run: Run) -> Iterator[Rows]:
    outcomes = tuple(sorted({outcome for moment in run.moments for outcome in moment.counts}))
    yield Rows(
        f"{run.slug}-{SECONDS}",
        ("second", "operation", *(f"{outcome}_calls" for outcome in outcomes), *_TIMES),
        [_second(moment, outcomes) for moment in run.moments],
    )
    columns = ("phase", "operation", "done_calls", "expected_calls", "error_calls", "error_share", *_TIMES)
    yield Rows(f"{run.slug}-{OPERATIONS}", columns, [_operation(one) for one in run.operations])
    columns = ("measure", "process", "value", "limit", "bound", "unit", "within")
    yield Rows(f"{run.slug}-{GENERATOR}", columns, [_check(one) for one in run.checks])


def _second(moment: Moment, outcomes: tuple[str, ...]) -> tuple[Cell, ...]:
    counts = (moment.counts.get(outcome, 0) for outcome in outcomes)
    return (moment.second, moment.operation or "all", *counts, *_times(moment.service), *_times(moment.response))


def _operation(one: Operation) -> tuple[Cell, ...]:
    counts = (one.done, one.expected, one.errors, round(one.error_share, 6))
    return (one.phase, one.operation, *counts, *_times(one.service), *_times(one.response))


def _check(one: Check) -> tuple[Cell, ...]:
    bound = "at least" if one.at_least else "at most"
    return (one.measure, one.process, one.value, one.limit, bound, one.unit, "yes" if one.within else "no")


def _times(quantiles: Quantiles | None) -> tuple[Cell, ...]:
    return (None, None, None) if quantiles is None else (quantiles.p50, quantiles.p90, quantiles.p99)


_AMPLIFIED = ("branch", "counted", "payload_bytes", "bytes")


def _amplified(lines: Sequence[Amplified]) -> Iterator[tuple[Cell, ...]]:
    for line in lines:
        yield from ((line.branch, line.counted, payload, counted) for payload, counted in line.counts)


def _swept(sweep: Sweep) -> Rows:
    """Raw rounds where they are kept, else the points that are drawn."""
    unit = {"bytes": "payload_bytes", "rows": "rows"}[sweep.level_unit]
    figure = f"figure_{sweep.figure_unit}"
    if any(curve.rounds for curve in sweep.curves):
        raw = [
            (curve.name, number, level, value)
            for curve in sweep.curves
            for number, one in enumerate(curve.rounds)
            for level, value in one
        ]
        return Rows(sweep.slug, ("series", "round", unit, figure), list[tuple[Cell, ...]](raw))
    points = [(curve.name, p.level, p.middle, p.low, p.high) for curve in sweep.curves for p in curve.points]
    columns = ("series", unit, f"middle_{sweep.figure_unit}", f"low_{sweep.figure_unit}", f"high_{sweep.figure_unit}")
    return Rows(sweep.slug, columns, list[tuple[Cell, ...]](points))
