"""A history: what was asked of a target and what it answered, each with the times of call and return.

An operation takes effect at one moment between its call and its return. Where its answer was lost it may have taken
effect at any moment after its call, or never. Times are seconds of one clock; ids are any texts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

# Larger than any length that a request can ask for.
UNLIMITED = 1 << 31


class Outcome(StrEnum):
    """What is known of an operation: carried out, refused without effect, or neither (no answer, or a 5xx)."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What every operation has: who called, when, and what came of it."""

    actor: str
    called: float
    returned: float
    outcome: Outcome = Outcome.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(Operation):
    """A request of `n` generations was submitted.

    `request` is its id; of a lost answer, any name that no other request has. `key` is its operation key. `shape` is
    the same for requests that one reply costs alike. `max_length` is in tokens. `open`: whoever serves one of its
    models may have it. `usual`: its own cost is the submit's fee and nothing else.
    """

    kind: Literal["submit"] = "submit"
    account: str
    family: str
    request: str
    n: int = 1
    models: tuple[str, ...] = ()
    key: str | None = None
    stream: bool = False
    shape: str = ""
    max_length: int = UNLIMITED
    max_context_length: int = 0
    open: bool = True
    usual: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pop(Operation):
    """A worker asked for a job, and was handed `generations` of `request`, or nothing.

    `request` is None where it is not known which one it was; it is then one of `among`. `lifetime` is in seconds.
    `open`: nothing but models and lengths keeps requests from this worker.
    """

    kind: Literal["pop"] = "pop"
    account: str = ""
    models: tuple[str, ...] = ()
    chat_models: tuple[str, ...] = ()
    text: bool = True
    amount: int = 1
    max_length: int = UNLIMITED
    max_context_length: int = UNLIMITED
    bridge: str = ""
    open: bool = True
    generations: tuple[str, ...] = ()
    request: str | None = None
    among: tuple[str, ...] = ()
    family: str = ""
    model: str = ""
    lifetime: float | None = None

    def takes(self, family: str) -> tuple[str, ...]:
        """The models that this pop serves in a family."""
        return self.chat_models if family == "chat" else self.models if self.text else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Operation):
    """A worker replied to a generation.

    `said` is what a status must show of it, None where that is not ours to say. `tokens` is the length of its output,
    `reward` the payment that the answer names. `usual`: nothing in it but `state` bears on its cost.
    """

    kind: Literal["reply"] = "reply"
    generation: str
    state: str = "ok"
    said: str | None = None
    tokens: int = 0
    reward: float | None = None
    usual: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault(Operation):
    """A worker gave a generation up."""

    kind: Literal["fault"] = "fault"
    generation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Operation):
    """A worker posted the output so far, of so many tokens; `cancelled` is what the answer says."""

    kind: Literal["progress"] = "progress"
    generation: str
    tokens: int = 0
    cancelled: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel(Operation):
    """A request was cancelled."""

    kind: Literal["cancel"] = "cancel"
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(Operation):
    """A status was read. `said` has one entry for each generation shown; None for one that is not whole."""

    kind: Literal["reading"] = "reading"
    request: str
    finished: int = 0
    processing: int = 0
    waiting: int = 0
    restarted: int = 0
    done: bool = False
    faulted: bool = False
    kudos: float | None = None
    said: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance(Operation):
    """An account's kudos were read."""

    kind: Literal["balance"] = "balance"
    account: str
    kudos: float


AnyOperation = Annotated[
    Submit | Pop | Reply | Fault | Progress | Cancel | Reading | Balance, Field(discriminator="kind")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a target promises, by its profile; times in seconds, money in kudos.

    `rounding`: how far a figure may lie from the exact one, per movement. `settlement`, `balance`: from an event to
    its movement, and how old a balance may be. `floor`: tokens that a cancelled stream is settled at, at least.
    `faults`: after how many a request may be given up.
    """

    submit_fee: float = 1.0
    finish_fee: float = 1.0
    rounding: float = 0.0
    settlement: float = 0.0
    balance: float = 0.0
    floor: int = 20
    job_lifetime: float = 150.0
    request_lifetime: float = 1200.0
    faults: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Operations in any order, and the terms to judge them by.

    `moved`: when the target's clock was moved past the life of a request or a generation, by id. `closed`: accounts
    of which every movement but uptime's is in this history, so that their balances can be judged.
    """

    operations: tuple[AnyOperation, ...] = ()
    terms: Terms = field(default_factory=Terms)
    moved: Mapping[str, float] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()


class Rule(StrEnum):
    """The rules that a history can break."""

    TWICE = "twice"  # one generation was handed to two workers
    EXCESS = "excess"  # a request was handed out more often than it asked for
    REVIVED = "revived"  # a request was handed out after its cancel
    MISPLACED = "misplaced"  # a worker was handed what it did not declare
    LOST = "lost"  # what waits was not handed to a worker that may have it
    SETTLED_TWICE = "settled twice"  # a generation ended, and was paid all the same
    HALF = "half"  # a reading counts what it does not show, or shows half of it
    UNSAID = "unsaid"  # a reading shows what no worker has said
    STALE = "stale"  # a reading misses what had happened or had been read before
    FORKED = "forked"  # two readings show what cannot have stood one after the other
    MISCOUNTED = "miscounted"  # a reading's counts cannot have been
    MISCHARGED = "mischarged"  # a request's cost is not that of what happened
    FLOOR = "floor"  # a cancelled stream cost less than its floor
    UNBALANCED = "unbalanced"  # an account's balance does not follow from its movements
    SPLIT = "split"  # one operation key made two requests
    MERGED = "merged"  # two submits that are not one were given one request
    MISTOLD = "mistold"  # a worker was told wrongly whether its stream was cancelled


@dataclass(frozen=True)
class Witness:
    """The first broken rule: the moment at which it was, the sentence that tells it, the operations that show it."""

    rule: Rule
    at: float
    family: str | None
    sentence: str
    operations: tuple[AnyOperation, ...]

    def __str__(self) -> str:
        return self.sentence
