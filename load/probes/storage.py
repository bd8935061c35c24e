"""Values out of line: blocks touched, values read and pieces written, by table, between two looks.

PostgreSQL's figures come late: a session tells what it did at the end of a transaction, at most once a second, and
what is left after ten seconds without one. Whoever wants exact figures waits for that (`TOLD`), or lets the server
that did it hang up first.
"""

from __future__ import annotations

from load.probes.facts import Fact, NotMeasured
from load.probes.reading import Reader, Row

TOLD = 10.5
"""Seconds after which an idle session has told all that it did."""

_FIGURES = ("blocks", "index_blocks", "reads", "written", "updates", "sequential", "tidied")

Look = dict[str, Row]


class OutOfLine(Fact):
    """What happened to a table's values out of line between two looks.

    `reads` are values read or replaced (scans of their index), `written` pieces of about 2 kB (a payload that was
    written again), `updates` rows of the table that were. `tidied` is how often vacuum or analyze came by, which touch
    blocks of their own: then blocks and reads are not the target's alone.
    """

    table: str
    blocks: int
    index_blocks: int
    reads: int
    written: int
    updates: int
    sequential: int
    tidied: int


def look(reader: Reader) -> Look | NotMeasured:
    """What is told up to now of each table with values out of line."""
    fresh = reader.ask("values out of line", "fresh")
    rows = reader.ask("values out of line", "tables")
    if isinstance(fresh, NotMeasured):
        return fresh
    if isinstance(rows, NotMeasured):
        return rows
    return {row["name"]: row for row in rows}


def between(before: Look | NotMeasured, after: Look | NotMeasured) -> tuple[OutOfLine, ...] | NotMeasured:
    """What happened between two looks, by table, those of which nothing happened left out."""
    if isinstance(before, NotMeasured):
        return before
    if isinstance(after, NotMeasured):
        return after
    tables = []
    for name, row in after.items():
        earlier = before.get(name, {})
        figures = {figure: row[figure] - earlier.get(figure, 0) for figure in _FIGURES}
        if min(figures.values()) < 0:
            return NotMeasured(not_measured="values out of line", reason="the statistics were reset meanwhile")
        if any(figures.values()):
            tables.append(OutOfLine(table=name, **figures))
    return tuple(tables)
