"""Hot user: one requester submits all, and workers of one owner serve it."""

from __future__ import annotations

from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew


class HotUser(LoadUser):
    """Every submit, every charge and every reward is on the same two accounts."""

    scenario = "hot-user"

    def arrive(self, crew: Crew, due: Due) -> None:
        # Of the models that the first owner serves, the first.
        model = crew.plan.models[0]
        asked = crew.submit(due, crew.family(), model, requester=crew.plan.requesters[0])
        held = crew.pop(due.now(), "both", model)
        if held is not None:
            crew.reply(due.now(), held)
        if asked is not None:
            crew.status(due.now(), asked)
