"""Runs of real processes: clean ones are believed, sabotaged ones are not, and none leaves anything behind."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import profile as profiles
from load.errors import BadPlan, GeneratorNotStarted, UnknownScenario
from load.health import Limits, Measure, Verdict, judge
from load.recording import Outcome
from load.running import Beat, run
from load.scenarios import stall
from load.scenarios.exchanges import kept
from load.scenarios.plan import Phase, Plan, read
from load.scenarios.result import Result, load
from load.scenarios.table import SCENARIOS, named

SABOTAGED = Path(__file__).with_name("sabotaged.py")
# So slow a target that a busy machine bends nothing that counts.
PAUSE = 0.03


# What a machine that runs a hundred other tests does to a run of seconds is not what is tested; what is, is far beyond.
LENIENT = Limits(lag=0.02, longest_lag=0.15, lateness=0.02, core=0.02, rate=0.9, phase=4.0)


@pytest.fixture(scope="module")
def server() -> Iterator[stall.Stalling]:
    with stall.stalling(0.0, 5.0, PAUSE) as serving:
        yield serving


def plan(url: str, seconds: float = 2.0, rate: float = 50.0, **changed: Any) -> Plan:
    told = stall.plan(url, seconds=seconds, rate=rate).model_dump()
    return Plan.model_validate({**told, **changed})


def measures(result: Result) -> set[Measure]:
    return {reason.measure for reason in judge(result.health.facts, LENIENT).reasons}


def test_what_one_process_measures_is_all_that_was_due(server: stall.Stalling, tmp_path: Path) -> None:
    phases = (Phase(name="warm-up", seconds=1, rate=20), Phase(name="steady", seconds=2, rate=50))
    beats: list[Beat] = []
    result = run(plan(server.url, phases=phases, exchanges=tmp_path, gaps="constant"), heard=beats.append)
    assert measures(result) == set(), result.health
    assert _counts(result) == {"warm-up": 20, "steady": 100}
    assert sum(second.count for second in result.seconds) == 120
    assert result.response("steady").quantile(0.0) >= PAUSE * 0.999
    assert result.errors() == 0
    assert not result.interrupted
    told = list(kept(tmp_path, server.url, profiles.load("reference")))
    assert len(told) == 120
    assert {exchange.operation for exchange in told} == {"pop"}
    assert all(exchange.ended - exchange.started >= PAUSE * 0.999 for exchange in told)
    assert result.plan.owners == ()


def _counts(result: Result) -> dict[str, int]:
    counts: dict[str, int] = {}
    for series in result.series:
        counts[series.phase] = counts.get(series.phase, 0) + series.count
    return counts


def test_several_processes_together_measure_what_one_would(server: stall.Stalling) -> None:
    result = run(plan(server.url, gaps="constant"), workers=2)
    assert measures(result) == set(), result.health
    processes = result.health.facts.processes
    assert [process.due for process in processes] == [50, 50]
    assert len({process.pid for process in processes}) == 2
    assert sum(process.recorded for process in processes) == sum(series.count for series in result.series) == 100


@pytest.mark.parametrize(
    ("sabotage", "measure"),
    [("hog", Measure.CPU), ("block", Measure.LONGEST_LAG), ("step", Measure.CLOCK), ("lock_step", Measure.PHASE)],
)
def test_a_process_that_is_spoilt_is_not_believed(
    server: stall.Stalling, monkeypatch: pytest.MonkeyPatch, sabotage: str, measure: Measure
) -> None:
    monkeypatch.setenv("SABOTAGE", sabotage)
    loop: dict[str, Any] = {"loop": "closed", "gaps": "constant"} if measure is Measure.PHASE else {}
    result = run(plan(server.url, seconds=4.0, **loop), locustfile=SABOTAGED)
    assert result.health.verdict is Verdict.INVALID
    assert measure in measures(result), result.health.reasons


def test_workers_that_are_late_to_say_that_they_are_there_are_waited_for(
    server: stall.Stalling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SABOTAGE", "late")
    result = run(plan(server.url, seconds=1.0, gaps="constant"), workers=2, locustfile=SABOTAGED)
    assert result.workers == len(result.health.facts.processes) == 2
    assert _counts(result) == {"steady": 50}


def test_users_of_a_closed_loop_are_in_no_step(server: stall.Stalling) -> None:
    result = run(plan(server.url, seconds=4.0, loop="closed", gaps="constant"))
    assert measures(result) == set(), result.health


def test_a_dead_worker_makes_the_run_invalid(server: stall.Stalling) -> None:
    pids: list[int] = []

    def kill(_: Beat) -> None:
        if len(pids) == 3:
            os.kill(pids.pop(), signal.SIGKILL)

    result = run(plan(server.url, seconds=8.0), workers=2, heard=kill, started=pids.extend)
    assert len(pids) == 2
    assert Measure.WORKERS in measures(result)
    assert len(result.health.facts.missing) == 1


def test_a_rate_that_is_beyond_the_generator_is_not_believed(server: stall.Stalling) -> None:
    result = run(plan(server.url, seconds=1.5, rate=30_000.0))
    assert Measure.RATE in measures(result)


def test_a_run_that_points_at_nothing_is_not_believed() -> None:
    with socket.socket() as taken:
        # Bound, and nobody listens.
        taken.bind(("127.0.0.1", 0))
        result = run(plan(f"http://127.0.0.1:{taken.getsockname()[1]}", seconds=1.0))
    assert measures(result) == {Measure.REQUESTS}
    assert {series.outcome for series in result.series} == {Outcome.LOST}


def test_a_server_that_dies_in_mid_run_is_told_as_it_was() -> None:
    with stall.stalling(0.0, 5.0, PAUSE) as server:
        _outlive(server)


def _outlive(server: stall.Stalling) -> None:
    dead: list[int] = []

    def kill(_: Beat) -> None:
        if not dead:
            os.kill(server.pid, signal.SIGKILL)
            dead.append(server.pid)

    result = run(plan(server.url, seconds=6.0), heard=kill)
    assert dead
    done, lost = (sum(s.count for s in result.of(outcome=outcome)) for outcome in (Outcome.DONE, Outcome.LOST))
    assert done > 0
    assert lost > 0
    assert done + lost == result.health.facts.processes[0].begun == 300
    assert result.errors() == lost


RUNNER = """
import sys
from pathlib import Path
from load import running
from load.scenarios.plan import read

