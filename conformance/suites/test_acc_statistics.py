"""RPL-13: what twins are counted for, also where a life does not end with a usual reply."""

from __future__ import annotations

from conformance import figures
from conformance.actors import Family, Worker
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.acc_scenes import tokens, words
from conformance.twins import Kudos, Relation, Seen, check_of, relation


def _counted(stage: Stage, worker: Worker) -> figures.Figures:
    """All that the target counts of the requester, the owner, the worker and its model, by name."""
    figures.wait(stage.client)
    (model,) = worker.declaration["models"]
    counted = {
        "requester": figures.of_account(stage.client, stage.requester().account),
        "owner": figures.of_account(stage.client, worker.owner),
        "worker": figures.of_worker(worker),
        "statistics": {"model": figures.of_model(stage.client, model)},
    }
    return {f"{whose} {what}": value for whose, some in counted.items() for what, value in some.items()}


@relation("RPL-13", compares="the growth of every figure")
def figures_of_a_chequered_life(stage: Stage, family: Family) -> Seen:
    """A reply, a censored one, one given up and a cancel count alike in every figure."""
    worker = stage.serving(family, stage.model())
    worker.pop()
    before = _counted(stage, worker)
    content = stage.twin_content(120)
    request = stage.submit(family, *worker.declaration["models"], content=content, n=3, max_length=120)
    worker.reply(worker.pop_job(request), words(tokens(stage, 50)))
    worker.reply(worker.pop_job(request), words(tokens(stage, 50)), state="censored")
    worker.fault(worker.pop_job(request))
    request.cancel()
    after = _counted(stage, worker)
    growth = {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
    if not growth:
        raise CouldNotRun("no figure moved")
    return {name: Kudos(value, 2) if "kudos" in name else value for name, value in growth.items()}


@check_of(figures_of_a_chequered_life)
def test_twins_count_alike(stage: Stage, relation: Relation) -> None:
    """A request and its twin have the same life, in which not everything goes well."""
    relation.judge(stage)
