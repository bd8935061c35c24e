"""What was charged and paid, by the most exact oracle that the target has.

The ledger in the database is exact. Without it a charge is read from the request's status and a payment from the
reward in the reply's answer or from the owner's balance, each off by the profile's rounding per movement
(specification, section 1: Money).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conformance.actors import Account, Job, Request, balance
from conformance.client import Client
from conformance.errors import CouldNotRun

if TYPE_CHECKING:
    from conformance.database import Database

# A hundredth of a kudo is the smallest movement; anything below is binary noise of floats.
_NOISE = 0.005


class Money:
    """Charges and payments of one check, in kudos."""

    def __init__(self, client: Client, database: Database | None) -> None:
        self._client = client
        self._profile = client.profile
        self._ledger = database if database and self._profile.database.ledger else None
        self._opened: dict[str, float] = {}
        self._spent: dict[str, float] = {}

    @property
    def exact(self) -> bool:
        """Whether the ledger can be read."""
        return self._ledger is not None

    def same(self, one: float, other: float, *, movements: int = 1) -> bool:
        """Whether two amounts are equal, as far as the oracle can tell after so many movements each."""
        allowed = 0.0 if self.exact else 2 * self._profile.money.rounding * movements
        return abs(one - other) <= allowed + _NOISE

    def open(self, owner: Account) -> None:
        """Remember an owner's balance, where only the balance shows payments; to be called before the first one."""
        if not self.exact and owner.key not in self._opened:
            self._opened[owner.key] = self._fresh_balance(owner)

    def charged(self, request: Request) -> float:
        """All that the request has cost its requester so far, the submit's own cost included."""
        time.sleep(self._profile.timings.settlement)
        if self._ledger is None:
            return request.status().kudos
        ids = [request.id, *(job.id for job in request.jobs)]
        user = request.requester.account.id
        return -sum((amount for owner, amount in self._postings(ids) if owner == user), 0.0)

    def paid(self, *jobs: Job) -> float:
        """All that the owner of these jobs' worker was paid for them.

        Over HTTP the balance shows only the sum: the jobs must be all that the owner was paid for since `open`.

        Raises:
            CouldNotRun: there is no ledger, and the owner's balance was not opened.
        """
        time.sleep(self._profile.timings.settlement)
        owner = jobs[0].worker.owner
        if self._ledger is not None:
            ids = [job.id for job in jobs]
            return sum((amount for user, amount in self._postings(ids) if user == owner.id), 0.0)
        if owner.key not in self._opened:
            raise CouldNotRun("the target shows payments only in the owner's balance, which was not read before")
        return self._fresh_balance(owner) - self._opened[owner.key]

    def books(self, requests: Sequence[Request]) -> list[tuple[float, float | None]]:
        """What each of these has cost and, where the ledger shows it, what was paid for it; waited for once."""
        time.sleep(self._profile.timings.settlement)
        if self._ledger is None:
            return [(request.status().kudos, None) for request in requests]
        return [self._cost_and_payment(request) for request in requests]

    def _cost_and_payment(self, request: Request) -> tuple[float, float]:
        moved = self._postings([request.id, *{job.id for job in request.jobs}])
        user = request.requester.account.id
        cost = -sum((amount for who, amount in moved if who == user), 0.0)
        return cost, sum((amount for who, amount in moved if who != user), 0.0)

    def balance(self, account: Account) -> float:
        """An account's kudos now, all settled; as exact as the profile's rounding."""
        time.sleep(self._profile.timings.settlement)
        return self._fresh_balance(account)

    def movements(self, request: Request) -> list[float]:
        """Every movement for the request and its generations, in order; with the ledger only.

        Raises:
            CouldNotRun: the ledger cannot be read.
        """
        if self._ledger is None:
            raise CouldNotRun("single movements are seen on the ledger only")
        return [amount for _, amount in self._postings([request.id, *(job.id for job in request.jobs)])]

    def _postings(self, ids: Sequence[str]) -> list[tuple[str, float]]:
        assert self._ledger is not None
        rows = self._ledger.rows(self._profile.database.ledger, ids=list(ids))
        return [(str(row["user_id"]), float(row["amount"])) for row in rows]

    def _fresh_balance(self, owner: Account) -> float:
        # A balance may be as old as the profile says; what is read after that time holds all that went before.
        time.sleep(self._profile.timings.balance)
        return balance(self._client, owner)
