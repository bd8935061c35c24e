"""Rows by number: row i of a queue is a function of its description and i alone."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from load.seeding.description import Description
from load.seeding.text import OFFSETS

_WORD = 2**64 - 1


class Kind(StrEnum):
    """What becomes of a row: the worker that the queue is made for takes what waits, and nothing else."""

    EXPIRED = "expired"
    REFUSED = "refused"
    WAITING = "waiting"


class Row(NamedTuple):
    """One row: its id (32 hexadecimal digits of a random UUID), place in time, and what it carries.

    `user` and `model` are indexes, `model` -1 a model that the worker does not serve; `size` and `offset` cut its
    payload out of the pool.
    """

    number: int
    id: str
    kind: Kind
    is_chat: bool
    user: int
    model: int
    priority: int
    size: int
    offset: int


def draw(seed: int, number: int) -> int:
    """64 bits that look random (splitmix64, Steele et al. 2014): the same on every machine and Python."""
    mixed = (seed * 0xD1342543DE82EF95 + number * 0x9E3779B97F4A7C15) & _WORD
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) & _WORD
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) & _WORD
    return mixed ^ mixed >> 31


class Rows:
    """The rows of a description; what they have in common is worked out once, for there may be a million of them."""

    def __init__(self, description: Description) -> None:
        small, large = description.payload.bytes
        self._total, self._seed = description.total, description.seed
        self._refused_from = description.expired.rows
        self._waiting_from = description.expired.rows + description.refused.rows
        self._by_family = description.refused.by == "family"
        self._by_model = description.refused.by == "model"
        self._share = description.chat_share
        self._users, self._models = description.users, description.models
        self._priorities, self._ahead = description.priorities, max(description.priorities)
        self._small, self._sizes = small, large - small + 1

    def __iter__(self) -> Iterator[Row]:
        """All of them, the oldest first."""
        return map(self.row, range(self._total))

    def row(self, number: int) -> Row:
        """Row `number`, from 0, the oldest."""
        # Three draws a row, each from a place of its own in the sequence.
        seed, place = self._seed, 3 * number
        first, second, third = draw(seed, place), draw(seed, place + 1), draw(seed, place + 2)
        if number >= self._waiting_from:
            kind, since = Kind.WAITING, self._waiting_from
        elif number >= self._refused_from:
            kind, since = Kind.REFUSED, self._refused_from
        else:
            kind, since = Kind.EXPIRED, 0
        waits, refused, priorities = kind is Kind.WAITING, kind is Kind.REFUSED, self._priorities
        return Row(
            number,
            # The version and the variant of a random UUID, which a target may look at.
            f"{first & ~0xF000 | 0x4000:016x}{second & (2**62 - 1) | 2**63:016x}",
            kind,
            self._is_chat(number - since, opposite=refused and self._by_family),
            third % self._users,
            -1 if refused and self._by_model else (third >> 16) % self._models,
            priorities[(third >> 32) % len(priorities)] if waits else self._ahead,
            self._small + (second >> 8) % self._sizes,
            first % OFFSETS,
        )

    def _is_chat(self, place: int, *, opposite: bool) -> bool:
        """Evenly spread: of the first m rows of a kind m times the share, to within one."""
        share = self._share
        return share == 0 if opposite else int((place + 1) * share) > int(place * share)


def row(description: Description, number: int) -> Row:
    """Row `number` of a description, from 0, the oldest, to `description.total - 1`."""
    return Rows(description).row(number)


def rows(description: Description) -> Iterator[Row]:
    """All rows, the oldest first."""
    return iter(Rows(description))


def expected(description: Description) -> dict[tuple[Kind, bool], int]:
    """How many rows there are by kind and whether they are chat; only what there is."""
    counted: dict[tuple[Kind, bool], int] = {}
    refused_share = description.chat_share
    if description.refused.by == "family":
        refused_share = 1 - refused_share
    for kind, number, share in (
        (Kind.EXPIRED, description.expired.rows, description.chat_share),
        (Kind.REFUSED, description.refused.rows, refused_share),
        (Kind.WAITING, description.rows, description.chat_share),
    ):
        chat = int(number * share)
        counted |= {(kind, True): chat, (kind, False): number - chat}
    return {key: number for key, number in counted.items() if number}
