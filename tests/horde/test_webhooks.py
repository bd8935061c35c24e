"""A finished generation is told to its request's webhook, at least once, and a receiver delays nobody."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from fixtures.horde import schema
from fixtures.nulls.server import Answer, Request, json_answer, serve

if TYPE_CHECKING:
    from fixtures.postgres import Server
    from tests.horde.conftest import Account, Horde

FAMILIES = ["text", "chat"]


class Receiver:
    """Remembers what it is told; refuses the first deliveries."""

    def __init__(self, refusing: int = 0) -> None:
        self.told: list[Any] = []
        self._refusing = refusing
        self._changed = threading.Condition()

    def __call__(self, request: Request) -> Answer:
        with self._changed:
            self.told.append(json.loads(request.body))
            self._changed.notify_all()
            return json_answer(500 if len(self.told) <= self._refusing else 200, {})

    def heard(self, count: int) -> list[Any]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.told) >= count, timeout=10)
            return list(self.told)


@contextmanager
def receiving(refusing: int = 0) -> Iterator[tuple[str, Receiver]]:
    receiver = Receiver(refusing)
    with serve(receiver) as url:
        yield f"{url}/hook?of=us", receiver


def answered(horde: Horde, requester: Account, owner: Account, family: str, **fields: Any) -> tuple[str, str]:
    """A request with a webhook, answered: its id and the generation's."""
    model = horde.model()
    request = horde.submit(requester.key, family, model, **fields)
    job = horde.pop(owner.key, model)["id"]
    reply = (
        {"generation": "a reply"} if family == "text" else {"chat": {"message": {"role": "assistant", "content": "é"}}}
    )
    assert horde.reply(owner.key, job, **reply).status_code == 200
    return request, job


def due(horde: Horde) -> int:
    return len(horde.sql("SELECT 1 FROM webhook_deliveries"))


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_delivered_is_what_status_shows(family: str, horde: Horde, requester: Account, owner: Account) -> None:
    with receiving() as (url, receiver):
        request, job = answered(horde, requester, owner, family, webhook=url)
        told = receiver.heard(1)[0]
        shown = horde.status(family, request)["generations"][0]
        assert {name: told[name] for name in shown} == shown
        assert (told["id"], told["request"]) == (job, request)
        assert set(told) == {*shown, "id", "request", "kudos"}
        assert owner.key not in json.dumps(told)
        horde.until(lambda: due(horde) == 0)
        assert len(receiver.told) == 1


def test_a_refused_delivery_comes_again_and_then_no_more(postgres: Server, serve: Callable[..., Any]) -> None:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    with serve(url, webhook_pause=0.01, webhook_interval=0.01) as horde, receiving(refusing=2) as (hook, receiver):
        answered(horde, horde.account(), horde.account(trusted=True), "chat", webhook=hook)
        told = receiver.heard(3)
        assert told[0] == told[1] == told[2]
        horde.until(lambda: due(horde) == 0)
        assert len(receiver.told) == 3


def test_a_delivery_is_given_up_after_some_attempts(postgres: Server, serve: Callable[..., Any]) -> None:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    settings = {"webhook_pause": 0.01, "webhook_interval": 0.01, "webhook_attempts": 3}
    with serve(url, **settings) as horde, receiving(refusing=99) as (hook, receiver):
        answered(horde, horde.account(), horde.account(trusted=True), "chat", webhook=hook)
        receiver.heard(3)
        horde.until(lambda: due(horde) == 0)
        assert len(receiver.told) == 3


def test_what_was_not_delivered_before_a_restart_is_delivered_after_it(
    postgres: Server, serve: Callable[..., Any]
) -> None:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    with receiving() as (hook, receiver):
        with serve(url, webhook_interval=3600) as horde:
            request, _ = answered(horde, horde.account(), horde.account(trusted=True), "chat", webhook=hook)
            assert due(horde) == 1
        with serve(url):
            assert receiver.heard(1)[0]["request"] == request


def test_neither_a_dead_nor_a_silent_receiver_delays_anybody(horde: Horde, requester: Account, owner: Account) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, receiving() as (hook, receiver):
        for _ in range(2):
            answered(horde, requester, owner, "chat", webhook=f"http://127.0.0.1:{silent.getsockname()[1]}/silent")
            answered(horde, requester, owner, "text", webhook="http://127.0.0.1:9/dead")
        request, _ = answered(horde, requester, owner, "chat", webhook=hook)
        assert receiver.heard(1)[0]["request"] == request
        assert horde.call("GET", "/status/heartbeat").status_code == 200


def test_what_no_webhook_asked_for_is_not_kept(horde: Horde, requester: Account, owner: Account) -> None:
    _, job = answered(horde, requester, owner, "chat")
    assert horde.sql("SELECT 1 FROM webhook_deliveries WHERE generation_id = :id", id=job) == []


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/hook",
        "ftp://127.0.0.1/x",
        "https://",
        "https://[bad",
        "https://example.org:99999/",
        "hook",
        "",
    ],
)
def test_a_webhook_that_is_not_https_is_refused(family: str, url: str, horde: Horde, requester: Account) -> None:
    content = {"prompt": "x"} if family == "text" else {"messages": [{"role": "user", "content": "x"}]}
    body = {**content, "models": [horde.model()], "webhook": url}
    refused = horde.call("POST", f"/generate/{family}/async", requester.key, body)
    assert (refused.status_code, refused.json()["rc"]) == (400, "BadRequest")
    accepted = horde.call(
        "POST", f"/generate/{family}/async", requester.key, body | {"webhook": "https://example.org/"}
    )
    assert accepted.status_code == 202


def test_loopback_is_nothing_special_where_the_settings_say_so(postgres: Server, serve: Callable[..., Any]) -> None:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    with serve(url, loopback_webhooks=False) as horde:
        body = {"prompt": "x", "webhook": "http://127.0.0.1:9/"}
        assert horde.call("POST", "/generate/text/async", horde.account().key, body).status_code == 400
