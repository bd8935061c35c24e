"""What the terminal shows while a load lasts: the phase, how far it is, the rate, the errors, the time left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from reports.measured.parts import Phase
from reports.text import one_line


class Beat(Protocol):
    """How many calls ended in one second of a run, by outcome."""

    @property
    def second(self) -> int: ...

    @property
    def counts(self) -> Mapping[str, int]: ...


class Live:
    """A bar for one run. Where nobody watches (a pipe, a log) it is a line at the begin of each phase.

    Args:
        name: of the run.
        phases: in their order.
        expected: outcomes that are no errors, `done` among them.
        console: standard error's, if none is given.
    """

    def __init__(
        self, name: str, phases: Sequence[Phase], expected: Collection[str] = ("done",), console: Console | None = None
    ) -> None:
        self.name, self.phases, self.expected = name, list(phases), frozenset(expected)
        self.console = console or Console(stderr=True)
        self.calls, self.errors = 0, 0
        self._phase: str | None = None
        self._bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(),
            TextColumn("{task.fields[told]}", markup=False), TimeRemainingColumn(),
            console=self.console, transient=True, disable=not self.console.is_terminal,
        )  # fmt: skip
        end = max((phase.end for phase in self.phases), default=0.0)
        self._task = self._bar.add_task(one_line(name, 60), total=end, told="starting")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def heard(self, beat: Beat) -> None:
        """Show what ended in one second."""
        self.calls += sum(beat.counts.values())
        self.errors += sum(count for outcome, count in beat.counts.items() if outcome not in self.expected)
        told = self.line(beat)
        self._bar.update(self._task, completed=min(beat.second + 1, self._bar.tasks[0].total or 0), told=told)
        phase = self.phase(beat.second)
        if phase != self._phase:
            self._phase = phase
            if not self.console.is_terminal:
                self.console.print(f"{one_line(self.name, 60)}: {told}", markup=False, highlight=False, soft_wrap=True)

    def line(self, beat: Beat) -> str:
        """One second in words."""
        share = self.errors / self.calls if self.calls else 0.0
        rate = sum(beat.counts.values())
        phase = self.phase(beat.second) or "ending"
        return f"{one_line(phase, 40)}: {rate:,} calls/s, {self.errors:,} errors ({share:.2%})"

    def phase(self, second: int) -> str | None:
        """The phase in which a second of the run lies; None after the last."""
        return next((phase.name for phase in self.phases if phase.begin <= second < phase.end), None)
