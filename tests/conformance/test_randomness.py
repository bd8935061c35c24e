"""Random ids are called nothing, and each way of making guessable ones is named."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

import pytest

from conformance.randomness import FEWEST_IDS, fewest_heads, oddity, rank_correlation

NOISE = random.Random(5)
COUNTER = iter(range(10**6))


def noise(bits: int) -> int:
    return NOISE.getrandbits(bits)


def ids(count: int, number: Callable[[int], int]) -> list[str]:
    return [str(uuid.UUID(int=number(at), version=4)) for at in range(count)]


@pytest.mark.parametrize("count", [FEWEST_IDS, 960])
@pytest.mark.parametrize("seed", range(5))
def test_random_ids_show_nothing(count: int, seed: int) -> None:
    source = random.Random(seed)
    assert oddity(ids(count, lambda _: source.getrandbits(128))) is None


def drifting(at: int) -> int:
    """Ten bits, three times in eight the place in the series and otherwise anything."""
    return noise(10) if noise(3) < 5 else at


GUESSABLE: dict[str, tuple[str, Callable[[int], int]]] = {
    "counter": ("never vary", lambda at: at),
    "time at the front": ("never vary", lambda at: ((1_700_000_000_000 + at) << 80) | noise(80)),
    "machine at the end": ("never vary", lambda _: (noise(80) << 48) | 0xABCDEF),
    "fast counter at the front": ("changes in", lambda at: (at << 118) | noise(118)),
    "fast counter in the middle": ("changes in", lambda at: (noise(100) << 28) | ((at & 0x3FF) << 18) | noise(18)),
    "first bits that drift": ("ids grow", lambda at: (drifting(at) << 118) | noise(118)),
    "first bits that drift back": ("ids fall", lambda at: (drifting(959 - at) << 118) | noise(118)),
    "half the randomness twice": ("agree in", lambda _: (half := noise(64)) << 64 | half),
    "the inverse of the first half": ("agree in", lambda _: (half := noise(64)) << 64 | (half ^ (2**64 - 1))),
    "bits that are seldom set": ("is 1 in", lambda _: noise(128) & noise(128) & noise(128)),
}  # fmt: skip


@pytest.mark.parametrize("name", GUESSABLE)
def test_guessable_ids_are_called_odd(name: str) -> None:
    said, number = GUESSABLE[name]
    found = oddity(ids(960, number))
    assert found is not None
    assert said in found


@pytest.mark.parametrize("make", [uuid.uuid1, lambda: uuid.UUID(int=next(COUNTER))])
def test_a_short_series_suffices_for_the_clock_and_for_a_counter(make: Callable[[], uuid.UUID]) -> None:
    assert "never vary" in str(oddity([str(make()) for _ in range(FEWEST_IDS)]))


def test_ids_given_twice_are_called_so() -> None:
    once = ids(FEWEST_IDS, lambda _: noise(128))
    assert oddity([*once, once[7]]) == f"of {FEWEST_IDS + 1} ids 1 were given before"


@pytest.mark.parametrize("series", [["no id"] * FEWEST_IDS, ids(FEWEST_IDS - 1, lambda _: noise(128))])
def test_what_cannot_be_judged_is_not(series: list[str]) -> None:
    with pytest.raises(ValueError, match=r"UUID|hexadecimal|too few"):
        oddity(series)


@pytest.mark.parametrize(
    ("tosses", "chance", "fewest"), [(10, 1 / 1024, 1), (10, 11 / 1024, 2), (10, 0.0, 0), (10, 1.0, 11)]
)
def test_the_fewest_heads_are_exact(tosses: int, chance: float, fewest: int) -> None:
    assert fewest_heads(tosses, chance) == fewest


def test_the_shortest_series_still_tells_a_place_that_never_varies() -> None:
    assert fewest_heads(FEWEST_IDS - 1, 2e-10 / (2 * (244 + 7381))) == 1


@pytest.mark.parametrize(("numbers", "correlation"), [([1, 2, 3], 1.0), ([3, 2, 1], -1.0), ([2, 1, 4, 3], 0.6)])
def test_the_rank_correlation(numbers: list[int], correlation: float) -> None:
    assert rank_correlation(numbers) == pytest.approx(correlation)
