"""The accounts of a run, obtained in the way that the profile names."""

from __future__ import annotations

import os
import secrets

from conformance.actors import Account
from conformance.client import Client
from conformance.errors import BadOptions, CouldNotRun, TargetNotReady
from conformance.moderating import made
from conformance.stage import Cast


def provide(client: Client, lanes: int = 1) -> list[Cast]:
    """Requesters, trusted owners and an untrusted one, as many as the profile says, for each lane of checks.

    Where keys are listed there are no more lanes than they suffice for.

    Raises:
        TargetNotReady: the target does not give them.
        BadOptions: the profile lists keys, but the environment does not hold them.
    """
    method = client.profile.accounts.method
    ways = {"test-user": _made, "listed": _listed}
    if method not in ways:
        raise BadOptions(
            f"The profile obtains accounts by {method!r}, which is no way that we know.",
            f"Set accounts.method to one of {', '.join(ways)}.",
        )
    try:
        return ways[method](client, lanes)
    except CouldNotRun as reason:
        raise TargetNotReady(
            f"The target gave no accounts: {reason}.",
            "Start it so that it makes test users (AI Horde: HORDE_TEST_APIKEYS=1, on loopback), or list keys: "
            'accounts.method = "listed" in the profile.',
        ) from None


def _made(client: Client, lanes: int) -> list[Cast]:
    return [_made_for_one(client) for _ in range(lanes)]


def _made_for_one(client: Client) -> Cast:
    """New accounts under names of their own: another lane, or a run beside this one, must not renew their keys."""
    wanted = client.profile.accounts
    run = secrets.token_hex(4)

    def make(role: str, *, trusted: bool, moderator: bool = False) -> Account:
        return made(client, role, f"{role} {run}", trusted=trusted, moderator=moderator)

    cast = Cast(
        requesters=[make(f"requester {i + 1}", trusted=False) for i in range(wanted.requesters)],
        owners=[make(f"owner {i + 1}", trusted=True) for i in range(wanted.owners)],
        untrusted=[make("untrusted owner", trusted=False)],
    )
    if "moderator" in client.profile.capabilities:
        cast.moderators.append(make("moderator", trusted=True, moderator=True))
    return cast


def _listed(client: Client, lanes: int) -> list[Cast]:
    wanted = client.profile.accounts

    def known(variable: str, role: str, count: int) -> list[list[Account]]:
        keys = _keys(variable)
        if len(keys) < count:
            raise BadOptions(
                f"The environment variable {variable} holds {len(keys)} keys where the profile asks for {count}.",
                f"Set {variable} to {count} API keys, separated by commas.",
            )
        people = [_look_up(client, f"{role} {i % count + 1}", key) for i, key in enumerate(keys[: count * lanes])]
        return [people[i : i + count] for i in range(0, len(people) - count + 1, count)]

    requesters = known(wanted.requester_keys_variable, "requester", wanted.requesters)
    owners = known(wanted.owner_keys_variable, "owner", wanted.owners)
    moderators = [_look_up(client, "moderator", key) for key in _keys(wanted.moderator_keys_variable)]
    spares = [_look_up(client, "spare requester", key) for key in _keys(wanted.spare_keys_variable)]
    casts = [Cast(some, others) for some, others in zip(requesters, owners, strict=False)]
    for lane, cast in enumerate(casts):
        # A moderator may serve every lane; a spare account is spoilt by the first.
        cast.moderators, cast.spares = list(moderators), spares[lane :: len(casts)]
    return casts


def _keys(variable: str) -> list[str]:
    return [key.strip() for key in os.environ.get(variable, "").split(",") if key.strip()]


def _look_up(client: Client, role: str, key: str) -> Account:
    answer = client.call("account", kind="account", actor=role, key=key)
    if not answer.accepted:
        raise CouldNotRun(str(answer))
    return Account(role, key, str(answer.need("alias")), str(answer.need("id")))
