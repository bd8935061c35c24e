"""The duet plays real servers: blocks, CPU clocks, launches, and the one that is slowed on purpose."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from conformance import profile as profiles
from conformance import targets
from conformance.errors import Exit
from fixtures.postgres import Server
from load.duet import OWN, Measure, Plan, cli, decide, play, rounds, slowed, target
from load.duet.driving import Driver
from load.errors import BadPlan, BadTarget
from load.probes.kernel import cpu_seconds, family

PROFILE = profiles.load("reference")
SHORT = Plan(launches=2, rounds=5, warm_up=1, block_seconds=0.05, seed=3)


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[bytes]]:
    """A process that does nothing, with a child that computes and says when it has begun."""
    code = "import time\nprint(1, flush=True)\nwhile time.process_time() < 60: pass"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {code!r}])"
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        os.killpg(process.pid, 9)


def test_the_clock_of_another_process_goes_on_as_it_computes(busy: subprocess.Popen[bytes]) -> None:
    parent, child = family(busy.pid)
    assert parent == busy.pid
    before = cpu_seconds(child)
    assert before is not None
    deadline = time.monotonic() + 20
    while (cpu_seconds(child) or 0) < before + 0.02:
        assert time.monotonic() < deadline


def test_a_process_that_is_gone_has_no_clock() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert cpu_seconds(gone.pid) is None


@contextmanager
def answering(statuses: list[int]) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A server that answers with these statuses in turn, and hangs up for a 0; its URL and the headers that it saw."""
    seen: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # An answer is one packet, or each waits for the acknowledgement of its head.
        wbufsize = 4096

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status = statuses[len(seen) % len(statuses)]
            seen.append({**self.headers, "path": self.path})
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def test_a_block_counts_its_calls_and_speaks_the_profiles_protocol() -> None:
    with answering([200]) as (url, seen):
        driver = Driver(url, PROFILE, "a key")
        block = driver.block(0.05)
        driver.close()
    # The first call of a block is not counted.
    assert block.calls == len(seen) - 1 > 0
    assert (block.failed, block.cpu_seconds) == (0, None)
    assert block.median_seconds > 0
    assert block.generator_cpu_seconds > 0
    assert {one["path"] for one in seen} == {PROFILE.route("pop")[1]}
    assert {one[PROFILE.headers.key] for one in seen} == {"a key"}


@pytest.mark.parametrize("wrong", [500, 429, 0])
def test_a_call_that_is_not_carried_out_has_failed_and_the_next_one_goes_on(wrong: int) -> None:
    with answering([200, wrong]) as (url, _):
        driver = Driver(url, PROFILE, "a key")
        block = driver.block(0.05)
        driver.close()
    assert 0 < block.failed < block.calls


def test_a_block_of_a_server_that_is_gone_ends() -> None:
    with answering([200]) as (url, _):
        pass
    block = Driver(url, PROFILE, "a key").block(0.05)
    assert block.failed == block.calls > 0
    assert block.median_seconds == 0


def test_targets_are_urls_or_commands() -> None:
    assert target("http://127.0.0.1:7001/", PROFILE).url == "http://127.0.0.1:7001"
    assert target(OWN, PROFILE).command == PROFILE.server.command
    given = target("serve --database '{database_url}' --title 'two words'", PROFILE)
    assert given.command == ("serve", "--database", "{database_url}", "--title", "two words")
    assert (given.can_restart, target("https://x", PROFILE).can_restart) == (True, False)


@pytest.mark.parametrize("text", ["", "profil", "serve it", "serve '{database_url}", "ftp://x"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(BadTarget):
        target(text, PROFILE)


def test_commands_are_started_anew_for_each_launch_and_their_cpu_time_is_seen(postgres: Server) -> None:
    own = target(OWN, PROFILE)
    other = target(power_command(share=1.0), PROFILE)
    played = list(play(own, other, SHORT, PROFILE, postgres))
    assert [(one.launch, one.round) for one in played] == [(i, n) for i in range(2) for n in range(5)]
    assert all(one.whole for one in played)
    verdict = decide(played, SHORT)
    assert verdict.deciding is not None
    assert verdict.deciding.measure in {Measure.COST, Measure.CPU}
    # Twice the work is more than any noise.
    assert verdict.deciding.comparison.ratio > 1.3


def power_command(share: float) -> str:
    return (
        f"{{python}} -P -m load.duet.slowed --share {share} "
        "--database-url {database_url} --port {port} --end-with-stdin"
    )


def test_two_urls_need_no_database_and_latency_decides(
    postgres: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with targets.embedded(PROFILE, postgres) as running, pytest.raises(typer.Exit) as ended:
        cli.duet_command(a=running.url, b=running.url, launches=1, rounds=10, seconds=0.05, out=tmp_path / "r.jsonl")
    assert ended.value.exit_code in {Exit.CONFORMANT, Exit.NOT_CONFORMANT, Exit.COULD_NOT_RUN}
    told = capsys.readouterr().out
    assert "B against A: " in told
    assert Measure.WALL.value in told
    assert "10 pairs of 1 launches" in told
    assert "would have found" in told
    assert len((tmp_path / "r.jsonl").read_text("utf-8").splitlines()) == 11


def test_a_duet_of_too_few_pairs_is_refused_before_anything_is_started() -> None:
    with pytest.raises(BadPlan):
        cli.duet_command(launches=3, rounds=3)


def orders(seed: int) -> list[tuple[str, ...]]:
    rng = random.Random(seed)
    with answering([200]) as (url, _):
        drivers = {name: Driver(url, PROFILE, "key") for name in ("a", "again", "b")}
        played = [rounds._round(drivers, 0, number, 0.001, rng) for number in range(8)]
        for driver in drivers.values():
            driver.close()
    return [one.order for one in played]


def test_the_order_of_the_blocks_is_drawn_anew_each_round_and_follows_the_seed() -> None:
    assert orders(1) == orders(1) != orders(2)
    assert len(set(orders(1))) > 2
    assert {tuple(sorted(order)) for order in orders(1)} == {("a", "again", "b")}


def test_the_slowed_server_computes_its_share_before_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[Any] = []

    async def inner(_scope: Any, _receive: Any, send: Any) -> None:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass
        await send({"type": "http.response.start"})
        await send({"type": "http.response.body"})

    async def send(message: Any) -> None:
        happened.append(message["type"])

    monkeypatch.setattr(slowed, "compute", happened.append)
    server = slowed.Slowed(inner, 0.5)
    server._spent = time.process_time()
    asyncio.run(server({"type": "http"}, send, send))  # type: ignore[arg-type]
    added, *said = happened
    assert added >= 0.5 * 0.02
    assert said == ["http.response.start", "http.response.body"]


def test_to_compute_is_to_spend_cpu_time() -> None:
    before = time.thread_time()
    slowed.compute(0.01)
    assert time.thread_time() - before >= 0.01


def test_the_command_explains_itself_and_takes_its_options() -> None:
    app = typer.Typer()
    app.command("duet")(cli.duet_command)
    told = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"})
    assert told.exit_code == 0
    assert {"--a", "--b", "--launches", "--rounds", "--margin", "--seed"} <= set(told.output.split())
    refused = CliRunner().invoke(app, ["--a", "http://127.0.0.1:1", "--rounds", "2", "--launches", "2"])
    assert isinstance(refused.exception, BadPlan)
    assert CliRunner().invoke(app, ["--margin", "0.01"]).exit_code == Exit.USAGE
