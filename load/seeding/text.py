"""The payload's text: made once, and sliced ever after."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from load.seeding.description import LARGEST_PAYLOAD

# Slices begin anywhere in the first of these bytes, so that payloads differ from row to row.
OFFSETS = 1024 * 1024
# In each unit the incompressible bytes come first. It is short enough for the look that PostgreSQL's compression takes
# (it gives up where nothing of the first 1,024 bytes shrinks), and long enough that a run costs next to nothing.
UNIT = 256
# Neither a backslash nor a quote: nothing is to be escaped in JSON or in COPY. Six bits a byte, with no pairs to find.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+ "


@lru_cache(maxsize=4)
def pool(seed: int, incompressible: float) -> str:
    """ASCII text of which any slice holds that share of incompressible bytes; the same for the same seed."""
    units, hard = (OFFSETS + LARGEST_PAYLOAD) // UNIT, round(UNIT * incompressible)
    drawn = hashlib.shake_256(f"payload {seed}".encode()).digest(units * hard).translate(_LETTERS * 4)
    easy = b" " * (UNIT - hard)
    return b"".join(drawn[at * hard : (at + 1) * hard] + easy for at in range(units)).decode("ascii")
