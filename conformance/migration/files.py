"""The baseline and the migration as files: read, split into statements as psql splits them, and parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psycopg2
from psycopg2.errors import SyntaxError as SqlSyntaxError

from conformance.errors import Situation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg2.extensions import connection as Connection  # noqa: N812 - it is a class

# psql commands that pg_dump writes and that change nothing here.
HARMLESS_COMMANDS = ("restrict ", "unrestrict ")


class BadMigration(Situation):
    """The baseline or the migration file cannot be read, does not parse, or the baseline does not run."""


@dataclass(frozen=True)
class Statement:
    """One SQL statement without its semicolon, and the line of the file on which it begins."""

    text: str
    line: int

    def __str__(self) -> str:
        words = " ".join(self.text.split())
        return words if len(words) <= 60 else words[:57] + "…"


@dataclass(frozen=True)
class Script:
    """A file's statements in order."""

    path: Path
    statements: tuple[Statement, ...]

    def at(self, statement: Statement) -> str:
        """Where a statement stands, as an editor finds it."""
        return f"{self.path.name}, line {statement.line}"


class StatementRefused(Exception):
    """The database refused a statement of a script; `code` is the SQLSTATE."""

    def __init__(self, script: Script, statement: Statement, error: psycopg2.Error) -> None:
        self.code = error.pgcode
        reason = (error.diag.message_primary or str(error)).strip()
        super().__init__(f"{script.at(statement)}: the database refuses {str(statement)!r}: {reason}")


def locate(path: str) -> Path:
    """The file that a profile names: absolute, or beside our own packages, or in the current folder."""
    ours = Path(__file__).parents[2] / path
    return ours if ours.is_file() else Path(path).absolute()


def read(path: str) -> Script:
    """The statements of a file. Raises BadMigration."""
    place = locate(path)
    try:
        text = place.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadMigration(f"{place} cannot be read: {error}.", "Give an SQL file in UTF-8.") from None
    script = Script(place, tuple(split(text, place.name)))
    if not script.statements:
        raise BadMigration(f"{place} holds no SQL statement.", "Give the file that changes the schema.")
    return script


def parse(script: Script, connection: Connection) -> None:
    """Let the server parse each statement without running it. Raises BadMigration for the first that does not."""
    for statement in script.statements:
        try:
            with connection.cursor() as cursor:
                # One message is parsed as a whole before its first statement runs, and that one always fails.
                cursor.execute(f"SELECT 1/0;\n{statement.text}")
        except SqlSyntaxError as error:
            raise BadMigration(
                f"{script.path}, line {statement.line}, does not parse: {error.diag.message_primary}.",
                "Mend the statement; `psql -f` on an empty database shows the place.",
            ) from None
        except psycopg2.Error:
            pass


def run(script: Script, connection: Connection) -> None:
    """Run the statements one by one, as psql does with ON_ERROR_STOP. Raises StatementRefused."""
    for statement in script.statements:
        run_one(script, statement, connection)


def run_one(script: Script, statement: Statement, connection: Connection) -> None:
    """Run one statement of a script. Raises StatementRefused."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement.text)
    except psycopg2.Error as error:
        raise StatementRefused(script, statement, error) from None


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


_TOKEN = re.compile(
    r"""
      (?P<space>\s+|--[^\n]*)
    | (?P<block>/\*)
    | (?P<escape>[eE]')
    | (?P<quote>')
    | (?P<name>")
    | (?P<dollar>\$(?:[A-Za-z_\x80-\U0010ffff][\w]*)?\$)
    | (?P<word>[A-Za-z_\x80-\U0010ffff][\w$]*)
    | (?P<command>\\\S*[^\n]*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLOSED = {
    "escape": re.compile(r"(?:[^'\\]++|''|\\.)*+'", re.DOTALL),
    "quote": re.compile(r"(?:[^']++|'')*+'"),
    "name": re.compile(r'(?:[^"]++|"")*+"'),
}
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def split(text: str, file: str = "the file") -> Iterator[Statement]:
    """The statements of an SQL text, split where psql splits them.

    A semicolon ends a statement unless it stands in quotes, dollar quotes, a comment, parentheses or the body of a
    function written with BEGIN ATOMIC. Raises BadMigration for a quote that is never closed and for a psql command.
    """
    begin: int | None = None
    parentheses = 0
    body = _Body()
    for token in _tokens(text, file):
        if token.kind == "space":
            continue
        if token.text == ";" and parentheses <= 0 and body.depth == 0:
            if begin is not None:
                yield _statement(text, begin, token.start)
            begin, parentheses, body = None, 0, _Body()
            continue
        begin = token.start if begin is None else begin
        parentheses += {"(": 1, ")": -1}.get(token.text, 0)
        if token.kind == "word":
            body.read(token.text.upper())
    if begin is not None:
        yield _statement(text, begin, len(text))


class _Body:
    """How deep the words of one statement are inside BEGIN ATOMIC … END."""

    def __init__(self) -> None:
        self.depth = 0
        self._words: list[str] = []

    def read(self, word: str) -> None:
        opens = word == "ATOMIC" and self._words[-1:] == ["BEGIN"] and self._words[:1] == ["CREATE"]
        if opens or (self.depth and word == "CASE"):
            self.depth += 1
        elif self.depth and word == "END":
            self.depth -= 1
        self._words = [*self._words[:1], word]


def _statement(text: str, begin: int, end: int) -> Statement:
    return Statement(text[begin:end].rstrip(), 1 + text.count("\n", 0, begin))


def _tokens(text: str, file: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        kind = str(match.lastgroup)
        end = _end(text, kind, match)
        if end is None:
            raise BadMigration(
                f"{file}, line {1 + text.count(chr(10), 0, position)}, does not parse: "
                f"what {match[0]!r} opens is never closed.",
                "Close it.",
            )
        if kind == "command":
            _refuse_command(match[0], 1 + text.count("\n", 0, position), file)
        skipped = kind in ("block", "command")
        yield _Token("space" if skipped else kind, text[position:end], position)
        position = end


def _end(text: str, kind: str, match: re.Match[str]) -> int | None:
    """Where the token ends; None where what it opens is never closed."""
    if kind in _CLOSED:
        closed = _CLOSED[kind].match(text, match.end())
        return closed.end() if closed else None
    if kind == "dollar":
        close = text.find(match[0], match.end())
        return close + len(match[0]) if close >= 0 else None
    return _end_of_comment(text, match.end()) if kind == "block" else match.end()


def _end_of_comment(text: str, position: int) -> int | None:
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, position):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    return None


def _refuse_command(command: str, line: int, file: str) -> None:
    if not command[1:].startswith(HARMLESS_COMMANDS):
        raise BadMigration(
            f"{file}, line {line}, is a psql command ({command.strip()!r}), not SQL.",
            "Give a file of SQL statements; a dump that holds rows is made with `pg_dump --inserts`.",
        )
