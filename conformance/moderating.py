"""A moderator of the target, and what it may do to accounts and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.actors import Account
from conformance.client import Answer, Client
from conformance.errors import CouldNotRun


@dataclass(frozen=True)
class Moderator:
    """An operator's person: what it does must happen for the story to go on.

    Every act raises CouldNotRun where the target does not carry it out.
    """

    client: Client
    account: Account

    def modify(self, account: Account, **changes: Any) -> Answer:
        """Change an account: `flagged`, `trusted`, `concurrency`."""
        return self._act("modify_account", f"the change of {account.role} to {changes}", changes, id=account.id)

    def flag(self, account: Account, *, on: bool = True) -> None:
        """Flag an account, or take the flag away."""
        self.modify(account, flagged=on)

    def delete(self, account: Account) -> None:
        """Delete an account, or schedule its deletion; nothing brings it back."""
        self._act("delete_account", f"the deletion of {account.role}", id=account.id)

    def block(self, address: str, *, hours: int = 1) -> None:
        """Refuse what comes from an address for so many hours."""
        self._act("block_address", f"the block of {address}", {"address": address, "hours": hours})

    def unblock(self, address: str) -> None:
        """Take a block away."""
        self._act("unblock_address", f"the end of the block of {address}", {"address": address})

    def _act(self, operation: str, what: str, fields: dict[str, Any] | None = None, *, id: str = "") -> Answer:
        body = None if fields is None else self.client.profile.build(operation, fields)
        answer = self.client.call(
            operation, kind="moderate", actor=self.account.role, key=self.account.key, body=body, id=id
        )
        if not answer.accepted:
            raise CouldNotRun(f"{what} was not carried out: {answer}")
        return answer


def made(client: Client, role: str, name: str, *, trusted: bool = False, moderator: bool = False) -> Account:
    """A new account that the target makes for us; `name` is nobody else's.

    Raises:
        CouldNotRun: the target makes none.
    """
    fields = {
        "username": name,
        "oauth_id": f"conformance-{name}",
        "moderator": moderator,
        "trusted": trusted,
        "kudos": client.profile.accounts.kudos,
    }
    body = client.profile.build("make_account", fields)
    answer = client.call("make_account", kind="make_account", actor=role, body=body)
    if not answer.accepted:
        raise CouldNotRun(str(answer))
    return Account(role, str(answer.need("key")), str(answer.need("alias")), str(answer.need("id")))
