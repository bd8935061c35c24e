"""The drawing of a run second by second: what was carried out and what was not, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.measured import canvas
from reports.measured.canvas import (
    BEYOND,
    DASHES,
    INK,
    MUTED,
    RULE,
    SERIES,
    SHADE,
    drawn,
    formatted,
    label,
    number,
    seconds,
)
from reports.measured.parts import Moment, Phase, Quantiles, Run

QUANTILES = ("p50", "p90", "p99")
# Outcomes of a colour of their own; the rest are drawn as one.
_MOST_OUTCOMES = 6
_MOST_PHASES = 12


def time_series(run: Run, *, most: int = canvas.MOST_POINTS) -> str | None:
    """Rates by outcome, response and service times over the seconds of a run, phases shaded; None where it has none."""
    moments = sorted((one for one in run.moments if one.operation is None), key=lambda one: one.second)
    if not moments:
        return None
    calls = sum(sum(one.counts.values()) for one in moments)
    phases = ", ".join(f"{one.name} from {one.begin:g} s to {one.end:g} s" for one in run.phases[:_MOST_PHASES])
    said = f"{number(calls)} calls in {moments[-1].second + 1} seconds. Phases: {phases or 'none'}."

    def draw(figure: Figure) -> None:
        rate, response, service = figure.subplots(3, 1, sharex=True, height_ratios=(1.1, 1, 1))
        _rates(rate, run, moments, most)
        _times(response, moments, "response", most)
        _times(service, moments, "service", most)
        _alike(moments, response, service)
        for axes in (rate, response, service):
            _phases(axes, run.phases, named=axes is rate)
        end = max([moments[-1].second + 1.0, *(phase.end for phase in run.phases)])
        service.set(xlim=(min(moments[0].second, 0), end), xlabel="seconds of the run")

    return drawn(f"{run.slug}-time-series", f"{label(run.name)}, second by second", said, (9.6, 7.6), draw)


def width(moments: Sequence[Moment], most: int) -> int:
    """How many seconds one drawn point stands for."""
    return len(canvas.thinned(moments, most)[0])


def _rates(axes: Axes, run: Run, moments: list[Moment], most: int) -> None:
    groups = canvas.thinned(moments, most)
    at = [group[0].second + (group[-1].second + 1 - group[0].second) / 2 for group in groups]
    for place, (name, outcomes) in enumerate(_outcomes(run, moments)):
        rates = [
            sum(moment.counts.get(outcome, 0) for moment in group for outcome in outcomes)
            / (group[-1].second + 1 - group[0].second)
            for group in groups
        ]
        wrong = not set(outcomes) <= set(run.expected)
        axes.plot(
            at, rates, color=BEYOND if wrong else SERIES[place % len(SERIES)], linestyle=DASHES[place % len(DASHES)],
            label=label(name), gid=f"rate-{place}", marker="X" if wrong else "." if len(at) == 1 else None,
            # Few errors lie on the axis, where nobody would see them.
            markevery=[rate > 0 for rate in rates] if wrong else None,
        )  # fmt: skip
    if run.phases and run.loop == "open":
        edges = [edge for phase in run.phases for edge in (phase.begin, phase.end)]
        offered = [phase.rate for phase in run.phases for _ in range(2)]
        axes.plot(edges, offered, color=MUTED, linewidth=0.9, label="offered", gid="offered")
    axes.set(title="Calls that ended, by outcome", ylabel="calls a second")
    axes.set_ylim(0, axes.get_ylim()[1] * 1.12)
    formatted(axes.yaxis, number)
    _aside(axes)


def _outcomes(run: Run, moments: list[Moment]) -> list[tuple[str, list[str]]]:
    """The outcomes that occurred, those that are no errors first; the rarest are gathered."""
    totals: dict[str, int] = {}
    for moment in moments:
        for outcome, count in moment.counts.items():
            totals[outcome] = totals.get(outcome, 0) + count
    order = sorted(totals, key=lambda name: (name != "done", name not in run.expected, -totals[name], name))
    shown, rest = order[:_MOST_OUTCOMES], order[_MOST_OUTCOMES:]
    named = [(name if name in run.expected else f"{name} (error)", [name]) for name in shown]
    return [*named, ("other", rest)] if rest else named


def _times(axes: Axes, moments: list[Moment], which: Literal["response", "service"], most: int) -> None:
    known = [(one.second, getattr(one, which)) for one in moments if getattr(one, which) is not None]
    groups = canvas.thinned(known, most)
    at = [group[0][0] + (group[-1][0] + 1 - group[0][0]) / 2 for group in groups]
    for place, name in enumerate(QUANTILES):
        worst = [max(_one(quantiles, name) for _, quantiles in group) for group in groups]
        axes.plot(
            at, worst, color=SERIES[place], linestyle=DASHES[place], label=name, gid=f"{which}-{name}",
            marker="." if len(at) == 1 else None,
        )  # fmt: skip
    told = "from the intended start" if which == "response" else "from the send"
    axes.set(title=f"{which.capitalize()} time, {told}", ylabel="time")
    if known:
        _aside(axes)


def _one(quantiles: Quantiles, name: str) -> float:
    return float(getattr(quantiles, name))


def _alike(moments: list[Moment], *both: Axes) -> None:
    """The same scale for both, for they are to be compared."""
    known = [times for one in moments for times in (one.service, one.response) if times is not None]
    figures = [_one(times, name) for times in known for name in QUANTILES]
    for axes in both:
        canvas.upright(axes, figures, seconds)


def _phases(axes: Axes, phases: Sequence[Phase], *, named: bool) -> None:
    for place, phase in enumerate(phases):
        if place % 2 == 0:
            # An id stands once on a page, and each panel has the shade.
            gid = f"phase-{place}" if named else None
            axes.axvspan(phase.begin, phase.end, color=SHADE, alpha=0.12, linewidth=0, gid=gid)
        axes.axvline(phase.begin, color=RULE, linewidth=0.8)
        if named and place < _MOST_PHASES:
            length = max(phase.end - phase.begin, 0) / max(phases[-1].end, 1e-9)
            if length > 0.04:
                name = label(phase.name)[: max(int(length * 110), 3)]
                axes.annotate(
                    name, (phase.begin, 1), xycoords=("data", "axes fraction"), xytext=(4, -3),
                    textcoords="offset points", va="top", fontsize=9, color=INK, gid=f"phase-name-{place}",
                )  # fmt: skip


def _aside(axes: Axes) -> None:
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
