"""ACC-02 and ACC-03: twins are forecast alike, and settle alike."""

from __future__ import annotations

from typing import Any

from conformance.actors import Family
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.acc_scenes import answered, settled, tokens, words
from conformance.twins import Relation, Seen, check_of, relation

# The forecast


def forecast(stage: Stage, family: Family, models: list[str], **fields: Any) -> float:
    """What a dry run says that this request would cost."""
    said = "Tell me about the sea."
    content = {"messages": [{"role": "user", "content": said}]} if family is Family.CHAT else {"prompt": said}
    answer = stage.requester().try_submit(family, {**content, "models": models, "dry_run": True, **fields})
    if answer.status not in stage.profile.statuses["dry_run"]:
        raise CouldNotRun(f"the dry run was not carried out: {answer}")
    return answer.number("kudos")


def forecasts(stage: Stage, family: Family, field: str, *values: int) -> dict[str, object]:
    """The forecasts for these values of one field."""
    models = [stage.model()]
    return {f"the forecast for {field} {value}": forecast(stage, family, models, **{field: value}) for value in values}


@relation("ACC-02", compares="the dry run's price")
def forecast_by_length(stage: Stage, family: Family) -> Seen:
    """Whatever the reply's longest length is, a dry run says the same price for both."""
    return forecasts(stage, family, "max_length", stage.profile.limits.max_length_minimum, 600)


@relation("ACC-02", compares="the dry run's price")
def forecast_by_context(stage: Stage, family: Family) -> Seen:
    """Whatever the longest context is, a dry run says the same price for both."""
    return forecasts(stage, family, "max_context_length", 512, 65536)


@relation("ACC-02", compares="the dry run's price")
def forecast_by_generations(stage: Stage, family: Family) -> Seen:
    """However many generations are asked for, a dry run says the same price for both."""
    return forecasts(stage, family, "n", 1, stage.profile.limits.n)


@relation("ACC-02", compares="the dry run's price")
def forecast_by_models(stage: Stage, family: Family) -> Seen:
    """Whether one model is named or several, a dry run says the same price for both."""
    models = [stage.model() for _ in range(3)]
    return {f"the forecast for {number} models": forecast(stage, family, models[:number]) for number in (1, 3)}


@check_of(forecast_by_length, forecast_by_context, forecast_by_generations, forecast_by_models)
def test_twins_are_forecast_alike(stage: Stage, relation: Relation) -> None:
    """A request and its twin are priced beforehand."""
    relation.judge(stage)


@check("ACC-02")
def test_what_is_forecast_can_be_queued(stage: Stage) -> None:
    """A chat request is priced beforehand, and the same request is then queued and found."""
    model = stage.model()
    price = forecast(stage, Family.CHAT, [model])
    assert price > 0, f"the forecast of a chat request is {price} kudos"
    stage.chat(model).status()


# The settlement


@relation("ACC-03", compares="charge and pay")
def short_reply(stage: Stage, family: Family) -> Seen:
    """A reply below the least that is paid costs and earns the same in both."""
    return settled(stage, *answered(stage, family, words(5)))


@relation("ACC-03", compares="charge and pay")
def overlong_reply(stage: Stage, family: Family) -> Seen:
    """A reply longer than was asked for costs and earns the same in both."""
    return settled(stage, *answered(stage, family, words(tokens(stage, 300)), max_length=100))


@relation("ACC-03", compares="charge and pay")
def reply_in_many_scripts(stage: Stage, family: Family) -> Seen:
    """A reply whose characters take two, three and four bytes costs and earns the same in both."""
    return settled(stage, *answered(stage, family, "é語\U0001f469" * tokens(stage, 10)))


@relation("ACC-03", compares="charge and pay")
def several_replies(stage: Stage, family: Family) -> Seen:
    """The generations of one request, each with a reply of another length, cost and earn the same in both."""
    lengths = [tokens(stage, number) for number in (110, 30)]
    return settled(stage, *answered(stage, family, *map(words, lengths)))


@relation("ACC-03", compares="charge and pay")
def reply_of_an_unvalidated_backend(stage: Stage, family: Family) -> Seen:
    """A reply by a bridge that the target does not vouch for costs and earns the same in both."""
    worker = stage.serving(family, stage.model(), bridge_agent=stage.profile.workers.unvalidated_bridge)
    return settled(stage, *answered(stage, family, words(tokens(stage, 60)), worker=worker))


@relation("ACC-03", compares="charge and pay")
def reply_by_a_model_of_unknown_price(stage: Stage, family: Family) -> Seen:
    """A reply by a model that the target does not know costs and earns the same in both."""
    worker = stage.serving(family, stage.open_model())
    fields = {"max_length": 4000, "max_context_length": 8192}
    return settled(stage, *answered(stage, family, words(tokens(stage, 4000)), worker=worker, **fields))


@relation("ACC-03", compares="charge and pay")
def reply_with_kudos_held_beforehand(stage: Stage, family: Family) -> Seen:
    """A reply so long that its kudos were held beforehand costs and earns the same in both."""
    return settled(stage, *answered(stage, family, words(tokens(stage, 550)), max_length=600))


@check_of(
    short_reply, overlong_reply, reply_in_many_scripts, several_replies, reply_of_an_unvalidated_backend,
    reply_by_a_model_of_unknown_price, reply_with_kudos_held_beforehand,
)  # fmt: skip
def test_twins_settle_alike(stage: Stage, relation: Relation) -> None:
    """A request and its twin run their course: the same is charged, and the same is paid."""
    relation.judge(stage)
