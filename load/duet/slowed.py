"""The unchanged reference server, slowed from outside: `--share 0.09` computes 9 % more for each answer.

The share is of the CPU time that server and database together spent since the answer before, whatever else the
machine had to do meanwhile: a server that is slowed in proportion to its waiting would be found too easily.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from sqlalchemy import Engine, event

from fixtures.horde import __main__ as server
from fixtures.horde import app
from load.probes.kernel import cpu_seconds

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


class Slowed:
    """An application that computes for nothing before it answers."""

    def __init__(self, inner: Application, share: float, engine: Engine | None = None) -> None:
        self._inner = inner
        self._share = share
        self._backends: list[int] = []
        # What the start has cost belongs to no answer.
        self._spent = time.process_time()
        if engine is not None:
            event.listen(engine, "connect", self._connected)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve as the inner application does, later."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                compute(self._share * (self._so_far() - self._spent))
                self._spent = self._so_far()
            await send(message)

        await self._inner(scope, receive, answer)

    def _connected(self, connection: Any, _record: object) -> None:
        self._backends.append(connection.info.backend_pid)

    def _so_far(self) -> float:
        return time.process_time() + sum(cpu_seconds(pid) or 0.0 for pid in self._backends)


def compute(seconds: float) -> None:
    """Spend so much CPU time of this thread."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def main(argv: list[str]) -> int:
    """Take `--share` out of the options, slow the application, and hand the rest to the server."""
    parser = argparse.ArgumentParser(prog="python -P -m load.duet.slowed", add_help=False, allow_abbrev=False)
    parser.add_argument("--share", type=float, required=True)
    given, rest = parser.parse_known_args(argv)
    build = app.build
    app.build = lambda database: Slowed(build(database), given.share, database.engine)  # type: ignore[assignment,return-value]
    return server.main(rest)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
