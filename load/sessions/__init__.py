"""A load session: runs on one target, one after another, each with its phases, queue and gates; and a verdict."""

from __future__ import annotations

from load.sessions.description import Run, Session, built_in, named, parse
from load.sessions.judging import Judgement, Verdict
from load.sessions.loading import Options
from load.sessions.playing import Outcome, Played, play

__all__ = [
    "Judgement",
    "Options",
    "Outcome",
    "Played",
    "Run",
    "Session",
    "Verdict",
    "built_in",
    "named",
    "parse",
    "play",
]
