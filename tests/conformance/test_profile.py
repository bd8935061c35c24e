"""A profile overrides only what differs, and every slip in it is one sentence with what to do."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import profile as profiles
from conformance.catalogue import CAPABILITIES
from conformance.errors import BadProfile, Situation, UnknownProfile
from conformance.profile import BASE, dig, put

BASE_PROFILE = profiles.load(BASE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "mine.toml") -> str:
    (folder / name).write_text(text)
    return name


def problem(name: str) -> Situation:
    with pytest.raises(Situation) as caught:
        profiles.load(name)
    assert caught.value.what.endswith(".")
    assert caught.value.hint.endswith(".") or caught.value.hint.endswith("?")
    return caught.value


@pytest.mark.parametrize("name", profiles.built_in())
def test_a_built_in_profile_loads_under_its_name(name: str) -> None:
    assert profiles.load(name).name == name


def test_an_empty_profile_is_the_base(folder: Path) -> None:
    assert profiles.load(write(folder, "")) == BASE_PROFILE


def test_a_profile_overrides_what_it_gives_and_nothing_else(folder: Path) -> None:
    mine = profiles.load(
        write(folder, 'name = "mine"\n[routes]\nsubmit_chat = "POST /chat"\n[timings]\nanswer = 3\n[limits]\nn = 4\n')
    )
    assert mine.route("submit_chat") == ("POST", "/api/v2/chat")
    changed = {
        "name": "mine",
        "routes": {**BASE_PROFILE.routes, "submit_chat": "POST /chat"},
        "timings": BASE_PROFILE.timings.model_copy(update={"answer": 3.0}),
        "limits": BASE_PROFILE.limits.model_copy(update={"n": 4}),
    }
    assert mine == BASE_PROFILE.model_copy(update=changed)


def test_an_array_takes_the_place_of_the_bases(folder: Path) -> None:
    mine = profiles.load(write(folder, 'capabilities = ["chat"]\n[statuses]\nsubmit = [200, 201]\n'))
    assert mine.capabilities == {"chat"}
    assert mine.statuses["submit"] == (200, 201)
    assert mine.statuses["status"] == BASE_PROFILE.statuses["status"]


def test_a_profile_names_its_own_tables(folder: Path) -> None:
    mine = profiles.load(write(folder, "[migration.tables]\nrequests = 3\n"))
    assert mine.migration.tables == {"requests": 3}


def test_a_profile_extends_the_one_that_it_names(folder: Path) -> None:
    mine = profiles.load(write(folder, 'extends = "reference"\n[limits]\nn = 4\n'))
    reference = profiles.load("reference")
    assert mine.limits.n == 4
    assert (mine.database, mine.timings) == (reference.database, reference.timings)


def test_a_profile_extends_a_file_that_extends_another(folder: Path) -> None:
    write(folder, "[limits]\nn = 4\nconcurrency = 5\n", "first.toml")
    write(folder, 'extends = "first.toml"\n[limits]\nn = 6\n', "second.toml")
    mine = profiles.load(write(folder, 'extends = "second.toml"\n[timings]\nanswer = 1\n'))
    assert (mine.limits.n, mine.limits.concurrency, mine.timings.answer) == (6, 5, 1.0)


@pytest.mark.parametrize(
    "text", ['extends = "mine.toml"', 'extends = "another.toml"', "extends = 3", 'extends = ["aihorde"]']
)
def test_a_profile_that_extends_itself_or_no_name_is_refused(folder: Path, text: str) -> None:
    write(folder, 'extends = "mine.toml"', "another.toml")
    assert "extends" in problem(write(folder, text)).what


def test_a_parent_that_does_not_exist_is_named(folder: Path) -> None:
    found = problem(write(folder, 'extends = "refrence"'))
    assert isinstance(found, UnknownProfile)
    assert "'refrence'" in found.what
    assert "Did you mean 'reference'?" in found.hint


@pytest.mark.parametrize(
    ("text", "key", "meant"),
    [
        ("tokns = 3", "tokns", "tokens"),
        ("[timings]\nsetlement = 1", "timings.setlement", "timings.settlement"),
        ('[routes]\nsubmit_chatt = "POST /x"', "routes.submit_chatt", "routes.submit_chat"),
        ('[answer.status]\nfinshed = "x"', "answer.status.finshed", "answer.status.finished"),
        ('[body.sumbit]\nprompt = "x"', "body.sumbit", "body.submit"),
    ],
)
def test_a_mistyped_key_is_refused_with_the_key_that_was_meant(folder: Path, text: str, key: str, meant: str) -> None:
    found = problem(write(folder, text))
    assert isinstance(found, BadProfile)
    assert f"unknown key: {key}." in found.what
    assert found.hint == f"Did you mean {meant}?"


def test_a_key_like_no_other_is_refused_with_the_way_to_the_keys(folder: Path) -> None:
    found = problem(write(folder, "zzzzzzzzzzzz = 1"))
    assert "zzzzzzzzzzzz" in found.what
    assert "horde-conformance profile aihorde" in found.hint


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("name = 3", "name"),
        ('[timings]\nanswer = "soon"', "timings.answer"),
        ("[timings]\nanswer = -1", "timings.answer"),
        ("[timings]\nanswer = inf", "timings.answer"),
        ("[timings]\nanswer = nan", "timings.answer"),
        ("[timings]\nanswer = 1e308", "timings.answer"),
        ("[tokens]\ncharacters = 0", "tokens.characters"),
        ("[accounts]\nrequesters = -1", "accounts.requesters"),
        ("[limits]\nn = -1", "limits.n"),
        ('base_path = "api"', "base_path"),
        ('base_path = "/api/"', "base_path"),
        ('[models]\ntemplate = "{known}::{alias}"', "models.template"),
        ('[models]\ntemplate = "{unique}::{aliases}"', "models.template"),
        ('[models]\ntemplate = "{unique}::{"', "models.template"),
        ("[rate_limit]\nretries = -1", "rate_limit.retries"),
        ("timings = 3", "timings"),
        ("[limits]\nn = 1.5", "limits.n"),
        ('[statuses]\nsubmit = ["ok"]', "statuses.submit.0"),
        ("[statuses]\nsubmit = 202", "statuses.submit"),
        ("[routes]\nsubmit_chat = 3", "routes.submit_chat"),
        ('[routes]\nsubmit_chat = "/generate/chat/async"', "routes.submit_chat"),
        ('[routes]\nsubmit_chat = "POST generate/chat/async"', "routes.submit_chat"),
        ('[routes]\nsubmit_chat = "post /generate/chat/async"', "routes.submit_chat"),
        ('[body.submit]\nprompt = ["x"]', "body.submit.prompt"),
        ('[migration.tables]\nrequests = "many"', "migration.tables.requests"),
        ('[server]\ncommand = "start"', "server.command"),
        ('[recording]\nmodel = "{known}-{unique}"', "recording.model"),
        ('[moderation]\nmodel = "always-the-same"', "moderation.model"),
        ('[moderation]\nphrase = "never matched"', "moderation"),
        ('[webhook]\nurl = "somewhere"', "webhook.url"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_at_its_place(folder: Path, text: str, place: str) -> None:
    found = problem(write(folder, text))
    assert isinstance(found, BadProfile)
    assert f"bad value at {place}: " in found.what
    assert "horde-conformance profile aihorde" in found.hint


def test_an_unknown_capability_is_refused_with_all_that_there_are(folder: Path) -> None:
    found = problem(write(folder, 'capabilities = ["chat", "telepathy"]'))
    assert "capabilities" in found.what
    assert all(capability in found.hint for capability in CAPABILITIES)


def test_what_is_no_toml_is_refused_with_the_line(folder: Path) -> None:
    found = problem(write(folder, 'name = "mine"\n[timings\n'))
    assert isinstance(found, BadProfile)
    assert "not valid TOML" in found.what
    assert "line 2" in found.what


def test_what_is_no_utf_8_is_refused(folder: Path) -> None:
    (folder / "mine.toml").write_bytes(b'name = "\xff"')
    assert "cannot be read" in problem("mine.toml").what


@pytest.mark.parametrize("name", ["nothing.toml", "aihord", ".", ""])
def test_a_profile_that_does_not_exist_is_refused_with_those_that_do(folder: Path, name: str) -> None:
    assert folder.is_dir()
    found = problem(name)
    assert isinstance(found, UnknownProfile)
    assert repr(name) in found.what
    assert all(built_in in found.hint for built_in in profiles.built_in())


def test_capabilities_are_added_and_taken_away() -> None:
    changed = BASE_PROFILE.with_capabilities("time", "database", without=frozenset({"chat", "time"}))
    assert changed.capabilities == BASE_PROFILE.capabilities - {"chat"} | {"database"}
    assert "time" not in BASE_PROFILE.capabilities


def test_files_of_a_migration_bring_its_capability() -> None:
    changed = BASE_PROFILE.with_migration("before.sql", "change.sql")
    assert (changed.migration.baseline, changed.migration.file) == ("before.sql", "change.sql")
    assert changed.capabilities - BASE_PROFILE.capabilities == {"migration"}


def test_a_route_takes_ids_as_they_are() -> None:
    assert BASE_PROFILE.route("status_chat", id="%7Bid%7D") == ("GET", "/api/v2/generate/chat/status/%7Bid%7D")


def test_a_body_holds_our_fields_where_the_protocol_has_them() -> None:
    fields = {"prompt": "p", "n": 2, "models": ["m"], "params": {"n": 9, "top_k": 3}}
    built = BASE_PROFILE.build("submit", fields)
    assert built == {"prompt": "p", "models": ["m"], "params": {"n": 2, "top_k": 3}}
    assert fields["params"] == {"n": 9, "top_k": 3}


def test_a_field_that_the_profile_lacks_is_the_suites_mistake() -> None:
    with pytest.raises(KeyError):
        BASE_PROFILE.build("submit", {"no such field": 1})


def test_an_answer_is_read_where_the_protocol_has_it() -> None:
    answer = {"chat": {"finish_reason": "stop"}}
    assert BASE_PROFILE.read("generation", "finish_reason", answer) == "stop"
    assert BASE_PROFILE.read("generation", "usage", answer) is None
    assert BASE_PROFILE.read("generation", "usage", answer, "none") == "none"


KEYS = st.sampled_from("abc")
PATHS = st.lists(KEYS, min_size=1, max_size=4).map(".".join)
SCALARS = st.none() | st.booleans() | st.integers() | st.text("a.é", max_size=3)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3))


def _clash(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


@given(st.dictionaries(PATHS, JSON, max_size=5))
def test_what_is_put_at_a_place_is_dug_up_there_beside_all_the_rest(placed: dict[str, Any]) -> None:
    apart: dict[str, Any] = {}
    for path, value in placed.items():
        if not any(_clash(path, taken) for taken in apart):
            apart[path] = value
    body: dict[str, Any] = {}
    for path, value in apart.items():
        put(body, path, value)
    assert {path: dig(body, path) for path in apart} == apart


@given(st.dictionaries(KEYS, JSON, max_size=3), PATHS, JSON)
def test_putting_changes_nothing_that_was_given_and_nothing_beside_its_path(
    given_first: dict[str, Any], path: str, value: Any
) -> None:
    kept = copy.deepcopy((given_first, value))
    body: dict[str, Any] = {}
    put(body, "a", given_first)
    put(body, f"a.{path}", value)
    assert (given_first, value) == kept
    first = path.partition(".")[0]
    assert {k: v for k, v in body["a"].items() if k != first} == {k: v for k, v in given_first.items() if k != first}


@given(JSON, JSON)
def test_what_was_put_more_closely_stays_when_its_object_is_put(closely: Any, beside: Any) -> None:
    body: dict[str, Any] = {}
    put(body, "params.n", closely)
    put(body, "params", {"n": "another", "beside": beside})
    assert body == {"params": {"n": closely, "beside": beside}}


@given(JSON, PATHS)
def test_digging_finds_the_value_or_gives_the_default_whatever_stands_there(data: Any, path: str) -> None:
    missing = object()
    found = dig(data, path, missing)
    here = data
    for part in path.split("."):
        if not isinstance(here, dict) or part not in here:
            assert found is missing
            return
        here = here[part]
    assert found is here


@pytest.mark.parametrize("pattern", ["requires [0-9]+", "(a)(b)", "(unclosed"])
def test_the_amount_in_a_refusal_is_the_one_group_of_an_expression(pattern: str, folder: Path) -> None:
    with pytest.raises(BadProfile) as refusal:
        profiles.load(write(folder, f"[errors]\nupfront_amount = '{pattern}'\n"))
    assert "upfront_amount" in refusal.value.what
