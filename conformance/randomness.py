"""Whether ids tell anything of one another: how their bits fall, one by one and in pairs, and along their order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from uuid import UUID

# The version and the variant, which are the same in each id of a kind; the other 122 bits may vary.
_FIXED = (0xF << 76) | (0x3 << 62)
_FREE = [place for place in range(127, -1, -1) if not _FIXED >> place & 1]

# The chance that all counts of one random series together give a false alarm, at most, by exact binomial tails.
_OF_COUNTS = 2e-10
# In standard deviations, of the rank correlation of a random series: beyond it with a chance below 1e-10.
_OF_ORDER = 6.5
# Ids in a series below which the counts could never tell chance from a rule.
FEWEST_IDS = 48
FREE_BITS = len(_FREE)


def oddity(ids: Sequence[str]) -> str | None:
    """What this series shows that random UUIDs do not, in words; None where it shows nothing.

    Counted are: ones at each of the 122 places, changes at each from one id to the next, and agreements of each two
    places. A place that never varies is a prefix of time or machine; one that always changes is a counter's last bit,
    wherever it stands; two that always agree are one. Last, the ids' size must not go with their order. The chance
    that a random series is called odd is below 3e-10.

    Raises:
        ValueError: an id is no UUID, or there are fewer than `FEWEST_IDS`.
    """
    if len(ids) < FEWEST_IDS:
        raise ValueError(f"{len(ids)} ids are too few to tell chance from a rule")
    numbers = [UUID(id).int for id in ids]
    if len(set(numbers)) < len(numbers):
        return f"of {len(numbers)} ids {len(numbers) - len(set(numbers))} were given before"
    columns = [sum((number >> place & 1) << at for at, number in enumerate(numbers)) for place in _FREE]
    return _odd_counts(columns, len(numbers)) or _odd_order(numbers)


def _odd_counts(columns: list[int], count: int) -> str | None:
    events = 2 * len(columns) + math.comb(len(columns), 2)
    chance = _OF_COUNTS / (2 * events)
    full, steps = (1 << count) - 1, (1 << (count - 1)) - 1
    fewest, fewest_steps = fewest_heads(count, chance), fewest_heads(count - 1, chance)
    constant = sum(column in (0, full) for column in columns)
    if constant:
        return f"{constant} of the {len(columns)} bits never vary in {count} ids"
    for place, column in enumerate(columns):
        ones, changes = column.bit_count(), ((column ^ column >> 1) & steps).bit_count()
        if not fewest <= ones <= count - fewest:
            return f"bit {place} of {len(columns)} is 1 in {ones} of {count} ids"
        if not fewest_steps <= changes <= count - 1 - fewest_steps:
            return f"bit {place} of {len(columns)} changes in {changes} of {count - 1} steps from one id to the next"
    for (place, one), (other_place, other) in combinations(enumerate(columns), 2):
        agreeing = count - (one ^ other).bit_count()
        if not fewest <= agreeing <= count - fewest:
            return f"bits {place} and {other_place} of {len(columns)} agree in {agreeing} of {count} ids"
    return None


def _odd_order(numbers: list[int]) -> str | None:
    correlation = rank_correlation(numbers)
    if abs(correlation) * math.sqrt(len(numbers) - 1) <= _OF_ORDER:
        return None
    way = "grow" if correlation > 0 else "fall"
    return f"{len(numbers)} ids {way} with their order (rank correlation {correlation:.2f})"


def fewest_heads(tosses: int, chance: float) -> int:
    """The number of heads below which so many tosses of a fair coin come with at most this chance."""
    allowed, below, ways = Fraction(chance) * 2**tosses, 0, 1
    for heads in range(tosses + 1):
        below += ways
        if below > allowed:
            return heads
        ways = ways * (tosses - heads) // (heads + 1)
    return tosses + 1


def rank_correlation(numbers: Sequence[int]) -> float:
    """Spearman's correlation of different numbers with their order: from -1, all falling, to 1, all growing."""
    count = len(numbers)
    ranked = sorted(range(count), key=numbers.__getitem__)
    apart = sum((rank - at) ** 2 for rank, at in enumerate(ranked))
    return 1 - 6 * apart / (count * (count * count - 1))
