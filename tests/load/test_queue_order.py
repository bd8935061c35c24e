"""The order of hand-outs against the queue's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from load.statistics import HandedOut, Order, order

times = st.integers(0, 30)


def one_after_the_other(positions: list[int]) -> list[HandedOut]:
    return [HandedOut(position=p, sent=2 * i, answered=2 * i + 1) for i, p in enumerate(positions)]


def test_the_true_order_has_no_inversion_and_its_reverse_has_them_all() -> None:
    assert order(one_after_the_other(list(range(50)))) == Order(jobs=50, inversions=0, worst=0)
    assert order(one_after_the_other(list(range(50))[::-1])) == Order(jobs=50, inversions=50 * 49 // 2, worst=49)


def test_calls_that_overlap_have_no_wrong_order() -> None:
    together = [HandedOut(position=p, sent=0, answered=1) for p in (3, 1, 2)]
    assert order(together).inversions == 0


def test_one_job_that_was_passed_over_by_a_page_was_overtaken_by_all_of_it() -> None:
    assert order(one_after_the_other([*range(1, 304), 0, *range(304, 400)])) == Order(
        jobs=400, inversions=303, worst=303
    )


def test_nothing_handed_out_has_no_inversion() -> None:
    assert order([]) == Order(jobs=0, inversions=0, worst=0)


@given(st.lists(st.tuples(times, times, times), max_size=25, unique_by=lambda t: t[0]))
def test_it_counts_what_each_pair_of_jobs_shows(told: list[tuple[int, int, int]]) -> None:
    jobs = [HandedOut(position=p, sent=sent, answered=sent + taken + 0.5) for p, sent, taken in told]
    overtaking = [sum(b.position > a.position and b.answered < a.sent for b in jobs) for a in jobs]
    counted = order(jobs)
    assert (counted.inversions, counted.worst) == (sum(overtaking), max(overtaking, default=0))
