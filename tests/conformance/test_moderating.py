"""What a stage has for stories of moderation: accounts to spoil, a moderator, and an address of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conformance import accounts
from conformance.actors import Account
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import Profile, load
from conformance.stage import Cast, Resources, Stage
from fixtures.nulls.server import Request, json_answer, serve

REFERENCE = load("reference")


class Office:
    """A target that makes and modifies every account, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, request: Request) -> Any:
        self.asked.append((request.method, request.path.removeprefix("/api/v2")))
        number = len(self.asked)
        return json_answer(200, {"api_key": f"key {number}", "alias": f"a#{number}", "user_id": number,
                                 "username": f"a#{number}", "id": number, "message": "OK"})  # fmt: skip


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.fixture
def url(office: Office) -> Iterator[str]:
    with serve(office) as url:
        yield url


def a_stage(client: Client, **cast: Any) -> Stage:
    return Stage(Resources(client, Cast([], [], **cast), None, 1), "a check")


MODERATOR = Account("moderator", "its key", "moderator#1", "1")


def test_a_moderator_flags_deletes_and_blocks(url: str, office: Office) -> None:
    with Client(url, REFERENCE) as client:
        moderator = a_stage(client, moderators=[MODERATOR]).moderator()
        account = Account("spare", "key", "spare#7", "7")
        moderator.flag(account)
        moderator.delete(account)
        moderator.block("127.0.0.9")
        moderator.unblock("127.0.0.9")
        sent = [exchange.request_body for exchange in client.recorder.take()]
    assert office.asked == [("PUT", "/users/7"), ("DELETE", "/users/7"),
                            ("POST", "/operations/ipaddr"), ("DELETE", "/operations/ipaddr")]  # fmt: skip
    assert sent == ['{"flagged": true}', None, '{"ipaddr": "127.0.0.9", "hours": 1}', '{"ipaddr": "127.0.0.9"}']


def test_one_account_is_flagged_for_all_checks_of_a_lane(url: str, office: Office) -> None:
    with Client(url, REFERENCE) as client:
        stage = a_stage(client, moderators=[MODERATOR])
        assert stage.flagged().account == stage.flagged().account
        assert len(office.asked) == 2
        assert stage.spare().key != stage.spare("owner").key


def test_without_a_moderator_nobody_is_flagged(url: str) -> None:
    with Client(url, REFERENCE) as client, pytest.raises(CouldNotRun, match="moderators"):
        a_stage(client).flagged()


def test_listed_keys_of_moderators_and_spare_accounts_are_used(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, count in (("REQUESTER", 6), ("OWNER", 4), ("MODERATOR", 1), ("SPARE", 3)):
        monkeypatch.setenv(f"HORDE_{variable}_KEYS", ",".join(f"{variable} {i}" for i in range(count)))
    with Client(url, listed()) as client:
        first, second = accounts.provide(client, lanes=2)
        assert [account.key for cast in (first, second) for account in cast.spares] == ["SPARE 0", "SPARE 2", "SPARE 1"]
        assert [len(cast.moderators) for cast in (first, second)] == [1, 1]
        stage = Stage(Resources(client, second, None, 1), "a check")
        assert stage.spare().key == "SPARE 1"
        with pytest.raises(CouldNotRun, match="spare"):
            stage.spare()


def listed() -> Profile:
    return REFERENCE.model_copy(update={"accounts": REFERENCE.accounts.model_copy(update={"method": "listed"})})


def test_a_model_marked_nsfw_is_the_profiles(url: str) -> None:
    owner = Account("owner", "key", "owner#1", "1")
    with Client(url, REFERENCE) as client:
        stage = Stage(Resources(client, Cast([], [owner]), None, 1), "a check")
        assert stage.nsfw_model() != stage.nsfw_model()
        assert stage.nsfw_model().endswith("::owner#1")
    with Client(url, load("aihorde")) as client, pytest.raises(CouldNotRun, match="nsfw"):
        Stage(Resources(client, Cast([], [owner]), None, 1), "a check").nsfw_model()


def test_calls_from_elsewhere_are_in_the_same_record(url: str, office: Office) -> None:
    with Client(url, REFERENCE) as client:
        with a_stage(client).elsewhere() as elsewhere:
            assert elsewhere.address is not None
            assert elsewhere.address.startswith("127.")
            assert elsewhere.call("heartbeat", kind="heartbeat", actor="somebody").status == 200
        assert [exchange.actor for exchange in client.recorder.take()] == ["somebody"]
    with Client("http://target.invalid", REFERENCE) as client, pytest.raises(CouldNotRun, match="loopback"):  # noqa: SIM117
        with client.elsewhere("127.0.0.2"):
            pass
    assert len(office.asked) == 1
