"""Exchanges as HAR 1.2, as browsers' developer tools open it; what is left out of it is stated in it."""

from __future__ import annotations

import base64
import http
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from conformance.client import Exchange
from reports.redact import Redactor

# Of a check's exchanges the last so many; of a body so many bytes; of all bodies together so many.
ENTRIES = 1000
BODY = 256 * 1024
BODIES = 8 * 1024 * 1024
_LONGEST_KEY = 200


@dataclass
class _Room:
    """Bytes that bodies may still take, and what did not fit."""

    left: int = BODIES
    cut: int = 0

    def take(self, content: bytes, redactor: Redactor) -> tuple[bytes, str]:
        """As much of a body as is kept, without keys, and a comment where that is not all."""
        limit = min(BODY, self.left)
        # A key across the cut is looked for as a whole.
        kept = redactor.value(content[: limit + _LONGEST_KEY])[:limit] if limit else b""
        self.left -= len(kept)
        if len(content) <= limit:
            return kept, ""
        self.cut += 1
        return kept, f"the first {len(kept)} of {len(content)} bytes"


@dataclass(frozen=True)
class Har:
    """A HAR's text, and in words what of the exchanges does not stand in it; None where all does."""

    text: str
    cut: str | None


@dataclass
class _Writer:
    redactor: Redactor
    epoch: float
    room: _Room = field(default_factory=_Room)


def har(exchanges: Sequence[Exchange], *, title: str, epoch: float, keys: Sequence[str] = ()) -> Har:
    """The HAR of exchanges, without API keys.

    Args:
        title: what they are exchanges of.
        epoch: seconds from the zero of their clock to that of the world's (1970).
        keys: further keys to hide, beside those that stand in headers.
    """
    kept = exchanges[-ENTRIES:]
    told = (
        [
            dict(e.request_headers),
            dict(e.response_headers),
            (e.request_body or "")[:BODY],
            (e.response_body or "")[:BODY],
        ]
        for e in kept
    )
    writer = _Writer(Redactor(told, keys), epoch)
    # Those that ended last tell most, and are given room first.
    entries = [_entry(exchange, writer) for exchange in reversed(kept)][::-1]
    cut = _cut(len(exchanges) - len(kept), writer.room.cut)
    log: dict[str, Any] = {
        "version": "1.2",
        "creator": {"name": "horde-conformance", "version": version("horde-conformance")},
        "pages": [],
        "entries": entries,
        "comment": title + (f"; {cut}" if cut else ""),
    }
    return Har(json.dumps({"log": log}, ensure_ascii=False, indent=1).encode("utf-8", "backslashreplace").decode(), cut)


def _bodies(exchange: Exchange) -> tuple[str | None, str | None]:
    return exchange.request_body, exchange.response_body


def _cut(earlier: int, bodies: int) -> str | None:
    said = [f"{earlier} earlier exchanges are left out"] if earlier else []
    if bodies:
        said.append(f"{bodies} bodies are cut")
    return " and ".join(said) or None


def _entry(exchange: Exchange, writer: _Writer) -> dict[str, Any]:
    milliseconds = round(max(0.0, exchange.ended - exchange.started) * 1000, 3)
    # Room goes to the answer first.
    response = _response(exchange, writer)
    entry = {
        "startedDateTime": datetime.fromtimestamp(exchange.started + writer.epoch, UTC).isoformat(),
        "time": milliseconds,
        "request": _request(exchange, writer),
        "response": response,
        "cache": {},
        "timings": {"send": 0, "wait": milliseconds, "receive": 0},
        "comment": f"{exchange.actor}: {exchange.operation}",
    }
    if exchange.error is not None:
        entry["_error"] = exchange.error
    return entry


def _request(exchange: Exchange, writer: _Writer) -> dict[str, Any]:
    url = writer.redactor.text(exchange.url)
    request: dict[str, Any] = {
        "method": exchange.method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(exchange.request_headers, writer),
        "queryString": [{"name": n, "value": v} for n, v in parse_qsl(_query(url), keep_blank_values=True)],
        "headersSize": -1,
        "bodySize": 0,
    }
    content = _content(exchange.request_body, exchange.request_bytes)
    if content is not None:
        request["bodySize"] = len(content)
        request["postData"] = {
            "mimeType": _type(exchange.request_headers),
            **_body(content, writer, encoded="_encoding"),
        }
    return request


def _query(url: str) -> str:
    try:
        return urlsplit(url).query
    except ValueError:
        return ""


def _response(exchange: Exchange, writer: _Writer) -> dict[str, Any]:
    content = _content(exchange.response_body, exchange.response_bytes) or b""
    lost = exchange.status is None
    said: dict[str, Any] = {"comment": f"no answer came: {exchange.error}"} if lost else {}
    return {
        "status": exchange.status or 0,
        "statusText": _phrase(exchange.status),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(exchange.response_headers, writer),
        "content": {
            "size": len(content),
            "mimeType": _type(exchange.response_headers),
            **_body(content, writer, encoded="encoding"),
        },
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": -1 if lost else len(content),
        **said,
    }


def _phrase(status: int | None) -> str:
    try:
        return "" if status is None else http.HTTPStatus(status).phrase
    except ValueError:
        return ""


def _content(text: str | None, raw: bytes | None) -> bytes | None:
    if raw is not None:
        return raw
    return None if text is None else text.encode("utf-8", "backslashreplace")


def _body(content: bytes, writer: _Writer, *, encoded: str) -> dict[str, str]:
    """A body's text, or its base64 where it is none in UTF-8. HAR 1.2 has a name for that in answers only."""
    kept, comment = writer.room.take(content, writer.redactor)
    try:
        content.decode()
    except UnicodeDecodeError:
        body = {"text": base64.b64encode(kept).decode(), encoded: "base64"}
    else:
        body = {"text": kept.decode("utf-8", "ignore")}
    return {**body, "comment": comment} if comment else body


def _headers(headers: Mapping[str, str], writer: _Writer) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in writer.redactor.value(dict(headers)).items()]


def _type(headers: Mapping[str, str]) -> str:
    return next((value for name, value in headers.items() if name.lower() == "content-type"), "")
