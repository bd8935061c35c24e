"""The scenarios that there are: each is one locustfile of this folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from load.errors import UnknownScenario

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Scenario:
    """One thing that is done to a target: in a sentence, and which operations it consists of.

    `seeded`: it wants a queue that was made beforehand. `expects` are outcomes that are no errors here.
    """

    name: str
    sentence: str
    operations: tuple[str, ...]
    seeded: bool = False
    expects: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        """Its locustfile."""
        return _FOLDER / f"{self.name.replace('-', '_')}.py"


SCENARIOS = (
    Scenario(
        "pop-scan",
        "Workers of chat only, of text only and of both pop, and meet nothing, a text job or a chat job.",
        ("pop", "reply", "submit_text", "submit_chat"),
    ),
    Scenario(
        "life-cycle",
        "A request is submitted, popped, told of in progress, replied to, and its status read until it is done.",
        ("submit_text", "submit_chat", "pop", "progress", "reply", "status_text", "status_chat"),
    ),
    Scenario(
        "mixed",
        "Requesters and workers of both families, each call on its own: submits, statuses, pops, progress, replies.",
        ("submit_text", "submit_chat", "status_text", "status_chat", "pop", "progress", "reply"),
    ),
    Scenario(
        "cancel-storm",
        "Requests are cancelled right after their submit, half of them after a worker took them, who then replies.",
        ("submit_text", "submit_chat", "pop", "cancel_text", "cancel_chat", "reply"),
        expects=("gone", "refused"),
    ),
    Scenario(
        "progress-storm",
        "Few chat generations, each told of in progress again and again, with longer and longer output.",
        ("submit_chat", "pop", "progress", "reply"),
        expects=("gone",),
    ),
    Scenario(
        "head-of-line",
        "Workers of one family pop from behind a long queue of the other; what they take is queued again at its end.",
        ("pop", "reply", "submit_text", "submit_chat"),
        seeded=True,
    ),
    Scenario(
        "hot-user",
        "One requester submits all, and all its requests' statuses are read, while workers of one owner serve them.",
        ("submit_text", "submit_chat", "status_text", "status_chat", "pop", "reply"),
    ),
)


def named(name: str) -> Scenario:
    """The scenario of that name.

    Raises:
        UnknownScenario: there is none.
    """
    for scenario in SCENARIOS:
        if scenario.name == name:
            return scenario
    raise UnknownScenario(
        f"There is no scenario {name!r}.", f"There are {', '.join(scenario.name for scenario in SCENARIOS)}."
    )
