"""Relations between twins: named, enough of them, and right about what agrees."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from conformance import suites, twins
from conformance.actors import Family
from conformance.catalogue import requirements
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import load
from conformance.stage import Cast, Resources, Stage
from conformance.twins import Kudos, Relation, agree


@pytest.fixture
def stage() -> Stage:
    profile = load("aihorde")
    money = profile.money.model_copy(update={"rounding": 0.5})
    client = Client("http://127.0.0.1:1", profile.model_copy(update={"money": money}))
    return Stage(Resources(client, Cast([], []), None, seed=1), "a check")


def telling(text: Mapping[str, object], chat: Mapping[str, object]) -> Relation:
    halves = {Family.TEXT: text, Family.CHAT: chat}

    @twins.relation("ACC-03", compares="something")
    def what_is_told(stage: Stage, family: Family) -> twins.Seen:  # noqa: ARG001 - a story's arguments
        """Both halves are told alike."""
        return halves[family]

    return what_is_told


def named_relations() -> list[Relation]:
    """Every relation that the suites judge."""
    files = sorted(Path(next(iter(suites.__path__))).glob("test_*.py"))
    modules = [importlib.import_module(f"{suites.__name__}.{file.stem}") for file in files]
    return [value for module in modules for value in vars(module).values() if isinstance(value, Relation)]


def test_a_relation_is_named_after_its_story() -> None:
    relation = telling({}, {})
    assert (relation.name, relation.requirement) == ("what-is-told", "ACC-03")
    assert relation.sentence == "Both halves are told alike."


def test_twins_that_saw_the_same_agree(stage: Stage) -> None:
    telling({"a": 1, "b": Kudos(3.0)}, {"b": Kudos(3.9), "a": 1}).judge(stage)


@pytest.mark.parametrize(
    ("text", "chat"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": Kudos(3.0)}, {"a": Kudos(4.1)}),
        ({"a": Kudos(3.0)}, {"a": 3.0}),
    ],
)
def test_twins_that_saw_something_else_do_not(
    stage: Stage, text: Mapping[str, object], chat: Mapping[str, object]
) -> None:
    with pytest.raises(AssertionError, match=r"what-is-told: [ab] is .* for the text request, .* for its chat twin"):
        telling(text, chat).judge(stage)


def test_twins_of_which_nothing_was_seen_are_not_judged(stage: Stage) -> None:
    with pytest.raises(CouldNotRun, match="saw nothing of something"):
        telling({}, {}).judge(stage)


def test_each_movement_may_be_rounded(stage: Stage) -> None:
    assert agree(stage, Kudos(10.0, 3), Kudos(12.9, 1))
    assert not agree(stage, Kudos(10.0, 3), Kudos(13.1, 3))


def test_the_suites_judge_at_least_twelve_relations_each_named_once() -> None:
    relations = named_relations()
    names = [relation.name for relation in relations]
    assert len(names) >= 12
    assert len(set(names)) == len(names)
    for relation in relations:
        assert relation.requirement in requirements()
        assert relation.sentence.endswith("."), relation.name
        assert relation.compares, relation.name


def test_every_relation_is_run_by_a_check() -> None:
    run = set()
    for file in sorted(Path(next(iter(suites.__path__))).glob("test_*.py")):
        module = importlib.import_module(f"{suites.__name__}.{file.stem}")
        for value in vars(module).values():
            for mark in getattr(value, "pytestmark", []):
                if mark.name == "parametrize" and mark.args[0] == "relation":
                    run |= {relation.name for relation in mark.args[1]}
    assert run == {relation.name for relation in named_relations()}
