"""Starts the processes that make a load, waits for what they measured, and ends them, whatever happens.

They are Locust's own: one alone, or a master and workers that talk over loopback. Each ends with the process that
started it: it watches the pipe that is its standard input. A worker that dies in mid-run makes the run INVALID.
With a place to meet only the master is started here; workers come from other hosts (`load.joining`).
"""

from __future__ import annotations

import ipaddress
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import urlsplit

from conformance import accounts
from conformance import profile as profiles
from conformance.client import Client
from conformance.errors import BadOptions
from load.errors import GeneratorNotStarted
from load.scenarios import plan as plans
from load.scenarios.plan import Plan
from load.scenarios.result import Result, load
from load.scenarios.table import named

# Seconds: to come up and prepare, to end once the last phase is over, to go when told to.
_START, _END, _STOP = 90.0, 60.0, 8.0
# Seconds for those of other hosts to come: somebody types there.
_MEETING = 600.0
_GLANCE = 0.05
_LONGEST_LOG = 64 * 1024


@dataclass(frozen=True)
class Beat:
    """How many calls ended in one second of a run, by outcome."""

    second: int
    counts: dict[str, int]


@dataclass(frozen=True)
class Meeting:
    """Where the process that leads waits for others: an address of this host, and a port of TCP."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Self:
        """From `HOST:PORT`.

        Raises:
            BadOptions: it is something else.
        """
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise BadOptions(f"{text!r} is no place to meet.", "Say HOST:PORT, as in 10.0.0.1:5557.")
        return cls(host.strip("[]"), int(port))

    def check(self, url: str) -> None:
        """That who comes here from elsewhere finds the target too.

        Raises:
            BadOptions: the target's URL means another host to them.
        """
        if _loopback(urlsplit(url).hostname or "") and not _loopback(self.host):
            raise BadOptions(
                f"On another host {url} is not this target.", "Give --target by an address that all hosts reach it by."
            )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
    meeting: Meeting | None = None,
) -> Result:
    """Make the load and give what was measured. Blocks for the plan's phases and some seconds.

    Args:
        plan: what to do to which target.
        workers: processes that make the load; more than one are led by a further one.
        heard: is told once a second what has ended.
        locustfile: another than the scenario's own.
        started: is told the processes' ids: of the one that leads, and of the others.
        meeting: where all of the workers come from elsewhere, and this process starts none.

    Raises:
        BadOptions: from elsewhere the target is not to be reached.
        UnknownScenario: there is none of that name.
        GeneratorNotStarted: the processes did not come up, or left no result.
        KeyboardInterrupt: Ctrl-C; the processes have ended, and a result is where the plan says. A second one kills.
    """
    locustfile = locustfile or named(plan.scenario).file
    if meeting is not None:
        meeting.check(plan.url)
    with tempfile.TemporaryDirectory(prefix="horde-load-") as name:
        folder = Path(name)
        kept = plan.result.resolve() if plan.result else folder / "result.json"
        exchanges = plan.exchanges.resolve() if plan.exchanges else None
        update = {"result": kept, "beats": folder / "beats.jsonl", "exchanges": exchanges}
        plan = plan.model_copy(update={**update, "elsewhere": meeting is not None})
        kept.unlink(missing_ok=True)
        with _running(plan, _arguments(plan, workers, locustfile.resolve(), meeting), folder) as processes:
            if started is not None:
                started([process.popen.pid for process in processes])
            _wait(processes, plan, heard, 0.0 if meeting is None else _MEETING)
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
def _running(plan: Plan, commands: Iterable[list[str]], folder: Path) -> Iterator[list[_Process]]:
    """The processes of a run, the one that leads first; none of them is left at the end."""
    path = folder / "plan.json"
    # It holds keys.
    path.touch(mode=0o600)
    path.write_text(plan.model_dump_json(), "utf-8")
    with locusts(commands, folder, {plans.VARIABLE: str(path)}) as processes:
        yield processes


@contextmanager
def locusts(commands: Iterable[list[str]], folder: Path, variables: Mapping[str, str]) -> Iterator[list[_Process]]:
    """Processes of Locust that end with this one."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LOCUST_")}
    environment |= {plans.LED: "1", **variables}
    processes: list[_Process] = []
    with ExitStack() as logs:
        try:
            for arguments in commands:
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


def _arguments(plan: Plan, workers: int, locustfile: Path, meeting: Meeting | None) -> Iterator[list[str]]:
    users = workers if plan.loop == "open" else max(plan.users, workers)
    common = ["-f", str(locustfile), "--headless", "--only-summary", "--host", plan.url]
    lead = [*common, "-u", str(users), "-r", "1000"]
    if workers == 1 and meeting is None:
        yield lead
        return
    place = meeting or Meeting("127.0.0.1", _free_port())
    patience = int(_START / 2 if meeting is None else _MEETING)
    bound = ["--master-bind-host", place.host, "--master-bind-port", str(place.port)]
    yield [*lead, "--master", *bound, "--expect-workers", str(workers), "--expect-workers-max-wait", str(patience)]
    if meeting is None:
        for _ in range(workers):
            yield [*common, *worker(place)]


def worker(place: Meeting) -> list[str]:
    """Locust's arguments of a process that another leads."""
    return ["--worker", "--master-host", place.host, "--master-port", str(place.port)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(processes: Sequence[_Process], plan: Plan, heard: Callable[[Beat], None] | None, meeting: float) -> None:
    """Until the process that leads has ended; `meeting`: seconds that others may take to come.

    Raises:
        GeneratorNotStarted: it does not end in time.
    """
    lead, told = processes[0].popen, 0
    deadline = time.monotonic() + _START + meeting + plan.seconds + _END
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
    told = [process.said().strip().splitlines() for process in processes]
    lines = [line.partition("/ERROR/")[2].partition(": ")[2] for said in told for line in said if "/ERROR/" in line]
    said = " / ".join(lines or [line for lines in told for line in lines[-3:]]) or "nothing was said"
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
