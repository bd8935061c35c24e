"""OPK: the operation key, under which one user's submits make one request."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from conformance import histories
from conformance.absence import receives_nothing, refused
from conformance.actors import Family, Request, Requester, Worker
from conformance.checks import check
from conformance.client import Answer
from conformance.errors import CouldNotRun
from conformance.stage import Stage

CHAT = Family.CHAT
# Submits at the same time, as OPK-03 says.
_CROWD = 16


def _said(stage: Stage, *models: str, **fields: Any) -> dict[str, Any]:
    """The fields of a chat submit that a client may send again."""
    words = [{"role": "user", "content": f"Tell me about {stage.unique()}."}]
    return {"models": list(models), "messages": words, **fields}


def _queued(stage: Stage, requester: Requester, sent: dict[str, Any], family: Family = CHAT) -> Request:
    """A request that is carried out, whatever it was given as an id; the fields may hold an operation key."""
    answer = requester.try_submit(family, sent)
    if not answer.accepted:
        raise CouldNotRun(f"a {family} submit was not accepted: {answer}")
    return stage.keep(Request(answer.id("id"), family, requester, tuple(sent["models"]), sent))


def _assert_no_other(answer: Answer, first: Request, when: str) -> None:
    """A repeat gave the first request's id, or a refusal; the target's wish for patience is neither."""
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    assert answer.accepted or answer.refused, f"the repeat {when} was neither carried out nor refused: {answer}"
    if answer.accepted:
        id = answer.read("id")
        assert id == first.id, f"the repeat {when} made another request, {id!r}, beside {first.id!r}"


def _repeated_through_its_life(
    stage: Stage, first: Request, worker: Worker, judge: Callable[[Answer, str], None]
) -> None:
    """Repeat a submit while its request waits, is in flight, and is done."""

    def again(when: str) -> None:
        judge(first.requester.try_submit(CHAT, first.sent), when)

    again("while it waits")
    job = worker.pop_job(first)
    again("while it is in flight")
    worker.reply(job, f"All about {stage.unique()}.")
    again("when it is done")


@check("OPK-01")
def test_one_key_makes_one_request(stage: Stage) -> None:
    """A submit is repeated while its request waits, is in flight and is done: there is one request all the time."""
    model = stage.model()
    worker, requester = stage.chat_worker(model), stage.requester()
    first = _queued(stage, requester, _said(stage, model, operation_key=stage.unique()))
    _repeated_through_its_life(stage, first, worker, lambda answer, when: _assert_no_other(answer, first, when))

    def with_a_new_key() -> Any:
        return worker.pop_job(_queued(stage, requester, _said(stage, model, operation_key=stage.unique())))

    receives_nothing(worker.pop, of=first, control=with_a_new_key, because="it was submitted once and is done")
    assert first.status().finished == 1, f"one submit and its repeats: {first.status().counts}"


@check("OPK-01")
def test_one_key_is_charged_once(stage: Stage) -> None:
    """A submit that is repeated twice costs its user what one without repeats costs."""
    model, requester = stage.model(), stage.requester()
    before = stage.money.balance(requester.account)
    _queued(stage, requester, _said(stage, model))
    between = stage.money.balance(requester.account)
    first = _queued(stage, requester, _said(stage, model, operation_key=stage.unique()))
    for when in ("once", "twice"):
        _assert_no_other(requester.try_submit(CHAT, first.sent), first, when)
    after = stage.money.balance(requester.account)
    once, repeated = before - between, between - after
    if not once:
        raise CouldNotRun("a submit costs nothing here, so that nobody sees how often it was charged")
    assert stage.money.same(once, repeated), f"a submit costs {once} kudos, one with two repeats {repeated}"


@check("OPK-01")
def test_keys_are_compared_exactly(stage: Stage) -> None:
    """Keys that differ in case, blanks, composition or the last of many characters are different keys."""
    model, requester, stem = stage.model(), stage.requester(), stage.unique()
    keys = [stem, stem.upper(), f" {stem}", f"{stem} ", f"{stem}\u00e9", f"{stem}e\u0301", f"{stem}\U0001f511"]
    keys += ["k" * (255 - len(stem)) + stem, "k" * (254 - len(stem)) + stem + "l"]
    sent = _said(stage, model)
    answers = [requester.try_submit(CHAT, {**sent, "operation_key": key}) for key in keys]
    ids: dict[str, str] = {}
    for key, answer in zip(keys, answers, strict=True):
        assert answer.accepted, f"a submit with the new key {key!r} was not carried out: {answer}"
        id = answer.id("id")
        assert id not in ids, f"the keys {ids[id]!r} and {key!r} were taken for the same"
        ids[id] = key
        stage.keep(Request(id, CHAT, requester, (model,), sent))
    _assert_no_other(
        requester.try_submit(CHAT, {**sent, "operation_key": keys[-1]}),
        Request(answers[-1].id("id"), CHAT, requester, (model,), sent),
        "of the last key",
    )


@check("OPK-02")
def test_two_users_with_one_key_have_two_requests(stage: Stage) -> None:
    """A key that somebody else has used makes a request of one's own, handed out and answered as such."""
    model, key = stage.model(), stage.unique()
    worker, requests = stage.chat_worker(model), []
    for number in range(2):
        answer = stage.requester(number).try_submit(CHAT, _said(stage, model, operation_key=key))
        assert answer.accepted, f"a second user's submit with the same key was not carried out: {answer}"
        requests.append(stage.keep(Request(answer.id("id"), CHAT, stage.requester(number), (model,), {})))
    one, other = requests
    assert one.id != other.id, f"two users with the same key were given the same request, {one.id!r}"
    jobs = [worker.pop(), worker.pop()]
    assert all(jobs), f"two requests are queued, and a worker is handed {sum(map(bool, jobs))} jobs"


