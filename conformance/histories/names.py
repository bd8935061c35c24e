"""What a witness calls things: requests r1, r2 …, generations g1, g2 … in the order in which the history meets them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

from conformance.histories.model import History, Operation, Pop, Submit

# More hand-outs than these one sentence does not list.
_LISTED = 6


class Names:
    """Short names, with the id beside each; times count from the history's first call."""

    def __init__(self, history: History) -> None:
        self._start = min((act.called for act in history.operations), default=0.0)
        self._requests: dict[str, int] = {}
        self._generations: dict[str, int] = {}
        told = [act for act in history.operations if isinstance(act, Submit | Pop)]
        for act in sorted(told, key=attrgetter("called")):
            if isinstance(act, Submit):
                self._requests.setdefault(act.request, len(self._requests) + 1)
            else:
                for id in act.generations:
                    self._generations.setdefault(id, len(self._generations) + 1)

    def request(self, id: str) -> str:
        """`r3 (id)`."""
        return _named(f"r{self._requests.setdefault(id, len(self._requests) + 1)}", id)

    def generation(self, id: str) -> str:
        """`g7 (id)`."""
        return _named(f"g{self._generations.setdefault(id, len(self._generations) + 1)}", id)

    def moment(self, moment: float) -> str:
        """`1.204 s`."""
        return f"{moment - self._start:.3f} s"

    def when(self, act: Operation) -> str:
        """`(1.204 s to 1.230 s)`."""
        return f"({self.moment(act.called)} to {self.moment(act.returned)})"

    def who(self, act: Operation) -> str:
        """`w1 (1.204 s to 1.230 s)`."""
        return f"{act.actor} {self.when(act)}"

    def handed(self, pops: Sequence[Pop]) -> str:
        """`g1 (id) to w1 (…), g2 (id) to w2 (…)`."""
        told = [f"{self.generation(id)} to {self.who(pop)}" for pop in pops for id in pop.generations]
        rest = len(told) - _LISTED
        return ", ".join(told[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")


def _named(short: str, id: str) -> str:
    return short if short == id else f"{short} ({id})"


def listed(parts: Iterable[str]) -> str:
    """`a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def times(number: int) -> str:
    """`once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def counted(number: int, noun: str) -> str:
    """`1 reply`, `2 replies`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"
