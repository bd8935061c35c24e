from __future__ import annotations

import pytest

from fixtures.counting.fingerprints import executed, fingerprint, prepared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", "SELECT ?"),
        ("SELECT  a.b2,\n\t-3.5e-7 FROM t1", "SELECT a.b2, ? FROM t1"),
        ("SELECT 'it''s', E'\\'q\\\\', $1, $$body$$, $a$ $$ $a$", "SELECT ?"),
        ("SELECT x -- 'not a text'\n FROM t /* nor 1 */", "SELECT x FROM t"),
        ("SELECT \"1 'it\" FROM \"T 2\"", "SELECT \"1 'it\" FROM \"T 2\""),
        ("SELECT a FROM t WHERE a IN (1, 2,3)", "SELECT a FROM t WHERE a IN (?)"),
        ("SELECT a FROM t WHERE b = ANY (ARRAY['x', 'y'])", "SELECT a FROM t WHERE b = ANY (?)"),
        ("INSERT INTO t VALUES (1, 'a'), (2, NULL) RETURNING id", "INSERT INTO t VALUES (?) RETURNING id"),
        ("SELECT a IS NOT NULL, b IS NULL, c = NULL, true", "SELECT a IS NOT NULL, b IS NULL, c = ?"),
        ("UPDATE t SET a = 'cut off in the midd", "UPDATE t SET a = ?"),
        ("UPDATE t SET a = '" + "x" * 300_000 + "' WHERE id = 7", "UPDATE t SET a = ? WHERE id = ?"),
    ],
)  # fmt: skip
def test_a_fingerprint_has_no_values(text: str, expected: str) -> None:
    assert fingerprint(text) == expected


def test_statements_that_differ_in_more_than_values_differ() -> None:
    texts = [
        "SELECT a FROM t",
        "SELECT b FROM t",
        "SELECT a FROM u",
        "SELECT a, b FROM t",
        "SELECT a FROM t WHERE a = 1",
    ]
    assert len({fingerprint(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PREPARE One AS SELECT 1", ("one", "SELECT 1")),
        ('prepare "One"(int, text) as SELECT $1', ("One", "SELECT $1")),
        ("SELECT 'PREPARE one AS SELECT 1'", None),
    ],
)
def test_what_is_prepared_is_known_by_its_name(text: str, expected: tuple[str, str] | None) -> None:
    assert prepared(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("EXECUTE one", "SELECT ?"),
        ("EXECUTE ONE(1, 'a(b)')", "SELECT ?"),
        ("BEGIN;EXECUTE one(ARRAY['a', 'b'], '{}', NULL)", "BEGIN;SELECT ?"),
        ("EXECUTE other(1)", "EXECUTE other(?)"),
        ("SELECT execute one", "SELECT execute one"),
    ],
)
def test_an_execute_stands_for_what_it_executes(text: str, expected: str) -> None:
    assert executed(fingerprint(text), {"one": "SELECT ?"}) == expected
