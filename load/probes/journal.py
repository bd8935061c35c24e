"""What a PostgreSQL of ours logs of one database: each statement with its values, and the plan that it was run by.

Statistics know statements without their values and plans not at all. The server's own sessions are asked to log both
(`log_statement`, `auto_explain`), by a setting of the database, which holds for sessions that are opened afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2

from fixtures.counting.fingerprints import prepared
from load.probes.facts import NotMeasured
from load.probes.reading import Reader, reason

_WHAT = "plans"
_SETTINGS = {
    "log_statement": "all",
    "session_preload_libraries": "auto_explain",
    "auto_explain.log_min_duration": "0",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_timing": "off",
    "auto_explain.log_settings": "on",
    "auto_explain.log_format": "json",
}
# The server's default prefix: time, process.
_ENTRY = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[(\d+)\] ([A-Z]+):  ", re.MULTILINE)
_PLAN = re.compile(r"duration: [\d.]+ ms  plan:\s*(\{.*)", re.DOTALL)
_STATEMENT = "statement: "


@dataclass(frozen=True)
class Entry:
    """One thing that a session logged: a text that was sent to it, or the plan of a statement that ended."""

    pid: int
    text: str | None = None
    plan: dict[str, Any] | None = None


def switch_on(reader: Reader) -> NotMeasured | None:
    """Let sessions of a reader's database that are opened from now on log their statements and plans.

    Not measured where this role may not have it so, or the server has no `auto_explain`.
    """
    try:
        # Loaded here first: a session whose library is missing would not be opened at all.
        reader.execute("LOAD 'auto_explain'")
        for name, value in _SETTINGS.items():
            reader.execute(f"ALTER DATABASE \"{reader.database}\" SET {name} = '{value}'")
    except psycopg2.Error as error:
        return NotMeasured(not_measured=_WHAT, reason=reason(error))
    return None


class Journal:
    """A server's log, read from where it was read to before."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._place = log.stat().st_size

    def read(self) -> list[Entry]:
        """What was logged since the last look."""
        with self._log.open("rb") as file:
            file.seek(self._place)
            logged = file.read()
        self._place += len(logged)
        return list(entries(logged.decode("utf-8", "replace")))


def entries(logged: str) -> Iterator[Entry]:
    """The statements and plans in a piece of a log."""
    parts = _ENTRY.split(logged)
    for pid, level, said in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        # Lines after the first are indented by a tab.
        text = said.removesuffix("\n").replace("\n\t", "\n")
        planned = _PLAN.match(text)
        if level == "LOG" and text.startswith(_STATEMENT):
            yield Entry(int(pid), text=text.removeprefix(_STATEMENT))
        elif level == "LOG" and planned:
            yield Entry(int(pid), plan=json.loads(planned[1]))


def preparations(logged: list[Entry]) -> dict[str, str]:
    """The texts that prepare statements, by the statements' names."""
    found = {}
    for entry in logged:
        named = prepared(entry.text) if entry.text else None
        if named is not None and entry.text is not None:
            found[named[0]] = entry.text
    return found
