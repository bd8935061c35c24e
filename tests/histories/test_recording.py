"""Exchanges become a history by what the profile says of them; a history is kept in a file and judged again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conformance import profile as profiles
from conformance.cli import app
from conformance.client import Exchange
from conformance.errors import BadHistory
from conformance.histories import History, Rule, Standing, judge, load, recorded, save
from conformance.histories.benchmark import handed_twice, repeated
from conformance.histories.calls import _object
from conformance.histories.model import Balance, Cancel, Fault, Outcome, Pop, Progress, Reading, Reply, Submit

PROFILE = profiles.load("reference")
MESSAGES = [{"role": "user", "content": "Hello."}]
CLOCK = iter(range(10_000))


def exchange(
    operation: str,
    status: int | None,
    body: Any = None,
    answer: Any = None,
    *,
    id: str = "",
    key: str = "ann",
    **fields: Any,
) -> Exchange:
    method, path = PROFILE.route(operation, id=id)
    began = float(next(CLOCK))
    return Exchange(
        **{
            "actor": "somebody", "operation": operation, "method": method, "url": f"http://host{path}",
            "request_headers": {"apikey": key}, "request_body": None if body is None else json.dumps(body),
            "status": status, "response_headers": {}, "started": began, "ended": began + 0.5,
            "response_body": None if answer is None else json.dumps(answer), **fields,
        }
    )  # fmt: skip


def told(*exchanges: Exchange) -> tuple[Any, ...]:
    return recorded(exchanges, PROFILE).operations


def submit(id: str | None = "r1", status: int | None = 202, content: Any = MESSAGES, **body: Any) -> Exchange:
    sent = {"messages": content, "models": ["m"], **body}
    return exchange("submit_chat", status, sent, {"id": id, "kudos": 0.0} if id else {})


def pop(*ids: str, content: Any = MESSAGES, **declared: Any) -> Exchange:
    body = {
        "name": "w",
        "models": ["m"],
        "chat_models": ["m"],
        "max_length": 512,
        "max_context_length": 8192,
        **declared,
    }
    job = {"id": ids[0] if ids else None, "ids": list(ids), "model": "m", "ttl": 150, "chat": {"messages": content}}
    return exchange("pop", 200, body, job if ids else {"id": None, "ids": [], "payload": {}}, key="bob")


def reply(generation: str = "g1", status: int = 200, message: Any = None, **body: Any) -> Exchange:
    chat = {"message": message or {"role": "assistant", "content": "Hi."}}
    return exchange("reply", status, {"id": generation, "generation": "Hi.", "chat": chat, **body}, {"reward": 2.5})


def status(*messages: Any, **fields: Any) -> Exchange:
    shown = [{"text": "Hi.", "chat": {"message": message}} for message in messages]
    counts = {"finished": len(messages), "processing": 0, "waiting": 0, "restarted": 0, "done": True, "faulted": False}
    return exchange("status_chat", 200, None, {**counts, "kudos": 4.5, "generations": shown, **fields}, id="r1")


def test_a_life_is_read_whole() -> None:
    act, job, answer, seen = told(
        submit(n=1, params={"n": 2, "max_length": 64}, stream=True, operation_key="k"),
        pop("g1", "g2", amount=2),
        reply(),
        status({"content": "Hi.", "role": "assistant"}),
    )
    assert isinstance(act, Submit)
    assert (act.request, act.n, act.models, act.max_length, act.stream, act.key) == ("r1", 2, ("m",), 64, True, "k")
    assert isinstance(job, Pop)
    assert (job.request, job.generations, job.family, job.model, job.amount, job.lifetime) == (
        "r1", ("g1", "g2"), "chat", "m", 2, 150.0,
    )  # fmt: skip
    assert isinstance(answer, Reply)
    assert isinstance(seen, Reading)
    assert (answer.generation, answer.reward, answer.tokens) == ("g1", 2.5, 1)
    assert (seen.finished, seen.kudos, seen.said) == (1, 4.5, (answer.said,))
    assert act.account != job.account


def test_a_stream_hint_counts_where_streaming_is_claimed() -> None:
    silent = PROFILE.with_capabilities(without=frozenset({"streaming"}))
    hinted = submit(stream=True)
    streams = [
        act.stream for p in (PROFILE, silent) for act in recorded([hinted], p).operations if act.kind == "submit"
    ]
    assert streams == [True, False]


def test_faults_progress_cancels_and_balances_are_read() -> None:
    acts = told(
        submit(),
        exchange("reply", 200, {"id": "g1", "state": "faulted", "generation": ""}, {"reward": 0.0}),
        exchange("progress", 200, {"id": "g1", "output": "x" * 10}, {"cancelled": True}),
        exchange("cancel_chat", 200, None, {"done": False}, id="r1"),
        exchange("account", 200, None, {"kudos": 12}),
        exchange("heartbeat", 200, None, {"message": "OK"}),
    )
    assert [type(act) for act in acts] == [Submit, Fault, Progress, Cancel, Balance]
    assert (acts[2].tokens, acts[2].cancelled, acts[3].request, acts[4].kudos) == (3, True, "r1", 12.0)
    assert acts[4].account == acts[0].account


@pytest.mark.parametrize(
    ("code", "error", "outcome"),
    [
        (404, None, Outcome.REFUSED),
        (429, None, Outcome.REFUSED),
        (500, None, Outcome.UNKNOWN),
        (302, None, Outcome.UNKNOWN),
        (None, "ReadTimeout", Outcome.UNKNOWN),
        (None, "ConnectError: refused", Outcome.REFUSED),
    ],
)
def test_an_answer_says_whether_an_operation_was_carried_out(code: int | None, error: str, outcome: Outcome) -> None:
    (act,) = told(exchange("cancel_chat", code, None, {}, id="r1", error=error))
    assert act.outcome is outcome


def test_half_an_answer_and_an_answer_without_its_id_leave_the_outcome_open() -> None:
    half, nameless = told(exchange("cancel_chat", 200, response_body='{"done": fal', id="r1"), submit(None))
    assert (half.outcome, nameless.outcome) == (Outcome.UNKNOWN, Outcome.UNKNOWN)


def test_a_dry_run_and_a_refused_reading_are_no_part_of_a_history() -> None:
    assert told(submit(dry_run=True), exchange("status_chat", 404, None, {"rc": "RequestNotFound"}, id="r1")) == ()


def test_a_generation_is_of_the_request_that_says_the_same() -> None:
    other = [{"role": "user", "content": "Another."}]
    acts = told(submit(), submit("r2", content=other), pop("g1", content=other), pop("g2", content=MESSAGES))
    assert [act.request for act in acts] == ["r1", "r2", "r2", "r1"]


def test_of_requests_that_say_the_same_none_is_counted() -> None:
    acts = (submit(), submit("r2"), pop("g1"), pop("g2"), pop("g3"))
    *_, job = told(*acts)
    assert (job.request, job.among) == (None, ("r1", "r2"))
    assert judge(recorded(acts, PROFILE)) is None
    assert judge(recorded((*acts, pop("g3")), PROFILE)) is not None


def test_a_job_that_holds_the_words_of_nobody_may_be_any_of_its_models() -> None:
    *_, job = told(submit(), pop("g1", content="something else"))
    assert (job.request, job.among) == (None, ("r1",))


def stood(request: str, content: Any, n: int = 1) -> Standing:
    asked: dict[str, Any] = {"account": "seeded", "family": "chat", "request": request, "n": n, "models": ("m",)}
    made = Submit(actor="seeding", called=-2.0, returned=-1.0, max_length=80, **asked)
    return Standing(made, content)


def test_what_stood_in_the_queue_is_handed_out_as_often_as_it_asked_for() -> None:
    queue, acts = [stood("s1", MESSAGES), stood("s2", [])], (pop("g1"), pop("g2", content=[]))
    history = recorded(acts, PROFILE, standing=queue)
    assert [act.request for act in history.operations if isinstance(act, Pop)] == ["s1", "s2"]
    assert judge(history) is None
    twice = judge(recorded((*acts, pop("g3")), PROFILE, standing=queue))
    assert twice is not None
    assert twice.rule is Rule.EXCESS
    empty = judge(recorded((pop("g1"), pop()), PROFILE, standing=queue))
    assert empty is not None
    assert empty.rule is Rule.LOST


def test_of_what_stood_there_and_says_the_same_all_together_is_counted() -> None:
    queue = [stood("s1", MESSAGES), stood("s2", MESSAGES, n=2)]
    pops = [pop(f"g{place}") for place in range(4)]
    assert judge(recorded(pops[:3], PROFILE, standing=queue)) is None
    found = judge(recorded(pops, PROFILE, standing=queue))
    assert found is not None
    assert found.rule is Rule.EXCESS


def test_a_deep_queue_is_not_kept_as_a_whole() -> None:
    queue = [stood(f"s{place}", [place]) for place in range(1000)]
    told = recorded([pop("g1", content=[700])], PROFILE, standing=queue).operations
    assert "s700" in {act.request for act in told if isinstance(act, Submit)}
    assert len(told) < 200


def test_a_lost_submit_is_of_the_request_that_its_key_made() -> None:
    acts = told(submit(None, None, operation_key="k"), submit(operation_key="k"), submit(None, None))
    assert [act.request for act in acts[:2]] == ["r1", "r1"]
    assert acts[2].request.startswith("lost")
    assert [act.outcome for act in acts] == [Outcome.UNKNOWN, Outcome.DONE, Outcome.UNKNOWN]


def test_the_keys_of_those_who_have_none_are_nobodys() -> None:
    nobody = PROFILE.accounts.anonymous_key
    (act,) = told(
        exchange("submit_chat", 202, {"messages": [], "models": ["m"], "operation_key": "k"}, {"id": "r1"}, key=nobody)
    )
    assert act.key is None


def test_a_nul_is_shown_as_its_replacement_and_numbers_are_doubles() -> None:
    _, _, said, seen = told(
        submit(), pop("g1"), reply(message={"content": "a\0b", "n": 1}), status({"n": 1.0, "content": "a\ufffdb"})
    )
    assert seen.said == (said.said,)


def test_a_reply_without_a_message_is_not_compared() -> None:
    acts = (submit(), pop("g1"), exchange("reply", 200, {"id": "g1", "generation": "Hi."}, {"reward": 2.5}))
    assert told(*acts)[2].said is None
    assert judge(recorded((*acts, status(None)), PROFILE)) is None


def test_what_the_other_familys_route_did_nobody_knows() -> None:
    acts = (submit(), exchange("cancel_text", 200, None, {"done": False}, id="r1"), pop("g1"))
    assert told(*acts)[1].outcome is Outcome.UNKNOWN
    assert judge(recorded(acts, PROFILE)) is None


# Files


def test_a_history_is_kept_and_judged_again(tmp_path: Path) -> None:
    history = recorded([submit(), pop("g1"), reply(), status({"role": "assistant", "content": "Hi."})], PROFILE)
    save(history, tmp_path / "history.json")
    assert load(tmp_path / "history.json") == history
    assert "ann" not in (tmp_path / "history.json").read_text("utf-8")
    ended = CliRunner().invoke(app, ["history", str(tmp_path / "history.json")])
    assert (ended.exit_code, ended.output) == (0, "legal: 4 operations break no rule\n")
    save(handed_twice(history, 1.0), tmp_path / "history.json")
    ended = CliRunner().invoke(app, ["history", str(tmp_path / "history.json")])
    assert ended.exit_code == 1
    assert ended.output.startswith("twice: g1 was handed to somebody (1.000 s to 1.500 s) and to another worker")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"operations": [{"kind": "pop"}]}', '{"operations": [{"kind": "nap"}]}']
)
def test_a_file_that_holds_no_history_is_a_named_situation(tmp_path: Path, text: str) -> None:
    (tmp_path / "history.json").write_text(text)
    with pytest.raises(BadHistory, match="holds no history"):
        load(tmp_path / "history.json")


def test_a_repeated_history_is_as_legal_as_it_was() -> None:
    history = recorded([submit(), pop("g1"), reply(), status({"role": "assistant", "content": "Hi."})], PROFILE)
    assert judge(repeated(history, 5)) is None
    assert len(repeated(history, 5).operations) == 20
    found = judge(handed_twice(repeated(history, 5), 0.5))
    assert found is not None
    assert found.rule is Rule.TWICE


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN, "b": -Infinity}', '{"a": 1e400}', '{"a": -0}', '{"a": 1, "a": 2}', '{"a": "\\ud800"}',
        '{"a": "\x01"}',
        '{"a": 123456789012345678901234567890}', f'{{"a": {"9" * 5000}}}', f'{{"a": {"[" * 300}{"]" * 300}}}',
        f'{{"a": {"[" * 99999}', "\ufeff{}", '{"a": 0.30000000000000004}', "{}x", '{"a": 01}', "[1]", "null",
        '{"\ud800": 1}',
    ],
)  # fmt: skip
def test_a_body_is_what_the_standard_library_reads_in_it(text: str) -> None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = {}
    assert repr(_object(text)) == repr(value if isinstance(value, dict) else {})


def test_an_empty_history_is_recorded_of_nothing() -> None:
    assert recorded([], PROFILE) == History(terms=recorded([], PROFILE).terms)