@check("OPK-03")
def test_concurrent_submits_with_one_key_make_one_request(stage: Stage) -> None:
    """Sixteen submits with one key at the same time: nobody is given another id, and one generation is handed out."""
    model = stage.model()
    worker, requester = stage.chat_worker(model), stage.requester()
    sent = _said(stage, model, operation_key=stage.unique())
    answers = stage.at_once(*[lambda: requester.try_submit(CHAT, sent)] * _CROWD)
    crashed = [str(answer) for answer in answers if not (answer.accepted or answer.refused or answer.limited)]
    assert not crashed, f"of {_CROWD} submits with one key at once some were neither accepted nor refused: {crashed[0]}"
    ids = {answer.id("id") for answer in answers if answer.accepted}
    requests = [stage.keep(Request(id, CHAT, requester, (model,), sent)) for id in sorted(ids)]
    assert requests, f"none of {_CROWD} submits with one key at once was accepted: {answers[0]}"
    witness = histories.judge(stage.history())
    assert witness is None, str(witness)
    worker.pop_job(requests[0])

    def with_a_new_key() -> Any:
        return worker.pop_job(_queued(stage, requester, _said(stage, model, operation_key=stage.unique())))

    receives_nothing(worker.pop, of=requests[0], control=with_a_new_key, because="one key made one request")


@check("OPK-04")
def test_requests_without_a_key_are_never_merged(stage: Stage) -> None:
    """Word for word the same body without a key, with null for one or with an empty one: each is a request."""
    model, requester = stage.model(), stage.requester()
    worker, sent = stage.chat_worker(model), _said(stage, model)
    ids = [_queued(stage, requester, sent).id for _ in range(3)]
    for key in (None, ""):
        answers = [requester.try_submit(CHAT, sent, extra=_spelt(stage, key)) for _ in range(2)]
        assert not any(answer.crashed for answer in answers), f"the key {key!r} is too much: {answers[0]}"
        # A target may refuse what is no key; what it accepts it must not merge.
        accepted = [answer.id("id") for answer in answers if answer.accepted]
        for id in accepted:
            stage.keep(Request(id, CHAT, requester, (model,), sent))
        ids += accepted
    assert len(set(ids)) == len(ids), f"submits without a key were given the same id: {ids}"
    handed = [worker.pop() for _ in ids]
    assert all(handed), f"{len(ids)} requests without a key are queued, {sum(map(bool, handed))} were handed out"


def _spelt(stage: Stage, key: str | None) -> dict[str, Any]:
    """An operation key as a body holds it, for keys that the actors would leave out."""
    marked = stage.profile.build("submit", {"operation_key": "mark"})
    spelt: dict[str, Any] = json.loads(json.dumps(marked).replace('"mark"', json.dumps(key)))
    return spelt


@check("OPK-05")
def test_a_key_with_another_body_is_refused(stage: Stage) -> None:
    """A key whose first submit said something else is refused, whichever part of the body differs."""
    model, requester = stage.model(), stage.requester()
    sent = _said(stage, model, max_length=80, operation_key=stage.unique())
    _queued(stage, requester, sent)
    others: dict[str, dict[str, Any]] = {
        "other words": {"messages": [{"role": "user", "content": "Something else."}]},
        "another role": {"messages": [{**sent["messages"][0], "role": "system"}]},
        "another length": {"max_length": 81},
        "another number of generations": {"n": 2},
        "another model": {"models": [stage.model()]},
    }
    for what, change in others.items():
        other = {**sent, **change}
        fresh = {**other, "operation_key": stage.unique()}

        def with_a_key_of_its_own(fresh: dict[str, Any] = fresh) -> Answer:
            answer = requester.try_submit(CHAT, fresh)
            if answer.accepted:
                stage.keep(Request(answer.id("id"), CHAT, requester, tuple(fresh["models"]), fresh)).status()
            return answer

        answer = requester.try_submit(CHAT, other)
        assert not answer.accepted, f"the same key with {what} was accepted: {answer}"
        refused(answer, control=with_a_key_of_its_own)


