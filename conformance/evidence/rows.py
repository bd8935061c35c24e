"""The database's side of a failure: the rows of its requests and of their generations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from conformance.database import Database
from conformance.errors import CouldNotRun
from conformance.profile import Profile
from reports.evidence import Rows

# Of a check's requests the last so many; of a table's rows so many; of a value so many characters.
_REQUESTS = 5
_ROWS = 20
_VALUE = 400


def rows_of(ids: Iterable[str], database: Database, profile: Profile) -> list[Rows]:
    """The rows of requests and of their generations, as far as the profile says how they are read."""
    chosen = list(dict.fromkeys(ids))[-_REQUESTS:]
    statements = (profile.database.request_row, profile.database.generation_rows)
    return [table for statement in statements if statement for table in _read(statement, chosen, database)]


def _read(statement: str, ids: list[str], database: Database) -> list[Rows]:
    found: list[dict[str, Any]] = []
    for id in ids:
        try:
            found += database.rows(statement, id=id)
        except CouldNotRun:
            continue
    if not found:
        return []
    table = re.search(r"\bFROM\s+(\w+)", statement, re.IGNORECASE)
    # What is null in every row says nothing.
    columns = [name for name in found[0] if any(row.get(name) is not None for row in found)]
    cut = f"the first {_ROWS} of {len(found)} rows" if len(found) > _ROWS else None
    shown = [[_text(row.get(name)) for name in columns] for row in found[:_ROWS]]
    return [Rows(table=table[1] if table else "rows", columns=columns, rows=shown, cut=cut)]


def _text(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}… ({len(text)} characters)"
