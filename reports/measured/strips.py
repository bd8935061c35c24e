"""The drawings of verdicts: a duet's ratios against their margins, and a generator's measures against its limits."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.measured.canvas import BEYOND, INK, MUTED, SERIES, SHADE, drawn, formatted, label, number, seconds
from reports.measured.parts import Check, Duet, Ratio, Run

# Of the limit; what is farther out is drawn at the edge.
_FARTHEST = 2.0
_NARROWEST = 0.03
# Characters of a word within a line.
_SHORT = 16


def percent(ratio: float) -> str:
    """How much more or less than 1 a ratio is."""
    return f"{(ratio - 1) * 100:+.1f}%"


def forest(duet: Duet) -> str | None:
    """Each measure's ratio with its interval, on the shade of its margin; None where nothing was measured."""
    if not duet.measures:
        return None
    rows = [
        row
        for one in duet.measures
        for row in ((f"{one.measure}: B against A", one.comparison), (f"{one.measure}: A against A", one.guard))
    ]
    said = " ".join(f"{name}: {_ratio(ratio)}." for name, ratio in rows)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, (_, ratio) in enumerate(rows):
            _interval(axes, ratio, place)
        axes.axvline(1, color=MUTED, linewidth=0.9)
        reach = max([_NARROWEST, *(abs(edge - 1) for _, r in rows for edge in (r.low, r.high, 1 + r.margin))]) * 1.15
        axes.set(xlim=(1 - reach, 1 + reach), ylim=(len(rows) - 0.4, -0.6), xlabel="difference from A")
        axes.set_yticks(range(len(rows)), [label(name) for name, _ in rows])
        axes.grid(visible=False, axis="y")
        formatted(axes.xaxis, percent)

    return drawn("duet-forest", "B against A, with intervals and margins", said, (9.6, 1.1 + 0.5 * len(rows)), draw)


def _interval(axes: Axes, ratio: Ratio, place: int) -> None:
    against = place % 2 == 1
    colour = MUTED if against else SERIES[0]
    low, high = 1 / (1 + ratio.margin), 1 + ratio.margin
    axes.barh(place, high - low, left=low, height=0.8, color=SHADE, alpha=0.16, linewidth=0, gid=f"margin-{place}")
    axes.plot([ratio.low, ratio.high], [place, place], color=colour, linewidth=2.2, gid=f"interval-{place}")
    axes.plot(
        [ratio.ratio], [place], marker="o" if against else "s", markersize=7, color=colour, gid=f"ratio-{place}",
        linestyle="none",
    )  # fmt: skip
    axes.annotate(
        _ratio(ratio), (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9, color=INK,
        annotation_clip=False,
    )  # fmt: skip


def _ratio(ratio: Ratio) -> str:
    return f"{label(ratio.answer, _SHORT)} {percent(ratio.ratio)} ({percent(ratio.low)} to {percent(ratio.high)})"


def health(run: Run) -> str | None:
    """Each thing that the generator measures of itself, as a share of its limit; None where it measured nothing."""
    measures = list(dict.fromkeys(check.measure for check in run.checks))
    if not measures:
        return None
    by_measure = {name: [check for check in run.checks if check.measure == name] for name in measures}
    said = " ".join(f"{name}: {_worst(checks)}." for name, checks in by_measure.items())

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.axvspan(1, _FARTHEST * 1.05, color=BEYOND, alpha=0.1, linewidth=0, gid="beyond")
        axes.axvline(1, color=BEYOND, linewidth=1.2, gid="limit")
        for place, checks in enumerate(by_measure.values()):
            _strip(axes, checks, place)
        axes.set(xlim=(0, _FARTHEST * 1.05), ylim=(len(measures) - 0.4, -0.6), xlabel="share of what is allowed")
        axes.set_yticks(range(len(measures)), [label(name) for name in measures])
        formatted(axes.xaxis, lambda value: f"{value * 100:.0f}%")

    title = f"{label(run.name)}: the generator against its limits"
    return drawn(f"{run.slug}-health", title, said, (9.6, 1.0 + 0.36 * len(measures)), draw)


def _strip(axes: Axes, checks: list[Check], place: int) -> None:
    for within, marker, colour, size in ((True, "o", SERIES[0], 6), (False, "X", BEYOND, 9)):
        at = [min(check.strain, _FARTHEST) for check in checks if check.within is within]
        if at:
            axes.plot(
                at, [place] * len(at), linestyle="none", marker=marker, color=colour, markersize=size,
                gid=f"strain-{place}-{'within' if within else 'beyond'}", clip_on=False,
            )  # fmt: skip
    axes.annotate(
        _worst(checks), (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=9,
        color=INK if all(check.within for check in checks) else BEYOND, annotation_clip=False,
    )  # fmt: skip


def _worst(checks: list[Check]) -> str:
    worst = max(checks, key=lambda check: (not check.within, check.strain))
    bound = "at least" if worst.at_least else "at most"
    of = f" in process {worst.process}" if worst.process is not None and len(checks) > 1 else ""
    return f"{with_unit(worst.value, worst.unit)}{of}, {bound} {with_unit(worst.limit, worst.unit)}"


def with_unit(value: float, unit: str) -> str:
    """A value of a generator's measure, as a person reads it."""
    match unit:
        case "seconds":
            return seconds(value)
        case "share":
            return f"{value * 100:.3g}%"
        case _:
            return f"{number(value)} {label(unit, _SHORT)}".strip()
