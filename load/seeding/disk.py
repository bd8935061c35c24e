"""Whether there is room for a queue, asked before its first row is written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy

from conformance.profile import Profile
from load.errors import QueueTooLarge
from load.seeding.description import Description

# Measured on the reference's tables: a row without payload, with its models and its entries in all indexes.
ROW = 1100
# A table grows by many pages at once.
_GROWTH = 1024 * 1024
# A value out of line stands in pieces of 1,996 bytes, each with a header and an entry in an index.
_PIECES = 1.07
# pglz writes a control bit for each byte that it cannot shorten, and gives up where it does not win a quarter.
_CONTROL, _RUNS, _WORTH_IT = 1.125, 0.02, 0.75
# The log of what is written is recycled above max_wal_size (1 GiB by default).
_LOG = 1024**3


@dataclass(frozen=True)
class Room:
    """Bytes that a queue may take, and how that is known."""

    bytes: int
    why: str


def estimate(description: Description, profile: Profile) -> int:
    """Bytes that a queue takes on disk, with indexes, values out of line and the write-ahead log."""
    columns = profile.seeding.carriers
    payload = description.payload
    share = payload.incompressible * _CONTROL + _RUNS
    size = payload.mean * _PIECES * (share if share < _WORTH_IT else 1)
    # A text row carries no messages and no extras.
    shares = (description.chat_share if c in {"messages", "chat_extras"} else 1 for c in payload.carriers if columns[c])
    stored = _GROWTH + int(description.total * (ROW + size * sum(shares)))
    return stored + min(stored, _LOG)


def check(description: Description, profile: Profile, room: Room) -> int:
    """The estimate, where there is room for it.

    Raises:
        QueueTooLarge: there is not; nothing has been written.
    """
    needed = estimate(description, profile)
    if needed > room.bytes:
        raise QueueTooLarge(
            f"The queue of {description.total} rows needs about {_told(needed)}, and {room.why} {_told(room.bytes)}.",
            "Take fewer rows or a smaller payload; no row was written.",
        )
    return needed


def room(
    database_url: str,
    directory: str | None,
    limit: int,
    free: Callable[[str], int] = lambda path: shutil.disk_usage(path).free,
) -> Room:
    """What is free on the database's disk where that is this machine's, else the configured limit in bytes.

    `directory` is the server's data directory, as far as it tells.
    """
    if directory and _is_here(database_url) and Path(directory).is_absolute():
        try:
            return Room(free(directory), f"its disk ({directory}) has")
        except OSError:
            # A container's folder, say: the server is near, its disk is not.
            pass
    return Room(limit, "the disk cannot be seen from here; the limit (largest_bytes in [seeding]) is")


def _is_here(database_url: str) -> bool:
    url = sqlalchemy.make_url(database_url)
    host = str(url.host or url.query.get("host", ""))
    return host in {"", "localhost", "127.0.0.1", "::1"} or host.startswith(os.sep)


def _told(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
