"""Runs of several hosts, each a network namespace with a monotonic clock of its own, joined to us by a pair of veth.

A namespace ends with the last process in it, and its interfaces with it: nothing is left behind, even by a kill.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from conformance import profile as profiles
from conformance.errors import BadOptions
from load.errors import GeneratorNotStarted
from load.health import Limits, Measure, judge
from load.running import Beat, Meeting, run
from load.scenarios import stall
from load.scenarios.clocks import Apart
from load.scenarios.exchanges import kept
from load.scenarios.plan import Plan
from load.scenarios.result import Result

LENIENT = Limits(lag=0.02, longest_lag=0.15, lateness=0.02, core=0.02, rate=0.9, phase=4.0)
# What the other host's monotonic clock is ahead of ours.
AHEAD = 1000.0
PAUSE = 0.03


@dataclass(frozen=True)
class Host:
    """A network namespace: by which process it is entered, and by which address it finds us."""

    holder: int
    address: str

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", "--target", str(self.holder), "--net", "--time", *command]


def can() -> str | None:
    """Why no namespaces can be made here, if they cannot."""
    missing = [tool for tool in ("ip", "unshare", "nsenter") if shutil.which(tool) is None]
    if missing:
        return f"there is no {missing[0]}"
    made = subprocess.run(["unshare", "--net", "--time", "--fork", "true"], check=False, capture_output=True, text=True)
    return made.stderr.strip() or "they are refused" if made.returncode else None


@contextmanager
def apart() -> Iterator[Host]:
    """Another host."""
    # A link of its own for each process that runs tests, within the addresses that are for one link only.
    number = os.getpid() % 60_000 + 256
    prefix, name = f"169.254.{number >> 8}", f"hl{os.getpid()}"
    ours, theirs = (f"{prefix}.{(number & 0x7F) * 2 + place}" for place in (0, 1))
    hold = ["unshare", "--net", "--time", "--monotonic", str(int(AHEAD)), "--fork", "--kill-child", "sh", "-c"]
    with subprocess.Popen([*hold, "echo $$; exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        try:
            host = Host(int(holder.stdout.readline()), ours)
            done(["ip", "link", "add", name, "type", "veth", "peer", "name", "there", "netns", str(host.holder)])
            done(["ip", "address", "add", f"{ours}/31", "dev", name])
            done(["ip", "link", "set", name, "up"])
            done(host.inside("ip", "address", "add", f"{theirs}/31", "dev", "there"))
            done(host.inside("ip", "link", "set", "there", "up"))
            yield host
        finally:
            # The kernel would remove it some time after the namespace's end, and the next test wants its name.
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)
            holder.stdin.close()
            holder.wait(10)


def done(command: list[str]) -> None:
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 0, (command, found.stderr)


@pytest.fixture
def host() -> Iterator[Host]:
    reason = can()
    if reason is not None:
        pytest.skip(f"no network namespaces can be made: {reason}")
    with apart() as found:
        yield found


@contextmanager
def joining(host: Host, place: Meeting, processes: int = 1, **variables: str) -> Iterator[list[int]]:
    """Processes of the other host that join one run; their ids, once they are there."""
    code = f"""
