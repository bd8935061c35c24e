"""What keeping exchanges costs is read off pairs of blocks, and said to be within the bar only where it is."""

from __future__ import annotations

import random

from load.scenarios import stall
from load.sessions.cost import cost, measure


def pairs(share: float, noise: float = 0.01) -> list[list[list[float]]]:
    """Blocks in which keeping takes so much more of everything."""
    draw = random.Random(1)
    made = []
    for _ in range(60):
        bare = 2e-4 * (1 + draw.gauss(0, noise))
        kept = 2e-4 * (1 + share) * (1 + draw.gauss(0, noise))
        made.append([[bare, 2 * bare], [kept, 2 * kept]])
    return made


def test_what_is_planted_is_read() -> None:
    found = cost("one", pairs(0.03))
    lost, least, most = found.lost
    assert least < 1 - 1 / 1.03 < most
    assert abs(lost - 0.029) < 0.005
    assert found.held
    assert 2400 < found.rate < 2600


def test_more_than_the_bar_and_what_may_be_more_are_not_within_it() -> None:
    assert not cost("one", pairs(0.10)).held
    assert not cost("one", pairs(0.03, noise=0.2)).held


def test_blocks_are_measured_in_a_process_of_their_own() -> None:
    with stall.stalling(stall=0.0) as server:
        measured = measure(stall.plan(server.url, seconds=1, rate=1), calls=20, pairs=3)
    assert len(measured) == 3
    assert all(value > 0 for pair in measured for block in pair for value in block)
