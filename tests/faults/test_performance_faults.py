"""The performance faults fit the server, stand in a registry of their own, and change no answer of a pop."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from conformance import profile as profiles
from conformance import targets
from fixtures import faults
from fixtures.faults import FaultError, Patch
from fixtures.faults.performance import SLOW

PROFILE = profiles.load("reference")


def test_there_are_at_least_eight_and_none_is_a_fault_that_a_requirement_must_catch() -> None:
    assert len(SLOW) >= 8
    assert not SLOW.keys() & (faults.known().keys() | faults.planted_faults().keys())
    with pytest.raises(FaultError):
        faults.get(next(iter(SLOW)))


@pytest.mark.parametrize("name", SLOW)
def test_each_fits_the_server_and_says_its_error_in_one_line(name: str) -> None:
    SLOW[name].put(Patch(live=False))
    assert SLOW[name].summary
    assert "\n" not in SLOW[name].summary


def test_a_server_with_one_starts_by_its_name(horde_database_url: str) -> None:
    with targets.serving(PROFILE.server.command, horde_database_url, fault="partial-index-dropped") as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
        method, path = PROFILE.route("heartbeat")
        connection.request(method, path)
        assert connection.getresponse().status in PROFILE.statuses["heartbeat"]
        connection.close()
