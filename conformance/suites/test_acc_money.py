"""ACC-06, ACC-12 and ACC-13: each event moves the kudos that the text path moves for it, once; nothing else does."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from conformance.actors import Family, balance
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.acc_play import PLAYS, Event, Play
from conformance.suites.acc_scenes import tokens, words
from conformance.suites.rpl_scenes import assistant, reply_in_chat

# The least noise of binary numbers, in kudos.
NOISE = 0.01

EVENTFUL = (
    3,
    (Event.REPLY, Event.CENSOR, Event.REPEAT, Event.FAULT, Event.FAULT_AGAIN, Event.POP, Event.CANCEL, Event.EMPTY),
)


@check("ACC-06", both=True)
def test_in_any_order_of_events_kudos_move_as_the_text_path_moves_them(stage: Stage, family: Family) -> None:
    """Requests go through short lives of every kind: what each cost is right, and what both accounts hold."""
    rounding = stage.profile.money.rounding
    worker = stage.serving(family, stage.model())
    before = _balances(stage)
    plays: list[Play] = []

    def judge(example: tuple[int, Sequence[Event]]) -> None:
        n, events = example
        play = Play(stage, family, worker, n)
        plays.append(play)
        play.perform(events)
        time.sleep(stage.profile.timings.settlement)
        cost, due = play.request.status().kudos, sum(play.charges)
        allowed = rounding * len(play.charges) + NOISE
        assert abs(cost - due) <= allowed, f"{play.story}: it cost {cost} kudos; these events cost {due}"

    judge(EVENTFUL)
    stage.for_all(PLAYS, judge, count=2 if family is Family.CHAT else 1)
    _judge_balances(stage, before, _balances(stage), plays)


def _balances(stage: Stage) -> tuple[float, float]:
    """What the requester and the workers' owner hold, as of now."""
    time.sleep(max(stage.profile.timings.balance, stage.profile.timings.settlement))
    return stage.requester().balance(), balance(stage.client, stage.owner())


def _judge_balances(
    stage: Stage, before: tuple[float, float], after: tuple[float, float], plays: Sequence[Play]
) -> None:
    charges = [charge for play in plays for charge in play.charges]
    payments = [payment for play in plays for payment in play.payments]
    spent, earned = before[0] - after[0], after[1] - before[1]
    rounding = stage.profile.money.rounding
    for who, moved, due in (("the requester spent", spent, charges), ("the owner earned", earned, payments)):
        assert abs(moved - sum(due)) <= rounding * (len(due) + 1) + NOISE, (
            f"{who} {moved:.2f} kudos over {len(plays)} requests; their events move {sum(due):.2f}"
        )


@check("ACC-13")
def test_on_the_ledger_each_event_moves_its_kudos_once(stage: Stage) -> None:
    """Requests go through short lives of every kind: the ledger has each movement that the text path makes, once."""
    worker = stage.chat_worker(stage.model())

    def judge(example: tuple[int, Sequence[Event]]) -> None:
        n, events = example
        play = Play(stage, Family.CHAT, worker, n)
        play.perform(events)
        time.sleep(stage.profile.timings.settlement)
        found = Counter(round(amount, 2) for amount in stage.money.movements(play.request) if round(amount, 2))
        due = play.ledger()
        assert found == due, (
            f"{play.story}: the ledger has {sorted(found.elements())}; these events move {sorted(due.elements())}"
        )

    judge(EVENTFUL)
    stage.for_all(PLAYS, judge, count=1)


# Usage

REPORTS: dict[str, Any] = {
    "true": {"prompt_tokens": 90, "completion_tokens": 60, "total_tokens": 150},
    "zero": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "negative": {"prompt_tokens": -90, "completion_tokens": -60, "total_tokens": -150},
    "a million": {"prompt_tokens": 10**6, "completion_tokens": 10**6, "total_tokens": 2 * 10**6},
    "less than the reply": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


@check("ACC-12")
def test_what_usage_a_worker_reports_moves_no_kudos(stage: Stage) -> None:
    """Equal replies of one request are reported with true and senseless usage: each is paid and charged as without."""
    request = stage.chat(stage.model(), n=len(REPORTS) + 1, max_length=100, content=stage.twin_content(100))
    worker = stage.chat_worker(*request.models)
    alone = stage.money.charged(request)

    def reply(**usage: Any) -> Answer:
        job, message = worker.pop_job(request), assistant(words(tokens(stage, 60)))
        answer = reply_in_chat(job, message, **usage)
        if usage and answer.refused:
            # The job must be open to a reply with a sensible report.
            return reply_in_chat(job, message)
        return answer

    first = reply()
    if not first.accepted or not first.number("reward"):
        raise CouldNotRun(f"a reply without usage earned nothing: {first}")
    one = stage.money.charged(request) - alone
    for told, usage in REPORTS.items():
        answer = reply(usage=usage)
        assert answer.accepted, f"a job whose reply reported {told} usage was not taken, nor was it open: {answer}"
        reward = answer.read("reward")
        assert reward == first.read("reward"), (
            f"a reply earned {reward} kudos with {told} usage reported, {first.read('reward')} with none"
        )
    cost, due = stage.money.charged(request) - alone, one * (len(REPORTS) + 1)
    assert stage.money.same(cost, due, movements=len(REPORTS) + 1), (
        f"replies with usage {', '.join(REPORTS)} and none cost {cost} kudos in all; six without cost {due}"
    )
