"""What a load run's exchanges prove: the history checker's word on them, and what could not be judged.

Requests of a seeded queue are in no exchange; they are made again from their numbers, so that a job that is handed out
twice shows there as well. Kudos are judged of accounts that are the run's own, by their balances before and after.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from conformance import histories
from conformance.actors import Account
from conformance.client import Client, Exchange
from conformance.errors import BadHistory, CouldNotRun
from conformance.histories import Rule, Standing
from conformance.histories.model import Submit
from conformance.profile import Profile
from load.scenarios.exchanges import kept
from load.scenarios.plan import Plan
from load.scenarios.result import Result
from load.seeding import Kind, Seeded
from load.seeding.content import Composer
from load.seeding.rows import rows

# What holds of any part of a run's exchanges; the other rules ask for what is not in them.
PARTIAL = (
    Rule.TWICE, Rule.MISPLACED, Rule.SETTLED_TWICE, Rule.HALF, Rule.FORKED, Rule.SPLIT, Rule.MERGED,
)  # fmt: skip
# Rows of a queue that are made again, and bytes of them: some ten seconds.
_ROWS, _BYTES = 300_000, 4 * 1024**3
# Bytes of exchanges that are judged at once; each takes as much memory again, or twice.
_LARGEST = 1024**3
# Seconds that are waited for movements to settle and for balances to be fresh.
_PATIENCE = 60.0
# Seconds after which AI Horde pays a worker for being there, which no exchange tells.
UPTIME = 600.0
_OWNERS = f"from {UPTIME:.0f} s on a worker is paid for being there, which no exchange tells"

Kudos: TypeAlias = bool | Literal["requesters"]
"""Whose balances are judged: everybody's, the requesters', or nobody's."""


@dataclass(frozen=True)
class Found:
    """How many operations were judged, the broken rule if there is one, and what was not judged, in sentences.

    What was `left_out` need not have been judged.
    """

    operations: int = 0
    witness: str | None = None
    unjudged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Queue:
    """A seeded queue, and between which moments (`time.monotonic()`) it was made."""

    seeded: Seeded
    since: float
    until: float


class Checking:
    """Judges one run: made when its queue stands, before its first call.

    `kudos`: whose balances are judged as well.
    """

    def __init__(self, plan: Plan, profile: Profile, queue: Queue | None, *, kudos: Kudos) -> None:
        self._plan, self._profile, self._queue = plan, profile, queue
        self._closed = _closed(plan, profile, kudos) if kudos else ()
        self._kudos = kudos
        self._balances = self._read() if self._closed and self._wait <= _PATIENCE else []

    @property
    def _wait(self) -> float:
        """Seconds from the last call until its movements show in balances that are read."""
        return self._profile.timings.settlement + self._profile.timings.balance

    def judge(self, result: Result) -> Found:
        """The word on all that was kept of the run."""
        assert self._plan.exchanges is not None
        size = sum(path.stat().st_size for path in self._plan.exchanges.glob("exchanges-*"))
        if size > _LARGEST:
            return _nothing(f"{size / 1e9:.1f} GB of exchanges are more than the {_LARGEST / 1e9:.1f} GB it takes")
        whole = not result.interrupted and len(result.health.facts.processes) == result.workers
        if self._balances and whole:
            time.sleep(self._wait)
            self._balances += self._read()
        try:
            return self._judged(whole)
        except BadHistory as reason:
            return _nothing(reason.what.rstrip("."))

    def _judged(self, whole: bool) -> Found:
        history = histories.recorded(
            chain(self._balances, kept(self._plan.exchanges, self._plan.url, self._profile)),  # type: ignore[arg-type]
            self._profile,
            moved=self._ends(),
            closed=[account.key for account in self._closed],
            standing=self._standing(),
        )
        witness = histories.judge(history) if whole else histories.judge(history, PARTIAL)
        doubts = [] if whole else [f"The run was cut short: of the history only {_listed(PARTIAL)} were judged."]
        if len(history.operations) == len(self._balances):
            doubts.append("The history was not judged: it holds no operation.")
        if self._queue is not None and not self._made_again:
            doubts.append(f"The queue has more than {_ROWS} rows, or bytes: who was handed how often was not judged.")
        if self._kudos and (missing := self._missing(history, whole=whole)):
            doubts.append(f"Kudos were not judged: {missing}. (`kudos = false` does without.)")
        if self._kudos is True and self._closed and is_long(self._plan.seconds):
            doubts.append(f"The kudos of workers' owners were not judged: {_OWNERS}.")
        left_out = ("The kudos of workers' owners were left out.",) if self._kudos == "requesters" else ()
        return Found(len(history.operations), None if witness is None else str(witness), tuple(doubts), left_out)

    def _missing(self, history: histories.History, *, whole: bool) -> str | None:
        if not whole:
            return "the run was cut short"
        if not self._closed:
            return "the accounts are not the run's own"
        if self._wait > _PATIENCE:
            return f"a balance is up to {self._wait:.0f} s old"
        return histories.missing_movements(history)

    def _read(self) -> list[Exchange]:
        with Client(self._plan.url, self._profile) as client:
            for account in self._closed:
                try:
                    client.call("account", kind="account", actor=account.role, key=account.key)
                except CouldNotRun:
                    # A balance that was not read judges nobody, and `_missing` says so.
                    continue
            return client.recorder.take()

    @property
    def _made_again(self) -> bool:
        if self._queue is None:
            return False
        described = self._queue.seeded.description
        return described.total <= _ROWS and described.total * described.payload.mean <= _BYTES

    def _standing(self) -> Iterator[Standing]:
        return standing(self._queue, self._profile) if self._queue and self._made_again else iter(())

    def _ends(self) -> dict[str, float]:
        """When the lives of seeded rows are over, where they are shorter than the profile's."""
        if self._queue is None or self._queue.seeded.description.lifetime_seconds is None:
            return {}
        end = self._queue.since + self._queue.seeded.description.lifetime_seconds
        return {made.submit.request: end for made in self._standing()}


def standing(queue: Queue, profile: Profile) -> Iterator[Standing]:
    """The requests of a seeded queue, each with what it says."""
    seeded = queue.seeded
    described, names = seeded.description, (*seeded.models, f"{seeded.models[0]}-refused")
    composer = Composer(described, profile.seeding.chat_prompt)
    declared = {name: (name,) for name in names}
    for row in rows(described):
        said = composer.content(row)
        submit = Submit(
            actor=f"seeded row {row.number}",
            called=queue.since,
            returned=queue.until,
            account="seeded",
            family="chat" if row.is_chat else "text",
            request=f"seeded row {row.number}",
            n=described.n,
            models=declared[names[row.model]],
            max_length=described.max_length,
            max_context_length=described.max_context_length,
            open=row.kind is Kind.WAITING,
        )
        yield Standing(submit, json.loads(said.messages) if said.messages is not None else said.prompt)


def is_long(seconds: float) -> bool:
    """Whether a run is so long that its exchanges do not tell every movement of an owner's kudos."""
    return seconds >= UPTIME


def _closed(plan: Plan, profile: Profile, kudos: Kudos) -> tuple[Account, ...]:
    """Accounts that nobody but the run uses, and of which its exchanges tell every movement."""
    if profile.accounts.method != "test-user":
        return ()
    if kudos == "requesters" or is_long(plan.seconds):
        return plan.requesters
    return (*plan.requesters, *plan.owners)


def _nothing(why: str) -> Found:
    return Found(unjudged=(f"The history was not judged: {why}.",))


def _listed(rules: Sequence[Rule]) -> str:
    return ", ".join(rules)
