"""API: what the target publishes of itself is true, and REQ-14 again: what is drawn from it crashes nothing."""

from __future__ import annotations

from conformance.actors import Family
from conformance.checks import check
from conformance.contract import documents
from conformance.contract.documents import Untrue
from conformance.stage import Stage

# Schemathesis is slow in a process that it has not drawn in before.
ONE_TASK = True


@check("API-01", both=True)
def test_the_targets_contract_is_true(stage: Stage, family: Family) -> None:
    """Requesters and workers call what the contract allows and what it does not, and every answer is one of its own."""
    # Half a second that only these checks pay.
    from conformance.contract.holding import Holder  # noqa: PLC0415

    holder = Holder(stage, family, documents.find(stage.client))
    holder.told_plainly()
    holder.followed()
    holder.within_time(holder.stories(), holder.true_of)
    holder.complete()


@check("REQ-14")
def test_no_call_that_is_drawn_from_the_contract_crashes_the_target(stage: Stage) -> None:
    """A request is open and a job is in hand, and spoilt calls come in on every chat route: each is answered."""
    from conformance.contract.holding import Holder  # noqa: PLC0415

    try:
        document = documents.find(stage.client)
    except Untrue:
        # That is judged elsewhere: a contract that nobody can read excuses no crash.
        document = documents.of_profile(stage.profile)
    holder = Holder(stage, Family.CHAT, document)
    holder.within_time(holder.spoilt(), holder.survives)