@check("OPK-06")
def test_a_key_never_reaches_the_other_family(stage: Stage) -> None:
    """A key used in one family is, in the other, refused without a word of the first's id, or makes a request there."""
    for family in Family:
        model, requester = stage.model(), stage.requester()
        words: dict[Family, dict[str, Any]] = {
            CHAT: {"messages": [{"role": "user", "content": "Hello."}]}, Family.TEXT: {"prompt": "Hello."},
        }  # fmt: skip
        common = {"models": [model], "operation_key": stage.unique()}
        first = _queued(stage, requester, {**common, **words[family]}, family)
        answer = requester.try_submit(family.other, {**common, **words[family.other]})
        if answer.limited:
            raise CouldNotRun(f"refused for its rate only: {answer}")
        shown = f"{answer.exchange.response_body}{answer.exchange.response_headers}"
        assert first.id not in shown, f"the {family} request's id is told on a {family.other} submit: {answer}"
        if answer.accepted:
            own = stage.keep(Request(answer.id("id"), family.other, requester, (model,), {}))
            assert own.requester.try_status(own).accepted, f"{own.id} is no {family.other} request"
        else:
            assert answer.refused, f"a key of the other family is neither refused nor accepted: {answer}"
        status = first.status().counts
        assert status["waiting"] == 1, f"the {family} request changed with a {family.other} submit: {status}"


@check("OPK-07")
def test_what_made_no_request_leaves_its_key_free(stage: Stage) -> None:
    """After a refused submit, and after a dry run, the key makes a request."""
    model, requester = stage.model(), stage.requester()
    worker, sent = stage.chat_worker(model), _said(stage, model)
    priced, broken = stage.unique(), stage.unique()
    price = requester.try_price(CHAT, {**sent, "operation_key": priced})
    if not price.accepted:
        raise CouldNotRun(f"a dry run was not carried out: {price}")
    refusal = requester.try_submit(CHAT, {**sent, "messages": [], "operation_key": broken})
    if not refusal.refused:
        raise CouldNotRun(f"a submit without messages was not refused: {refusal}")
    for key, what in ((priced, "a dry run"), (broken, "a refused submit")):
        answer = requester.try_submit(CHAT, {**sent, "operation_key": key})
        assert answer.accepted, f"after {what} its key makes no request: {answer}"
        request = stage.keep(Request(answer.id("id"), CHAT, requester, (model,), sent))
        job = worker.pop()
        assert job is not None, f"after {what} the request of its key, {request.id}, is not handed out"


@check("OPK-07")
def test_anonymous_clients_are_not_given_each_others_request(stage: Stage) -> None:
    """Two people without an account use the same key by chance: the second is not given the first's request."""
    model, key, anonymous = stage.open_model(), stage.unique(), stage.anonymous()
    sent = _said(stage, model, operation_key=key)
    first = _queued(stage, anonymous, sent)
    answer = anonymous.try_submit(CHAT, sent)
    if answer.limited:
        raise CouldNotRun(f"refused for its rate only: {answer}")
    assert answer.accepted or answer.refused, f"neither accepted nor refused: {answer}"
    assert first.id not in str(answer.exchange.response_body), f"an anonymous client was given {first.id}, another's"
    if answer.accepted:
        stage.keep(Request(answer.id("id"), CHAT, anonymous, (model,), sent))


@check("OPK-08")
def test_a_repeat_gives_the_same_id(stage: Stage) -> None:
    """Whenever a submit is repeated, its client is given the request's id again."""
    model = stage.model()
    worker, requester = stage.chat_worker(model), stage.requester()
    first = _queued(stage, requester, _said(stage, model, operation_key=stage.unique()))

    def judge(answer: Answer, when: str) -> None:
        if answer.limited:
            raise CouldNotRun(f"refused for its rate only: {answer}")
        assert answer.accepted, f"the repeat {when} was not accepted: {answer}"
        # That it is another request's id is OPK-01's to say.
        if answer.read("id") != first.id:
            raise CouldNotRun(f"the repeat {when} made another request")

    _repeated_through_its_life(stage, first, worker, judge)
