from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.errors import CouldNotRun
from conformance.migration.rows import Numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.migration.rehearsal import Rehearsal

    Rehearse = Callable[..., Rehearsal]

EVERY_KIND = """
CREATE TYPE mood AS ENUM ('it''s fine', 'bad');
CREATE DOMAIN short AS varchar(3);
CREATE TABLE kinds (
    a bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, b boolean NOT NULL, c smallint NOT NULL UNIQUE,
    d integer NOT NULL, e real NOT NULL, f double precision NOT NULL, g numeric NOT NULL, h numeric(5, 2) NOT NULL,
    i uuid NOT NULL UNIQUE, j json NOT NULL, k jsonb NOT NULL, l bytea NOT NULL, m date NOT NULL, n time NOT NULL,
    o interval NOT NULL, p timestamp NOT NULL, q timestamptz NOT NULL, r inet NOT NULL, s cidr NOT NULL,
    t mood NOT NULL, u text[] NOT NULL, v short NOT NULL, w char(2) NOT NULL, x text NOT NULL UNIQUE, y point,
    z integer GENERATED ALWAYS AS (d + 1) STORED, "Odd ""name" integer NOT NULL
)
"""

TWO_COLUMNS = """
CREATE TABLE a (x int, y text, PRIMARY KEY (x, y));
CREATE TABLE b (p int NOT NULL, q text NOT NULL, FOREIGN KEY (p, q) REFERENCES a)
"""
ONE_TO_ONE = """
CREATE TABLE a (id uuid PRIMARY KEY);
CREATE TABLE b (id uuid PRIMARY KEY REFERENCES a);
CREATE TABLE c (b uuid NOT NULL REFERENCES b, a uuid NOT NULL REFERENCES a, PRIMARY KEY (a, b))
"""
EACH_OTHER = """
CREATE TABLE a (id serial PRIMARY KEY, b integer);
CREATE TABLE b (id serial PRIMARY KEY, a int REFERENCES a);
ALTER TABLE a ADD FOREIGN KEY (b) REFERENCES b
"""


def test_every_usual_kind_of_column_gets_a_value(rehearse: Rehearse) -> None:
    with rehearse(EVERY_KIND).yesterday() as database:
        database.sow(3)
        empty = [str(c) for c in database.schema.columns["kinds"] if None in database.values(c)]
        assert empty == ["kinds.y"]
        assert len(set(database.rows()["kinds"])) == 3


@pytest.mark.parametrize(
    "baseline",
    [
        TWO_COLUMNS,
        ONE_TO_ONE,
        "CREATE TABLE a (id serial PRIMARY KEY, up integer REFERENCES a)",
        EACH_OTHER,
        "CREATE TABLE a (id int PRIMARY KEY, b int REFERENCES a); INSERT INTO a VALUES (1, 1)",
        "CREATE TABLE a (n integer DEFAULT 1)",
    ],
)
def test_foreign_keys_find_their_rows(rehearse: Rehearse, baseline: str) -> None:
    with rehearse(baseline).yesterday() as database:
        brought = sum(len(rows) for rows in database.rows().values())
        database.sow(4)
        assert sum(len(rows) for rows in database.rows().values()) == brought + 4 * len(database.schema.columns)
        database.sow_sparse(4)


def test_a_table_of_its_own_rows_parents_is_sown_with_as_many_as_it_names(rehearse: Rehearse) -> None:
    baseline = (
        "CREATE TABLE users (id serial PRIMARY KEY); CREATE TABLE pages (author int NOT NULL REFERENCES users);"
        "CREATE TABLE profiles (id int PRIMARY KEY REFERENCES users)"
    )
    with rehearse(baseline).yesterday() as database:
        database.grow(["pages"], 1000)
        assert {name: len(rows) for name, rows in database.rows().items()} == {
            "pages": 1000, "profiles": 0, "users": 100,
        }  # fmt: skip
    with rehearse(baseline).yesterday() as database:
        database.grow(["profiles"], 1000)
        assert len(database.rows()["users"]) == 1000


def test_no_two_columns_of_one_type_read_the_same(rehearse: Rehearse) -> None:
    # A migration that copies one column over another must not go unseen.
    with rehearse("CREATE TABLE a (x text, y text, m int, n int)").yesterday() as database:
        database.sow(1)
        assert len({database.values(column)[0] for column in database.schema.columns["a"]}) == 4


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        ("CREATE TABLE a (place point NOT NULL)", "no value of type point"),
        ("CREATE TABLE a (id int PRIMARY KEY, up int NOT NULL REFERENCES a)", "names a row of a"),
        ("CREATE TABLE a (n integer CHECK (n < 0))", "violates check constraint"),
    ],
)
def test_rows_that_cannot_be_made_up_are_no_verdict(rehearse: Rehearse, baseline: str, reason: str) -> None:
    with rehearse(baseline).yesterday() as database, pytest.raises(CouldNotRun, match=reason):
        database.sow(2)


def test_rows_begin_where_no_sequence_is() -> None:
    assert Numbers(1).first >= 1000