end = running._end

def told(processes):
    print("ending", flush=True)
    end(processes)

running._end = told
running.run(read(Path(sys.argv[1]).read_text()), 2, heard=lambda beat: print("beat", flush=True),
            started=lambda pids: print(*pids, flush=True))
"""


def started(folder: Path, url: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A run of a minute in a process of its own, once calls have ended; and its processes, as files to watch."""
    wanted = plan(url, seconds=60.0, result=folder / "result.json")
    (folder / "plan.json").write_text(wanted.model_dump_json())
    command = [sys.executable, "-P", "-c", RUNNER, str(folder / "plan.json")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    watched = [os.pidfd_open(int(pid)) for pid in process.stdout.readline().split()]
    assert len(watched) == 3
    beat = process.stdout.readline()
    assert beat == "beat\n", process.communicate()
    return process, watched


def gone(watched: list[int]) -> bool:
    """Whether they all end within some seconds."""
    ended = [bool(select.select([file], [], [], 20)[0]) for file in watched]
    for file in watched:
        os.close(file)
    return all(ended)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_all_processes(server: stall.Stalling, tmp_path: Path, times: int) -> None:
    process, watched = started(tmp_path, server.url)
    with process:
        process.send_signal(signal.SIGINT)
        if times == 2:
            assert process.stdout is not None
            assert "ending\n" in iter(process.stdout.readline, "")
            process.send_signal(signal.SIGINT)
        assert process.wait(30) != 0
    assert gone(watched)
    if times == 1:
        result = load(tmp_path / "result.json")
        assert result.interrupted
        assert sum(series.count for series in result.series) > 0


def test_with_who_started_it_a_run_ends_too(server: stall.Stalling, tmp_path: Path) -> None:
    process, watched = started(tmp_path, server.url)
    with process:
        process.kill()
    assert gone(watched)


def test_a_run_that_cannot_begin_says_why(server: stall.Stalling, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('no scenario')\n")
    with pytest.raises(GeneratorNotStarted, match="no scenario"):
        run(plan(server.url), locustfile=broken)
    with pytest.raises(UnknownScenario):
        run(plan(server.url, scenario="nothing"))


def test_each_scenario_has_its_file_and_each_file_its_row() -> None:
    assert all(scenario.file.is_file() for scenario in SCENARIOS)
    for scenario in SCENARIOS:
        assert f'scenario = "{scenario.name}"' in scenario.file.read_text("utf-8")
        routes = profiles.load("reference").routes
        assert set(scenario.operations) <= set(routes)
    assert named("pop-scan").name == "pop-scan"


@pytest.mark.parametrize(
    "changed",
    [
        {"phases": ()},
        {"phases": ({"name": "steady", "seconds": 0, "rate": 1},)},
        {"phases": ({"name": "warm-up", "seconds": 1, "rate": 1},)},
        {"phases": ({"name": "a", "seconds": 1, "rate": 1}, {"name": "a", "seconds": 1, "rate": 1})},
        {"url": "ftp://127.0.0.1"},
        {"payload_bytes": 2 << 20},
        {"rate": 1},
    ],
)
def test_a_plan_that_cannot_be_is_refused_by_its_field(changed: dict[str, Any]) -> None:
    good = stall.plan("http://127.0.0.1:1", seconds=1, rate=1)
    assert read(good.model_dump_json()) == good
    told = {**good.model_dump(mode="json"), **changed}
    with pytest.raises(BadPlan, match=next(iter(changed)) if "phases" not in changed else "phases|its beginning"):
        read(json.dumps(told))
