"""The drawings of sweeps: bytes per pop over payload, and a figure over payload, depth or refused rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.measured import canvas
from reports.measured.canvas import DASHES, MARKERS, SERIES, drawn, formatted, label, number, seconds, size_of
from reports.measured.parts import Amplified, Curve, Sweep

# Ticks of an axis, at most.
_TICKS = 9
_WRITERS: dict[str, Callable[[float], str]] = {"seconds": seconds, "bytes": size_of, "rows": number}


def amplification(lines: Sequence[Amplified], *, most: int = canvas.MOST_POINTS) -> str | None:
    """Bytes per pop over the payload, points as counted and a line through each branch; None where there are none."""
    lines = [line for line in lines if line.counts]
    if not lines:
        return None
    said = " ".join(f"{line.branch}: {line.slope:.3f} bytes for each byte of payload." for line in lines)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, line in enumerate(lines):
            _amplified(axes, line, place, most)
        payloads = [payload for line in lines for payload, _ in line.counts]
        axes.set(xlabel="payload", ylabel="bytes per pop")
        axes.set_xticks(_binary(max(payloads)))
        axes.set_yticks(_binary(max(counted for line in lines for _, counted in line.counts)))
        formatted(axes.xaxis, size_of)
        formatted(axes.yaxis, size_of)
        canvas.legend(axes, min(len(lines), 2))

    return drawn("amplification-drawing", "Bytes per pop over payload", said, (9.6, 4.6), draw)


def _amplified(axes: Axes, line: Amplified, place: int, most: int) -> None:
    colour, counts = SERIES[place % len(SERIES)], sorted(set(line.counts))
    shown = [group[0] for group in canvas.thinned(counts, most)]
    axes.plot(
        [payload for payload, _ in shown], [counted for _, counted in shown], linestyle="none",
        marker=MARKERS[place % len(MARKERS)], color=colour, gid=f"counts-{place}",
    )  # fmt: skip
    ends = [counts[0][0], counts[-1][0]]
    axes.plot(
        ends, [line.intercept_bytes + line.slope * end for end in ends], color=colour,
        linestyle=DASHES[place % len(DASHES)], label=f"{label(line.branch)}: {line.slope:.3f}", gid=f"line-{place}",
    )  # fmt: skip


def sweep(swept: Sweep) -> str | None:
    """The middle of a figure over what was swept, with a band for each series; None where there is no point."""
    curves = [curve for curve in swept.curves if curve.points]
    if not curves:
        return None
    said = " ".join(_said(curve, swept) for curve in curves)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for place, curve in enumerate(curves):
            _curve(axes, curve, place)
        points = [point for curve in curves for point in curve.points]
        _levels(axes, sorted({point.level for point in points}), _WRITERS[swept.level_unit])
        figures = [edge for point in points for edge in (point.low, point.middle, point.high)]
        canvas.upright(axes, figures, _WRITERS.get(swept.figure_unit, number))
        axes.set(xlabel=label(swept.over), ylabel=label(swept.figure))
        canvas.legend(axes, min(len(curves), 2))

    return drawn(f"{swept.slug}-sweep", f"{swept.figure} over {swept.over}", said, (9.6, 4.4), draw)


def _curve(axes: Axes, curve: Curve, place: int) -> None:
    points = sorted(curve.points, key=lambda point: point.level)
    at, colour = [point.level for point in points], SERIES[place % len(SERIES)]
    axes.fill_between(
        at, [point.low for point in points], [point.high for point in points], color=colour, alpha=0.18, linewidth=0,
        gid=f"band-{place}",
    )  # fmt: skip
    slope = f", slope {curve.slope.value:.3f}" if curve.slope else ""
    axes.plot(
        at, [point.middle for point in points], color=colour, marker=MARKERS[place % len(MARKERS)],
        linestyle=DASHES[place % len(DASHES)], label=f"{label(curve.name)}{slope}", gid=f"middle-{place}",
    )  # fmt: skip


def _said(curve: Curve, swept: Sweep) -> str:
    points, write = sorted(curve.points, key=lambda p: p.level), _WRITERS.get(swept.figure_unit, number)
    level = _WRITERS[swept.level_unit]
    return (
        f"{curve.name}: {write(points[0].middle)} at {level(points[0].level)}, "
        f"{write(points[-1].middle)} at {level(points[-1].level)}."
    )


def _levels(axes: Axes, levels: Sequence[float], write: Callable[[float], str]) -> None:
    """Ticks at the levels themselves, in logarithms; a level of 0 stands a step to the left of the first."""
    above = [level for level in levels if level > 0]
    if len(above) > 1 and above[-1] / above[0] > 5:
        if levels[0] > 0:
            axes.set_xscale("log")
        else:
            axes.set_xscale("symlog", linthresh=above[0], linscale=0.4)
    # The last level is named in any case.
    axes.set_xticks(sorted(levels[:: -math.ceil(len(levels) / _TICKS)]))
    axes.minorticks_off()
    formatted(axes.xaxis, write)


def _binary(most: float) -> list[float]:
    """Ticks at multiples of a power of two."""
    step = 1.0
    while most / step > _TICKS - 1:
        step *= 2
    return [step * place for place in range(int(most / step) + 1)]
