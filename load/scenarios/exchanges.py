"""The exchanges of a load run, kept small enough that to keep them costs the generator next to nothing.

One JSON array a line and second. The payload that all requests share is not written: its place says how many bytes
stood there.
Requests stay apart by the words before it, so the history checker links generations to requests as ever.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from conformance.client import Exchange
from conformance.errors import BadHistory
from conformance.profile import Profile

# Actor, operation, method, path, key, request's body, status, answer's body, started, ended, error.
_Row = tuple[str, str, str, str, str, str | None, int | None, str | None, float, float, str | None]

# Of the payload's bytes: enough to find it by.
_FIRST = 24


class Keeper:
    """Collects the exchanges of one process and writes them once a second."""

    def __init__(self, folder: Path, index: int, payload: bytes) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = (folder / f"exchanges-{index}.jsonl").open("w", encoding="ascii")
        self._payload, self._place = payload, f"<{len(payload)} bytes>".encode()
        self._rows: list[_Row] = []

    def add(
        self, actor: str, operation: str, method: str, path: str, key: str,
        sent: bytes | None, status: int | None, received: bytes | None, started: float, ended: float, error: str | None,
    ) -> None:  # fmt: skip
        """Keep one exchange; the moments are of `time.monotonic()`."""
        told = self._text(sent), status, self._text(received)
        self._rows.append((actor, operation, method, path, key, *told, started, ended, error))

    def _text(self, body: bytes | None) -> str | None:
        if body is None:
            return None
        if self._payload and len(body) > len(self._payload):
            body = self._without_payload(body)
        return body.decode("utf-8", "backslashreplace")

    def _without_payload(self, body: bytes) -> bytes:
        # Found by its first bytes and then compared: `replace` prepares a search for all of it, 400 µs for 64 KiB.
        size, first, at = len(self._payload), self._payload[:_FIRST], 0
        while (at := body.find(first, at)) >= 0:
            if body.startswith(self._payload, at):
                body = b"".join((body[:at], self._place, body[at + size :]))
                at += len(self._place)
            else:
                at += 1
        return body

    def flush(self) -> None:
        """Write what was kept since the last time."""
        rows, self._rows = self._rows, []
        if rows:
            # At once: to set the encoder up for each costs as much as to encode it.
            self._file.write(f"{json.dumps(rows)}\n")
            self._file.flush()

    def close(self) -> None:
        self.flush()
        self._file.close()


def kept(folder: Path, url: str, profile: Profile) -> Iterator[Exchange]:
    """The exchanges that all processes of a run kept, for `conformance.histories.recorded`.

    Raises:
        BadHistory: a line holds no exchange.
    """
    for path in sorted(folder.glob("exchanges-*.jsonl")):
        with path.open(encoding="ascii") as file:
            yield from _read(file, path, url.rstrip("/"), profile)


def _read(lines: Iterable[str], path: Path, url: str, profile: Profile) -> Iterator[Exchange]:
    for number, line in enumerate(lines, 1):
        # A process that was killed leaves half a line, and only at the end.
        if not line.endswith("\n"):
            return
        try:
            rows = json.loads(line)
            yield from (_exchange(row, url, profile) for row in rows)
        except (ValueError, TypeError):
            raise BadHistory(f"Line {number} of {path} holds no exchanges.", "Is the file whole?") from None


def _exchange(row: _Row, url: str, profile: Profile) -> Exchange:
    actor, operation, method, at, key, sent, status, received, started, ended, error = row
    return Exchange(
        actor=actor, operation=operation, method=method, url=url + at, request_headers={profile.headers.key: key},
        request_body=sent, status=status, response_headers={}, response_body=received, started=started,
        ended=ended, error=error,
    )  # fmt: skip
