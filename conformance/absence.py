"""The control rule: an absence counts only when its positive control passed in the same check.

A server that answers 404 to everything finds nothing, hands out nothing and changes nothing. So each helper that
asserts an absence takes its control as an argument, and there is no other way to assert one (specification,
section 2). A claim that is broken fails; a claim that holds while its control does not is not judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.actors import Job, Request
from conformance.client import Answer
from conformance.errors import CouldNotRun


def not_found(answer: Answer, *, control: Callable[[], Answer]) -> None:
    """What was asked for is not found. The control: asked for on its own route, by its own people, it is found.

    Raises:
        AssertionError: the answer is another than the profile's *not found*.
        CouldNotRun: the control is not found either.
    """
    assert answer.not_found, f"expected not found, got {answer}"
    found = control()
    if not found.accepted:
        raise CouldNotRun(f"the control is not found on its own route either: {found}")


def no_such_job(answer: Answer, *, control: Callable[[], Answer]) -> None:
    """No generation of that id is found. The control: the same call with a generation's id is carried out.

    Raises:
        AssertionError: the answer is another than the profile's *no such generation*.
        CouldNotRun: the control is not carried out either.
    """
    assert answer.job_not_found, f"expected that no such generation is found, got {answer}"
    right = control()
    if not right.accepted:
        raise CouldNotRun(f"the control is not carried out either: {right}")


def refused(answer: Answer, *, control: Callable[[], Answer]) -> None:
    """The call is refused with a 4xx. The control: the same call, made as it should be, is carried out.

    Raises:
        AssertionError: the call is carried out, or the target crashes on it.
        CouldNotRun: the control is refused as well, or the target only asks for patience.
    """
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    assert answer.refused, f"expected a refusal (4xx), got {answer}"
    right = control()
    if not right.accepted:
        raise CouldNotRun(f"the control is refused as well: {right}")


def too_many(answer: Answer, *, control: Callable[[], Answer]) -> None:
    """The submit is refused because too much waits. The control: the same submit is carried out when less does.

    Raises:
        AssertionError: the submit is carried out, or refused for another reason.
        CouldNotRun: the control is refused as well, or the target only asks for patience.
    """
    if answer.limited and not answer.too_many:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    assert answer.too_many, f"expected a refusal because too much waits, got {answer}"
    room = control()
    if not room.accepted:
        raise CouldNotRun(f"with less waiting the submit is refused as well: {room}")


def receives_nothing(
    pop: Callable[[], Job | None], *, of: Request, control: Callable[[], Job | None], because: str = ""
) -> Job:
    """A pop does not hand out the request. The control: directly afterwards the right worker is handed it.

    A job belongs to the request when it is of one of the models that the request names, which are the check's own.

    Raises:
        AssertionError: the pop hands the request out.
        CouldNotRun: the control is not handed it either.
    """
    got = pop()
    wrongly = got is not None and (not of.models or got.model in of.models)
    assert not wrongly, f"worker {got and got.worker.name} was handed {of.family} request {of.id}" + (
        f", although {because}" if because else ""
    )
    right = control()
    if right is None or (of.models and right.model not in of.models):
        raise CouldNotRun(f"the control was not handed {of.family} request {of.id} either")
    of.jobs += right.each()
    return right


def changes_nothing(act: Callable[[], object], *, seen: Callable[[], Any], control: Callable[[], object]) -> None:
    """An act leaves everything that `seen` looks at as it was. The control: the real act changes it.

    Args:
        act: what must change nothing.
        seen: looks at the state; compared by equality.
        control: the act that does change what `seen` looks at, done afterwards.

    Raises:
        AssertionError: the act changed what is seen.
        CouldNotRun: the control changed nothing either, so that the look is blind; or the target only asks for
            patience with the act.
    """
    before = seen()
    _done(act())
    after = seen()
    assert after == before, f"changed from {before!r} to {after!r}"
    control()
    if seen() == before:
        raise CouldNotRun(f"the control changed nothing either: {before!r}")


def leaves_alone(act: Callable[[], object], *, seen: Callable[[], Any], unlike: Any) -> None:
    """An act leaves what `seen` looks at as it was, where nothing is left that could change it.

    Args:
        act: what must change nothing.
        seen: looks at the state; compared by equality.
        unlike: the control: what the same look saw earlier in this story, before the last change.

    Raises:
        AssertionError: the act changed what is seen.
        CouldNotRun: the look does not tell now from then, so that it is blind; or the target only asks for
            patience with the act.
    """
    before = seen()
    if before == unlike:
        raise CouldNotRun(f"the control changed nothing: {before!r} is seen, as earlier in the story")
    _done(act())
    after = seen()
    assert after == before, f"changed from {before!r} to {after!r}"


def _done(result: object) -> None:
    """An act that the target put off for its rate was not done, and shows nothing."""
    if isinstance(result, Answer) and result.limited:
        raise CouldNotRun(f"refused for its rate only: {result}")


def vanishes(
    act: Callable[[], object], *, seen: Callable[[], Any], patience: Callable[[Callable[[], bool]], bool]
) -> None:
    """What is seen before an act is seen no more after it. The control: before it, it is seen.

    Args:
        act: makes it go.
        seen: gives what is there; something true while there is anything.
        patience: looks again and again until what it is given holds: the stage's `until`.

    Raises:
        AssertionError: it is still there.
        CouldNotRun: it was not seen before either, so that the look is blind.
    """
    before = seen()
    if not before:
        raise CouldNotRun("nothing was seen before either")
    act()
    assert patience(lambda: not seen()), f"still there: {seen()!r}"
