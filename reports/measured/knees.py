"""The drawing of a ramp: at which rates everything held, and the interval in which the knee lies."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.measured.canvas import BEYOND, MUTED, SERIES, SHADE, drawn, formatted, label, number
from reports.measured.parts import Knee

# State, marker, colour.
_STATES = (("held", "o", SERIES[0]), ("broke", "X", BEYOND), ("unknown", "D", MUTED))


def knee(one: Knee) -> str | None:
    """A mark for each step of each ramp by its rate, on the shade of the knee's interval; None without a step."""
    if not one.steps:
        return None
    rates = sorted({step.rate for step in one.steps})
    ramps = sorted({step.ramp for step in one.steps})

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.set_xscale("log")
        reach = (rates[0] / 1.3, rates[-1] * 1.3)
        low, high = one.held or reach[0], one.broke or reach[1]
        axes.axvspan(low, high, color=SHADE, alpha=0.16, linewidth=0, gid="interval")
        if one.best is not None:
            axes.axvline(one.best, color=SERIES[0], linewidth=1.2, gid="best")
        for state, marker, colour in _STATES:
            steps = [step for step in one.steps if step.state == state]
            axes.plot(
                [step.rate for step in steps], [step.ramp for step in steps], linestyle="none", marker=marker,
                color=colour, markersize=9, label=state, gid=f"steps-{state}",
            )  # fmt: skip
        axes.set(xlim=reach, ylim=(ramps[-1] + 0.6, ramps[0] - 0.6), xlabel="arrivals a second")
        axes.set_xticks(rates)
        axes.set_yticks(ramps, [f"ramp {place}" for place in ramps])
        axes.minorticks_off()
        formatted(axes.xaxis, number)
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)

    size = (9.6, 1.3 + 0.5 * len(ramps))
    return drawn(f"{one.slug}-knee", f"{label(one.name)}: the knee", one.sentence, size, draw)
