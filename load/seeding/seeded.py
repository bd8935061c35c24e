"""What was seeded: the queue's own words for it, and its figures."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from load.seeding.description import Carrier, Description
from load.seeding.rows import Kind

# Bytes of a row above which PostgreSQL moves its largest values out of line (TOAST_TUPLE_TARGET of 8 KiB pages).
TARGET = 2032


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Counted(_Part):
    """How many rows there are of a kind and family."""

    kind: Kind
    chat: bool
    rows: int


class Stored(_Part):
    """How a carrying column is stored: bytes given, bytes stored (pg_column_size), and where.

    `exact` is false where the server cannot say where a value stands (before PostgreSQL 17) and its size decides.
    """

    carrier: Carrier
    column: str
    rows: int
    bytes_given: int
    bytes_stored: int
    out_of_line: int
    exact: bool

    @property
    def in_line(self) -> int:
        """Rows whose value stands in the row."""
        return self.rows - self.out_of_line

    @property
    def achieved(self) -> float | None:
        """Bytes stored over bytes given: 1 where nothing was compressed; None where nothing was given."""
        return self.bytes_stored / self.bytes_given if self.bytes_given else None


class Seeded(_Part):
    """A queue that stands: its run, what was given, how long it took, and how it is stored.

    `declaration` is what a worker declares (fields of a pop) to have the rows that wait and not those that are
    refused; `keys` are API keys of the queue's users. `bytes_given` went to COPY, or in bodies to the target.
    """

    run: str
    way: Literal["copy", "calls"]
    description: Description
    counts: tuple[Counted, ...]
    bytes_given: int
    bytes_estimated: int
    seconds_generating: float
    seconds_writing: float
    stored: tuple[Stored, ...]
    models: tuple[str, ...]
    keys: tuple[str, ...]
    declaration: dict[str, Any]

    @property
    def bytes_per_second(self) -> float:
        """What the database (or the target) took a second, generation not counted."""
        return self.bytes_given / max(self.seconds_writing, 1e-9)

    @property
    def rows_per_second(self) -> float:
        return self.description.total / max(self.seconds_writing, 1e-9)

    @property
    def collapsed(self) -> tuple[Stored, ...]:
        """The columns whose payload was to leave the row and, compressed, stayed in it."""
        if self.description.payload.bytes[0] <= TARGET:
            return ()
        return tuple(column for column in self.stored if column.in_line)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of any figure on this queue must know."""
        return tuple(
            f"The payload collapsed: in {column.in_line} of {column.rows} rows {column.column} of at least "
            f"{self.description.payload.bytes[0]} bytes stands in the row, at {column.achieved:.3f} of its size. "
            "Raise payload.incompressible."
            for column in self.collapsed
        )

    @property
    def summary(self) -> str:
        """The figures, in lines for a terminal."""
        kinds = ", ".join(f"{c.rows} {'chat' if c.chat else 'text'} {c.kind}" for c in self.counts)
        took = (
            f"{self.bytes_given / 1e6:.1f} MB: {self.seconds_generating:.2f} s generated, {self.seconds_writing:.2f} s "
            f"written ({self.bytes_per_second / 1e6:.1f} MB/s, {self.rows_per_second:.0f} rows/s, by {self.way})"
        )
        lines = [f"run {self.run}: {kinds}", took]
        for column in self.stored:
            share = "" if column.achieved is None else f", {column.achieved:.3f} of what was given"
            counted = "" if column.exact else ", by their size"
            lines.append(
                f"{column.column}: {column.bytes_stored / 1e6:.1f} MB stored{share}; "
                f"{column.out_of_line} rows out of line, {column.in_line} in line{counted}"
            )
        return "\n".join((*lines, *self.remarks))
