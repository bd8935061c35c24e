"""The exchanges of a load run, kept small enough that to keep them costs the generator next to nothing.

One list of rows a second, as Python's own bytes (`marshal`: a quarter of JSON's time): the file is this run's, and read
by the same Python a moment later. The payload that all requests share is not written: its place says how many bytes
stood there. Requests stay apart by the words before it, so the history checker links generations to requests as ever.

Processes of another host send their rows to the one that leads. Their moments are of a clock that is not ours: each
exchange is read as the widest span of ours that it may have taken, so that no rule is found broken which was kept.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from conformance.client import Exchange
from conformance.errors import BadHistory
from conformance.profile import Profile
from load.scenarios.clocks import Apart

# Actor, operation, method, path, key, request's body, status, answer's body, started, ended, error.
_Row = tuple[str, str, str, str, str, bytes | None, int | None, bytes | None, float, float, str | None]

_FIELDS = 11
# Of the payload's bytes: enough to find it by.
_FIRST = 24


class Keeper:
    """Collects the exchanges of one process and writes them once a second, or has them sent."""

    def __init__(self, folder: Path, index: int, payload: bytes, send: Callable[[bytes], None] | None = None) -> None:
        self._file = _file(folder, index) if send is None else None
        self._send = send
        self._payload, self._place = payload, f"<{len(payload)} bytes>".encode()
        self._rows: list[_Row] = []

    def add(
        self, actor: str, operation: str, method: str, path: str, key: str,
        sent: bytes | None, status: int | None, received: bytes | None, started: float, ended: float, error: str | None,
    ) -> None:  # fmt: skip
        """Keep one exchange; the moments are of `time.monotonic()`."""
        size = len(self._payload)
        if size:
            if sent is not None and len(sent) > size:
                sent = self._without_payload(sent)
            if received is not None and len(received) > size:
                received = self._without_payload(received)
        self._rows.append((actor, operation, method, path, key, sent, status, received, started, ended, error))

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
        if rows and self._file is not None:
            self._file.write(marshal.dumps(rows))
            self._file.flush()
        elif rows and self._send is not None:
            self._send(marshal.dumps(rows))

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            self._file.close()


class Collector:
    """Writes what processes of other hosts sent, as they would have themselves."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, IO[bytes]] = {}

    def add(self, index: int, rows: bytes) -> None:
        if index not in self._files:
            self._files[index] = _file(self._folder, index)
        self._files[index].write(rows)

    def close(self, clocks: Mapping[int, Apart]) -> None:
        """Write beside each process's rows how far its clock is from ours; rows of an unread clock are given up."""
        for index, file in self._files.items():
            file.close()
            if index in clocks:
                _clock(self._folder, index).write_text(clocks[index].model_dump_json(), "ascii")
            else:
                Path(file.name).unlink()
        self._files.clear()


def _file(folder: Path, index: int) -> IO[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / f"exchanges-{index}.rows").open("wb")


def _clock(folder: Path, index: int) -> Path:
    return folder / f"exchanges-{index}.clock"


def kept(folder: Path, url: str, profile: Profile) -> Iterator[Exchange]:
    """The exchanges that all processes of a run kept, for `conformance.histories.recorded`.

    Raises:
        BadHistory: a file holds something else.
    """
    for path in sorted(folder.glob("exchanges-*.rows")):
        clock = path.with_suffix(".clock")
        apart = Apart.model_validate_json(clock.read_text("ascii")) if clock.is_file() else Apart(low=0, high=0)
        with path.open("rb") as file:
            for rows in _read(file, path):
                yield from (_exchange(row, url.rstrip("/"), profile, apart) for row in rows)


def _read(file: IO[bytes], path: Path) -> Iterator[list[_Row]]:
    while True:
        try:
            rows = marshal.load(file)  # noqa: S302 - our own file
        except EOFError:
            # A process that was killed leaves half of its last rows.
            return
        except (ValueError, TypeError):
            rows = None
        if not isinstance(rows, list) or not all(isinstance(row, tuple) and len(row) == _FIELDS for row in rows):
            raise BadHistory(f"{path} holds no exchanges.", "Is the file whole?")
        yield rows


def _exchange(row: _Row, url: str, profile: Profile, apart: Apart) -> Exchange:
    actor, operation, method, at, key, sent, status, received, started, ended, error = row
    started, ended = apart.ours(started, ended)
    return Exchange(
        actor=actor, operation=operation, method=method, url=url + at, request_headers={profile.headers.key: key},
        request_body=_text(sent), status=status, response_headers={}, response_body=_text(received), started=started,
        ended=ended, error=error,
    )  # fmt: skip


def _text(body: bytes | None) -> str | None:
    return None if body is None else body.decode("utf-8", "backslashreplace")
