"""POP: the rules of eligibility decide a chat request as they decide its text twin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conformance.absence import receives_nothing
from conformance.actors import Family, Request, Worker
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.stage import Stage

CHAT, TEXT = Family.CHAT, Family.TEXT


@dataclass(frozen=True)
class Case:
    """A rule's case: a request of two generations, a worker that the rule refuses, and one that it admits."""

    request: Request
    refused: Worker
    admitted: Worker


def _max_length(stage: Stage, family: Family) -> Case:
    model = stage.model()
    return Case(
        stage.submit(family, model, n=2, max_length=128),
        refused=stage.serving(family, model, max_length=127),
        admitted=stage.serving(family, model, max_length=128),
    )


def _max_context_length(stage: Stage, family: Family) -> Case:
    model = stage.model()
    return Case(
        stage.submit(family, model, n=2, max_context_length=4096),
        refused=stage.serving(family, model, max_context_length=4095),
        admitted=stage.serving(family, model, max_context_length=4096),
    )


def _trusted_workers(stage: Stage, family: Family) -> Case:
    model = stage.open_model()
    return Case(
        stage.submit(family, model, n=2, trusted_workers=True),
        refused=stage.serving(family, model, owner=stage.untrusted_owner()),
        admitted=stage.serving(family, model),
    )


def _allow_list(stage: Stage, family: Family) -> Case:
    model = stage.model()
    listed = stage.serving(family, model)
    return Case(
        stage.submit(family, model, n=2, workers=[_known(stage, listed)]),
        refused=stage.serving(family, model),
        admitted=listed,
    )


def _exclude_list(stage: Stage, family: Family) -> Case:
    model = stage.model()
    listed = stage.serving(family, model)
    return Case(
        stage.submit(family, model, n=2, workers=[_known(stage, listed)], worker_blacklist=True),
        refused=listed,
        admitted=stage.serving(family, model),
    )


def _validated_backends(stage: Stage, family: Family) -> Case:
    model, bridges = stage.model(), stage.profile.workers
    return Case(
        stage.submit(family, model, n=2, validated_backends=True),
        refused=stage.serving(family, model, bridge_agent=bridges.unvalidated_bridge),
        admitted=stage.serving(family, model, bridge_agent=bridges.validated_bridge),
    )


def _maintenance(stage: Stage, family: Family) -> Case:
    model = stage.model()
    resting = stage.serving(family, model)
    _known(stage, resting)
    resting.set_maintenance(on=True)
    return Case(stage.submit(family, model, n=2), refused=resting, admitted=stage.serving(family, model))


def _softprompt(stage: Stage, family: Family) -> Case:
    model, softprompt = stage.model(), stage.unique()
    return Case(
        stage.submit(family, model, n=2, softprompt=softprompt),
        refused=stage.serving(family, model, softprompts=[stage.unique()]),
        admitted=stage.serving(family, model, softprompts=[softprompt]),
    )


def _word_list(stage: Stage, family: Family) -> Case:
    model, word = stage.model(), stage.unique()
    return Case(
        stage.submit(family, model, n=2, content=f"Tell me about {word}, please."),
        refused=stage.serving(family, model, word_list=[word]),
        admitted=stage.serving(family, model, word_list=[stage.unique()]),
    )


RULES: dict[str, Callable[[Stage, Family], Case]] = {
    "max_length": _max_length,
    "max_context_length": _max_context_length,
    "trusted_workers": _trusted_workers,
    "allow_list": _allow_list,
    "exclude_list": _exclude_list,
    "validated_backends": _validated_backends,
    "maintenance": _maintenance,
    "softprompt": _softprompt,
    "word_list": _word_list,
}


def _known(stage: Stage, worker: Worker) -> str:
    """The id of a worker that the target has seen."""
    worker.receives()
    id = stage.until(worker.find_id, within=stage.profile.timings.worker_refresh + 1.0)
    if id is None:
        raise CouldNotRun(f"the target does not list worker {worker.name}")
    return id


