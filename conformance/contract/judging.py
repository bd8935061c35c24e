"""Holding an answer to its contract, and telling the call that broke it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping
from typing import Any

import requests
from schemathesis import Response
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.errors import SchemathesisError
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from conformance.client import Answer, Exchange
from conformance.contract.documents import Document
from conformance.contract.drawing import untrue
from conformance.contract.operations import Operation

_CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


def conforms(document: Document, view: Any, operation: Operation, answer: Answer) -> None:
    """The answer has a status, a media type and a shape that the document describes for the operation.

    Raises:
        AssertionError: it has not.
    """
    try:
        case = view[operation.path][operation.method.upper()].Case(path_parameters=_filled(operation.path))
        case.validate_response(_response(answer.exchange), checks=_CHECKS)
    except (Failure, FailureGroup) as broken:
        failures = broken.exceptions if isinstance(broken, FailureGroup) else (broken,)
        said = "; ".join(" ".join(f"{failure.title}: {failure.message}".split()) for failure in failures)
        raise AssertionError(f"{operation} answered {answer.status}, and the contract does not: {said}") from None
    except SchemathesisError as error:
        raise untrue(document, error) from None


def _filled(path: str) -> dict[str, str]:
    return dict.fromkeys(re.findall(r"\{([^}]*)\}", path), "id")


def _response(exchange: Exchange) -> Response:
    request = requests.Request(exchange.method, exchange.url).prepare()
    assert exchange.status is not None
    return Response(
        status_code=exchange.status,
        headers={name: [value] for name, value in exchange.response_headers.items()},
        content=(exchange.response_body or "").encode("utf-8"),
        request=request,
        elapsed=exchange.ended - exchange.started,
        verify=True,
        encoding="utf-8",
    )


def curl(exchange: Exchange, content: bytes | None, keys: Collection[str]) -> str:
    """The call as a command that repeats it; a key of ours stands as `$KEY`.

    Args:
        exchange: the call.
        content: the bytes of its body, of which the record may hold less.
        keys: what must not stand in a report.
    """
    words = ["curl", "-sS", "-X", exchange.method, shlex.quote(exchange.url), *_headers(exchange.request_headers, keys)]
    if content is None:
        return " ".join(words)
    if all(0x20 <= byte < 0x7F for byte in content):
        return " ".join([*words, "--data-raw", shlex.quote(content.decode("ascii"))])
    octal = "".join(chr(b) if 0x20 <= b < 0x7F and chr(b) not in "\\%" else f"\\{b:03o}" for b in content)
    return " ".join(["printf", shlex.quote(octal), "|", *words, "--data-binary", "@-"])


def _headers(headers: Mapping[str, str], keys: Collection[str]) -> list[str]:
    quoted = {
        name: f'"{name}: $KEY"' if value in keys else shlex.quote(f"{name}: {value}") for name, value in headers.items()
    }
    return [word for header in quoted.values() for word in ("-H", header)]
