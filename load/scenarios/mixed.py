"""Mixed traffic: requesters and workers of both families, each call on its own."""

from __future__ import annotations

from conformance.actors import Family
from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew

# Of a hundred calls. There are more pops than submits: with idle workers a queue stays short.
_CALLS = {"submit": 20, "pop": 30, "progress": 10, "reply": 20, "status": 20}
_TAKES = ("both", "both", "text", "chat")
# Requests of whose status somebody asks, at most.
_REMEMBERED = 200


class Mixed(LoadUser):
    """Draws one call by its share; where there is nothing to reply to or to ask of, it pops."""

    scenario = "mixed"

    def arrive(self, crew: Crew, due: Due) -> None:
        (kind,) = crew.draw.choices(list(_CALLS), weights=list(_CALLS.values()))
        if kind == "submit":
            asked = crew.submit(due, crew.family())
            if asked is not None:
                crew.asked.append(asked)
                if len(crew.asked) > _REMEMBERED:
                    crew.asked.popleft()
        elif kind == "status" and crew.asked:
            crew.status(due, crew.draw.choice(crew.asked))
        elif kind == "reply" and crew.held:
            crew.reply(due, crew.held.popleft())
        elif kind == "progress" and crew.held and crew.held[-1].family is Family.CHAT:
            crew.progress(due, crew.held[-1], "The words so far.")
        else:
            held = crew.pop(due, crew.draw.choice(_TAKES))
            if held is not None:
                crew.held.append(held)
