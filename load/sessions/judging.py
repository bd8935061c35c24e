"""The verdict on a run and on a session: what is true first, then what may be believed, then what is fast enough."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from load import health
from load.gates import Judged


class Verdict(StrEnum):
    """Of a run and of a session."""

    PASS = "PASS"  # noqa: S105 - what is passed is a run
    FAIL = "FAIL"
    INVALID = "INVALID"


class Judgement(BaseModel):
    """A verdict and the sentences that say why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    verdict: Verdict
    reasons: tuple[str, ...]


def judge(
    generator: health.Health, gates: Iterable[Judged], wrong: Iterable[str], unjudged: Iterable[str]
) -> Judgement:
    """The verdict on one run.

    A rule that the target broke is broken however the generator fared. Times and ratios of a generator that measured
    itself say nothing, and a gate that could not be measured was not passed.

    Args:
        generator: whether it may be believed.
        gates: as they were judged.
        wrong: what the target did that it must not, in sentences.
        unjudged: what should have been looked at and could not be, in sentences.
    """
    judged = list(gates)
    if broken := tuple(wrong):
        return Judgement(verdict=Verdict.FAIL, reasons=broken)
    doubts = [*(reason.sentence for reason in generator.reasons), *unjudged]
    doubts += [gate.sentence for gate in judged if gate.verdict == "not measured"]
    if doubts:
        return Judgement(verdict=Verdict.INVALID, reasons=tuple(doubts))
    failed = tuple(gate.sentence for gate in judged if gate.verdict == "failed")
    return Judgement(verdict=Verdict.FAIL if failed else Verdict.PASS, reasons=failed)


def whole(judgements: Iterable[tuple[str, Judgement]]) -> Judgement:
    """The verdict on a session of these runs, by name: FAIL where one failed, else INVALID where one is."""
    found = list(judgements)
    for verdict in (Verdict.FAIL, Verdict.INVALID):
        reasons = tuple(f"{name}: {r}" for name, judged in found if judged.verdict is verdict for r in judged.reasons)
        if any(judged.verdict is verdict for _, judged in found):
            return Judgement(verdict=verdict, reasons=reasons)
    if not found:
        return Judgement(verdict=Verdict.INVALID, reasons=("No run was made.",))
    return Judgement(verdict=Verdict.PASS, reasons=())
