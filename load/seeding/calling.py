"""A small queue through the API, where the database is not ours to write: submitted, and cancelled afterwards.

What is queued is written into a journal at once, so that whoever comes after a kill can cancel it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from conformance import accounts, moderating
from conformance.actors import Account, Family, Request, Requester
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.profile import Profile
from load.errors import BadQueue, SeedingFailed, WrongCounts
from load.seeding import copying, marks
from load.seeding.content import Composer
from load.seeding.description import Description
from load.seeding.rows import Kind, Row, expected, rows
from load.seeding.seeded import Counted, Seeded


@contextmanager
def seeded(description: Description, profile: Profile, url: str) -> Iterator[Seeded]:
    """The queue for the time of a `with` block; what killed runs left is cancelled first.

    Raises:
        BadQueue: a queue that cannot be submitted.
        SeedingFailed: the target refuses a submit.
        WrongCounts: the statuses do not show what was submitted.
    """
    _check(description)
    remove_leftovers(profile, url)
    run = marks.new(kept=False)
    with Client(url, profile) as client, _journal(run) as journal:
        try:
            people = _people(client, description, run)
            _check_concurrency(description, profile, len(people))
            yield _submitted(client, description, run, people, journal, url)
        finally:
            _cancel(client, journal)
            # Only now: what could not be cancelled is the next run's to cancel.
            Path(journal.name).unlink(missing_ok=True)


def remove_leftovers(profile: Profile, url: str) -> list[str]:
    """Cancel what killed runs queued at this target; their names."""
    removed = []
    for path in sorted(_folder().glob("*.jsonl")):
        with path.open("r+", encoding="utf-8") as journal:
            if not _ours(journal) or {line["url"] for line in _lines(journal)} - {url}:
                continue
            with Client(url, profile) as client:
                _cancel(client, journal)
            path.unlink()
            removed.append(path.stem)
    return removed


# ---------------------------------------------------------------------------------------- what cannot be


def _check(description: Description) -> None:
    for cannot, what in (
        (description.expired.rows > 0, "expired rows"),
        (len(set(description.priorities)) > 1 or description.priorities[0] != 0, "priorities of its own"),
        (description.payload.carried_by != "natural", "a payload in chosen columns"),
        (description.lifetime_seconds is not None, "a lifetime of its own"),
    ):
        if cannot:
            raise BadQueue(
                f"A queue with {what} cannot be submitted.",
                "Name the target's database and a profile with [seeding], or leave that out of the queue.",
            )


def _check_concurrency(description: Description, profile: Profile, people: int) -> None:
    each = -(-description.total // people) * description.n
    if each > profile.limits.concurrency:
        raise BadQueue(
            f"The queue has {each} generations for one user, and the target takes {profile.limits.concurrency}.",
            f"Give it more users than {people}, or fewer rows; deep queues want the target's database.",
        )


def _people(client: Client, description: Description, run: str) -> list[Requester]:
    try:
        if client.profile.accounts.method == "test-user":
            names = (marks.user(run, number) for number in range(description.users))
            return [Requester(client, moderating.made(client, name, name)) for name in names]
        listed: list[Account] = accounts.provide(client)[0].requesters
    except CouldNotRun as reason:
        raise SeedingFailed(f"The target gives no accounts: {reason}.", "See [accounts] in the profile.") from None
    if description.users > len(listed):
        raise BadQueue(
            f"The queue has {description.users} users, and {len(listed)} keys are listed.",
            "List more keys, or give the queue fewer users.",
        )
    return [Requester(client, account) for account in listed[: description.users]]


# ---------------------------------------------------------------------------------------- the rows


def _submitted(
    client: Client, description: Description, run: str, people: list[Requester], journal: IO[str], url: str
) -> Seeded:
    models = copying.model_names(description, client.profile, run)
    made = time.perf_counter()
    composer = Composer(description, client.profile.seeding.chat_prompt)
    bodies = [_fields(description, row, composer.said(row)) for row in rows(description)]
    generating, queued, size = time.perf_counter() - made, [], 0
    begun = time.perf_counter()
    for place, (row, fields) in enumerate(zip(rows(description), bodies, strict=True)):
        model = models[row.model] if row.model >= 0 else f"{models[0]}-refused"
        # Users take turns, for each has room for as many as any other.
        request = _queued(people[place % len(people)], _family(row), model, fields)
        journal.write(json.dumps({"url": url, "family": request.family, "id": request.id}) + "\n")
        journal.flush()
        queued.append((row, request))
        size += sum(len(exchange.request_body or "") for exchange in client.recorder.take())
    writing = time.perf_counter() - begun
    counts = _counted(queued, description)
    client.recorder.take()
    return Seeded(
        run=run, way="calls", description=description, counts=counts, bytes_given=size, bytes_estimated=0,
        seconds_generating=generating, seconds_writing=writing, stored=(), models=models,
        keys=tuple(person.account.key for person in people), declaration=copying.declaration(description, models),
    )  # fmt: skip


def _queued(person: Requester, family: Family, model: str, fields: dict[str, Any]) -> Request:
    try:
        return person.submit(family, [model], **fields)
    except CouldNotRun as reason:
        raise SeedingFailed(
            f"The target refuses a row of the queue: {reason}.", "What was queued before is cancelled."
        ) from None


def _fields(description: Description, row: Row, said: str) -> dict[str, Any]:
    broken = description.refused.by if row.kind is Kind.REFUSED else None
    content = {"messages": [{"role": "user", "content": said}]} if row.is_chat else {"prompt": said}
    return {
        "n": description.n,
        "max_length": description.max_length * (2 if broken == "max_length" else 1),
        "max_context_length": description.max_context_length * (2 if broken == "max_context_length" else 1),
        "nsfw": broken == "nsfw",
        **content,
    }


def _family(row: Row) -> Family:
    return Family.CHAT if row.is_chat else Family.TEXT


def _counted(queued: list[tuple[Row, Request]], description: Description) -> tuple[Counted, ...]:
    """What the statuses say, one by one."""
    there: dict[tuple[Kind, bool], int] = {}
    for row, request in queued:
        try:
            waits = request.status().waiting == description.n
        except CouldNotRun:
            waits = False
        there[row.kind, row.is_chat] = there.get((row.kind, row.is_chat), 0) + waits
    if there != expected(description):
        raise WrongCounts(
            f"Of {description.total} submitted requests {sum(there.values())} wait.",
            "Does another worker take this queue's models, or the target's time run out? The rest is cancelled.",
        )
    return tuple(Counted(kind=kind, chat=chat, rows=number) for (kind, chat), number in sorted(there.items()))


# ---------------------------------------------------------------------------------------- the journal


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "horde-conformance" / "seeded"


@contextmanager
def _journal(run: str) -> Iterator[IO[str]]:
    """A file for what is queued, locked as long as we live."""
    path = _folder() / f"{run}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w+", encoding="utf-8") as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        yield journal


def _ours(journal: IO[str]) -> bool:
    try:
        fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lines(journal: IO[str]) -> list[dict[str, str]]:
    journal.seek(0)
    lines = []
    for line in journal:
        # The last one may have been cut off by the kill.
        with suppress(ValueError):
            lines.append(json.loads(line))
    return lines


def _cancel(client: Client, journal: IO[str]) -> None:
    """Cancel all that a journal names; what is no longer there is as good as cancelled."""
    for line in _lines(journal):
        family = Family(line["family"])
        answer = client.call(f"cancel_{family}", kind="cancel", actor="seeding", id=line["id"])
        client.recorder.take()
        if not (answer.accepted or answer.not_found):
            raise SeedingFailed(f"The target does not cancel a row of the queue: {answer}.", "It expires by itself.")
