"""Head of line: workers of one family pop from behind a long queue of the other.

The long queue is made beforehand by `load.seeding`; the plan's `family` is the one that workers take.
"""

from __future__ import annotations

from conformance.actors import Family
from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew


class HeadOfLine(LoadUser):
    """Pops for one family only; what it takes it finishes, and asks for again behind all that waits."""

    scenario = "head-of-line"

    def prepare(self, crew: Crew) -> None:
        crew.submit(Due("preparation", 0.0), Family(crew.plan.family))

    def arrive(self, crew: Crew, due: Due) -> None:
        held = crew.pop(due, crew.plan.family)
        if held is not None:
            crew.reply(due.now(), held)
            crew.submit(due.now(), held.family)
