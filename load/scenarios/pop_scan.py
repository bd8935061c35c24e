"""Pop scan: workers of chat only, of text only and of both pop, and meet nothing, a text job or a chat job."""

from __future__ import annotations

from conformance.actors import Family
from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew

# Requests of each family that wait for each model, where none were seeded.
_DEPTH = 10
_TAKES = ("chat", "text", "both")
# Of the pops: for a model for which nothing waits.
_EMPTY = 1 / 3


class PopScan(LoadUser):
    """Pops; what was handed out is finished, and asked for again, so that the queue stays as it is."""

    scenario = "pop-scan"

    def prepare(self, crew: Crew) -> None:
        if not crew.plan.seeded:
            for _ in range(_DEPTH):
                for model in crew.plan.models:
                    for family in Family:
                        crew.submit(Due("preparation", 0.0), family, model)

    def arrive(self, crew: Crew, due: Due) -> None:
        takes = crew.draw.choice(_TAKES)
        if crew.draw.random() < _EMPTY:
            crew.pop(due, takes, "conformance/nothing-waits")
            return
        held = crew.pop(due, takes)
        if held is not None:
            crew.reply(due.now(), held)
            crew.submit(due.now(), held.family)
