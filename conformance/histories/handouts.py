"""Who was handed what, how often, and how each hand-out ended: one request's part of a history."""

from __future__ import annotations

from functools import partial
from operator import attrgetter

from conformance.histories.books import DONE, Books, Generation, Request
from conformance.histories.findings import Findings
from conformance.histories.model import AnyOperation, Cancel, Fault, Pop, Progress, Reply, Rule
from conformance.histories.names import Names, counted, times
from conformance.histories.timeline import Timeline

_returned = attrgetter("returned")


def cancelled(request: Request) -> Cancel | None:
    """The cancel that was over first, of those that were carried out."""
    done = [cancel for cancel in request.cancels if cancel.outcome is DONE]
    return min(done, key=_returned) if done else None


def judge_generation(generation: Generation, found: Findings) -> None:
    """Handed out once; settled once; told rightly."""
    request = generation.request
    if len(generation.pops) > 1:
        _handed_twice(generation, found)
    cancel = cancelled(request) if request and request.cancels else None
    if len(generation.replies) > 1 or generation.faults or cancel:
        rewarded = [reply for reply in generation.replies if reply.reward]
        if len(rewarded) > 1:
            _paid_twice(generation, rewarded, found)
        _paid_after_its_end(generation, rewarded, cancel, found)
    if generation.posts and request and request.submits:
        for post in generation.posts:
            _judge_told(post, generation, request, cancel, found)


def judge_pop(pop: Pop, request: Request | None, found: Findings) -> None:
    """A worker is handed what it declared."""
    if pop.model in pop.takes(pop.family) or not pop.family:
        return
    found.add(
        Rule.MISPLACED,
        pop.returned,
        request,
        [*(request.submits if request else ()), pop],
        lambda names: (
            f"{names.handed([pop])} was handed out as {pop.family} for {pop.model}, which that pop did not declare: it "
            f"takes {_declared(pop)}"
        ),
    )


def _declared(pop: Pop) -> str:
    text = f"text for {', '.join(pop.models)}" if pop.text and pop.models else "no text"
    chat = f"chat for {', '.join(pop.chat_models)}" if pop.chat_models else "no chat"
    return f"{text} and {chat}"


def _handed_twice(generation: Generation, found: Findings) -> None:
    first, second = sorted(generation.pops, key=_returned)[:2]
    found.add(
        Rule.TWICE,
        second.returned,
        generation.request,
        [first, second],
        lambda names: (
            f"{names.generation(generation.id)} was handed to {names.who(first)} and to {names.who(second)}, "
            "which cannot both be"
        ),
    )


def _paid_twice(generation: Generation, rewarded: list[Reply], found: Findings) -> None:
    first, second = sorted(rewarded, key=_returned)[:2]
    found.add(
        Rule.SETTLED_TWICE,
        second.returned,
        generation.request,
        [*generation.pops, first, second],
        lambda names: (
            f"{names.generation(generation.id)} was paid {first.reward} kudos for the reply of {names.who(first)} and "
            f"{second.reward} for that of {names.who(second)}, and it ends once"
        ),
    )


def _paid_after_its_end(generation: Generation, rewarded: list[Reply], cancel: Cancel | None, found: Findings) -> None:
    request = generation.request
    ends: list[Fault | Cancel] = [fault for fault in generation.faults if fault.outcome is DONE]
    if cancel is not None and request is not None and request.stream:
        ends.append(cancel)
    end = min(ends, key=_returned) if ends else None
    reply = next((reply for reply in rewarded if end and end.returned < reply.called), None)
    if end is None or reply is None:
        return
    what = "its stream was cancelled" if isinstance(end, Cancel) else "it was given up"
    found.add(
        Rule.SETTLED_TWICE,
        reply.returned,
        request,
        [*(request.submits if request else ()), *generation.pops, end, reply],
        lambda names: (
            f"{what} by {names.who(end)}, which ended {names.generation(generation.id)}, and the reply of "
            f"{names.who(reply)} was paid {reply.reward} kudos all the same"
        ),
    )


def _judge_told(
    post: Progress, generation: Generation, request: Request, cancel: Cancel | None, found: Findings
) -> None:
    if post.outcome is not DONE or post.cancelled is None:
        return
    shown: list[AnyOperation] = [*request.submits, *generation.pops, *request.cancels, post]
    if post.cancelled and all(act.called > post.returned for act in request.cancels):
        found.add(
            Rule.MISTOLD,
            post.returned,
            request,
            shown,
            lambda names: (
                f"{names.who(post)} was told that {names.generation(generation.id)} was cancelled, and nobody had "
                f"cancelled {names.request(request.id)}"
            ),
        )
    if not post.cancelled and request.stream and cancel is not None and cancel.returned < post.called:
        found.add(
            Rule.MISTOLD,
            post.returned,
            request,
            shown,
            lambda names: (
                f"{names.who(post)} was told to go on with {names.generation(generation.id)}, whose stream was "
                f"cancelled by {names.who(cancel)}"
            ),
        )


def judge_handouts(request: Request, timeline: Timeline, books: Books, found: Findings) -> None:
    """A request is handed out as often as it asked for, and once more for each that was given back; never later."""
    if request.cancels:
        _judge_revival(request, timeline, books, found)
    if len(request.generations) > request.submits[0].n:
        _judge_excess(request, timeline, found)


def _judge_excess(request: Request, timeline: Timeline, found: Findings) -> None:
    asked = request.submits[0].n
    for place, moment in enumerate(sorted(generation.pops[0].returned for generation in request.generations), 1):
        back = timeline.may.until(moment).returned
        if place > asked + back:
            found.add(
                Rule.EXCESS,
                moment,
                request,
                [act for act in request.acts if act.called <= moment],
                partial(_tell_excess, request, place, back, moment),
            )
            return


def _tell_excess(request: Request, handed: int, back: int, moment: float, names: Names) -> str:
    pops = sorted((pop for pop in request.pops if pop.returned <= moment), key=_returned)
    given_back = f"at most {back} can have gone back to the queue" if back else "none went back to the queue"
    return (
        f"{names.request(request.id)} asked for {counted(request.submits[0].n, 'generation')} and {given_back}, but it "
        f"was handed out {times(handed)}: {names.handed(pops)}"
    )


def _judge_revival(request: Request, timeline: Timeline, books: Books, found: Findings) -> None:
    cancel = cancelled(request)
    if cancel is None:
        return
    handed = 0
    for pop in sorted((pop for pop in request.pops if pop.called > cancel.returned), key=_returned):
        handed += len(pop.generations)
        back = timeline.may.until(pop.returned).returned
        # What goes back to the queue of a request without a hint is text's to say (CAN-14); a stream is over (CAN-15).
        if request.stream or (handed > back and handed > back + books.ghosts(request, pop.returned)):
            found.add(
                Rule.REVIVED,
                pop.returned,
                request,
                [act for act in request.acts if act.called <= pop.returned],
                partial(_tell_revival, request, cancel, pop),
            )
            return


def _tell_revival(request: Request, cancel: Cancel, pop: Pop, names: Names) -> str:
    return (
        f"{names.request(request.id)} was cancelled by {names.who(cancel)}, and handed out afterwards: "
        f"{names.handed([pop])}"
    )
