"""A line through exact counts: how many bytes cross the wire for each byte of payload (LOD-06)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, ConfigDict

from load.errors import BadMeasurements
from load.statistics.late import stats


class Amplification(BaseModel):
    """Bytes counted per byte of payload, to three decimals.

    `exact` says that each payload gave the same count every time; `largest_residual` is how many bytes the count that
    fits worst lies off the line: a large one tells of a threshold or a compression, not of a line.
    """

    model_config = ConfigDict(frozen=True)

    slope: float
    intercept_bytes: float
    largest_residual: float
    points: int
    exact: bool


def amplification(counts: Sequence[tuple[int, int]]) -> Amplification:
    """The line through (payload bytes, bytes counted), by least squares, of the least count of each payload.

    A call that met a connection on which nothing was prepared yet counts more: `exact` and the residual tell of it.

    Raises:
        BadMeasurements: fewer than three payload sizes.
    """
    sizes = {payload for payload, _ in counts}
    if len(sizes) < 3:
        raise BadMeasurements(
            f"Counts at {len(sizes)} payload sizes do not show whether they lie on a line.", "Count at three or more."
        )
    payload, counted = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    least = sorted({size: min(count for payload, count in counts if payload == size) for size in sizes}.items())
    line = stats().linregress(*np.array(least, dtype=float).T)
    off = np.abs(counted - (line.intercept + line.slope * payload))
    return Amplification(
        # Adding 0.0 makes 0 of -0.
        slope=round(float(line.slope), 3) + 0.0,
        intercept_bytes=float(line.intercept),
        largest_residual=float(off.max()),
        points=len(counts),
        exact=len(set(counts)) == len(sizes),
    )
