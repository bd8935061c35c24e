"""The stage: names of its own, a bounded number of workers, waiting, acting at once, and judging many examples."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st

from conformance import stage as stages
from conformance.actors import Account, Family
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import Profile, load
from conformance.stage import Cast, Resources, Stage
from fixtures.nulls.server import Request, json_answer, serve

OWNERS = [Account(f"owner {i}", f"key {i}", f"owner#{i}", str(i)) for i in range(2)]
REQUESTERS = [Account(f"requester {i}", f"key {i + 2}", f"requester#{i + 2}", str(i + 2)) for i in range(3)]


class Listener:
    """A target that queues whatever it is sent and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> Any:
        self.asked.append((request.method, request.path))
        return json_answer(202 if request.method == "POST" else 200, {"id": f"id-{len(self.asked)}", "kudos": 0})


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def client(listener: Listener) -> Iterator[Client]:
    with serve(listener) as url, Client(url, profile(workers_per_owner=2)) as client:
        yield client


def profile(**accounts: Any) -> Profile:
    base = load("reference")
    return base.model_copy(update={"accounts": base.accounts.model_copy(update=accounts)})


def a_stage(client: Client, seed: int = 1, name: str = "a check[chat]", cast: Cast | None = None) -> Stage:
    return Stage(Resources(client, cast or Cast(REQUESTERS, OWNERS), None, seed), name)


# Names and people


def test_names_are_new_also_with_the_same_seed(client: Client) -> None:
    names = [a_stage(client, seed=1).unique() for _ in range(50)]
    assert len(set(names)) == 50
    assert all(name.isalnum() and name[0].isalpha() and len(name) == 10 for name in names)
    assert len(a_stage(client).unique(24)) == 24


def test_a_model_has_a_known_price_and_belongs_to_its_owner(client: Client) -> None:
    stage = a_stage(client)
    first, second = stage.model(), stage.model(owner=1)
    assert first != second
    assert first.startswith(client.profile.models.known)
    assert first.endswith("::owner#0")
    assert second.endswith("::owner#1")


def test_the_same_seed_plays_the_same_check_alike_and_another_otherwise(client: Client) -> None:
    def words(seed: int, name: str) -> str:
        return a_stage(client, seed, name).twin_content()

    assert words(1, "a check") == words(1, "a check")
    assert words(1, "a check") != words(2, "a check")
    assert words(1, "a check") != words(1, "another check")


def test_twins_are_longer_than_the_cap_of_the_estimate(client: Client) -> None:
    tokens = client.profile.tokens
    assert len(a_stage(client).twin_content(100)) > tokens.characters * 100


def test_an_owner_has_as_many_workers_at_a_time_as_the_profile_says(client: Client) -> None:
    stage = a_stage(client, cast=Cast(REQUESTERS, OWNERS))
    workers = [stage.chat_worker("a model"), stage.text_worker("a model")]
    assert len({worker.name for worker in workers}) == 2
    with pytest.raises(CouldNotRun, match="owner 0 has no workers left: 2 at a time"):
        stage.worker(["a model"])
    assert stage.worker(["a model"], owner=1).owner == OWNERS[1]


def test_a_worker_that_a_check_is_done_with_serves_a_later_one(client: Client) -> None:
    cast = Cast(REQUESTERS, OWNERS)
    earlier, later = a_stage(client, cast=cast), a_stage(client, cast=cast)
    names = [earlier.chat_worker("a model").name, earlier.chat_worker("a model").name]
    earlier.tidy()
    assert [later.text_worker("another").name, later.text_worker("another").name] == names
    assert "chat_models" not in later.text_worker("another", owner=1).declaration


def test_a_worker_declares_chat_only_where_it_is_said(client: Client) -> None:
    stage = a_stage(client)
    assert stage.serving(Family.CHAT, "a model").declaration["chat_models"] == ["a model"]
    assert "chat_models" not in stage.serving(Family.TEXT, "a model").declaration


@pytest.mark.parametrize("ask", [lambda s: s.requester(3), lambda s: s.owner(2), lambda s: s.untrusted_owner()])
def test_who_is_not_in_the_cast_stops_the_story(client: Client, ask: Any) -> None:
    with pytest.raises(CouldNotRun, match="the story needs"):
        ask(a_stage(client))


def test_without_a_database_what_needs_one_stops_the_story(client: Client) -> None:
    with pytest.raises(CouldNotRun, match="database"):
        a_stage(client).database  # noqa: B018  # that it raises is what is tested


def test_what_a_check_queued_is_cancelled_on_its_own_route(client: Client, listener: Listener) -> None:
    stage = a_stage(client)
    chat, text = stage.chat("a model"), stage.text("a model")
    stage.tidy()
    assert listener.asked[2:] == [
        ("DELETE", f"/api/v2/generate/chat/status/{chat.id}"),
        ("DELETE", f"/api/v2/generate/text/status/{text.id}"),
    ]


