"""ACC-07 and ACC-14: what the filter does to a text prompt it does to a chat request that says the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.actors import Family, Job, Requester
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.rpl_scenes import tool_call
from conformance.twins import Relation, Seen, check_of, relation

Messages = list[dict[str, Any]]
Conversation = Callable[[str], Messages]


def user(content: Any) -> Messages:
    """A conversation of one message."""
    return [{"role": "user", "content": content}]


def verdict(stage: Stage, family: Family, who: Requester, model: str, words: str, talk: Conversation = user) -> Seen:
    """What becomes of words, as a prompt or in a conversation: refused, or what of them reaches the worker."""
    content = {"messages": talk(words)} if family is Family.CHAT else {"prompt": words}
    answer = who.try_submit(family, {"models": [model], **content})
    if answer.refused:
        harmless = who.try_submit(Family.TEXT, {"models": [model], "prompt": f"Tell me about {stage.unique()}."})
        if not harmless.accepted:
            raise CouldNotRun(f"harmless text is refused as well: {harmless}")
        return {"the submit": (answer.status, answer.code)}
    if not answer.accepted:
        raise CouldNotRun(f"the {family} submit was neither taken nor refused: {answer}")
    arrived, (first, *_, last) = _told(stage.serving(family, model).pop_job()), words.split()
    return {
        "the submit": "taken",
        "something that the filter matches reaches the worker": bool(stage.profile.moderation.pattern.search(arrived)),
        "the first word reaches the worker": first in arrived,
        "the last word reaches the worker": last in arrived,
    }


def _told(job: Job) -> str:
    """What a job tells a model: the prompt, or what is said in each message."""
    if job.family is Family.TEXT:
        return str(job.prompt)
    return "\n".join(_said(message.get("content")) for message in job.messages)


def _said(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def acted(stage: Stage, family: Family, seen: Seen) -> Seen:
    """What was seen of a phrase that the filter acts on.

    Raises:
        CouldNotRun: in text it does not act, so that there is nothing to compare with.
    """
    if family is Family.TEXT and seen.get("something that the filter matches reaches the worker"):
        raise CouldNotRun(f"the filter lets {stage.profile.moderation.phrase!r} through in text")
    return seen


def phrased(stage: Stage, family: Family, talk: Conversation = user) -> Seen:
    """The verdict on a flagged account's words, with the phrase among them."""
    words = f"{stage.unique()} {stage.profile.moderation.phrase} {stage.unique()}"
    return acted(stage, family, verdict(stage, family, stage.flagged(), stage.model(), words, talk))


# Rewritten, wherever it is said

VERDICT = "whether it is refused, and what of it reaches the worker"


