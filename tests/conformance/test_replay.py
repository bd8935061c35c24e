"""A recorded exchange is read whole, and an answer must hold all of it and may hold more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance import profile, replay
from conformance.errors import CouldNotRun
from conformance.replay import differing

RECORDING = replay.read(profile.load("aihorde").recording.text)
STEPS = [(story.name, step) for story in RECORDING.story for step in story.step]


def test_what_is_new_may_stand_beside_what_was_recorded() -> None:
    recorded = {"a": 1, "b": {"c": "<string>"}, "d": [{"e": 2.0}]}
    assert differing(recorded, {"a": 1.0, "new": 0, "b": {"c": "", "new": 0}, "d": [{"e": 2, "new": 0}]}) is None


@pytest.mark.parametrize(
    ("recorded", "shown", "said"),
    [
        ({"a": {"b": 1}}, {"a": {}}, "a.b was there, it is missing"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "a.0.b was 1, it is 2"),
        ({"a": []}, {"a": [1]}, "a was an array of 0, it is [1]"),
        ({"a": 1}, [], "the answer was an object, it is []"),
        ("x", "X", "the answer was 'x', it is 'X'"),
        (True, 1, "the answer was True, it is 1"),
    ],
)
def test_the_first_difference_is_told(recorded: Any, shown: Any, said: str) -> None:
    assert differing(recorded, shown) == said


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("<string>", [""]),
        ("<id>", ["x"]),
        ("<integer>", [0]),
        ("<number>", [0, 0.5]),
        ("<boolean>", [True, False]),
        ("<null>", [None]),
        ("<array>", [[]]),
        ("<object>", [{}]),
    ],
)
def test_a_type_takes_its_own_values_only(type_: str, values: list[Any]) -> None:
    anything: tuple[Any, ...] = ("", 1.5, True, None, [], {})
    others = [other for other in anything if type(other) not in map(type, values)]
    assert [differing(type_, value) for value in values] == [None] * len(values)
    assert all(differing(type_, other) for other in others if (type_, other) != ("<number>", 1.5))


def test_the_aihordes_recording_knows_operations_of_the_profile_and_what_stands_in_braces() -> None:
    routes = profile.load("aihorde").routes
    assert {step.call for _, step in STEPS} <= set(routes)
    assert not any("chat" in step.call for _, step in STEPS)
    for name, step in STEPS:
        put_in = set(replay._PUT_IN.findall(step.model_dump_json()))
        kept = {key for other, earlier in STEPS for key in earlier.keeps if other == name or key == "worker_id"}
        assert put_in <= {"model", "worker", "missing"} | set(RECORDING.words) | set(RECORDING.bodies) | kept, step.says


def test_without_a_recording_nothing_is_judged(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[[story]]\nname = 'no steps'\nstep = []\n")
    for path, said in (("", "names no exchange"), (str(broken), "cannot be read"), ("nowhere.toml", "cannot be read")):
        with pytest.raises(CouldNotRun, match=said):
            replay.read(path)
