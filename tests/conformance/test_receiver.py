"""The receiver of webhooks keeps what it is told, refuses as often as asked, and takes nothing that is not its own."""

from __future__ import annotations

import threading

import httpx
import pytest

from conformance.errors import CouldNotRun
from conformance.profile import Profile, load
from conformance.receiver import receiving

REFERENCE = load("reference")
TOLD = {"id": "g", "request": "r", "text": "", "chat": {"message": {"role": "assistant"}, "finish_reason": "stop"}}


def with_webhook(**changes: object) -> Profile:
    return REFERENCE.model_copy(update={"webhook": REFERENCE.webhook.model_copy(update=changes)})


def test_what_is_told_is_read_as_the_profile_says() -> None:
    with receiving(REFERENCE) as receiver:
        assert httpx.post(receiver.url, json=TOLD).status_code == 200
        (delivery,) = receiver.wait_for(1)
    assert (delivery.read("id"), delivery.read("request")) == ("g", "r")
    assert delivery.read("message") == {"role": "assistant"}
    assert ("Content-Type", "application/json") in [(name.title(), value) for name, value in delivery.headers]


def test_a_refused_delivery_is_no_delivery() -> None:
    with receiving(REFERENCE, refusing=2) as receiver:
        assert [httpx.post(receiver.url, json=TOLD).status_code for _ in range(3)] == [500, 500, 200]
        assert [len(receiver.refused), len(receiver.deliveries)] == [2, 1]


def test_it_waits_for_what_is_told_later_and_not_for_ever() -> None:
    with receiving(with_webhook(patience=0.05)) as receiver:
        assert receiver.wait_for(1) == []
    with receiving(REFERENCE) as receiver:
        teller = threading.Thread(target=httpx.post, args=(receiver.url,), kwargs={"json": TOLD})
        teller.start()
        assert len(receiver.wait_for(1)) == 1
        teller.join()


def test_another_path_and_another_language_are_not_taken_for_a_generation() -> None:
    with receiving(REFERENCE) as receiver:
        assert httpx.post(receiver.url.rpartition("/")[0] + "/other", json=TOLD).status_code == 404
        assert receiver.deliveries == []
        httpx.post(receiver.url, content=b"\xff not json")
        assert receiver.wait_for(1)[0].body is None


def test_without_an_address_or_a_free_port_nothing_can_be_told() -> None:
    with pytest.raises(CouldNotRun, match="address"), receiving(load("aihorde")):
        pass
    with receiving(REFERENCE) as receiver:
        port = int(receiver.url.rpartition("/")[0].rpartition(":")[2])
        with pytest.raises(CouldNotRun, match=str(port)), receiving(with_webhook(port=port)):
            pass
