"""Lays out the exchanges of a check as a drawing in lanes: who asked the server what, and what it answered, in time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.text import exchange_line, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.model import Exchange

_HEAD = 48
_STEP = 30


@dataclass(frozen=True)
class _Measure:
    """How wide a lane is and how long its texts may be: a crowd gets narrow lanes."""

    lane: int
    name: int
    label: int
    parts: int

    @property
    def side(self) -> int:
        # The times stand left of the first lane.
        return self.lane // 2 + 30


_WIDE, _NARROW = _Measure(260, 26, 40, 3), _Measure(124, 12, 18, 1)
_CROWD = 5

# What only a worker does, by the profile's name of the call or by the end of AI Horde's routes.
_WORKERS_CALLS = frozenset({"pop", "reply", "progress", "workers", "modify_worker"})
_WORKERS_ROUTES = re.compile(r"/(pop|submit|progress|workers)(\?|/|$)")


@dataclass(frozen=True)
class Lane:
    """A line downwards that stands for one actor; `x` is its place."""

    name: str
    kind: str
    x: int


@dataclass(frozen=True)
class Arrow:
    """One arrow from lane to lane: a request, or its answer; `tone` is `ask`, `good`, `bad` or `none`."""

    y: int
    start: int
    end: int
    label_x: float
    label: str
    tone: str
    time: str
    said: str
    deciding: bool

    @property
    def tip(self) -> str:
        """The three corners of its head."""
        back = self.end - 8 if self.end > self.start else self.end + 8
        return f"{self.end},{self.y} {back},{self.y - 4} {back},{self.y + 4}"


@dataclass(frozen=True)
class Drawing:
    """A drawing: its lanes, its arrows from the first to the last, its size."""

    lanes: list[Lane]
    arrows: list[Arrow]
    box: int
    width: int
    height: int


def sequence(exchanges: Sequence[Exchange], deciding: frozenset[int] = frozenset()) -> Drawing | None:
    """The drawing of exchanges; requesters stand left of the server, workers right. None where there are none.

    `deciding` are the places of those that decided the verdict. What happened at once shows as arrows that cross.
    """
    if not exchanges:
        return None
    crowd = len({exchange.actor for exchange in exchanges}) >= _CROWD
    measure = _NARROW if crowd else _WIDE
    lanes = _lanes(exchanges, measure)
    place = {lane.name: lane.x for lane in lanes}
    moments: list[tuple[float, int, bool]] = []
    for index, exchange in enumerate(exchanges):
        moments += [(exchange.started, index, False), (exchange.started + exchange.seconds, index, True)]
    begun = min(exchange.started for exchange in exchanges)
    arrows = []
    for row, (moment, index, answered) in enumerate(sorted(moments)):
        exchange = exchanges[index]
        label, tone = _answer(exchange, measure) if answered else (_asked(exchange, measure), "ask")
        actor, server = place[_named(exchange, measure)], place[_SERVER]
        start, end = (server, actor) if answered else (actor, server)
        # Beside the actor: in the middle of a long arrow it would stand in somebody else's lane.
        half = measure.lane / 2
        arrows.append(
            Arrow(
                y=_HEAD + 26 + row * _STEP, start=start, end=end,
                label_x=actor - half if actor > server else actor + half, label=label, tone=tone,
                time=f"{(moment - begun) * 1000:.0f} ms", said=one_line(exchange_line(exchange), 300),
                deciding=answered and index in deciding,
            )
        )  # fmt: skip
    return Drawing(
        lanes, arrows, measure.lane - 20 if crowd else 200,
        2 * measure.side + (len(lanes) - 1) * measure.lane, _HEAD + 26 + len(arrows) * _STEP,
    )  # fmt: skip


# The lane between them; a no-break space, so that no actor of that name is taken for it.
_SERVER = "the\xa0server"


def _lanes(exchanges: Sequence[Exchange], measure: _Measure) -> list[Lane]:
    works: dict[str, bool] = {}
    for exchange in exchanges:
        name = _named(exchange, measure)
        works[name] = works.get(name, False) or _is_work(exchange)
    order = [
        *((name, "requester") for name, worker in works.items() if not worker),
        (_SERVER, "server"),
        *((name, "worker") for name, worker in works.items() if worker),
    ]
    return [Lane(name, kind, measure.side + index * measure.lane) for index, (name, kind) in enumerate(order)]


def _is_work(exchange: Exchange) -> bool:
    if exchange.operation:
        return exchange.operation in _WORKERS_CALLS
    return bool(_WORKERS_ROUTES.search(exchange.url))


def _named(exchange: Exchange, measure: _Measure) -> str:
    name = one_line(exchange.actor, 200)
    # Names of one kind differ at their ends.
    return name if len(name) <= measure.name else f"…{name[1 - measure.name :]}"


def _asked(exchange: Exchange, measure: _Measure) -> str:
    path = exchange.url.partition("://")[2].partition("/")[2]
    parts = [part if len(part) < 30 else f"{part[:8]}…" for part in path.split("/")[-measure.parts :]]
    return one_line(f"{exchange.method} {'/'.join(parts)}", measure.label)


def _answer(exchange: Exchange, measure: _Measure) -> tuple[str, str]:
    if exchange.status is None:
        return one_line(exchange.error or "no answer", measure.label), "none"
    return f"{exchange.status} after {exchange.seconds * 1000:.0f} ms", "bad" if exchange.status >= 400 else "good"
