"""Tells the report room what was measured: results, verdicts and lines become the model that a report shows."""

from __future__ import annotations

from load.telling.generator import checks
from load.telling.growing import told_amplification, told_line, told_slope, told_sweep
from load.telling.place import database, machine
from load.telling.report import tell, tell_duet, told_duet
from load.telling.running import told_phases, told_run

__all__ = [
    "checks",
    "database",
    "machine",
    "tell",
    "tell_duet",
    "told_amplification",
    "told_duet",
    "told_line",
    "told_phases",
    "told_run",
    "told_slope",
    "told_sweep",
]
