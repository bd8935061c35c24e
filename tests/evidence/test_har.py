"""Exchanges as HAR: valid by the format's schema, without keys, of a bounded size."""

from __future__ import annotations

import base64
import json
import re
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from conformance.client import Exchange
from conformance.evidence import har as hars
from conformance.evidence.har import Har, har

KEY = "BxUOu8JNJVjrlcprxR-MVg"
OTHER = "Q7aaaaaJNJVjrlcprxR-MZ"
SCHEMA = json.loads((Path(__file__).parent / "har-1.2.schema.json").read_text("utf-8"))


def exchange(**changes: Any) -> Exchange:
    told: dict[str, Any] = {
        "actor": "a worker", "operation": "pop", "method": "POST", "url": "http://127.0.0.1:1/api/v2/pop?type=text&a=",
        "request_headers": {"apikey": KEY, "Content-Type": "application/json"}, "request_body": '{"name": "w"}',
        "status": 200, "response_headers": {"content-type": "application/json"}, "response_body": '{"id": null}',
        "started": 3.0, "ended": 3.25, **changes,
    }  # fmt: skip
    return Exchange(**told)


def entries(made: Har) -> list[dict[str, Any]]:
    log = json.loads(made.text)
    jsonschema.validate(log, SCHEMA)
    return list(log["log"]["entries"])


def written(*exchanges: Exchange) -> Har:
    return har(exchanges, title="a check", epoch=1_700_000_000.0)


def test_an_exchange_is_an_entry() -> None:
    (entry,) = entries(written(exchange()))
    assert entry["startedDateTime"] == "2023-11-14T22:13:23+00:00"
    assert entry["time"] == 250
    assert entry["request"]["queryString"] == [{"name": "type", "value": "text"}, {"name": "a", "value": ""}]
    assert entry["request"]["postData"] == {"mimeType": "application/json", "text": '{"name": "w"}'}
    assert entry["response"]["content"]["text"] == '{"id": null}'
    assert entry["comment"] == "a worker: pop"


def test_the_same_key_has_the_same_placeholder_everywhere_and_stands_nowhere() -> None:
    made = har(
        [
            exchange(),
            exchange(response_body=f'{{"leaked": "{KEY}", "other": "{OTHER}"}}'),
            exchange(response_bytes=b"\xff" + KEY.encode(), response_body="\\xff" + KEY),
        ],
        title="a check", epoch=0.0, keys=[OTHER],
    )  # fmt: skip
    first, second, third = entries(made)
    (placeholder,) = (h["value"] for h in first["request"]["headers"] if h["name"] == "apikey")
    leaked = json.loads(second["response"]["content"]["text"])
    assert leaked["leaked"] == placeholder
    assert leaked["other"] not in (OTHER, placeholder)
    assert base64.b64decode(third["response"]["content"]["text"]) == b"\xff" + placeholder.encode()
    assert KEY not in made.text
    assert OTHER not in made.text


def test_a_body_that_is_no_text_is_base64() -> None:
    raw = bytes(range(256))
    (entry,) = entries(written(exchange(request_bytes=raw, request_body="x", response_bytes=raw, response_body="x")))
    assert entry["response"]["content"]["encoding"] == "base64"
    assert base64.b64decode(entry["response"]["content"]["text"]) == raw
    assert base64.b64decode(entry["request"]["postData"]["text"]) == raw


def test_a_lost_exchange_is_shown_as_one() -> None:
    lost = exchange(status=None, response_headers={}, response_body=None, error="ConnectionLost: reset by peer")
    (entry,) = entries(written(lost))
    assert entry["response"]["status"] == 0
    assert "ConnectionLost: reset by peer" in entry["response"]["comment"]


@pytest.mark.parametrize("text", ["\ud800", "\x00\x1b[2J", "<script>alert(1)</script>", ""])
def test_whatever_a_target_answers_is_text(text: str) -> None:
    entries(
        written(exchange(response_body=text, response_headers={"X-\x01": text.encode("utf-8", "replace").decode()}))
    )


def test_ten_thousand_exchanges_of_a_mebibyte_are_cut_and_the_cut_is_stated() -> None:
    body = "x" * 2**20
    told = [exchange(response_body=body, started=i, ended=i) for i in range(10_000)]
    tracemalloc.start()
    try:
        made = written(*told)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    shown = entries(made)
    assert len(made.text) < 2 * hars.BODIES
    assert peak < 12 * hars.BODIES
    assert made.cut is not None
    assert re.fullmatch(r"9000 earlier exchanges are left out and \d+ bodies are cut", made.cut)
    assert len(shown[-1]["response"]["content"]["text"]) == hars.BODY
    assert shown[-1]["response"]["content"]["comment"] == f"the first {hars.BODY} of {2**20} bytes"
    assert shown[0]["response"]["content"]["text"] == ""
