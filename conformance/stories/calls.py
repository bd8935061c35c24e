"""What the people of a story do, and what is seen of it: plain values that know no HTTP.

A call names things by what made them: a request by its submit, a generation by the pop that it came with and its place
there. So a story from which calls are taken out still means something.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from conformance.actors import Family

# The pop that handed a generation out, and its place among those that came with it.
JobKey = tuple[str, int]


class Kind(StrEnum):
    """What a pop declares. Each serves the story's model and another one, for which nobody asks."""

    BOTH = "takes both families"
    TEXT = "declares no chat"
    CHAT = "takes chat only"
    ELSEWHERE = "declares chat for another model"
    NEITHER = "takes neither family"

    def takes(self, family: Family) -> bool:
        """Whether such a pop may be handed a request of this family."""
        if family is Family.CHAT:
            return self in (Kind.BOTH, Kind.CHAT)
        return self in (Kind.BOTH, Kind.TEXT, Kind.ELSEWHERE)


class Length(StrEnum):
    """How much output: less than the floor of tokens, or well above it."""

    SHORT = "short"
    LONG = "long"


class Route(StrEnum):
    """What a requester may ask of the other family."""

    STATUS = "status"
    CANCEL = "cancel"


@dataclass(frozen=True)
class Submit:
    """A requester submits a request for `n` generations; of a chat request perhaps with the stream hint."""

    request: str
    requester: int
    family: Family
    n: int = 1
    stream: bool = False


@dataclass(frozen=True)
class Pop:
    """A worker pops for up to `amount` generations."""

    pop: str
    worker: str
    kind: Kind = Kind.BOTH
    amount: int = 1


@dataclass(frozen=True)
class Reply:
    """A generation's worker replies."""

    job: JobKey
    length: Length = Length.SHORT


@dataclass(frozen=True)
class GiveUp:
    """A generation's worker gives it up."""

    job: JobKey


@dataclass(frozen=True)
class Post:
    """A generation's worker posts its output so far."""

    job: JobKey
    length: Length = Length.SHORT


@dataclass(frozen=True)
class Cancel:
    """A requester cancels its request."""

    request: str


@dataclass(frozen=True)
class Across:
    """A requester asks the other family's route about its request."""

    request: str
    route: Route = Route.STATUS


Single = Submit | Pop | Reply | GiveUp | Post | Cancel | Across


@dataclass(frozen=True)
class Together:
    """Two calls at the same time."""

    first: Single
    second: Single


Call = Single | Together


def each(call: Call) -> tuple[Single, ...]:
    """The calls of HTTP that a call is."""
    return (call.first, call.second) if isinstance(call, Together) else (call,)


class Outcome(StrEnum):
    """How a call was answered."""

    CARRIED_OUT = "carried out"
    NOT_FOUND = "not found"
    REFUSED = "refused"
    CRASHED = "crashed"


@dataclass(frozen=True)
class Hand:
    """What a pop handed out: the ids of its generations, and the request whose content came with them, if any."""

    request: str | None
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Seen:
    """What was seen of one call. `reward` is a reply's; `hand` a pop's, None where nothing was handed out."""

    outcome: Outcome
    said: str = ""
    reward: float = 0.0
    hand: Hand | None = None

    @property
    def done(self) -> bool:
        """Whether the call was carried out."""
        return self.outcome is Outcome.CARRIED_OUT


@dataclass(frozen=True)
class Shown:
    """A request's status. `kudos` is None where it may be out of date.

    `replies` are the ids of the generations whose replies it shows, or what it shows instead.
    """

    finished: int
    processing: int
    restarted: int
    waiting: int
    done: bool
    kudos: float | None
    replies: tuple[str, ...]
