"""What is swept: the shape of the queue at each level, and which pops are made of it. Pure, nothing is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from load.errors import BadPlan
from load.probes.facts import Fact
from load.seeding import Description, Payload, Refused

KIB = 1024
# A queue that is measured must not expire meanwhile.
_LIFETIME = 86_400
# What is handed out is small whatever waits: a job's own payload has to be read.
_HEAD_ROWS, _HEAD_BYTES = 2, 256


class Branch(StrEnum):
    """What a pop brings: each is a path of its own through a server.

    Two bring nothing: nobody asked for a model of the unasked pop's, and every request is too long for the empty one.
    """

    UNASKED = "unasked pop"
    EMPTY = "empty pop"
    TEXT = "text job"
    CHAT = "chat job"


NOTHING = frozenset({Branch.UNASKED, Branch.EMPTY})
# A server need not look at the queue to know that nobody asked for a model: what grows there is the depth alone.
_LOOKING = (Branch.EMPTY, Branch.TEXT, Branch.CHAT)


class Axis(StrEnum):
    """What grows from level to level."""

    PAYLOAD = "payload"
    DEPTH = "depth"
    REFUSED = "refused"
    AHEAD = "head-of-line"


class Cell(Fact):
    """The shape of a queue, the first first: refused rows, one small text and one small chat request, what waits.

    `payload_bytes` are carried by each refused and each waiting row, in the messages and in the flattened copies; not
    by the `tail`, further rows behind all these.
    `ahead` makes the refused rows those of the other family, of a worker that takes text alone; then all is text else.
    """

    payload_bytes: int
    waiting: int
    refused: int = 0
    ahead: Literal["", "chat", "text"] = ""
    tail: int = 0

    def queues(self, seed: int = 1) -> tuple[Description, ...]:
        """The queues that make it, in the order in which they are written."""
        payload = Payload(bytes=(self.payload_bytes, self.payload_bytes))
        if self.ahead:
            refused = Refused(rows=self.refused, by="family" if self.ahead == "chat" else "max_context_length")
            return (_queue(self.waiting, seed, 0, payload, refused),)
        # By priority, for the many rows of a deep queue claim to be older than when they were written.
        parts = [_queue(_HEAD_ROWS, seed + 1, 0.5, Payload(bytes=(_HEAD_BYTES, _HEAD_BYTES)), Refused(), priority=1)]
        if self.refused:
            rows = Refused(rows=self.refused, by="max_context_length")
            parts.insert(0, _queue(0, seed, 0.5, payload, rows, priority=2))
        if self.waiting > _HEAD_ROWS:
            parts.append(_queue(self.waiting - _HEAD_ROWS, seed + 2, 0.5, payload, Refused()))
        if self.tail:
            small = Payload(bytes=(_HEAD_BYTES, _HEAD_BYTES))
            parts.append(_queue(self.tail, seed + 3, 0.5, small, Refused(), priority=-1))
        return tuple(parts)


def _queue(
    rows: int, seed: int, chat: float, payload: Payload, refused: Refused, *, priority: int = 0
) -> Description:  # fmt: skip
    return Description(
        rows=rows, seed=seed, chat_share=chat, payload=payload, refused=refused, priorities=(priority,),
        lifetime_seconds=_LIFETIME,
    )  # fmt: skip


@dataclass(frozen=True)
class Sweep:
    """One axis: the cell at each of its levels, and the pops that are made."""

    axis: Axis
    cells: dict[float, Cell]
    branches: tuple[Branch, ...] = _LOOKING
    names: dict[float, str] = field(default_factory=dict)

    def name(self, level: float) -> str:
        """A level as a person reads it."""
        return self.names.get(level, f"{level:,.0f}")


PAYLOADS = (1 * KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)
DEPTHS = (100, 1_000, 10_000, 100_000)
REFUSED = (0, 10, 100, 1_000, 10_000)
AHEAD = 100_000

QUICK = {
    Axis.PAYLOAD: (1 * KIB, 16 * KIB, 256 * KIB),
    Axis.DEPTH: (100, 1_000, 10_000),
    Axis.REFUSED: (0, 100, 1_000),
    Axis.AHEAD: (10_000,),
}
FULL = {Axis.PAYLOAD: PAYLOADS, Axis.DEPTH: DEPTHS, Axis.REFUSED: REFUSED, Axis.AHEAD: (AHEAD,)}

# The other two, where they do not vary.
BASE_PAYLOAD, BASE_DEPTH, BASE_REFUSED = 1 * KIB, 40, 0


def sweep(
    axis: Axis, levels: Sequence[int], *, payload: int = BASE_PAYLOAD, depth: int = BASE_DEPTH,
    refused: int = BASE_REFUSED,
) -> Sweep:  # fmt: skip
    """A sweep over the levels of an axis, with the others held at these values.

    Raises:
        BadPlan: too few levels for a slope, or rows for which there is no room in a cell.
    """
    base = Cell(payload_bytes=payload, waiting=depth, refused=refused)
    if axis is Axis.AHEAD:
        cell = base.model_copy(update={"waiting": 1, "refused": levels[0]})
        # 0 and 1 are names here, no quantities.
        two = {0.0: cell.model_copy(update={"ahead": "text"}), 1.0: cell.model_copy(update={"ahead": "chat"})}
        return Sweep(axis, two, (Branch.TEXT,), {0.0: f"{levels[0]:,} text", 1.0: f"{levels[0]:,} chat"})
    if len(set(levels)) < 3:
        raise BadPlan(f"{len(set(levels))} levels make no slope.", "Give three or more.")
    if axis is Axis.DEPTH and min(levels) < _HEAD_ROWS:
        raise BadPlan(f"A queue of {min(levels)} rows has no text and chat job.", f"Give {_HEAD_ROWS} or more.")
    changed = {Axis.PAYLOAD: "payload_bytes", Axis.DEPTH: "waiting", Axis.REFUSED: "refused"}[axis]
    cells = {float(level): base.model_copy(update={changed: level}) for level in sorted(set(levels))}
    names = {float(level): f"{level / KIB:g} KiB" for level in levels} if axis is Axis.PAYLOAD else {}
    return Sweep(axis, cells, tuple(Branch) if axis is Axis.DEPTH else _LOOKING, names)
