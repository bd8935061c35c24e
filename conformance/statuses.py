"""What a status says of a request and of its finished generations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.client import Answer
from conformance.errors import CouldNotRun


@dataclass(frozen=True)
class Generation:
    """One finished generation, as a status shows it."""

    answer: Answer
    data: Any

    def read(self, name: str) -> Any:
        """A field of ours of this generation."""
        return self.answer.look("generation", name, self.data)

    @property
    def text(self) -> Any:
        return self.read("text")

    @property
    def state(self) -> Any:
        return self.read("state")

    @property
    def chat(self) -> Any:
        """The whole structured reply, or None where there is none."""
        return self.read("chat")

    @property
    def message(self) -> Any:
        return self.read("message")

    @property
    def finish_reason(self) -> Any:
        return self.read("finish_reason")

    @property
    def usage(self) -> Any:
        return self.read("usage")


@dataclass(frozen=True)
class Status:
    """The state of a request at one moment."""

    answer: Answer

    def _count(self, name: str) -> int:
        value = self.answer.need(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise CouldNotRun(f"{name} in the status is {value!r}, not a number")
        return value

    @property
    def finished(self) -> int:
        return self._count("finished")

    @property
    def processing(self) -> int:
        return self._count("processing")

    @property
    def waiting(self) -> int:
        return self._count("waiting")

    @property
    def restarted(self) -> int:
        return self._count("restarted")

    @property
    def queue_position(self) -> int:
        return self._count("queue_position")

    @property
    def done(self) -> bool:
        return self.answer.need("done") is True

    @property
    def faulted(self) -> bool:
        return self.answer.need("faulted") is True

    @property
    def kudos(self) -> float:
        """What the request has cost so far, as the status says it."""
        return self.answer.number("kudos")

    @property
    def generations(self) -> list[Generation]:
        """The finished generations that can be read."""
        return [Generation(self.answer, data) for data in self._list(self.answer.need("generations"))]

    @property
    def partials(self) -> list[Any]:
        """The output so far of each generation in flight that posted some."""
        shown = self._list(self.answer.read("partials") or [])
        return [self.answer.look("partial", "output", data) for data in shown]

    def _list(self, shown: Any) -> list[Any]:
        if not isinstance(shown, list):
            raise CouldNotRun(f"{shown!r} in the status is no list")
        return shown

    @property
    def counts(self) -> dict[str, Any]:
        """Everything that a call on the wrong route might change, for a comparison of before and after."""
        names = ("finished", "processing", "restarted", "waiting", "done", "faulted", "kudos", "generations")
        return {name: self.answer.read(name) for name in names}
