"""What two hosts' clocks are apart is bounded by what was asked and answered, and exchanges are widened by it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import profile as profiles
from load.scenarios.clocks import SLEW, Apart, Reading, apart
from load.scenarios.exchanges import Collector, Keeper, kept

REFERENCE = profiles.load("reference")
delays = st.floats(0, 0.2)


@given(st.floats(-1e5, 1e5), st.floats(-1e-3, 1e-3), st.lists(st.tuples(delays, delays), min_size=1, max_size=60))
def test_the_bounds_hold_whatever_the_way_takes_and_however_clocks_drift(
    offset: float, drift: float, ways: list[tuple[float, float]]
) -> None:
    asked = [place * 0.1 for place in range(len(ways))]
    readings = [
        Reading(at, (at + there) * (1 + drift) + offset, at + there + back)
        for at, (there, back) in zip(asked, ways, strict=True)
    ]
    found = apart(readings)
    for moment in (asked[0], asked[-1], (asked[0] + asked[-1]) / 2):
        other = moment * (1 + drift) + offset
        begun, ended = found.ours(other, other)
        assert begun - 1e-6 <= moment <= ended + 1e-6


def test_one_slow_answer_does_not_widen_what_others_told() -> None:
    readings = [Reading(place / 10, place / 10 + 50.0005, place / 10 + 0.001) for place in range(10)]
    slow = Reading(0.55, 51.0, 1.0)
    assert apart([*readings, slow]) == apart(readings)
    assert apart(readings).middle == pytest.approx(50)
    assert apart(readings).high - apart(readings).low == pytest.approx(0.001 + 2 * SLEW * 2)


def test_nothing_is_known_of_a_clock_that_was_never_read() -> None:
    with pytest.raises(ValueError, match="never"):
        apart([])


def test_exchanges_of_another_host_are_read_by_our_clock(tmp_path: Path) -> None:
    collected = Collector(tmp_path)
    keeper = Keeper(tmp_path / "nowhere", 3, b"", lambda rows: collected.add(3, rows))
    keeper.add("somebody", "pop", "POST", "/pop", "key", b"{}", 200, b"{}", 1001.25, 1002.5, None)
    keeper.flush()
    keeper.add("somebody", "pop", "POST", "/pop", "key", b"{}", 200, b"{}", 1003.0, 1004.0, None)
    keeper.close()
    collected.close({3: Apart(low=999.5, high=1000.5)})
    assert not (tmp_path / "nowhere").exists()
    told = [(one.started, one.ended) for one in kept(tmp_path, "", REFERENCE)]
    assert told == [(0.75, 3.0), (2.5, 4.5)]
