"""Before anything is judged: a heartbeat, accounts, and one text round trip.

A target on which these do not work is not judged at all, for every verdict would be about something else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from conformance import accounts
from conformance.actors import Family, balance
from conformance.client import Client
from conformance.errors import CouldNotRun, TargetNotReady
from conformance.stage import Cast, Resources, Stage

# A gate must know within half a minute that a target cannot be judged; the rest is for starting and ending.
_LONGEST = 25.0
# Between two looks whether a target is back.
_GLANCE = 0.1


@contextmanager
def in_time(client: Client) -> Iterator[None]:
    """Let the client's calls end in time for the whole preflight."""
    client.deadline = time.monotonic() + _LONGEST
    try:
        yield
    finally:
        client.deadline = None


def heartbeat(client: Client) -> None:
    """The target answers its heartbeat.

    Raises:
        TargetNotReady: it does not, within the profile's time for it.
    """
    try:
        answer = client.call("heartbeat", kind="heartbeat", actor="harness", timeout=client.profile.timings.preflight)
    except CouldNotRun as reason:
        raise TargetNotReady(
            f"The target does not answer: {reason}.",
            "Is it running, and is the URL that of its root (without /api/v2)?",
        ) from None
    if not answer.accepted:
        raise TargetNotReady(
            f"The target's heartbeat is not one: {answer}.",
            "Does the profile name the right base path and routes?",
        )


def heartbeat_within(client: Client, seconds: float) -> None:
    """The target answers its heartbeat, now or in a while.

    Raises:
        TargetNotReady: it still does not after these seconds.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return heartbeat(client)
        except TargetNotReady:
            if time.monotonic() > deadline:
                raise
        time.sleep(_GLANCE)


def recognised(client: Client, cast: Cast) -> None:
    """The target knows the accounts of this run, as one does not that lost its memory with a restart.

    Raises:
        TargetNotReady: it does not.
    """
    try:
        balance(client, cast.requesters[0])
    except CouldNotRun as reason:
        raise TargetNotReady(
            f"The target answers again, but no longer shows that it knows the accounts of this run: {reason}.",
            "Judge it again, without a restart, or with a database that outlives one.",
        ) from None


def round_trip(resources: Resources) -> None:
    """A text request is submitted, handed out, answered and read.

    Raises:
        TargetNotReady: one of these does not happen.
    """
    stage = Stage(resources, "preflight")
    try:
        _tell(stage)
    except CouldNotRun as reason:
        raise TargetNotReady(
            f"A text request did not make its round trip: {reason}.",
            "The text family must work before chat can be judged; try it by hand with the calls that the reason names.",
        ) from None
    finally:
        stage.tidy()


def _tell(stage: Stage) -> None:
    model = stage.model()
    request = stage.text(model, content="One round trip.")
    job = stage.text_worker(model).pop_job(request)
    if job.prompt != request.prompt:
        raise CouldNotRun(f"the worker was handed the prompt {job.prompt!r} instead of {request.prompt!r}")
    words = f"An answer of {stage.unique()}."
    job.worker.reply(job, words)
    status = request.status()
    if not status.done or [g.text for g in status.generations] != [words] or request.family is not Family.TEXT:
        raise CouldNotRun(f"its status does not show the worker's reply: {status.answer.body}")


def ready(client: Client, lanes: int = 1) -> list[Cast]:
    """The accounts of each lane, once heartbeat and accounts work; the round trip is yet to be made.

    Raises:
        TargetNotReady: one of them does not.
    """
    heartbeat(client)
    return accounts.provide(client, lanes)
