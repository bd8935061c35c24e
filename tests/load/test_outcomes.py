"""A call's outcome is read from any answer: a refusal is one too, and ends no scenario."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance import profile as profiles
from load.recording import Outcome, Recorder
from load.scenarios.calling import Caller, Due


class Answered:
    """A connection on which every call is answered so."""

    def __init__(self, status: int, body: Any) -> None:
        self.status_code, self._body = status, json.dumps(body).encode()

    def request(self, *_: object) -> Answered:
        return self

    def read(self) -> bytes:
        return self._body


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (200, {"reward": 1.0}, Outcome.DONE),
        (400, {"message": "It was cancelled.", "rc": "AbortedGen"}, Outcome.REFUSED),
        (404, {"message": "There is none.", "rc": "InvalidJobID"}, Outcome.GONE),
        (429, {"message": "Too many.", "rc": "TooManyPrompts"}, Outcome.LIMITED),
        (500, "no object", Outcome.CRASHED),
    ],
)
def test_each_answer_has_its_outcome(status: int, body: Any, outcome: Outcome) -> None:
    caller = Caller(Answered(status, body), "", profiles.load("reference"), Recorder())
    assert caller.call("reply", Due("steady", 0.0), "worker", "key", b"{}").outcome is outcome
