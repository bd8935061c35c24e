"""The parts of a load report's page: each a drawing, a table of its figures, and its raw rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from reports.measured import canvas, database, growth, knees, strips, time_series
from reports.measured.model import (
    AMPLIFICATION,
    COUNTS,
    DUET,
    GENERATOR,
    OPERATIONS,
    SECONDS,
    SESSIONS,
    STATEMENTS,
    LoadReport,
)
from reports.measured.parts import Duet, Knee, Operation, Quantiles, Ran, Run, Sweep
from reports.measured.rows import Rows
from reports.text import one_line, visible

# Of each kind, in the page; the rows have all.
MOST_LISTED = 60
_MOST_DRAWN = 12
LONGEST_TEXT = 600
# What `times` gives, of response and of service.
HEADS = ("response p50", "p90", "p99", "service p50", "p90", "p99")


@dataclass(frozen=True)
class Shown:
    """The raw rows of a drawing: as many as fit, and where all of them are."""

    slug: str
    columns: tuple[str, ...]
    cells: list[list[str]]
    count: int

    @property
    def whole(self) -> bool:
        return len(self.cells) == self.count


@dataclass(frozen=True)
class Section:
    """A part of the page: a drawing, what it says, a table of its figures, and its rows."""

    anchor: str
    title: str
    drawing: Markup | None
    caption: str
    heads: tuple[str, ...]
    figures: Sequence[tuple[str, ...]]
    rows: list[Shown]
    remarks: list[str]


def sections(report: LoadReport, shown: dict[str, Shown], points: int) -> Iterator[Section]:
    """The parts of the page; of a line at most `points` points are drawn."""
    if report.duet is not None:
        yield _duet(report.duet, shown[DUET])
    if report.amplification:
        yield _amplification(report, shown[AMPLIFICATION], points)
    yield from (_sweep(swept, shown[swept.slug]) for swept in report.sweeps)
    yield from (_knee(one, shown[one.slug]) for one in report.knees)
    for place, run in enumerate(report.runs):
        drawn = place < _MOST_DRAWN
        yield _run(run, shown, points, drawn=drawn)
        if run.counts:
            yield _counts(run, shown)
        if run.sessions:
            yield _sessions(run, shown, points, drawn=drawn)
        yield _generator(run, shown, drawn=drawn)
    for table in report.tables:
        yield Section(
            table.slug, table.title, None, table.note, tuple(table.columns), _texts(table.rows[:MOST_LISTED]),
            [shown[table.slug]], [],
        )  # fmt: skip


def _amplification(report: LoadReport, rows: Shown, points: int) -> Section:
    lines = report.amplification
    caption = (
        "Each point is one count; the line goes through all of its branch. Its slope says how many bytes cross the "
        "wire between database and server for each byte of payload: 0.000 where no payload is read."
    )
    heads = ("branch", "counted", "slope", "bytes at payload 0", "farthest off the line", "every time the same")
    figures = [
        (line.branch, line.counted, f"{line.slope:.3f}", canvas.number(line.intercept_bytes),
         canvas.size_of(line.largest_residual), "yes" if line.exact else "no")
        for line in lines[:MOST_LISTED]
    ]  # fmt: skip
    drawing = _safe(growth.amplification(lines[:_MOST_DRAWN], most=points))
    return Section("bytes-over-payload", "Bytes per pop over payload", drawing, caption, heads, figures, [rows], [])


def _sweep(swept: Sweep, rows: Shown) -> Section:
    first = swept.model_copy(update={"curves": swept.curves[:_MOST_DRAWN]})
    figures = [
        (curve.name, f"{curve.slope.value:.3f}", f"{curve.slope.low:.3f} to {curve.slope.high:.3f}")
        for curve in swept.curves[:MOST_LISTED] if curve.slope
    ]  # fmt: skip
    heads = ("series", "slope", "95 % interval") if figures else ()
    title = f"{swept.figure} over {swept.over}"
    caption = f"The middle of all rounds at each level. The band is {swept.band}."
    title = title[:1].upper() + title[1:]
    return Section(f"over-{swept.slug}", title, _safe(growth.sweep(first)), caption, heads, figures, [rows], [])


def _duet(duet: Duet, rows: Shown) -> Section:
    caption = (
        f"A: {one_line(duet.a, 200)}. B: {one_line(duet.b, 200)}. Of {duet.rounds} rounds {duet.broken} had a "
        "failed call. The shade is what counts as no difference; the bar is the 95 % interval. A against A, in grey, "
        "must not lie beyond it."
    )
    heads = ("measure", "B against A", "difference", "95 % interval", "margin", "would find", "A against A", "pairs")
    figures = [
        (one.measure, one.comparison.answer, strips.percent(one.comparison.ratio),
         f"{strips.percent(one.comparison.low)} to {strips.percent(one.comparison.high)}",
         f"{one.comparison.margin:.1%}", f"{one.comparison.smallest_effect:.1%}",
         f"{one.guard.answer} {strips.percent(one.guard.ratio)}",
         f"{one.comparison.pairs} of {one.comparison.launches} launches")
        for one in duet.measures
    ]  # fmt: skip
    title = f"Duet: B against A is {duet.answer}"
    return Section("two-builds", title, _safe(strips.forest(duet)), caption, heads, figures, [rows], [duet.reason])


def _run(run: Run, shown: dict[str, Shown], points: int, *, drawn: bool) -> Section:
    moments = [one for one in run.moments if one.operation is None]
    each = time_series.width(moments, points) if moments else 1
    caption = f"Scenario {run.scenario}, {run.loop} loop, {run.workers} generating process{'es' * (run.workers > 1)}."
    caption += " In the table a quantile beyond which there is no call is left out."
    if each > 1:
        caption += f" A point stands for {each} seconds: of their mean rate, and of the worst of their quantiles."
    drawing = _safe(time_series.time_series(run, most=points)) if drawn else None
    heads = ("phase", "operation", "done", "expected", "errors", *HEADS)
    figures = [_operation(one) for one in run.operations[:MOST_LISTED]]
    rows = [shown[f"{run.slug}-{of}"] for of in (SECONDS, OPERATIONS)]
    stopped = ["The run was interrupted: what follows is of its beginning."] if run.interrupted else []
    title, remarks = f"Run: {run.name}", [*stopped, *run.remarks]
    return Section(f"run-{run.slug}", title, drawing, caption, heads, figures, rows, remarks)


def _operation(one: Operation) -> tuple[str, ...]:
    errors = f"{one.errors:,} ({one.error_share:.2%})" if one.errors else "0"
    counts = (f"{one.done:,}", f"{one.expected:,}", errors)
    return (one.phase, one.operation, *counts, *times(one.response, one.done), *times(one.service, one.done))


def times(quantiles: Quantiles | None, calls: int) -> tuple[str, ...]:
    """The three quantiles of so many calls, as a person reads them; of too few a high one is their maximum."""
    if quantiles is None:
        return ("–", "–", "–")
    known = ((quantiles.p50, 1), (quantiles.p90, 10), (quantiles.p99, 100))
    return tuple(canvas.seconds(value) if calls >= fewest else "–" for value, fewest in known)


def _knee(one: Knee, rows: Shown) -> Section:
    caption = (
        "Each mark is one step of a ramp: a run of its own at that rate. The shade reaches from the highest rate that "
        "held in every ramp to the highest first one that broke; the line is the middle of what the ramps say each."
    )
    heads = ("ramp", "arrivals a second", "step", "why")
    figures = [(str(s.ramp), f"{s.rate:g}", s.state, s.reason or "–") for s in one.steps[:MOST_LISTED]]
    title, drawing = f"Ramp: {one.name}", _safe(knees.knee(one))
    return Section(f"knee-{one.slug}", title, drawing, caption, heads, figures, [rows], [one.sentence])


def _counts(run: Run, shown: dict[str, Shown]) -> Section:
    phases = list(dict.fromkeys(one.phase for one in run.counts))
    names = list(dict.fromkeys(one.name for one in run.counts))
    values = {(one.phase, one.name): one.value for one in run.counts}
    figures = [
        (name, *("–" if (phase, name) not in values else f"{values[phase, name]:,.6g}" for phase in phases))
        for name in names[:MOST_LISTED]
    ]
    caption = (
        "What the target's database counted of each phase, between looks at its borders. Calls that lie across a "
        "border, and figures that sessions tell up to a second late, make those of a phase a little more or less."
    )
    rows = [shown[f"{run.slug}-{of}"] for of in (COUNTS, STATEMENTS) if f"{run.slug}-{of}" in shown]
    title, remarks = f"Run: {run.name}, counts", _dearest(run.statements)
    return Section(f"counts-{run.slug}", title, None, caption, ("count", *phases), figures, rows, remarks)


def _dearest(statements: Sequence[Ran]) -> list[str]:
    """The statement that touched most blocks, for it is where to look first."""
    called = [one for one in statements if not one.uncalled]
    if not called:
        return []
    one = max(called, key=lambda ran: ran.blocks)
    per_pop = "" if one.calls_per_pop is None else f", {one.calls_per_pop:.4g} calls a pop"
    said = f"Most blocks in {one.phase}: {one.blocks:,} in {one.calls:,} calls of {one_line(one.statement, 160)}"
    return [f"{said}{per_pop}."]


def _sessions(run: Run, shown: dict[str, Shown], points: int, *, drawn: bool) -> Section:
    looks = [one for one in run.sessions if one.failed is None]
    caption = "The database's sessions, looked at once a second by a process of its own."
    remarks = [database.said(looks)] if looks else []
    drawing = _safe(database.sessions(run, most=points)) if drawn else None
    rows = [shown[f"{run.slug}-{SESSIONS}"]]
    return Section(f"database-{run.slug}", f"Run: {run.name}, the database", drawing, caption, (), [], rows, remarks)


def _generator(run: Run, shown: dict[str, Shown], *, drawn: bool) -> Section:
    caption = (
        "What the generator measured of itself, one mark for each process. Beyond the line it measures itself and not "
        "the target, and the run is INVALID."
    )
    drawing = _safe(strips.health(run)) if drawn else None
    rows = [shown[f"{run.slug}-{GENERATOR}"]]
    return Section(f"health-{run.slug}", f"Run: {run.name}, the generator", drawing, caption, (), [], rows, [])


def shown_rows(rows: Rows, listed: int) -> Shown:
    """The first `listed` of these rows, and how many there are."""
    return Shown(rows.slug, rows.columns, [list(row) for row in _texts(rows.cells[:listed])], len(rows.cells))


def _texts(cells: Sequence[Sequence[object]]) -> list[tuple[str, ...]]:
    return [tuple("" if cell is None else one_line(str(cell), LONGEST_TEXT) for cell in row) for row in cells]


def _safe(svg: str | None) -> Markup | None:
    """Drawn by us: every text in it was escaped as it was written."""
    return None if svg is None else Markup(visible(svg))  # noqa: S704
