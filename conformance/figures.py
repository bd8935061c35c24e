"""The figures that a target counts: what it says of an account, a worker and a model.

They may be as old as the profile says: `wait` once after the last event and before the look.
"""

from __future__ import annotations

import time
from typing import Any

from conformance.actors import Account, Worker
from conformance.client import Answer, Client
from conformance.errors import CouldNotRun

Figures = dict[str, float]


def wait(client: Client) -> None:
    """Let the oldest figure that the target may still show become one of now."""
    timings = client.profile.timings
    time.sleep(max(timings.settlement, timings.balance, timings.statistics))


def of_account(client: Client, account: Account) -> Figures:
    """Every number in an account's records, by its place in them.

    Raises:
        CouldNotRun: the account's route shows none.
    """
    answer = client.call("account", kind="account", actor=account.role, key=account.key)
    return _numbers(_shown(answer, "records"))


def of_worker(worker: Worker) -> Figures:
    """What a worker has fulfilled, and the kudos that it has earned.

    Raises:
        CouldNotRun: the target does not list the worker.
    """
    profile = worker.client.profile
    answer = worker.client.call("workers", kind="workers", actor=worker.name, key=worker.owner.key)
    listed = answer.body if answer.accepted and isinstance(answer.body, list) else []
    for shown in listed:
        if profile.read("worker", "name", shown) == worker.name:
            return {name: float(profile.read("worker", name, shown, 0)) for name in ("fulfilled", "kudos")}
    raise CouldNotRun(f"the target does not list worker {worker.name}: {answer}")


def of_model(client: Client, model: str) -> float:
    """How often a model generated, as the statistics by model say it; 0 where they do not name it.

    Raises:
        CouldNotRun: the target shows no such statistics.
    """
    answer = client.call("model_statistics", kind="statistics", actor="anybody")
    return float(_shown(answer, "by_model").get(model, 0))


def _shown(answer: Answer, name: str) -> dict[str, Any]:
    shown = answer.read(name) if answer.accepted else None
    if not isinstance(shown, dict):
        raise CouldNotRun(f"{answer} shows no {name}")
    return shown


def _numbers(data: dict[str, Any], prefix: str = "") -> Figures:
    found: Figures = {}
    for key, value in data.items():
        if isinstance(value, dict):
            found |= _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[prefix + key] = float(value)
    return found
