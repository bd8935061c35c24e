"""A queue is described once; its rows follow by number, the same each time."""

from __future__ import annotations

import subprocess
import sys
import uuid
import zlib
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from load.errors import BadQueue
from load.seeding.description import Description, Expired, Payload, Refused, parse, read
from load.seeding.rows import Kind, expected, row, rows
from load.seeding.text import OFFSETS, UNIT, pool

SIZES = st.integers(0, 3000)
DESCRIPTIONS = st.builds(
    Description,
    rows=st.integers(1, 60),
    seed=st.integers(0, 2**70),
    chat_share=st.floats(0, 1),
    models=st.integers(1, 5),
    users=st.integers(1, 5),
    priorities=st.lists(st.integers(-100, 100), min_size=1, max_size=3).map(tuple),
    payload=st.builds(
        Payload, bytes=st.tuples(SIZES, SIZES).map(lambda pair: tuple(sorted(pair))), incompressible=st.floats(0, 1)
    ),
    refused=st.builds(
        Refused, rows=st.integers(0, 20), by=st.sampled_from(["max_length", "max_context_length", "nsfw", "model"])
    ),
    expired=st.builds(Expired, rows=st.integers(0, 20)),
)


@given(DESCRIPTIONS, st.data())
def test_a_row_is_the_same_whenever_and_in_whatever_order_it_is_asked_for(
    description: Description, data: st.DataObject
) -> None:
    all_rows = list(rows(description))
    assert len(all_rows) == description.total
    number = data.draw(st.integers(0, description.total - 1))
    again = Description.model_validate_json(description.model_dump_json())
    assert row(again, number) == all_rows[number]


@given(DESCRIPTIONS)
def test_a_row_stays_within_its_description(description: Description) -> None:
    small, large = description.payload.bytes
    for one in rows(description):
        assert small <= one.size <= large
        assert 0 <= one.user < description.users
        assert -1 <= one.model < description.models
        assert (one.model == -1) == (one.kind is Kind.REFUSED and description.refused.by == "model")
        assert one.priority in description.priorities
        assert uuid.UUID(one.id).version == 4
        assert one.offset < OFFSETS


@given(DESCRIPTIONS)
def test_what_stands_ahead_is_older_and_at_the_highest_priority(description: Description) -> None:
    in_order = sorted(rows(description), key=lambda one: (-one.priority, one.number))
    kinds = [one.kind for one in in_order]
    ahead = description.expired.rows + description.refused.rows
    assert kinds == [Kind.EXPIRED] * description.expired.rows + [Kind.REFUSED] * description.refused.rows + (
        [Kind.WAITING] * (description.total - ahead)
    )


@given(DESCRIPTIONS)
def test_the_counts_are_known_without_the_rows(description: Description) -> None:
    assert Counter((one.kind, one.is_chat) for one in rows(description)) == expected(description)


def test_a_seed_changes_ids_and_payloads() -> None:
    one, other = (list(rows(Description(rows=1000, seed=seed))) for seed in (1, 2))
    assert not {r.id for r in one} & {r.id for r in other}
    assert len({r.id for r in one}) == 1000
    assert pool(1, 1.0) != pool(2, 1.0)


def test_users_models_and_priorities_are_all_used() -> None:
    description = Description(rows=2000, users=7, models=5, priorities=(0, 10, 20), payload=Payload(bytes=(2000, 2100)))
    made = list(rows(description))
    for values, wanted in (
        (Counter(r.user for r in made), 7),
        (Counter(r.model for r in made), 5),
        (Counter(r.priority for r in made), 3),
        (Counter(r.size for r in made), 101),
    ):
        assert len(values) == wanted
        assert max(values.values()) < 4 * 2000 / wanted


def test_another_process_makes_the_same_rows() -> None:
    """No hash of Python's that differs from process to process has a part in it."""
    code = (
        "from load.seeding.description import Description; from load.seeding.rows import rows; "
        "from load.seeding.text import pool; import zlib; "
        "print(zlib.crc32(repr(list(rows(Description(rows=50, seed=9)))).encode()), zlib.crc32(pool(9, 0.5).encode()))"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    here = [zlib.crc32(repr(list(rows(Description(rows=50, seed=9)))).encode()), zlib.crc32(pool(9, 0.5).encode())]
    assert [int(number) for number in there] == here


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_any_slice_of_the_pool_has_the_share_of_incompressible_bytes(share: float) -> None:
    text = pool(3, share)
    for offset in (0, 77, 12_345):
        cut = text[offset : offset + 64 * UNIT]
        assert cut.isascii()
        assert not set(cut) & set('\\"\t\n\r')
        # Base 64 has six bits a byte, and so much deflate may win of them at most.
        packed = len(zlib.compress(cut.encode(), 9)) / len(cut)
        assert 0.74 * share - 0.02 <= packed <= 0.80 * share + 0.06


def test_sizes_are_numbers_texts_or_ranges() -> None:
    for written, sizes in (("0", (0, 0)), ('"64 KiB"', (65536, 65536)), ('[2000, "1 MiB"]', (2000, 1048576))):
        assert parse(f"rows = 1\n[payload]\nbytes = {written}", "q").payload.bytes == sizes


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rows = ", "not valid TOML"),
        ("rows = 0", "a queue has at least one row"),
        ("rows = -1", "at rows"),
        ("", "at rows"),
        ("rows = 1\nrow = 2", "unknown key: row"),
        ("rows = 1\n[payload]\nsize = 2", "unknown key: payload.size"),
        ("rows = 1\nchat_share = 1.5", "at chat_share"),
        ("rows = 1\nchat_share = nan", "at chat_share"),
        ("rows = 1\n[payload]\nbytes = 2097152", "at payload.bytes"),
        ('rows = 1\n[payload]\nbytes = "64 KB"', "at payload.bytes"),
        ("rows = 1\n[payload]\nbytes = [3, 2]", "from the smaller to the larger"),
        ('rows = 1\n[payload]\ncarried_by = ["nothing"]', "at payload.carried_by"),
        ("rows = 1\n[payload]\ncarried_by = []", "at payload.carried_by"),
        ('rows = 1\n[refused]\nrows = 1\nby = "luck"', "at refused.by"),
        ('rows = 1\n[refused]\nrows = 1\nby = "family"', "chat_share is 0 or 1, not 0.5"),
        ("rows = 1\nmax_length = 512\nmax_context_length = 100", "max_length is at most max_context_length"),
    ],
)
def test_a_bad_description_is_told_in_a_sentence(text: str, told: str) -> None:
    with pytest.raises(BadQueue) as caught:
        parse(text, "mine.toml")
    assert "mine.toml" in caught.value.what
    assert told in caught.value.what
    assert caught.value.what.endswith(".")
    assert caught.value.hint.endswith(".")


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(BadQueue, match="cannot be read"):
        read(Path("no-such-queue.toml"))


def test_a_description_is_frozen() -> None:
    description = Description(rows=1)
    with pytest.raises(ValidationError):
        description.rows = 2  # type: ignore[misc]
