"""A failing story as steps of a script: calls in their order, those made at once together, waits as waits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from conformance.evidence.told import Call, Told

# Seconds between two calls from which on the check waited, and did not only think.
_PAUSE = 0.4
# Seconds between two looks at the same thing (less than the stage's).
_GLANCE = 0.04
# As many like calls in a row are looks at something that only looking shows.
_LOOKS = 4


@dataclass
class Step:
    """What is told at once: one call or statement, or calls side by side.

    `after` are the seconds that are waited before. `again` are the seconds for which a look is repeated until it sees
    what was seen last; 0 looks once.
    """

    told: list[Told]
    after: int = 0
    again: int = 0
    moment: float = field(default=0.0, repr=False)


def steps(told: Sequence[tuple[Told, float, float]]) -> list[Step]:
    """The steps of what was told; each with the moments in which it began and ended, in the order of the former."""
    found: list[Step] = []
    ended = -math.inf
    row: list[tuple[Call, float, float]] = []
    for one, begin, end in told:
        if row and not _like(row[-1], (one, begin)):
            ended = _close(row, found, ended)
            row = []
        if isinstance(one, Call) and (row or not found or begin >= ended):
            row.append((one, begin, end))
            continue
        if isinstance(one, Call) and begin < ended:
            found[-1].told.append(one)
        else:
            found.append(Step([one], _wait(begin, ended)))
        ended = max(ended, end)
    _close(row, found, ended)
    return found


def _like(last: tuple[Call, float, float], following: tuple[Told, float]) -> bool:
    one, other = last[0].exchange, following[0]
    return (
        isinstance(other, Call)
        and following[1] >= last[2] + _GLANCE
        and (one.method, one.url, one.request_body)
        == (other.exchange.method, other.exchange.url, other.exchange.request_body)
        and dict(one.request_headers) == dict(other.exchange.request_headers)
    )


def _close(row: list[tuple[Call, float, float]], found: list[Step], ended: float) -> float:
    """Add a row of like calls: each for itself, or as one look."""
    if len(row) < (_LOOKS if row and row[0][0].exchange.method != "GET" else 2):
        for call, begin, end in row:
            found.append(Step([call], _wait(begin, ended)))
            ended = max(ended, end)
        return ended
    (_, begin, _), (last, _, end) = row[0], row[-1]
    span = math.ceil(end - begin)
    if _alike(row[0][0], last):
        found.append(Step([last], span + 1))
    else:
        found.append(Step([last], _wait(begin, ended), again=3 * span + 5))
    return max(ended, end)


def _alike(first: Call, last: Call) -> bool:
    """Whether waiting changed nothing that was looked at."""
    seen = [[value for _, _, _, _, value in call.exchange.asked] for call in (first, last)]
    return first.exchange.status == last.exchange.status and seen[0] == seen[1]


def _wait(begin: float, ended: float) -> int:
    gap = begin - ended
    return math.ceil(gap) if _PAUSE < gap < math.inf else 0
