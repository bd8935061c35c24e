"""A story in the domain's words, call by call."""

from __future__ import annotations

from conformance.stories.calls import (
    Across,
    Call,
    Cancel,
    GiveUp,
    JobKey,
    Length,
    Pop,
    Post,
    Route,
    Seen,
    Single,
    Submit,
    Together,
    each,
)
from conformance.stories.world import World

Played = list[tuple[Call, tuple[Seen, ...]]]


def told(played: Played, world: World) -> str:
    """The calls, in order, with what came of each; the world lends its names."""
    return "; ".join(_sentence(call, seen, world) for call, seen in played)


def _sentence(call: Call, seen: tuple[Seen, ...], world: World) -> str:
    parts = [_clause(single, one, world) for single, one in zip(each(call), seen, strict=True)]
    return (", and at the same time " if isinstance(call, Together) else "").join(parts)


def _clause(call: Single, seen: Seen, world: World) -> str:
    if isinstance(call, Submit):
        return _submit(call, world)
    if isinstance(call, Pop):
        return _pop(call, seen, world)
    if isinstance(call, Cancel | Across):
        return _ask(call, world) + ("" if seen.done or isinstance(call, Across) else f" ({seen.said})")
    name, worker = _generation(call.job, world)
    if isinstance(call, GiveUp):
        done = f"worker {worker} gives {name} up"
    elif isinstance(call, Post):
        done = f"worker {worker} posts {_much(call.length)}output of {name}"
    else:
        done = f"worker {worker} replies to {name}" + (" at length" if call.length is Length.LONG else "")
    return done if seen.done else f"{done} ({seen.said})"


def _submit(call: Submit, world: World) -> str:
    stream = " with a stream hint" if call.stream else ""
    many = f" for {call.n} generations" if call.n > 1 else ""
    return f"requester {call.requester} submits {call.family} {world.requests[call.request].name}{stream}{many}"


def _pop(call: Pop, seen: Seen, world: World) -> str:
    many = f" up to {call.amount} generations" if call.amount > 1 else ""
    if seen.hand is None:
        got = "gets nothing" if seen.done else f"is refused ({seen.said})"
    elif seen.hand.request is None:
        got = "gets a job"
    else:
        names = [world.generations[key].name for key in world.generations if key[0] == call.pop]
        got = f"gets {' and '.join(names) or 'a generation'} of {world.requests[seen.hand.request].name}"
    return f"worker {call.worker}, which {call.kind}, pops{many} and {got}"


def _ask(call: Cancel | Across, world: World) -> str:
    asked = world.requests[call.request]
    if isinstance(call, Cancel):
        return f"requester {asked.requester} cancels {asked.name}"
    asks = "asks for" if call.route is Route.STATUS else "cancels"
    return f"requester {asked.requester} {asks} {asked.name} on the {asked.family.other} route"


def _generation(job: JobKey, world: World) -> tuple[str, str]:
    generation = world.generations[job]
    return generation.name, generation.worker


def _much(length: Length) -> str:
    return "much " if length is Length.LONG else ""
