"""What counts bytes: behind which server it stands, and what becomes of a server that does not go through it."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from conformance import profile, run, targets
from fixtures.counting.proxy import CountingProxy
from fixtures.postgres.keeper import free_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fixtures.postgres import Server
    from reports.model import RequirementResult

PATIENCE = 30.0
REFERENCE = profile.load("reference")


@contextmanager
def operated(port: int, ready: Callable[[], bool], database_url: str) -> Iterator[None]:
    """An operator who starts the reference at a port, on a database, as soon as that can be reached."""
    judged = threading.Event()

    def operate() -> None:
        deadline = time.monotonic() + PATIENCE
        while not ready() and time.monotonic() < deadline:
            judged.wait(0.02)
        with targets.serving(REFERENCE.server.command, database_url, port=port):
            judged.wait()

    operator = threading.Thread(target=operate)
    operator.start()
    try:
        yield
    finally:
        judged.set()
        operator.join()


def listened_on(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
        return True
    return False


def judged(id: str, postgres: Server, *, through: bool) -> RequirementResult:
    """The verdict on a server at a URL that goes through the proxy, or past it."""
    server_port, proxy_port = free_port(), free_port()
    with targets.fresh_database(REFERENCE, postgres) as database_url:
        with CountingProxy(database_url) as another:
            there = another.through(database_url).replace(f":{another.port}/", f":{proxy_port}/")
        options = run.Options(
            patterns=(id,),
            target=f"http://127.0.0.1:{server_port}",
            profile="reference",
            database_url=database_url,
            database_proxy=f"127.0.0.1:{proxy_port}",
            seed=1,
        )
        with operated(server_port, lambda: listened_on(proxy_port), there if through else database_url):
            report = run.run(options)
    assert report.aborted is None
    (row,) = (row for row in report.requirements if row.id == id)
    return row


def test_a_server_that_goes_through_the_proxy_is_judged(postgres: Server) -> None:
    row = judged("DEF-02", postgres, through=True)
    assert row.verdict == "passed", row.reason


def test_a_server_that_goes_past_the_proxy_passes_nothing(postgres: Server) -> None:
    row = judged("DEF-01", postgres, through=False)
    assert row.verdict == "could_not_run"
    assert "through the proxy" in (row.reason or "")


def test_rows_about_bytes_are_declared_where_they_can_be_counted() -> None:
    assert "database_proxy" in run.resolve(run.Options()).capabilities
    seen = run.Options(target="http://127.0.0.1:1", profile="reference", database_url="postgresql://host/database")
    assert "database_proxy" not in run.resolve(seen).capabilities
    assert "database_proxy" in run.resolve(replace(seen, database_proxy="127.0.0.1:6432")).capabilities
