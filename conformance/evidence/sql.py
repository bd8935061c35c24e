"""Statements on the target's database as a script tells them: with psql."""

from __future__ import annotations

import re
from typing import Any

from conformance.evidence.told import Sql

# What a script needs beside the functions that every script has.
FUNCTIONS = r"""# sql N: run a statement on the server's database; what it gives is answer N, as JSON.
sql() {
  fill >"$dir/$1.sent"
  psql -XqAt -v ON_ERROR_STOP=1 "$database" -f "$dir/$1.sent" >"$dir/$1.raw" 2>"$dir/error" ||
    stop "the database refuses: $(sed -n 1p "$dir/error")"
  one_line "$dir/$1.raw" >"$dir/$1"
}
# rows N NUMBER: answer N has so many rows.
rows() { [ "$(grep -c '^ *\[*{' "$dir/$1.raw")" = "$2" ] || fine "answer $1 has not $2 rows"; }"""


def bound(sql: Sql) -> str:
    """The statement with its values in it."""

    def literal(value: Any) -> str:
        match value:
            case None:
                return "NULL"
            case bool() | int() | float():
                return str(value)
            case list() | tuple():
                return "ARRAY[" + ", ".join(map(literal, value)) + "]" + ("::text[]" if not value else "")
            case _:
                return "'" + str(value).replace("'", "''") + "'"

    text = re.sub(
        r"(?<![:\w]):([a-z_]\w*)",
        lambda found: literal(sql.values[found[1]]) if found[1] in sql.values else found[0],
        sql.statement.strip().rstrip(";"),
    )
    return (_as_json(text) if sql.reads else text) + ";"


def _as_json(statement: str) -> str:
    """A query that gives a query's rows as one JSON text, `rows`."""
    return f"SELECT coalesce(json_agg(q)::text, '[]') AS rows FROM ({statement.strip().rstrip(';')}) AS q"  # noqa: S608
