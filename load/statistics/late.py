"""SciPy's statistics, loaded when they are first needed: that takes seconds, which nobody waits for who only lists."""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def stats() -> Any:
    """The module `scipy.stats`."""
    from scipy import stats as loaded  # noqa: PLC0415

    return loaded
