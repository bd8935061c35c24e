"""The benchmark: `python -P -m load.yardstick`. Ends with 1 where a bar is missed."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from conformance.errors import Exit
from load.probes import alone
from load.yardstick import Yardstick, measure
from load.yardstick.figures import TIMES
from load.yardstick.floor import EACH, MOST, ROUNDS

DEFAULT_FILE = Path("build/yardstick/yardstick.json")


def show(measured: Yardstick, console: Console) -> None:
    """Print every figure, its bar, and whether it is held."""
    console.print(", ".join(f"{name} {value}" for name, value in measured.settings.items()), soft_wrap=True)
    table = Table(
        "p50 of one client, ms", "reference", "floor", "ratio", "at most", "statements", "CPU server + db", ""
    )
    for one in measured.beside:
        cpu = "" if one.server_cpu_seconds is None else f"{one.server_cpu_seconds * 1e3:.2f}"
        if one.database_cpu_seconds is not None:
            cpu += f" + {one.database_cpu_seconds * 1e3:.2f}"
        counted = sum(statement.calls for statement in one.statements) / (ROUNDS * EACH)
        table.add_row(
            f"{one.what}, {one.waiting:,} waiting", _ms(one.server_seconds), _ms(one.floor_seconds),
            f"{one.ratio:.2f}", f"{MOST:.0f}", f"{counted:g}{'' if one.same else ', floor differs'}", cpu,
            _held(one.held),
        )  # fmt: skip
    console.print(table)
    console.print("CPU: of the server and of its database, ms a pop.")
    table = Table("p50 of one client", "reference", "AI Horde 5.1.5", "times better", "at least", "", "quietest block")
    for figure in measured.figures:
        unit = "/s" if figure.rate else " ms"
        table.add_row(
            figure.what, f"{figure.ours:.{0 if figure.rate else 2}f}{unit}", f"{figure.horde:.0f}{unit}",
            f"{figure.times:.1f}", f"{TIMES:.0f}", _held(figure.held),
            "" if figure.quietest is None else f"{figure.quietest:.2f} ms",
        )  # fmt: skip
    console.print(table)
    if measured.waited is not None:
        console.print(
            f"For {measured.waited:.0%} of the time something waited for a processor: on a machine to itself that is "
            "only what the eight clients and the server do to each other.",
            soft_wrap=True,
        )


def _ms(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds) * 1000:.2f}"


def _held(held: bool) -> str:
    return "held" if held else "MISSED"


def yardstick_command(
    out: Annotated[Path, typer.Option(help="The file of all times, in JSON.")] = DEFAULT_FILE,
) -> None:
    """Measure the reference beside its own statements and beside AI Horde; ends with 1 where a bar is missed."""
    measured = measure()
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(measured.model_dump_json(indent=1), encoding="utf-8")
    show(measured, Console(highlight=False))
    sys.stdout.write(f"All times: {out}\n")
    raise typer.Exit(Exit.CONFORMANT if measured.held else Exit.NOT_CONFORMANT)


if __name__ == "__main__":
    alone.run(yardstick_command)
