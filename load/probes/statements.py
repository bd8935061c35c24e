"""Statements by fingerprint: calls, rows and blocks between two looks at `pg_stat_statements`."""

from __future__ import annotations

from typing import NamedTuple

from fixtures.counting.fingerprints import fingerprint, prepared
from load.probes.facts import Fact, NotMeasured
from load.probes.reading import Reader, Row

BOUNDS = frozenset({"BEGIN", "COMMIT", "ROLLBACK"})
_WHAT = "statements"
_SECRET = "the database hides other roles' statements: grant pg_read_all_stats to this role"  # noqa: S105 - no secret


class Statement(Fact):
    """One statement between two looks. `rows` were given or changed; `blocks` are shared ones, found or read.

    Blocks include those of values out of line; beside concurrent work they are not exact, calls and rows are.
    `uncalled` ones were seen to be run while nobody called.
    """

    fingerprint: str
    text: str
    calls: int
    rows: int
    blocks: int
    uncalled: bool = False

    @property
    def is_work(self) -> bool:
        """Whether it does something for a call: not the bounds of a transaction, nor what runs by itself."""
        return not self.uncalled and self.fingerprint not in BOUNDS


class Look(NamedTuple):
    """What was counted up to now, by the statement's number."""

    rows: dict[tuple[int, int, bool], Row]
    forgotten: int
    reset: str


def look(reader: Reader, database: str) -> Look | NotMeasured:
    """What is counted up to now of a database, read through a database that has the extension."""
    rows = reader.ask(_WHAT, "statements", database=database)
    info = reader.ask(_WHAT, "statements_info")
    if isinstance(rows, NotMeasured) or isinstance(info, NotMeasured):
        problem = rows if isinstance(rows, NotMeasured) else info
        assert isinstance(problem, NotMeasured)
        return problem
    if any(row["hidden"] for row in rows):
        return NotMeasured(not_measured=_WHAT, reason=_SECRET)
    return Look(
        {(row["userid"], row["queryid"], row["toplevel"]): row for row in rows}, info[0]["dealloc"], info[0]["reset"]
    )


def between(before: Look | NotMeasured, after: Look | NotMeasured) -> tuple[Statement, ...] | NotMeasured:
    """The statements that ran between two looks, the dearest in blocks first."""
    if isinstance(before, NotMeasured):
        return before
    if isinstance(after, NotMeasured):
        return after
    if (before.forgotten, before.reset) != (after.forgotten, after.reset):
        return NotMeasured(not_measured=_WHAT, reason="pg_stat_statements forgot some meanwhile")
    found: dict[str, Statement] = {}
    for key, row in after.rows.items():
        earlier = before.rows.get(key, {"calls": 0, "rows": 0, "blocks": 0})
        calls, rows, blocks = (row[name] - earlier[name] for name in ("calls", "rows", "blocks"))
        if calls <= 0:
            continue
        text = _inner(row["query"])
        name = fingerprint(text)
        known = found.get(name)
        if known is not None:
            # The same text prepared under several names, or by several roles.
            calls, rows, blocks = calls + known.calls, rows + known.rows, blocks + known.blocks
        found[name] = Statement(fingerprint=name, text=text, calls=calls, rows=rows, blocks=blocks)
    return tuple(sorted(found.values(), key=lambda one: (-one.blocks, one.fingerprint)))


def _inner(text: str) -> str:
    """The statement itself, where one was prepared under a name."""
    named = prepared(text)
    return text.strip() if named is None else named[1].strip()
