"""The plan of the query that looks for candidates: which table it reads from end to end, and whose values it unpacks.

Three ways, the best that a database allows. *Analysed*: the server's own session logged its plan and values, and the
statement is run again under the same settings with SERIALIZE, without which `EXPLAIN` never reads what is out of line
(PostgreSQL 17 and newer). *Generic*: the text that `pg_stat_statements` shows, planned for unknown values and not run
(16 and newer). Else it is not measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import psycopg2

from fixtures.counting.fingerprints import fingerprint, prepared
from load.probes.facts import Fact, NotMeasured
from load.probes.journal import Entry
from load.probes.reading import Reader, reason

_WHAT = "the plan of the candidates"
_SERIALIZE = 170000
_GENERIC = 160000
_NAME = "horde_conformance_candidates"
# Of `$1 = 'text', $2 = NULL`.
_VALUE = re.compile(r"\$\d+ = (NULL|'(?:[^']|'')*')")


class Node(Fact):
    """A step of a plan: what it does, on which table and by which index; rows and blocks where it was run."""

    kind: str
    table: str | None
    index: str | None
    rows: float | None
    blocks: int | None


class Plan(Fact):
    """A plan and what is to be said of it.

    `serialized_bytes` and `serialized_blocks` are what giving the result out made of it: blocks there are values that
    were read out of line. `sequential` tables are read from end to end.
    """

    way: Literal["analysed", "generic"]
    fingerprint: str
    nodes: tuple[Node, ...]
    settings: dict[str, str]
    serialized_bytes: int | None = None
    serialized_blocks: int | None = None

    @property
    def sequential(self) -> tuple[str, ...]:
        """The tables that are read from end to end."""
        return tuple(node.table or "" for node in self.nodes if node.kind == "Seq Scan")

    @property
    def unpacks(self) -> bool | None:
        """Whether giving the result out read values out of line; None where that was not seen."""
        return None if self.serialized_blocks is None else self.serialized_blocks > 0

    @property
    def remarks(self) -> tuple[str, ...]:
        """What an engineer has to look at."""
        told = [f"{table} is read from end to end" for table in self.sequential]
        if self.unpacks:
            told.append(f"the result unpacks values: {self.serialized_blocks} blocks, {self.serialized_bytes} bytes")
        return tuple(told)


def analysed(reader: Reader, logged: Sequence[Entry], table: str) -> Plan | NotMeasured:
    """The plan of the last logged statement that reads a table in an order up to a limit, run again with SERIALIZE.

    Args:
        reader: of the same database; what it runs here is rolled back.
        logged: what a journal heard of the server's sessions.
        table: the one that candidates come from.
    """
    plans = [entry.plan for entry in logged if entry.plan and is_candidates(entry.plan["Query Text"], table)]
    if not plans:
        return NotMeasured(not_measured=_WHAT, reason=f"no logged statement reads {table} in an order up to a limit")
    told = plans[-1]
    plan = Plan(
        way="analysed", fingerprint=fingerprint(_inner(told["Query Text"])), nodes=tuple(nodes(told["Plan"])),
        settings={name: str(value) for name, value in told.get("Settings", {}).items()},
    )  # fmt: skip
    try:
        serialized = _serialized(reader, plan.settings, told)
    except psycopg2.Error:
        # The plan is there all the same; only what its result unpacks is not seen.
        return plan
    return plan.model_copy(update=serialized)


def _serialized(reader: Reader, settings: dict[str, str], told: dict[str, Any]) -> dict[str, int]:
    """What giving the result out takes, by running the statement once more with the values that it had."""
    if reader.rows("version")[0]["version"] < _SERIALIZE:
        return {}
    values = ", ".join(_VALUE.findall(told.get("Query Parameters", "")))
    reader.execute("BEGIN")
    try:
        for name, value in settings.items():
            reader.execute("SELECT set_config(%(name)s, %(value)s, true)", {"name": name, "value": value})
        reader.execute(f"PREPARE {_NAME} AS {_inner(told['Query Text'])}")
        executed = f"EXECUTE {_NAME}({values})" if values else f"EXECUTE {_NAME}"
        (row,) = reader.execute(f"EXPLAIN (ANALYZE, BUFFERS, SERIALIZE, FORMAT JSON) {executed}")
    finally:
        reader.execute("ROLLBACK")
        reader.execute("DEALLOCATE ALL")
    given = row["QUERY PLAN"][0]["Serialization"]
    blocks = given.get("Shared Hit Blocks", 0) + given.get("Shared Read Blocks", 0)
    # Told in whole kB.
    return {"serialized_bytes": int(given["Output Volume"]) * 1024, "serialized_blocks": blocks}


def generic(reader: Reader, texts: Sequence[str], table: str) -> Plan | NotMeasured:
    """The plan for unknown values of the one of these texts that reads a table in an order and up to a limit."""
    text = next((one for one in texts if is_candidates(one, table)), None)
    if text is None:
        return NotMeasured(not_measured=_WHAT, reason=f"no statement reads {table} in an order up to a limit")
    try:
        if reader.rows("version")[0]["version"] < _GENERIC:
            return NotMeasured(not_measured=_WHAT, reason="before PostgreSQL 16 nothing is planned for unknown values")
        (row,) = reader.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {text}")
    except psycopg2.Error as error:
        return NotMeasured(not_measured=_WHAT, reason=reason(error))
    (told,) = row["QUERY PLAN"]
    return Plan(way="generic", fingerprint=fingerprint(text), nodes=tuple(nodes(told["Plan"])), settings={})


def nodes(plan: dict[str, Any]) -> Iterator[Node]:
    """The steps of a plan as EXPLAIN tells it in JSON, from the top."""
    blocks = [plan[name] for name in ("Shared Hit Blocks", "Shared Read Blocks") if name in plan]
    yield Node(
        kind=plan["Node Type"], table=plan.get("Relation Name"), index=plan.get("Index Name"),
        rows=plan.get("Actual Rows"), blocks=sum(blocks) if blocks else None,
    )  # fmt: skip
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def is_candidates(text: str, table: str) -> bool:
    """Whether a statement reads a table in an order up to a limit, not in a part of it only."""
    words = " ".join(_inner(text).upper().split())
    before, _, after = words.rpartition(" ORDER BY ")
    outermost = before.count("(") == before.count(")")
    return f"FROM {table.upper()} " in f"{before} " and outermost and " LIMIT " in f" {after} "


def _inner(text: str) -> str:
    """The statement itself, where it was prepared under a name."""
    named = prepared(text)
    return text if named is None else named[1]
