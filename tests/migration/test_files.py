from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance import migration
from conformance.migration.files import BadMigration, locate, read, split

if TYPE_CHECKING:
    from conformance.profile import Migration as Settings
    from fixtures.postgres import Server


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SELECT 1; SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1", ["SELECT 1"]),
        (";;\n -- nothing;\n/* nor; here */;", []),
        ("SELECT ';', 'it''s;'; SELECT 2", ["SELECT ';', 'it''s;'", "SELECT 2"]),
        (r"SELECT E'\';'; SELECT 2", [r"SELECT E'\';'", "SELECT 2"]),
        (r"SELECT '\'; SELECT 2", [r"SELECT '\'", "SELECT 2"]),
        ('SELECT ";""" FROM t; SELECT 2', ['SELECT ";""" FROM t', "SELECT 2"]),
        ("SELECT 1 -- one; two\n; SELECT 2", ["SELECT 1 -- one; two", "SELECT 2"]),
        ("SELECT /* a; /* b; */ c; */ 1; SELECT 2", ["SELECT /* a; /* b; */ c; */ 1", "SELECT 2"]),
        ("DO $$ BEGIN NULL; END $$; SELECT 2", ["DO $$ BEGIN NULL; END $$", "SELECT 2"]),
        ("DO $a$ $$;$b$; $a$; SELECT 2", ["DO $a$ $$;$b$; $a$", "SELECT 2"]),
        ("SELECT a$b$c; SELECT d$b$e", ["SELECT a$b$c", "SELECT d$b$e"]),
        ("SELECT $1; SELECT $2", ["SELECT $1", "SELECT $2"]),
        (
            "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3",
            ["CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)", "SELECT 3"],
        ),
        (
            "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3",
            ["CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END", "SELECT 3"],
        ),
        ("BEGIN; SELECT 1; END; SELECT 2", ["BEGIN", "SELECT 1", "END", "SELECT 2"]),
        ("\\restrict abc\nSELECT 1;\n\\unrestrict abc\n", ["SELECT 1"]),
    ],
)  # fmt: skip
def test_a_file_is_split_where_psql_splits_it(text: str, statements: list[str]) -> None:
    assert [statement.text for statement in split(text)] == statements


def test_a_statement_knows_its_line() -> None:
    assert [s.line for s in split("-- first\n\nSELECT 1;\n\n/* x\n */ SELECT\n 2;")] == [3, 6]


@pytest.mark.parametrize(
    ("text", "line"),
    [("SELECT 1;\nSELECT 'open", 2), ('\n\nSELECT "open', 3), ("DO $x$ $$", 1), ("/* /* */", 1), ("SELECT E'\\'", 1)],
)  # fmt: skip
def test_what_is_never_closed_is_named_with_its_line(text: str, line: int) -> None:
    with pytest.raises(BadMigration, match=f"line {line}, does not parse"):
        list(split(text))


def test_a_psql_command_is_named_with_its_line() -> None:
    with pytest.raises(BadMigration, match=r"line 2, is a psql command \('\\\\set x 1'\)"):
        list(split("SELECT 1;\n\\set x 1\n"))


@pytest.mark.parametrize("content", [None, b"", b"-- only words\n", b"\xff\xfe"])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "5.1.15.sql"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadMigration, match=r"5\.1\.15\.sql") as caught:
        read(str(file))
    assert caught.value.hint


def test_the_profiles_files_are_found_from_any_folder(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate(settings.file).is_file()
    assert locate("mine.sql") == tmp_path / "mine.sql"
    migration.parse(settings)


def test_the_references_files_are_good(postgres: Server, settings: Settings) -> None:
    migration.check(postgres, settings)


@pytest.mark.parametrize("part", ["baseline", "file"])
def test_a_file_that_does_not_parse_is_named_with_its_line(
    postgres: Server, settings: Settings, tmp_path: Path, part: str
) -> None:
    broken = tmp_path / "broken.sql"
    broken.write_text("CREATE TABLE made (n int);\nALTRE TABLE made ADD COLUMN m int;\n")
    before = databases(postgres)
    with pytest.raises(BadMigration, match=r"broken.sql, line 2, does not parse: syntax error"):
        migration.check(postgres, settings.model_copy(update={part: str(broken)}))
    assert databases(postgres) == before


def test_a_baseline_that_does_not_run_is_named(postgres: Server, settings: Settings, tmp_path: Path) -> None:
    broken = tmp_path / "broken.sql"
    broken.write_text("ALTER TABLE missing ADD COLUMN m int;\n")
    with pytest.raises(BadMigration, match=r"baseline does not run.*line 1.*missing"):
        migration.check(postgres, settings.model_copy(update={"baseline": str(broken)}))


def databases(server: Server) -> list[str]:
    with migration.connect(server.url()) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database ORDER BY 1")
        found = [name for (name,) in cursor.fetchall()]
    connection.close()
    return found
