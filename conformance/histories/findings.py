"""The rules found broken, of which the first is the witness."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from operator import attrgetter

from conformance.histories.books import Request
from conformance.histories.model import AnyOperation, History, Rule, Witness
from conformance.histories.names import Names

# Makes the sentence, once it is known that this is the one to be told.
Telling = Callable[[Names], str]


@dataclass(frozen=True, slots=True)
class Finding:
    """A broken rule: when it was, the request that it concerns, what shows it, and how it is told."""

    rule: Rule
    at: float
    request: Request | None
    operations: tuple[AnyOperation, ...]
    telling: Telling


class Findings:
    """Keeps the first of the rules that were asked for."""

    def __init__(self, rules: Collection[Rule]) -> None:
        self._rules = frozenset(rules)
        self.first: Finding | None = None

    def add(
        self, rule: Rule, at: float, request: Request | None, operations: Iterable[AnyOperation], telling: Telling
    ) -> None:
        """Keep it if it is of those asked for and earlier than what was found so far."""
        if rule in self._rules and (self.first is None or at < self.first.at):
            self.first = Finding(rule, at, request, tuple(operations), telling)

    def witness(self, history: History) -> Witness | None:
        """The first, told."""
        first = self.first
        if first is None:
            return None
        shown = tuple(sorted({id(act): act for act in first.operations}.values(), key=attrgetter("called")))
        family = first.request.family if first.request else None
        return Witness(first.rule, first.at, family, first.telling(Names(history)), shown)
