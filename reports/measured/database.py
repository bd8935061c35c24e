"""The drawing of a database's sessions over the seconds of a run, from the sampler's looks."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.measured import canvas
from reports.measured.canvas import BEYOND, DASHES, SERIES, SHADE, drawn, formatted, label, number
from reports.measured.parts import Run, Sessions

# Field, as it is called, whether it is what nobody wants.
_LINES = (
    ("active", "active", False),
    ("in_transaction", "idle in a transaction", False),
    ("waiting", "waiting for a lock", True),
    ("longest_chain", "one behind the other", True),
)


def sessions(run: Run, *, most: int = canvas.MOST_POINTS) -> str | None:
    """Sessions by what they do, and those that wait for each other; None where no look succeeded."""
    looks = [one for one in run.sessions if one.failed is None]
    if not looks:
        return None

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        groups = canvas.thinned(looks, most)
        at = [group[0].second for group in groups]
        for place, (field, name, unwanted) in enumerate(_LINES):
            # Of several looks the worst is drawn: a short wait must not be lost.
            axes.plot(
                at, [max(getattr(one, field) for one in group) for group in groups], label=name,
                color=BEYOND if unwanted else SERIES[place], linestyle=DASHES[place], gid=f"sessions-{field}",
                marker="." if len(at) == 1 else None,
            )  # fmt: skip
        for place, phase in enumerate(run.phases):
            if place % 2 == 0:
                axes.axvspan(phase.begin, phase.end, color=SHADE, alpha=0.12, linewidth=0, gid=f"phase-{place}")
        axes.set(xlabel="seconds of the run", ylabel="sessions")
        axes.set_ylim(bottom=0, top=max(axes.get_ylim()[1], 1))
        formatted(axes.yaxis, number)
        canvas.legend(axes, len(_LINES))

    return drawn(f"{run.slug}-sessions", f"{label(run.name)}: the database's sessions", said(looks), (9.6, 3.4), draw)


def said(looks: list[Sessions]) -> str:
    """The worst of what was seen, in a sentence."""
    most = {field: max(getattr(one, field) for one in looks) for field, _, _ in _LINES}
    return (
        f"{len(looks)} looks: at most {most['active']} sessions active, {most['waiting']} waiting for a lock, "
        f"{most['longest_chain']} one behind the other; {max(one.deadlocks for one in looks)} deadlocks."
    )