# Waiting


def test_until_gives_what_was_seen_first_that_is_true(client: Client) -> None:
    seen = iter([0, None, "", "there", "too late"])
    assert a_stage(client).until(lambda: next(seen)) == "there"


def test_until_ends_and_gives_what_was_seen_last(client: Client) -> None:
    looks: list[int] = []
    assert a_stage(client).until(lambda: looks.append(1), within=0.0) is None
    assert looks == [1], "also without patience it looks once"


# Many at once


def test_acts_happen_at_the_same_time_and_give_in_their_order(client: Client) -> None:
    together = threading.Barrier(8, timeout=20)

    def act(number: int) -> int:
        together.wait()
        return number

    assert a_stage(client).at_once(*(lambda n=n: act(n) for n in range(8))) == list(range(8))


def test_what_stops_one_of_many_stops_the_story(client: Client) -> None:
    def stop() -> None:
        raise CouldNotRun("one of many")

    with pytest.raises(CouldNotRun, match="one of many"):
        a_stage(client).at_once(lambda: None, stop, lambda: None)


# Many examples

NUMBERS = st.lists(st.integers(0, 1000))


def examples(client: Client, seed: int) -> list[list[int]]:
    seen: list[list[int]] = []
    a_stage(client, seed).for_all(NUMBERS, seen.append, count=12)
    return seen


def test_the_seed_makes_the_examples(client: Client) -> None:
    first = examples(client, seed=1)
    assert 1 < len(first) <= 12
    assert first == examples(client, seed=1)
    assert first != examples(client, seed=2)


def test_of_a_failure_the_smallest_example_is_told(client: Client) -> None:
    def judge(numbers: list[int]) -> None:
        assert sum(numbers) < 100, f"the sum of {numbers}"

    with pytest.raises(AssertionError, match=r"the sum of \[100\]"):
        a_stage(client).for_all(NUMBERS, judge)


def test_a_story_that_cannot_go_on_is_not_a_failure(client: Client) -> None:
    def judge(_: list[int]) -> None:
        raise CouldNotRun("no worker came")

    with pytest.raises(CouldNotRun, match="no worker came"):
        a_stage(client).for_all(NUMBERS, judge)


def test_shrinking_ends_when_its_time_is_over(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_SHRINKING", -1.0)
    judged: list[int] = []

    def judge(number: int) -> None:
        judged.append(number)
        assert number < 500, f"{number} is too much"

    with pytest.raises(AssertionError) as failure:
        a_stage(client).for_all(st.integers(0, 10**6), judge, count=50)
    failed = [number for number in judged if number >= 500]
    assert len(set(failed)) == 1, "after the first failure only that example is tried again"
    assert str(failure.value).startswith(f"{failed[0]} is too much")


def test_a_failure_that_does_not_come_again_is_a_failure(client: Client) -> None:
    judged: list[int] = []

    def judge(number: int) -> None:
        judged.append(number)
        assert len(judged) != 3, f"the third example, {number}"

    with pytest.raises(AssertionError, match="the third example"):
        a_stage(client).for_all(st.integers(), judge)


def test_a_run_that_is_interrupted_is_interrupted(client: Client) -> None:
    def judge(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a_stage(client).for_all(st.integers(), judge)


def test_notes_are_kept(client: Client) -> None:
    stage = a_stage(client)
    stage.note("depth", 3)
    assert stage.notes == {"depth": 3}


def test_somebody_without_an_account_has_the_key_of_all_such(client: Client) -> None:
    assert a_stage(client).anonymous().account.key == client.profile.accounts.anonymous_key
    keyed = Client(client.url, profile(anonymous_key=""))
    with pytest.raises(CouldNotRun, match="without an account"):
        a_stage(keyed).anonymous()


def test_what_is_over_is_not_cancelled_again(client: Client, listener: Listener) -> None:
    stage = a_stage(client)
    cancelled, waiting = stage.chat("a model"), stage.chat("a model")
    cancelled.cancel()
    stage.tidy()
    paths = [path for method, path in listener.asked if method == "DELETE"]
    assert [path.rpartition("/")[2] for path in paths] == [cancelled.id, waiting.id]


def test_what_was_replied_to_is_not_cancelled_whichever_job_was_whose(client: Client, listener: Listener) -> None:
    stage = a_stage(client)
    done, half = [stage.chat("done"), stage.text("done", n=2)], stage.chat("half", n=2)
    both = stage.chat("done", "other")
    worker = stage.worker(["done", "half"])
    worker.replied.update(dict.fromkeys(("a", "b", "c", "d"), "done") | {"e": "half"})
    stage.tidy()
    paths = [path for method, path in listener.asked if method == "DELETE"]
    assert [path.rpartition("/")[2] for path in paths] == [half.id, both.id], f"{[r.id for r in done]} are over"
