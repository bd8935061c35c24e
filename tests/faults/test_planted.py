"""The ten planted faults are what was promised of them, and still fit the server."""

from __future__ import annotations

import pytest

from conformance.catalogue import requirements
from fixtures import faults
from fixtures.faults import Patch

PLANTED = faults.planted_faults()


def test_there_are_ten_of_which_five_need_five_calls_and_three_two_actors_at_once() -> None:
    assert len(PLANTED) == 10
    assert sum(len(fault.story) >= 5 for fault in PLANTED.values()) >= 5
    assert sum(fault.at_once for fault in PLANTED.values()) >= 3


def test_none_is_shown_by_two_calls() -> None:
    assert all(len(fault.story) > 2 for fault in PLANTED.values())


@pytest.mark.parametrize("name", PLANTED)
def test_each_fits_the_server_and_says_in_one_line_what_it_breaks(name: str) -> None:
    fault = PLANTED[name]
    fault.put(Patch(live=False))
    assert fault.breaks in requirements()
    assert fault.summary
    assert "\n" not in fault.summary


def test_the_faults_of_single_requirements_are_others() -> None:
    assert not PLANTED.keys() & faults.known().keys()
    assert faults.get(next(iter(PLANTED))).story
