"""Draws with matplotlib into SVG that stands inside a page: text as text, colours as the page's own, ids of its own.

Every colour is written as a variable of the page's style sheet, so that one drawing is right in dark and in light.
Drawn twice, the same figures give the same bytes.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from html import escape
from typing import Any, TypeVar

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator

from reports.text import one_line

INK, MUTED, RULE, BEYOND, SHADE = "#1b1f24", "#59636e", "#d4d9df", "#b3261e", "#7d8793"
SERIES = ("#0b62b8", "#c05200", "#13795b", "#8a3ba8", "#a6761d", "#c2185b", "#3f6b7d")
MARKERS = "osD^vPX"
DASHES = ("-", "--", "-.", ":")
_VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    RULE: "rule",
    BEYOND: "beyond",
    SHADE: "shade",
    **{colour: f"series-{place}" for place, colour in enumerate(SERIES)},
}

# Longer names are cut; the rows have them whole.
LONGEST_LABEL = 40
# Points of a line, at most, unless the page says fewer.
MOST_POINTS = 240

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": MUTED,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": RULE,
    "grid.linewidth": 0.6,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "path.simplify": False,
}

_LONG = re.compile(r"-?\d+\.\d{3,}")
# A figure that grows less is drawn from 0, so that its growth is seen as large as it is.
_LEAST_GROWTH = 8

_Item = TypeVar("_Item")


def drawn(name: str, title: str, said: str, size: tuple[float, float], draw: Callable[[Figure], None]) -> str:
    """One drawing as an SVG element that names itself to a screen reader.

    Args:
        name: prefix of every id in it, unique on the page.
        title: what it shows.
        said: what a person who cannot see it should know.
        size: in inches of 100 units.
        draw: puts the axes onto an empty figure.
    """
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with rc_context(style), warnings.catch_warnings():
        # A letter that the measuring font lacks is drawn by the reader's own.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure = Figure(figsize=size)
        draw(figure)
        written = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(written, format="svg", metadata=nothing)
    return _inlined(written.getvalue(), name, title, said)


def _inlined(svg: str, name: str, title: str, said: str) -> str:
    view = re.search(r'viewBox="([^"]*)"', svg)
    assert view is not None
    body = svg[svg.index(">", svg.index("<svg")) + 1 :]
    body = re.sub(r'(?<=\sid=")', f"{name}-", body)
    body = re.sub(r'(?<=href="#)|(?<=url\(#)', f"{name}-", body)
    # Hundredths of a unit are less than anybody sees, and half the bytes.
    body = re.sub(r"<[^>]*>", lambda tag: _LONG.sub(_short, tag[0]), body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var(--{variable})")
    body = re.sub(r"font: (\S+) [^;\"]*", r"font-size: \1", body)
    head = (
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{view[1]}" role="img" '
        f'aria-labelledby="{name}-title {name}-said"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-said">{escape(said)}</desc>'
    )
    return head + body


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def label(text: str, longest: int = LONGEST_LABEL) -> str:
    """A name that fits beside a drawing. A leading underscore would hide it from a legend."""
    short = one_line(text, longest)
    return f"\u200b{short}" if short.startswith("_") else short


def seconds(value: float) -> str:
    """A time with three digits and the unit that suits it."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 0.9995:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} µs" if value > 0 else "0"


def size_of(value: float) -> str:
    """Bytes with the unit that suits them: 1 KiB are 1024 bytes."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(value) >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value:.4g} B"


def number(value: float) -> str:
    """A count with its thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def formatted(axis: Any, write: Callable[[float], str]) -> None:
    """Write an axis' ticks so, and no small ones."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: write(value)))
    axis.set_minor_formatter(FuncFormatter(lambda _value, _place: ""))


def upright(axes: Axes, figures: Collection[float], write: Callable[[float], str]) -> None:
    """The upright axis of these figures: from 0, or in logarithms where they differ widely."""
    low, high = min(figures, default=0.0), max(figures, default=0.0)
    if low > 0 and high / low > _LEAST_GROWTH:
        axes.set_yscale("log")
        subs = (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)
        axes.yaxis.set_major_locator(LogLocator(subs=subs))
        axes.set_ylim(low / 1.3, high * 1.3)
    else:
        axes.set_ylim(0, high * 1.15 or 1)
    axes.minorticks_off()
    formatted(axes.yaxis, write)


def thinned(items: Sequence[_Item], most: int) -> list[Sequence[_Item]]:
    """Neighbours gathered into at most so many groups, as even as can be."""
    each = math.ceil(len(items) / most) if items else 1
    return [items[start : start + each] for start in range(0, len(items), each)]


def legend(axes: Axes, count: int) -> None:
    """A legend below the drawing, where it covers nothing."""
    if count:
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.18), ncols=min(count, 4), borderaxespad=0)
