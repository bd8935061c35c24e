"""Starts the processes that make a load, waits for what they measured, and ends them, whatever happens.

They are Locust's own: one alone, or a master and workers that talk over loopback. Each ends with the process that
started it: it watches the pipe that is its standard input. A worker that dies in mid-run makes the run INVALID.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from conformance import accounts
from conformance import profile as profiles
from conformance.client import Client
from load.errors import GeneratorNotStarted
from load.scenarios import plan as plans
from load.scenarios.plan import Plan
from load.scenarios.result import Result, load
from load.scenarios.table import named

# Seconds: to come up and prepare, to end once the last phase is over, to go when told to.
_START, _END, _STOP = 90.0, 60.0, 8.0
_GLANCE = 0.05
_LONGEST_LOG = 64 * 1024


@dataclass(frozen=True)
class Beat:
    """How many calls ended in one second of a run, by outcome."""

    second: int
    counts: dict[str, int]


def equipped(url: str, profile_name: str, *, lanes: int = 4, models: int = 4, **fields: Any) -> Plan:
    """A plan on accounts that the target gives: of as many lanes as asked for, and with models of its own.

    Raises:
        TargetNotReady: the target gives none.
        BadOptions: the profile lists keys, but the environment does not hold them.
    """
    profile = profiles.load(profile_name)
    with Client(url, profile) as client:
        casts = accounts.provide(client, lanes)
    owners = tuple(owner for cast in casts for owner in cast.owners)
    run = secrets.token_hex(3)
    template, known = profile.models.template, profile.models.known
    names = [
        template.format(known=known, unique=f"{run}{place:04d}", alias=owners[place % len(owners)].alias)
        for place in range(models)
    ]
    requesters = tuple(requester for cast in casts for requester in cast.requesters)
    return Plan(url=url, profile=profile_name, requesters=requesters, owners=owners, models=tuple(names), **fields)


def run(
    plan: Plan,
    workers: int = 1,
    *,
    heard: Callable[[Beat], None] | None = None,
    locustfile: Path | None = None,
    started: Callable[[list[int]], None] | None = None,
) -> Result:
    """Make the load and give what was measured. Blocks for the plan's phases and some seconds.

    Args:
        plan: what to do to which target.
        workers: processes that make the load; more than one are led by a further one.
        heard: is told once a second what has ended.
        locustfile: another than the scenario's own.
        started: is told the processes' ids: of the one that leads, and of the others.

    Raises:
        UnknownScenario: there is none of that name.
        GeneratorNotStarted: the processes did not come up, or left no result.
        KeyboardInterrupt: Ctrl-C; the processes have ended, and a result is where the plan says. A second one kills.
    """
    locustfile = locustfile or named(plan.scenario).file
    with tempfile.TemporaryDirectory(prefix="horde-load-") as name:
        folder = Path(name)
        kept = plan.result.resolve() if plan.result else folder / "result.json"
        exchanges = plan.exchanges.resolve() if plan.exchanges else None
        update = {"result": kept, "beats": folder / "beats.jsonl", "exchanges": exchanges}
        plan = plan.model_copy(update=update)
        kept.unlink(missing_ok=True)
        with _running(plan, workers, locustfile, folder) as processes:
            if started is not None:
                started([process.popen.pid for process in processes])
            _wait(processes, plan, heard)
            if not kept.is_file():
                raise _failed(processes)
        return load(kept)


@dataclass(frozen=True)
class _Process:
    popen: subprocess.Popen[bytes]
    log: IO[bytes]

    def said(self) -> str:
        """The last of what it printed."""
        size = os.fstat(self.log.fileno()).st_size
        return os.pread(self.log.fileno(), _LONGEST_LOG, max(0, size - _LONGEST_LOG)).decode("utf-8", "replace")


@contextmanager
def _running(plan: Plan, workers: int, locustfile: Path, folder: Path) -> Iterator[list[_Process]]:
    """The processes of a run, the one that leads first; none of them is left at the end."""
    path = folder / "plan.json"
    # It holds keys.
    path.touch(mode=0o600)
    path.write_text(plan.model_dump_json(), "utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCUST_")}
    environment[plans.VARIABLE] = str(path)
    processes: list[_Process] = []
    with ExitStack() as logs:
        try:
            for arguments in _arguments(plan, workers, locustfile.resolve()):
                log = logs.enter_context(tempfile.TemporaryFile())
                # In a folder of its own it finds no settings of Locust, in a session of its own no Ctrl-C.
                popen = subprocess.Popen(
                    [sys.executable, "-P", "-m", "locust", *arguments],
                    cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
                processes.append(_Process(popen, log))
            yield processes
        finally:
            _end(processes)


def _arguments(plan: Plan, workers: int, locustfile: Path) -> Iterator[list[str]]:
    users = workers if plan.loop == "open" else max(plan.users, workers)
    common = ["-f", str(locustfile), "--headless", "--only-summary", "--host", plan.url]
    lead = [*common, "-u", str(users), "-r", "1000"]
    if workers == 1:
        yield lead
        return
    port = str(_free_port())
    place = ["--master-bind-host", "127.0.0.1", "--master-bind-port", port]
    patience = ["--expect-workers", str(workers), "--expect-workers-max-wait", str(int(_START / 2))]
    yield [*lead, "--master", *place, *patience]
    for _ in range(workers):
        yield [*common, "--worker", "--master-host", "127.0.0.1", "--master-port", port]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(processes: Sequence[_Process], plan: Plan, heard: Callable[[Beat], None] | None) -> None:
    """Until the process that leads has ended.

    Raises:
        GeneratorNotStarted: it does not end in time.
    """
    lead, told = processes[0].popen, 0
    deadline = time.monotonic() + _START + plan.seconds + _END
    while lead.poll() is None:
        if time.monotonic() > deadline:
            raise _failed(processes)
        with suppress(subprocess.TimeoutExpired):
            lead.wait(_GLANCE)
        if heard is not None and plan.beats is not None and plan.beats.is_file():
            lines = plan.beats.read_text("ascii").splitlines(keepends=True)
            for line in lines[told:]:
                if line.endswith("\n"):
                    heard(Beat(**json.loads(line)))
                    told += 1


def _failed(processes: Sequence[_Process]) -> GeneratorNotStarted:
    lines = [line for process in processes for line in process.said().strip().splitlines()[-3:]]
    said = " / ".join(lines) or "nothing was said"
    return GeneratorNotStarted(f"The load was not made: {said}", "Run the scenario with plain `locust -f` to see more.")


def _end(processes: Sequence[_Process]) -> None:
    """End what has not ended; a second Ctrl-C does not wait for it."""
    try:
        # The one that leads tells the others, and they still tell it what they measured.
        for process in processes:
            if process.popen.poll() is None:
                process.popen.terminate()
                with suppress(subprocess.TimeoutExpired):
                    process.popen.wait(_STOP)
    finally:
        for process in processes:
            process.popen.kill()
            process.popen.wait()
            if process.popen.stdin is not None:
                process.popen.stdin.close()
