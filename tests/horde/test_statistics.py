"""Text statistics by period and by model: chat generations count in each as text ones do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixtures.horde import schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixtures.postgres import Server
    from tests.horde.conftest import Account, Horde

PERIODS = {"minute": 0, "hour": 30, "day": 5 * 60, "month": 20 * 24 * 60, "total": 60 * 24 * 60}


def settled(horde: Horde, owner: Account, family: str, model: str, **reply: Any) -> None:
    requester = horde.account()
    horde.submit(requester.key, family, model)
    job = horde.pop(owner.key, model)["id"]
    chat = {"chat": {"message": {"role": "assistant", "content": "a"}}} if family == "chat" else {}
    assert horde.reply(owner.key, job, generation="a", **chat, **reply).status_code == 200


def test_every_period_counts_what_ended_in_it_in_both_families(postgres: Server, serve: Callable[..., Any]) -> None:
    url = postgres.url(postgres.create_database())
    schema.prepare(url)
    with serve(url) as lonely:
        assert lonely.call("GET", "/stats/text/totals").json() == {one: {"requests": 0, "tokens": 0} for one in PERIODS}
        assert lonely.call("GET", "/stats/text/models").json() == {one: {} for one in PERIODS}
        judge(lonely)


def judge(lonely: Horde) -> None:
    owner, models = lonely.account(trusted=True), {family: lonely.model() for family in ("text", "chat")}
    for family, model in models.items():
        for minutes in PERIODS.values():
            settled(lonely, owner, family, model)
            lonely.sql(
                "UPDATE text_gen_stats SET finished = finished - make_interval(mins => :minutes) "
                "WHERE id = (SELECT max(id) FROM text_gen_stats)",
                minutes=minutes,
            )
        settled(lonely, owner, family, model, state="faulted")
    totals = lonely.call("GET", "/stats/text/totals").json()
    by_model = lonely.call("GET", "/stats/text/models").json()
    assert list(totals) == list(by_model) == list(PERIODS)
    for count, period in enumerate(PERIODS, start=1):
        assert totals[period] == {"requests": 2 * count, "tokens": 2 * count * 80}
        assert by_model[period] == {models["text"]: count, models["chat"]: count}