from load.joining import Meeting, join
join(Meeting({place.host!r}, {place.port}), {processes}, started=lambda pids: print(*pids, flush=True))
"""
    command = host.inside(sys.executable, "-P", "-c", code)
    environment = {**os.environ, **variables}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as joined:
        assert joined.stdout is not None
        try:
            yield [int(pid) for pid in joined.stdout.readline().split()]
        finally:
            joined.terminate()


def meeting(host: Host) -> Meeting:
    with socket.create_server((host.address, 0)) as free:
        return Meeting(host.address, int(free.getsockname()[1]))


def plan(url: str, folder: Path, seconds: float = 2.0, rate: float = 50.0) -> Plan:
    return stall.plan(url, seconds=seconds, rate=rate).model_copy(update={"exchanges": folder})


def measures(result: Result) -> set[Measure]:
    return {reason.measure for reason in judge(result.health.facts, LENIENT).reasons}


@pytest.fixture
def url(host: Host) -> Iterator[str]:
    with stall.stalling(0.0, 5.0, PAUSE, host.address) as server:
        yield server.url


def test_workers_of_another_host_measure_what_ours_would(host: Host, url: str, tmp_path: Path) -> None:
    place = meeting(host)
    with joining(host, place, processes=2):
        result = run(plan(url, tmp_path), workers=2, meeting=place)
    assert measures(result) == set(), result.health
    assert [process.due for process in result.health.facts.processes] == [50, 50]
    told = list(kept(tmp_path, url, profiles.load("reference")))
    assert len(told) == sum(series.count for series in result.series) == 100
    _the_clocks_are_ours(tmp_path, told[0].started)
    _the_histogram_is_that_of_the_exchanges(result, tmp_path, [one.ended - one.started for one in told])


def _the_clocks_are_ours(folder: Path, moment: float) -> None:
    clocks = [Apart.model_validate_json(path.read_text()) for path in sorted(folder.glob("*.clock"))]
    assert len(clocks) == 2
    for clock in clocks:
        assert clock.low <= AHEAD <= clock.high
    assert abs(moment - float(Path("/proc/uptime").read_text().split()[0])) < AHEAD / 2


def _the_histogram_is_that_of_the_exchanges(result: Result, folder: Path, widened: list[float]) -> None:
    """Merged over processes and messages, it tells each quantile to 0.1 %."""
    by = [Apart.model_validate_json(path.read_text()) for path in sorted(folder.glob("*.clock"))]
    each = [clock.high - clock.low for clock in by]
    halves = np.array_split(np.array(widened), 2)
    raw = np.sort(np.concatenate([half - by for half, by in zip(halves, each, strict=True)]))
    merged = result.service("steady")
    assert merged.count == len(raw) == 100
    for place in (1, 50, 90, 99, 100):
        assert merged.quantile(place / 100) == pytest.approx(raw[place - 1], rel=1.001e-3, abs=2e-6)


def test_a_worker_of_another_host_that_dies_makes_the_run_invalid(host: Host, url: str, tmp_path: Path) -> None:
    place = meeting(host)
    with joining(host, place) as first, joining(host, place) as second:
        left = [os.pidfd_open(pid) for pid in first + second]

        def kill(_: Beat) -> None:
            if first:
                os.kill(first.pop(), signal.SIGKILL)

        result = run(plan(url, tmp_path, seconds=6.0), workers=2, heard=kill, meeting=place)
        assert Measure.WORKERS in measures(result)
        assert len(result.health.facts.processes) == 1
        # The other goes when the run is over.
        assert all(select.select([file], [], [], 20)[0] for file in left)
        for file in left:
            os.close(file)
    assert 0 < len(list(kept(tmp_path, url, profiles.load("reference")))) < 300


OLDER = """
from importlib import metadata

version = metadata.version
metadata.version = lambda name: "0.0.1" if name == "horde-conformance" else version(name)
"""


def test_a_host_with_another_harness_is_refused(host: Host, url: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(OLDER)
    place = meeting(host)
    with (
        joining(host, place, PYTHONPATH=str(tmp_path)),
        pytest.raises(GeneratorNotStarted, match=r"it runs version 0\.0\.1 .* and here is version"),
    ):
        run(plan(url, tmp_path), meeting=place)


def test_nothing_is_left_of_another_host_after_a_failure() -> None:
    reason = can()
    if reason is not None:
        pytest.skip(f"no network namespaces can be made: {reason}")
    holders: list[int] = []
    with pytest.raises(AssertionError, match="in the middle"):
        _fail_in(holders)
    assert f"hl{os.getpid()}" not in interfaces()
    assert not Path(f"/proc/{holders[0]}/ns/net").exists()


def _fail_in(holders: list[int]) -> None:
    with apart() as host:
        holders.append(host.holder)
        assert f"hl{os.getpid()}" in interfaces()
        raise AssertionError("in the middle")


def interfaces() -> set[str]:
    return {name for _, name in socket.if_nameindex()}


@pytest.mark.parametrize("text", ["", "5557", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:x", ":5557"])
def test_a_place_to_meet_is_a_host_and_a_port(text: str) -> None:
    with pytest.raises(BadOptions, match="no place to meet"):
        Meeting.read(text)


def test_a_target_on_loopback_is_on_no_other_host() -> None:
    elsewhere = Meeting.read("10.0.0.1:5557")
    for url in ("http://127.0.0.1:7001", "http://localhost:7001/api", "http://[::1]:7001"):
        with pytest.raises(BadOptions, match="another host"):
            elsewhere.check(url)
        Meeting("127.0.0.1", 5557).check(url)
    elsewhere.check("http://10.0.0.2:7001")
