"""ACC-11 and ACC-15: what a settlement is worth as the conversation grows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as some

from conformance.actors import Request, Worker
from conformance.checks import check
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.acc_scenes import tokens, words
from conformance.suites.rpl_scenes import tool_call
from conformance.twins import Kudos, agree

Messages = list[dict[str, Any]]

MAX_LENGTH = 300
# The smallest movement of kudos.
CENT = 0.01


@dataclass(frozen=True)
class Settled:
    """What a conversation's reply was charged and paid; all these replies are equal."""

    charge: float
    reward: float

    def __str__(self) -> str:
        return f"charged {self.charge} and paid {self.reward} kudos"


def settle(stage: Stage, worker: Worker, messages: Messages | None = None, **fields: Any) -> tuple[Request, Settled]:
    """A request of this conversation, or of a prompt, gets a reply as long as it asked for."""
    (model,) = worker.declaration["models"]
    given = {"max_length": MAX_LENGTH, **fields}
    request = stage.chat(model, messages=messages, **given) if messages else stage.text(model, **given)
    reward = worker.reply(worker.pop_job(request), words(tokens(stage, MAX_LENGTH)))
    request.ended = True
    return request, Settled(stage.money.charged(request), reward)


def said(*contents: Any) -> Messages:
    """A conversation in which user and assistant say these things by turns."""
    roles = itertools.cycle(("user", "assistant"))
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


def same(stage: Stage, one: Settled, other: Settled) -> bool:
    """Whether both were settled alike, as far as the oracle can tell."""
    charged = agree(stage, Kudos(one.charge, 2), Kudos(other.charge, 2))
    return charged and abs(one.reward - other.reward) <= CENT / 2


def falls(stage: Stage, one: Settled, later: Settled) -> bool:
    """Whether the later one is worth less."""
    less = later.charge < one.charge and not agree(stage, Kudos(one.charge, 2), Kudos(later.charge, 2))
    return less or later.reward < one.reward - CENT / 2


def rises(one: Settled, later: Settled) -> bool:
    """Whether the later one is worth more, charge and pay."""
    return later.charge > one.charge and later.reward > one.reward


@check("ACC-11")
def test_a_longer_message_is_never_worth_less(stage: Stage) -> None:
    """One message grows: below the estimate's least it makes no difference, then it costs more, beyond its most not."""
    worker = stage.chat_worker(stage.model())
    at_most = tokens(stage, MAX_LENGTH)
    lengths = [1, 9, *(at_most * part // 5 for part in (2, 4)), at_most + 64, 3 * at_most]
    worth = [settle(stage, worker, said(words(length)))[1] for length in lengths]
    stage.note("the settlement by the message's length", dict(zip(lengths, map(str, worth), strict=True)))
    _judge_never_falls(stage, lengths, worth)
    assert same(stage, worth[0], worth[1]), (
        f"with {lengths[0]} and {lengths[1]} characters, far below the least that is estimated, the same reply was "
        f"{worth[0]} and {worth[1]}"
    )
    assert same(stage, worth[-2], worth[-1]), (
        f"with {lengths[-2]} and {lengths[-1]} characters, beyond the most that is estimated, the same reply was "
        f"{worth[-2]} and {worth[-1]}"
    )
    for place in range(1, len(lengths) - 2):
        assert rises(worth[place], worth[place + 1]), (
            f"with {lengths[place]} and then {lengths[place + 1]} characters the same reply was {worth[place]} and "
            f"then {worth[place + 1]}: no rise"
        )


@check("ACC-11")
def test_a_longer_conversation_is_never_worth_less(stage: Stage) -> None:
    """A conversation grows by turns of every kind: the same reply never costs less, and more when words were said."""
    worker = stage.chat_worker(stage.model())
    once = words(tokens(stage, MAX_LENGTH // 8))
    parts = [{"type": "text", "text": once}, {"type": "text", "text": once}]
    calling = {"role": "assistant", "content": None, "tool_calls": [tool_call()]}
    told = {"role": "tool", "tool_call_id": "call_1", "content": once}
    turns: list[Messages] = [said(once), said(parts), [calling, told]]
    talk: Messages = [{"role": "system", "content": "Be brief."}]
    worth = []
    for turn in turns:
        talk = [*talk, *turn]
        worth.append(settle(stage, worker, talk)[1])
    _judge_never_falls(stage, list(range(1, len(turns) + 1)), worth)
    for place, (one, later) in enumerate(itertools.pairwise(worth), start=1):
        assert rises(one, later), (
            f"after turn {place} and {place + 1}, which said {len(once)} characters or more, the same reply was {one} "
            f"and then {later}: no rise"
        )


def _judge_never_falls(stage: Stage, sizes: list[int], worth: list[Settled]) -> None:
    for (size, one), (longer, later) in itertools.pairwise(zip(sizes, worth, strict=True)):
        assert not falls(stage, one, later), f"from size {size} to {longer} the same reply fell from {one} to {later}"


TURN = some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=400)


@check("ACC-15")
def test_a_conversation_settles_as_its_stored_prompt_does(stage: Stage) -> None:
    """Whatever was said, a text request whose prompt is the stored rendering costs and earns the same to the cent."""
    models = stage.model(), stage.model()
    chat, text = stage.chat_worker(models[0]), stage.text_worker(models[1])
    column = stage.profile.database.prompt_column

    def judge(contents: list[str]) -> None:
        request, of_chat = settle(stage, chat, said(*contents))
        rows = stage.database.rows(stage.profile.database.request_row, id=request.id)
        prompt = rows[0].get(column) if rows else None
        if not isinstance(prompt, str) or not prompt:
            raise CouldNotRun(f"the stored prompt of chat request {request.id} is {prompt!r}")
        _, of_text = settle(stage, text, prompt=prompt)
        close = abs(of_chat.charge - of_text.charge) <= CENT and abs(of_chat.reward - of_text.reward) <= CENT
        assert close, (
            f"a conversation whose stored prompt has {len(prompt)} characters was {of_chat}; a text request with that "
            f"prompt was {of_text}"
        )

    judge(["é\U0001f469" * 150, "語" * 200, "Go on."])
    stage.for_all(some.lists(TURN, min_size=1, max_size=3), judge, count=2)
