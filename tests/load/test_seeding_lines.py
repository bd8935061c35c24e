"""Lines for COPY follow the profile's templates; marks say whose a row is."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import profile as profiles
from conformance.errors import BadProfile
from load.seeding import Description, Expired, Payload, Refused, marks, rows
from load.seeding.content import LEAD
from load.seeding.writing import PIECE, Run, Writer, escaped

REFERENCE = profiles.load("reference")
NOW = datetime.fromisoformat("2026-01-02T03:04:05")
LIFETIME = timedelta(seconds=REFERENCE.timings.request_lifetime)


def writer(description: Description, **seeding: Any) -> Writer:
    profile = REFERENCE.model_copy(update={"seeding": REFERENCE.seeding.model_copy(update=seeding)})
    users, models = [str(100 + n) for n in range(description.users)], [f"m{n}" for n in range(description.models)]
    return Writer(description, profile, Run(users, [*models, "refused"], NOW))


def columns(line: str) -> dict[str, Any]:
    assert line.endswith("\n")
    return dict(zip(REFERENCE.seeding.columns, line[:-1].split("\t"), strict=True))


@pytest.mark.parametrize("carriers", [("messages",), ("chat_extras",), ("prompt",), "natural"])
def test_what_a_row_says_is_json_of_exactly_the_size(carriers: Any) -> None:
    description = Description(rows=40, payload=Payload(bytes=[0, 3000], carried_by=carriers))
    made = writer(description)
    carrying = description.payload.carriers
    for row in rows(description):
        line = columns(made.line(row))
        size = {carrier: len(LEAD) + (row.size if carrier in carrying else 0) for carrier in ("messages", "prompt")}
        assert len(line["prompt"].removeprefix("user: ")) == size["prompt"]
        assert json.loads(line["params"]) == {"n": 1, "max_length": 80, "max_context_length": 1024}
        assert line["prompt_tokens"] == str(-(-len(line["prompt"]) // 4))
        if not row.is_chat:
            assert {line[name] for name in ("messages", "chat_extras", "message_count", "payload_bytes")} == {r"\N"}
            continue
        (message,) = json.loads(line["messages"])
        assert len(message["content"]) == size["messages"]
        extras = json.loads(line["chat_extras"])
        if "chat_extras" in carrying:
            assert len(extras["tools"][0]["function"]["description"]) == len(LEAD) + row.size
        else:
            assert extras == {}
        assert line["payload_bytes"] == str(len(line["messages"]) + len(line["chat_extras"]))
        if carriers == "natural":
            assert line["prompt"] == f"user: {message['content']}"


def test_times_are_in_order_and_expired_rows_are_over() -> None:
    description = Description(rows=5, refused=Refused(rows=5), expired=Expired(rows=5))
    lines = [columns(writer(description).line(row)) for row in rows(description)]
    created, expiry = ([datetime.fromisoformat(line[name]) for line in lines] for name in ("created", "expiry"))
    assert sorted(created) == created
    assert len(set(created)) == 15
    assert all(over < NOW for over in expiry[:5])
    assert all(NOW < over <= NOW + LIFETIME for over in expiry[5:])


@pytest.mark.parametrize("rule", ["max_length", "max_context_length", "nsfw", "model"])
def test_a_refused_row_breaks_one_rule_only(rule: str) -> None:
    description = Description(rows=1, chat_share=0, refused=Refused(rows=1, by=rule))
    (piece,) = writer(description).pieces()
    refused, waiting = (columns(line) for line in piece.requests.decode().splitlines(keepends=True))
    same = set(refused) - {"id", "created", "expiry", "params", "things"}
    broken = {name for name in same if refused[name] != waiting[name]}
    assert broken == ({rule} - {"model"})
    models = [line.split("\t")[1] for line in piece.models.decode().splitlines()]
    assert models == (["refused", "m0"] if rule == "model" else ["m0", "m0"])


def test_pieces_are_whole_rows_of_some_megabytes() -> None:
    description = Description(rows=30, chat_share=0, payload=Payload(bytes="1 MiB"))
    pieces = list(writer(description).pieces())
    assert sum(piece.rows for piece in pieces) == 30
    assert len(pieces) == 4
    assert all(PIECE <= len(piece.requests) < PIECE + 2**21 for piece in pieces[:-1])
    assert all(piece.requests.count(b"\n") == piece.models.count(b"\n") == piece.rows for piece in pieces)


def test_a_template_with_a_value_that_there_is_not_is_told() -> None:
    with pytest.raises(BadProfile, match=r"a value that there is not: \{nothing\}"):
        writer(Description(rows=1), columns={"id": "{nothing}"})


@given(st.text())
def test_whatever_a_profile_writes_is_one_column_of_one_line(text: str) -> None:
    assert not set(escaped(text)) & set("\t\n\r")


@given(st.booleans(), st.integers(0, 10**6))
def test_a_run_is_known_by_its_mark(kept: bool, index: int) -> None:
    run = marks.new(kept=kept)
    assert marks.run_of(marks.user(run, index)) == run
    assert marks.is_kept(run) == kept
    assert -(2**31) <= marks.number(run) < 2**31
    assert marks.user(run, index).startswith(marks.users(run).removesuffix("%"))
    assert marks.run_of(f"somebody-{marks.user(run, index)}") is None
    assert marks.run_of("horde-load-run-1") is None