@relation("ACC-07", compares=VERDICT)
def phrase_of_the_user(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and as the only message."""
    return phrased(stage, family)


@relation("ACC-07", compares=VERDICT)
def phrase_of_the_system(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and as the system's message."""
    return phrased(stage, family, lambda words: [{"role": "system", "content": words}, *user("Go on.")])


@relation("ACC-07", compares=VERDICT)
def phrase_of_the_assistant(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and in what the assistant is said to have answered."""
    return phrased(
        stage, family, lambda words: [*user("Who?"), {"role": "assistant", "content": words}, *user("Go on.")]
    )


@relation("ACC-07", compares=VERDICT)
def phrase_of_a_tool(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and as a tool's result."""
    call = {"role": "assistant", "content": None, "tool_calls": [tool_call()]}
    return phrased(
        stage, family, lambda words: [*user("Go."), call, {"role": "tool", "tool_call_id": "call_1", "content": words}]
    )


@relation("ACC-07", compares=VERDICT)
def phrase_said_long_before(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and in the first of many messages."""
    later = [{"role": role, "content": "Yes."} for role in ("assistant", "user") * 4]
    return phrased(stage, family, lambda words: [*user(words), *later])


@relation("ACC-07", compares=VERDICT)
def phrase_in_a_content_part(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and in a part of a message, after another part."""
    return phrased(
        stage, family, lambda words: user([{"type": "text", "text": "Look: "}, {"type": "text", "text": words}])
    )


@relation("ACC-07", compares=VERDICT)
def phrase_for_a_model_marked_nsfw(stage: Stage, family: Family) -> Seen:
    """Where it is the model that the filter minds, the phrase fares alike as a prompt and as a message."""
    words = f"{stage.unique()} {stage.profile.moderation.phrase} {stage.unique()}"
    return acted(stage, family, verdict(stage, family, stage.requester(), stage.nsfw_model(), words))


@check_of(
    phrase_of_the_user, phrase_of_the_system, phrase_of_the_assistant, phrase_of_a_tool, phrase_said_long_before,
    phrase_in_a_content_part,
)  # fmt: skip
def test_a_flagged_accounts_phrase_fares_as_in_text(stage: Stage, relation: Relation) -> None:
    """A flagged account says what the filter acts on, as a prompt and somewhere in a conversation."""
    relation.judge(stage)


@check_of(phrase_for_a_model_marked_nsfw)
def test_a_phrase_for_a_model_marked_nsfw_fares_as_in_text(stage: Stage, relation: Relation) -> None:
    """Anybody says what the filter acts on to a model that is marked nsfw, as a prompt and as a message."""
    if not stage.profile.moderation.model:
        # A target need not mark a model; the account's rule is judged all the same.
        stage.note("models marked nsfw", "the profile names none")
        phrase_of_the_user.judge(stage)
        return
    relation.judge(stage)


# Passed, refused, penalised


@relation("ACC-07", compares=VERDICT)
def phrase_of_nobody_special(stage: Stage, family: Family) -> Seen:
    """The phrase of an account that is not flagged, to a model that is not marked, fares alike."""
    words = f"{stage.unique()} {stage.profile.moderation.phrase} {stage.unique()}"
    return verdict(stage, family, stage.requester(), stage.model(), words)


@relation("ACC-07", compares=VERDICT)
def harmless_words_of_a_flagged_account(stage: Stage, family: Family) -> Seen:
    """Words that the filter does not mind fare alike, also from a flagged account."""
    return verdict(stage, family, stage.flagged(), stage.model(), f"{stage.unique()} and {stage.unique()}")


@relation("ACC-07", compares="the refusal and what it costs")
def nothing_left_to_say(stage: Stage, family: Family) -> Seen:
    """Where the filter leaves nothing to say the request fares alike, and so does the account's next one."""
    flagged, phrase = stage.flagged(), stage.profile.moderation.phrase
    before = flagged.balance()
    seen: dict[str, object] = {}
    for words in (f"{phrase} {phrase}", "?! ..."):
        verdict_ = verdict(stage, family, flagged, stage.model(), words)
        seen |= {f"{words!r}: {what}": told for what, told in verdict_.items()}
    seen["the kudos that it cost"] = round(before - flagged.balance(), 2)
    harmless = verdict(stage, family, flagged, stage.model(), f"{stage.unique()} and {stage.unique()}")
    return seen | {f"afterwards: {what}": told for what, told in harmless.items()}


@check_of(phrase_of_nobody_special, harmless_words_of_a_flagged_account, nothing_left_to_say)
def test_what_passes_or_is_refused_in_text_does_so_in_chat(stage: Stage, relation: Relation) -> None:
    """Words that the filter lets pass, and words of which it leaves nothing, as a prompt and as a message."""
    relation.judge(stage)


# A phrase in pieces


def in_pieces(words: str) -> Messages:
    """A message whose parts break within the phrase; an image stands beside them."""
    middle = len(words) // 2
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    return user([image, *({"type": "text", "text": piece} for piece in (words[:middle], words[middle:]))])


@relation("ACC-14", compares=VERDICT)
def phrase_split_across_parts(stage: Stage, family: Family) -> Seen:
    """A phrase that the filter acts on fares alike as a prompt and in pieces, in parts that stand side by side."""
    return phrased(stage, family, in_pieces)


@check_of(phrase_split_across_parts)
def test_a_phrase_in_pieces_is_judged_whole(stage: Stage, relation: Relation) -> None:
    """A flagged account spreads the phrase over the parts of one message."""
    relation.judge(stage)
