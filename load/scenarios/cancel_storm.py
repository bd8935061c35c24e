"""Cancel storm: requests are cancelled right after their submit, half of them after a worker took them."""

from __future__ import annotations

from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew


class CancelStorm(LoadUser):
    """Submits and cancels; where a worker took something between, it replies to it afterwards, and may be told no."""

    scenario = "cancel-storm"

    def arrive(self, crew: Crew, due: Due) -> None:
        asked = crew.submit(due, crew.family())
        held = crew.pop(due.now()) if crew.draw.random() < 1 / 2 else None
        if asked is not None:
            crew.cancel(due.now(), asked)
        if held is not None:
            crew.reply(due.now(), held)
