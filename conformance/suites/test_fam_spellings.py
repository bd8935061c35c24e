"""FAM-07: what is no id, and other spellings of an id."""

from __future__ import annotations

import string
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.absence import not_found, refused
from conformance.actors import Family, Request
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.statuses import Status

# How a real id is spelt otherwise: as it stands in a path.
Spelling = Callable[[str], str]
Ask = Callable[[str, Family], Answer]

_LENGTH = 36
_HYPHENS = (8, 13, 18, 23)
_places = st.sets(st.integers(0, _LENGTH - 1), min_size=1)
_blanks = st.text(" \t\u00a0\u2003\u3000", max_size=3)
# Named, for a table of all of Unicode takes seconds to make.
_characters = string.printable + "\x01\x7f\x85é\u0130\u202e\u2028\ufeff\uff11漢😀"


def _in_path(text: str) -> str:
    return quote(text, safe="")


def _is_no_uuid(text: str) -> bool:
    return len(text.replace("-", "").strip()) != 32


_cut = st.tuples(st.uuids().map(str), st.integers(0, _LENGTH - 1)).map(lambda u: u[0][: u[1]] + u[0][u[1] + 1 :])
_strange = st.tuples(st.uuids().map(str), st.integers(0, _LENGTH), st.sampled_from("g%/\\'\";é")).map(
    lambda u: u[0][: u[1]] + u[2] + u[0][u[1] :]
)

NO_IDS: dict[str, SearchStrategy[str]] = {
    "empty": st.just(""),
    "not a UUID": st.one_of(st.text(_characters, min_size=1, max_size=64).filter(_is_no_uuid), _cut, _strange),
    "NUL": st.tuples(st.uuids().map(str), st.integers(0, _LENGTH)).map(lambda u: u[0][: u[1]] + "\x00" + u[0][u[1] :]),
    "10 kB": st.sampled_from("a0-{").map(lambda character: character * 10240),
}


def _upper(places: set[int]) -> Spelling:
    return lambda id: "".join(c.upper() if i in places else c for i, c in enumerate(id))


def _without(hyphens: set[int]) -> Spelling:
    return lambda id: "".join(c for i, c in enumerate(id) if i not in hyphens)


def _padded(pad: tuple[str, str]) -> Spelling:
    return lambda id: _in_path(pad[0] + id + pad[1])


def _encoded(places: set[int]) -> Spelling:
    return lambda id: "".join(f"%{ord(c):02X}" if i in places else c for i, c in enumerate(id))


SPELLINGS: dict[str, SearchStrategy[Spelling]] = {
    "upper case": st.one_of(st.just(set(range(_LENGTH))), _places).map(_upper),
    "braces": st.just(lambda id: _in_path(f"{{{id}}}")),
    "URN": st.sampled_from(["urn:uuid:", "URN:UUID:"]).map(lambda urn: lambda id: urn + id),
    "no hyphens": st.one_of(st.just(set(_HYPHENS)), st.sets(st.sampled_from(_HYPHENS), min_size=1)).map(_without),
    "padded": st.tuples(_blanks, _blanks).filter(any).map(_padded),
    "percent-encoded": st.one_of(st.just(set(range(_LENGTH))), _places).map(_encoded),
}

# Examples of each kind, for each family; a kind that has fewer is asked that often.
_NO_IDS, _SPELLINGS = 8, 4

each_kind = pytest.mark.parametrize("kind", NO_IDS)
each_spelling = pytest.mark.parametrize("spelling", SPELLINGS)
each_family = pytest.mark.parametrize("family", [Family.CHAT, Family.TEXT])


def _asks(stage: Stage, family: Family, *, cancel: bool) -> list[Ask]:
    """The routes of a family that take an id, as far as the target has them."""
    requester = stage.requester()
    asks: list[Ask] = [requester.try_status]
    if cancel:
        asks.append(requester.try_cancel)
    record = "chat_request_record" if family is Family.CHAT else "request_record"
    if record in stage.profile.capabilities:
        asks.append(requester.try_record)
    return asks


def _with_patience(answer: Answer) -> Answer:
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    return answer


def _queue(stage: Stage, family: Family) -> tuple[Request, str]:
    """A request of three generations, and words that stand in nothing else."""
    words = f"Tell me about {stage.unique()}."
    return stage.submit(family, stage.model(), content=words, n=3), words


@check("FAM-07", both=True)
@each_kind
def test_what_is_no_id_is_refused(stage: Stage, kind: str, family: Family) -> None:
    """A requester asks for what is no id, and cancels it; each time it is a 4xx, never a crash."""
    request, _ = _queue(stage, family)

    def judge(no_id: str) -> None:
        found = request.requester.try_status(request)
        for ask in _asks(stage, family, cancel=True):
            refused(ask(_in_path(no_id), family), control=lambda: found)

    stage.for_all(NO_IDS[kind], judge, count=_NO_IDS)
    request.cancel()


@check("FAM-07", both=True)
@each_spelling
def test_another_spelling_shows_the_same_request_or_is_refused(stage: Stage, spelling: str, family: Family) -> None:
    """A requester spells an id otherwise; its own family's route shows that request, or refuses the spelling."""
    request, words = _queue(stage, family)
    own = request.status().counts
    status, *records = _asks(stage, family, cancel=False)

    def judge(spell: Spelling) -> None:
        spelt = spell(request.id)
        answer = _with_patience(status(spelt, family))
        shown = Status(answer).counts if answer.accepted else None
        assert answer.refused or shown == own, f"{answer} shows {shown}, where the id's own spelling shows {own}"
        for record in records:
            answer = _with_patience(record(spelt, family))
            same = answer.accepted and words in (answer.exchange.response_body or "")
            assert answer.refused or same, f"{answer} neither shows what was submitted as {request.id} nor refuses"

    stage.for_all(SPELLINGS[spelling], judge, count=_SPELLINGS)


@check("FAM-07", both=True)
@each_spelling
def test_another_spelling_cancels_the_same_request_or_is_refused(stage: Stage, spelling: str, family: Family) -> None:
    """A requester cancels an id spelt otherwise; that request is cancelled, or nothing is."""
    model = stage.model()

    def judge(spell: Spelling) -> None:
        request = stage.submit(family, model, n=2)
        answer = _with_patience(request.requester.try_cancel(spell(request.id), family))
        assert answer.accepted or answer.refused, f"{answer} is neither carried out nor refused"
        after = request.status().waiting
        expected = 0 if answer.accepted else 2
        assert after == expected, f"{answer}, and then {after} of 2 generations of request {request.id} wait"
        if answer.refused:
            request.cancel()

    stage.for_all(SPELLINGS[spelling], judge, count=_SPELLINGS)


@check("FAM-07")
@each_family
@each_spelling
def test_no_spelling_is_found_on_the_other_familys_route(stage: Stage, spelling: str, family: Family) -> None:
    """A requester asks the other family's routes for an id spelt otherwise, and cancels it; it is not found."""
    request, _ = _queue(stage, family)
    own = request.status().counts

    def judge(spell: Spelling) -> None:
        spelt = spell(request.id)
        answers = [ask(spelt, family.other) for ask in _asks(stage, family.other, cancel=True)]
        found = request.requester.try_status(request)
        for answer in answers:
            not_found(answer, control=lambda: found)
        now = Status(found).counts
        assert now == own, f"cancelling {spelt} on the {family.other} route changed {own} to {now}"

    stage.for_all(SPELLINGS[spelling], judge, count=_SPELLINGS)
