"""Life cycle: a request is submitted, popped, told of in progress, replied to, and its status read until it is done."""

from __future__ import annotations

import time

import gevent

from conformance.actors import Family
from load.recording import Key, Outcome
from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew

# Statuses that are read at most, and seconds between two.
_LOOKS, _PAUSE = 40, 0.05
_TOLD = ("The first words.", "The first words, and some more of them.")


class LifeCycle(LoadUser):
    """One request from its submit to its end. What is popped may be another arrival's: each brings one through."""

    scenario = "life-cycle"

    def arrive(self, crew: Crew, due: Due) -> None:
        began = time.monotonic()
        asked = crew.submit(due, crew.family())
        if asked is None:
            return
        held = crew.pop(due.now())
        if held is not None:
            if held.family is Family.CHAT:
                for output in _TOLD:
                    crew.progress(due.now(), held, output)
            crew.reply(due.now(), held)
        for _ in range(_LOOKS):
            if crew.status(due.now(), asked).read("status", "done") is True:
                key = Key(due.phase, "whole life", Outcome.DONE)
                crew.caller.recorder.add(key, due.moment, began, time.monotonic())
                return
            gevent.sleep(_PAUSE)
