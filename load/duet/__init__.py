"""The duet: two builds of a server, driven in turns of a fraction of a second, and whether one is slower."""

from __future__ import annotations

from load.duet.arms import OWN, Played, Prepare, target
from load.duet.deciding import Measure, Told, Verdict, decide, percent, ratios
from load.duet.rounds import Head, Plan, Round, keep, play, read

__all__ = [
    "OWN",
    "Head",
    "Measure",
    "Plan",
    "Played",
    "Prepare",
    "Round",
    "Told",
    "Verdict",
    "decide",
    "keep",
    "percent",
    "play",
    "ratios",
    "read",
    "target",
]
