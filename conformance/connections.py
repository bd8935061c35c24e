"""Connections to one server, kept open between calls; a call is made once, whatever becomes of it.

The standard library's own client: a library that pools, redirects and retries takes twice the time of a call, and a
harness must do none of it behind its back.
"""

from __future__ import annotations

import http.client
import re
import select
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from urllib.parse import quote, urlsplit

# Bytes of an answer's body that are read at most, and at once.
_LARGEST = 64 * 1024 * 1024
_PIECE = 65536
# Characters that stand in a path as they are; all others are escaped.
_PLAIN = "%/:?=&;,@!$'()*+~[]"


class Unanswered(Exception):
    """No answer came; `kind` says how: one of those below."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind


# The call never left this machine: nobody listens, or does in time, or HTTP has no letters for it.
REFUSED, UNREACHED, INVALID = "ConnectError", "ConnectTimeout", "InvalidCall"
# It did, and the answer did not come in time, or not whole.
LATE, LOST = "ReadTimeout", "ConnectionLost"
_PLAIN_HTTP = http.client.HTTPConnection
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Received:
    """An answer; its headers' names in lower case, a repeated one with its values joined by commas."""

    status: int
    headers: dict[str, str]
    body: bytes


class Connections:
    """Makes calls to one server from any number of threads, from this machine's `address` where one is given."""

    def __init__(self, url: str, address: str | None = None) -> None:
        parts = urlsplit(url)
        self._base = parts.path
        # To read the certificates of the world takes longer than a check; over plain HTTP there is nothing to verify.
        secure = parts.scheme == "https"
        kind = partial(http.client.HTTPSConnection, context=ssl.create_default_context()) if secure else _PLAIN_HTTP
        source = (address, 0) if address else None
        self._new = partial(kind, parts.hostname or "", parts.port, source_address=source)
        self._free: list[http.client.HTTPConnection] = []

    def close(self) -> None:
        while self._free:
            self._free.pop().close()

    def call(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], seconds: float) -> Received:
        """Make one call.

        Raises:
            Unanswered: no answer came within so many seconds, or none that is whole.
        """
        _check(path, headers)
        connection = self._open(seconds)
        received = None
        try:
            received = _exchanged(connection, method, self._base + quote(path, _PLAIN), body, headers, seconds)
        except TimeoutError:
            raise Unanswered(LATE, f"no whole answer within {seconds:.3g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Unanswered(LOST, f"{type(error).__name__} {error}".strip()) from None
        finally:
            # A server that crashed on one call may hang up a moment later, on the next one.
            if received is not None and received.status < 500 and connection.sock is not None:
                self._free.append(connection)
            else:
                connection.close()
        return received

    def _open(self, seconds: float) -> http.client.HTTPConnection:
        """An open connection: one whose other end has neither hung up nor said more, or a new one."""
        while self._free:
            with suppress(IndexError):
                connection = self._free.pop()
                if connection.sock is not None and not _has_news(connection.sock):
                    connection.sock.settimeout(seconds)
                    return connection
                connection.close()
        connection = self._new(timeout=seconds)
        try:
            connection.connect()
        except TimeoutError:
            raise Unanswered(UNREACHED, f"no connection within {seconds:.3g} s") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Unanswered(REFUSED, str(error)) from None
        return connection


def _has_news(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def _exchanged(
    connection: http.client.HTTPConnection, method: str, path: str, body: bytes | None, headers: Mapping[str, str],
    seconds: float,
) -> Received:  # fmt: skip
    deadline = time.monotonic() + seconds
    # Who refuses a body before its end has answered, and hung up.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.request(method, path, body, headers)
    with connection.getresponse() as response:
        return Received(response.status, _told(response), _whole(response, deadline))


def _whole(response: http.client.HTTPResponse, deadline: float) -> bytes:
    """The answer's body; a target that trickles it out for ever does not hold a run up."""
    received = bytearray()
    while piece := response.read1(_PIECE):
        received += piece
        if time.monotonic() > deadline:
            raise TimeoutError
        if len(received) > _LARGEST:
            raise http.client.HTTPException(f"the answer is larger than {_LARGEST} bytes")
    if response.length:
        raise http.client.IncompleteRead(bytes(received), response.length)
    return bytes(received)


def _told(response: http.client.HTTPResponse) -> dict[str, str]:
    if response.headers.defects:
        raise http.client.HTTPException("the answer's headers are none")
    if len(set(response.headers.get_all("content-length", []))) > 1:
        raise http.client.HTTPException("the answer has two lengths")
    told: dict[str, str] = {}
    for name, value in response.getheaders():
        key = name.lower()
        told[key] = f"{told[key]}, {value}" if key in told else value
    return told


def _check(path: str, headers: Mapping[str, str]) -> None:
    """Refuse what HTTP has no letters for, before anything is sent: escaped it would be another call."""
    for text in (path, *headers.values()):
        if _CONTROL.search(text):
            raise Unanswered(INVALID, f"a control character in {text!r}")
    try:
        "".join(headers.values()).encode("latin-1")
    except UnicodeEncodeError as error:
        raise Unanswered(INVALID, f"a header has no letter for {error.object[error.start]!r}") from None
