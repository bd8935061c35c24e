"""Which measure finds which performance fault: counts first, paired blocks where no count differs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from load.statistics import Answer, compare
from load.sweeps.regressions import REFERENCE, Blocks, Measured
from load.sweeps.scene import Call

MEASURES = ("bytes", "statements", "values read", "pieces written", "blocks", "lock waits")
"""Counts, in the order in which they are asked."""

# How much more a count may be without a finding: a share, and so many. A block's place in the cache and the age of a
# page make blocks the only count that is not the same every time.
_TOLERANCE = {
    "bytes": (0.02, 64), "statements": (0.0, 0.5), "values read": (0.0, 0.5), "pieces written": (0.0, 0.5),
    "blocks": (0.5, 20), "lock waits": (0.0, 0.5),
}  # fmt: skip
# Of what is measured by time; two launches on a crowded machine differ by some per cent.
TIME_MARGIN, CPU_MARGIN = 0.15, 0.10


class Found:
    """What found a fault: the measure, the call that shows it, and both figures in words."""

    def __init__(self, measure: str, call: Call, told: str) -> None:
        self.measure, self.call, self.told = measure, call, told


def found(measured: Measured) -> list[Found]:
    """Everything that differs, the counts first; of each measure the call that shows it best."""
    return [*_counts(measured), *_times(measured.blocks)]


def _counts(measured: Measured) -> Iterable[Found]:
    for measure in MEASURES:
        share, more = _TOLERANCE[measure]
        calls = [call for call in Call if measure in measured.reference[call]]
        right = {call: measured.reference[call][measure] for call in calls}
        wrong = {call: measured.faulty[call][measure] for call in calls}
        worst = max(calls, key=lambda call: (wrong[call] + more) / (right[call] + more))
        if wrong[worst] > right[worst] * (1 + share) + more:
            yield Found(measure, worst, f"{_figure(right[worst])} → {_figure(wrong[worst])}")


def _figure(count: float) -> str:
    return f"{count:,.0f}" if count == round(count) or count >= 1000 else f"{count:.2f}"


def _times(blocks: dict[Call, Blocks]) -> Iterable[Found]:
    for measure, margin in (("CPU", CPU_MARGIN), ("time", TIME_MARGIN)):
        compared = {
            call: compare([one.cpu if measure == "CPU" else one.seconds], margin) for call, one in blocks.items()
        }
        slower = [call for call, one in compared.items() if one.answer is Answer.SLOWER]
        if slower:
            worst = max(slower, key=lambda call: compared[call].ratio)
            one = compared[worst]
            yield Found(measure, worst, f"× {one.ratio:.2f} ({one.low:.2f} to {one.high:.2f})")


def by_count(findings: Sequence[Found]) -> bool:
    """Whether a count is among them."""
    return any(one.measure in MEASURES for one in findings)


def right(measured: Sequence[Measured]) -> list[str]:
    """What is not as it has to be: a fault that nothing finds, or a finding in the unchanged reference."""
    wrong = []
    for fault in dict.fromkeys(one.fault for one in measured):
        findings = [finding for one in measured if one.fault == fault for finding in found(one)]
        if fault == REFERENCE and findings:
            wrong.append(f"the reference beside itself trips {', '.join(one.measure for one in findings)}")
        if fault != REFERENCE and not findings:
            wrong.append(f"nothing finds {fault}")
    return wrong