def _admits(case: Case, rule: str) -> None:
    of = f"{case.request.family} request {case.request.id}"
    assert case.admitted.receives() is not None, f"worker {case.admitted.name} meets {rule} and was not handed {of}"


def _refuses(case: Case, rule: str) -> None:
    receives_nothing(
        case.refused.receives, of=case.request, control=case.admitted.receives, because=f"{rule} is not met"
    )


def _enforced_on_text(stage: Stage, rule: str, judged: Family) -> bool:
    """Whether the target's text half refuses by this rule; that it admits is judged in the text half only.

    Raises:
        CouldNotRun: it does not admit either, where chat is judged.
    """
    case = RULES[rule](stage, TEXT)
    try:
        _admits(case, rule)
    except AssertionError as broken:
        if judged is TEXT:
            raise
        raise CouldNotRun(f"chat has no text twin to be compared with: {broken}") from None
    try:
        _refuses(case, rule)
    except AssertionError:
        return False
    return True


def _rules(stage: Stage) -> list[str]:
    """The rules that the profile says the target enforces, and that these accounts can tell.

    Raises:
        CouldNotRun: we have no case for one.
    """
    rules = list(stage.profile.eligibility.rules)
    unknown = sorted(set(rules) - RULES.keys())
    if unknown or not rules:
        raise CouldNotRun(f"the profile lists rules without a case: {', '.join(unknown) or 'none at all'}")
    if not stage.resources.cast.untrusted and "trusted_workers" in rules:
        stage.note("without an untrusted owner not judged", "trusted_workers")
        rules.remove("trusted_workers")
    return rules


@check("POP-12", both=True)
def test_each_rule_decides_both_families_alike(stage: Stage, family: Family) -> None:
    """For each rule a worker that does not meet it is refused and one that does is served, in text and so in chat."""
    rules = _rules(stage)
    enforced = [rule for rule in rules if _enforced_on_text(stage, rule, family)]
    stage.note("not enforced on text, so not judged", sorted(set(rules) - set(enforced)))
    if not enforced:
        raise CouldNotRun(f"the text half enforces none of {', '.join(rules)}")
    if family is CHAT:
        for rule in enforced:
            case = RULES[rule](stage, CHAT)
            _admits(case, rule)
            _refuses(case, rule)


@check("POP-19", both=True)
def test_an_expired_request_is_handed_out_no_more(stage: Stage, family: Family) -> None:
    """One of a request's two generations is handed out, then it expires; the other is never, a later request is."""
    model = stage.model()
    request = stage.submit(family, model, n=2)
    worker = stage.serving(family, model)
    assert worker.pop() is not None, f"{family} request {request.id} was not handed out before it expired"
    stage.expire(request)

    def later() -> Any:
        stage.submit(family, model)
        return worker.pop()

    receives_nothing(worker.pop, of=request, control=later, because="it has expired")


@check("POP-20", both=True)
def test_a_requester_without_patience_is_served_by_fast_workers_only(stage: Stage, family: Family) -> None:
    """A request is not for slow workers; one that was fast by its own record is handed it, an untried one is not."""
    model = stage.model()
    fast = _fast(stage, family, model)
    request = stage.submit(family, model, n=2, slow_workers=False)
    job = stage.until(fast.receives, within=stage.profile.timings.speed + 1.0)
    assert job is not None, f"worker {fast.name} is fast and was not handed {family} request {request.id}"
    # The AI Horde counts a worker without a record as one of a token a second.
    slow = stage.serving(family, model)
    receives_nothing(slow.receives, of=request, control=fast.receives, because="it has no record of being fast")


def _fast(stage: Stage, family: Family, model: str) -> Worker:
    """A worker that has written a long reply at once."""
    worker = stage.serving(family, model)
    length = 256
    job = worker.pop_job(stage.submit(family, model, max_length=length))
    worker.reply(job, "word " * (length * stage.profile.tokens.characters // 5))
    return worker
