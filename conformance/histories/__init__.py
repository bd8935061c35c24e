"""The history checker: decides from recorded exchanges alone whether a target behaved as one queue would.

`judge` is a pure function on a `History`, which `recorded` makes of a run's exchanges and a file may keep.
"""

from __future__ import annotations

from conformance.histories.balances import missing as missing_movements
from conformance.histories.judge import judge
from conformance.histories.model import History, Rule, Terms, Witness
from conformance.histories.recording import Standing, recorded
from conformance.histories.stored import load, save

__all__ = [
    "History",
    "Rule",
    "Standing",
    "Terms",
    "Witness",
    "judge",
    "load",
    "missing_movements",
    "recorded",
    "save",
]
