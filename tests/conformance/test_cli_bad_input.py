"""Bad input to the console command: a clear sentence, an exit code that means something, and nothing left behind."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import pytest

from fixtures.nulls.targets import closed_port
from fixtures.postgres import Server

USAGE, COULD_NOT_RUN = 2, 3
PATIENCE = 120.0
MARK = "HORDE_CONFORMANCE_TEST"
FILES = {
    "typo.toml": "[timings]\nsetlement = 1\n",
    "broken.toml": "[timings\n",
    "ends.toml": 'extends = "reference"\n[server]\ncommand = ["{python}", "-c", "raise SystemExit(\'no room\')"]\n',
    "absent.toml": 'extends = "reference"\n[server]\ncommand = ["no-such-program", "{database_url}"]\n',
    "placeholder.toml": 'extends = "reference"\n[server]\ncommand = ["{python}", "{pyhton}"]\n',
    "cut.json": '{"schema_version": "2", "harn',
    "foreign.json": '{"results": []}',
    "newer.json": '{"schema_version": "9"}',
    "known.toml": '[[failure]]\nid = "FAM-01"\nreason = "r"\nlink = "l"\n',
    "before.sql": "CREATE TABLE waiting_prompts (id uuid);\n",
    "change.sql": "ALTER TABLE waiting_prompts ADD COLUMN is_chat boolean;\n",
    "syntax.sql": "-- a comment\nALTER TABL waiting_prompts;\n",
    "quote.sql": "ALTER TABLE waiting_prompts ADD COLUMN note text DEFAULT 'none;\n",
    "psql.sql": "\\i change.sql\n",
}


@dataclass(frozen=True)
class Case:
    """One bad call: its arguments, the exit code, and what its sentence and its advice say.

    In the arguments {closed} is the URL of a server that is not there, {port} its port.
    """

    arguments: str
    exit: int
    says: str
    advises: str

    def __str__(self) -> str:
        return self.arguments


DATABASE = "--database-url postgresql://horde:secret@127.0.0.1:{port}/horde"
CASES = [
    Case("run FAM-01 --profile nothing", USAGE, "no profile 'nothing'", "aihorde, reference"),
    Case("run FAM-01 --profile typo.toml", USAGE, "unknown key: timings.setlement", "Did you mean timings.settlement?"),
    Case("run FAM-01 --profile broken.toml", USAGE, "not valid TOML", "Mend the line"),
    Case("run FAM-01 --profile aihorde", USAGE, "does not say how its server is started", "--target URL"),
    Case("profile typo.toml", USAGE, "unknown key: timings.setlement", "Did you mean timings.settlement?"),
    Case("run FAM-01 --target 127.0.0.1:7001", USAGE, "'127.0.0.1:7001' is no URL", "http://host:port"),
    Case("run FAM-01 --target http://host:port", USAGE, "'http://host:port' is no URL", "http://host:port"),
    Case("run FAM-01 --target http://host?query", USAGE, "'http://host?query' is no URL", "http://host:port"),
    Case("run FAM-01 --target 'http://a host'", USAGE, "'http://a host' is no URL", "http://host:port"),
    Case(f"run FAM-01 --target {{closed}} --out /{'long' * 100}", USAGE, "File name too long", "--out"),
    Case(f"run FAM-01 {DATABASE}", COULD_NOT_RUN, "No connection to postgresql://horde:***@", "Check host, port"),
    Case("run FAM-01 --database-url nonsense", COULD_NOT_RUN, "database URL cannot be read", "postgresql://user"),
    Case("run FAM-01 --database-url mysql://h/d", COULD_NOT_RUN, "is not PostgreSQL", "postgresql://user"),
    Case(f"run FAM-01 --target {{closed}} {DATABASE}", COULD_NOT_RUN, "target's database cannot be read", "Check host"),
    Case("run FAM-01 --target {closed} --database-url x:secret@", COULD_NOT_RUN, "cannot be read", "postgresql://user"),
    Case("run DEF-01 --database-proxy 127.0.0.1:6432", USAGE, "goes with --target and --database-url", "Give both"),
    Case(f"run DEF-01 --target {{closed}} {DATABASE} --database-proxy 6432", USAGE, "no address", "host:port"),
    Case(f"run DEF-01 --target {{closed}} {DATABASE}", USAGE, "not declared is database_proxy", "--database-proxy"),
    Case("run NIX", USAGE, "'NIX' matches no requirement", "horde-conformance list"),
    Case("explain FAM-99", USAGE, "no requirement 'FAM-99'", "horde-conformance list"),
    Case("history no.json", USAGE, "no.json cannot be read", "history"),
    Case("history typo.toml", USAGE, "typo.toml holds no history", "history"),
    Case("render typo.toml", USAGE, "typo.toml is not a readable report: it is no JSON", "horde-conformance run"),
    Case("render cut.json --as html --out page.html", USAGE, "cut.json is not a readable report", "run` again"),
    Case("render foreign.json", USAGE, "foreign.json names no schema version", "Give the report.json of a run"),
    Case("diff newer.json newer.json", USAGE, "newer.json has schema version '9'", "or newer"),
    Case("run FAM-01 --known-failures known.toml", USAGE, "failure.0.expires: Field required", "expires = 2026-12-31"),
    Case("faults no-such-fault", USAGE, "'no-such-fault' names no fault", "horde-conformance faults --list"),
    Case("run FAM-01 --fault no-such-fault", USAGE, "no fault 'no-such-fault'", "horde-conformance faults --list"),
    Case("reference --fault no-such-fault", USAGE, "no fault 'no-such-fault'", "horde-conformance faults --list"),
    Case("run FAM-01 --fault no-such-fault --target {closed}", USAGE, "put into the embedded reference", "Leave out"),
    Case("run MIG --baseline before.sql", USAGE, "go together", "or neither"),
    Case("run MIG-01 --baseline before.sql --migration no.sql", USAGE, "no.sql cannot be read", "SQL file"),
    Case("run MIG-01 --baseline before.sql --migration quote.sql", USAGE, "quote.sql, line 1", "Close it"),
    Case("run MIG-01 --baseline before.sql --migration psql.sql", USAGE, "psql command", "SQL statements"),
    Case("run FAM-01 --target {closed} --out typo.toml", USAGE, "typo.toml is no folder", "--out"),
    Case("faults FAM-01 --write typo.toml/x.md", USAGE, "typo.toml is no folder", "--out"),
]

# These start a server of their own, or make databases on a given one, before they find the mistake.
ON_A_SERVER = [
    Case("run FAM-01 --profile ends.toml", COULD_NOT_RUN, "no room", "[server] command"),
    Case("run FAM-01 --profile absent.toml", COULD_NOT_RUN, "no-such-program", "[server] command"),
    Case("run FAM-01 --profile placeholder.toml", USAGE, "'pyhton'", "{python}"),
    Case(
        "run MIG-01 --baseline before.sql --migration syntax.sql", USAGE, "syntax.sql, line 2, does not parse", "Mend"
    ),
    Case(
        "run FAM-01 --baseline before.sql --migration syntax.sql", USAGE, "syntax.sql, line 2, does not parse", "Mend"
    ),
    Case("run MIG-01 --baseline change.sql --migration change.sql", USAGE, "does not run on an empty", "pg_dump"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@dataclass(frozen=True)
class Call:
    """What one call of the console command said and left."""

    exit: int
    out: str
    err: str
    running: list[str]


def call(arguments: list[str], folder: Path) -> Call:
    mark = secrets.token_hex(8)
    program = Path(sys.executable).with_name("horde-conformance")
    done = subprocess.run(
        [program, *arguments],
        cwd=folder, env={**os.environ, MARK: mark}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=PATIENCE, check=False,
    )  # fmt: skip
    return Call(done.returncode, done.stdout, done.stderr, running(mark))


def running(mark: str) -> list[str]:
    """The command lines of all processes that were started with the mark in their environment, and still run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # it has ended, or is another's
            continue
    return found


def words(arguments: str) -> list[str]:
    with closed_port() as closed:
        port = closed.rpartition(":")[2]
        return [part.format(closed=closed, port=port) for part in shlex.split(arguments)]


def judge(case: Case, called: Call) -> None:
    assert called.exit == case.exit, called
    lines = called.err.splitlines()
    assert 1 <= len(lines) <= 2, called.err
    assert all(line[0].isupper() or line.startswith((*FILES, *"/-`'")) for line in lines), called.err
    assert all(line.endswith((".", "?")) for line in lines), called.err
    assert case.says in lines[0]
    assert case.advises in called.err
    assert not [text for text in ("Traceback", "harness made a mistake", "secret") if text in called.out + called.err]
    assert called.running == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_is_told_before_anything_is_started(case: Case, folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    called = call(words(case.arguments), folder)
    judge(case, called)
    assert called.out == ""
    assert sorted(folder.rglob("*")) == before, "nothing is written"


def databases(postgres: Server) -> list[str]:
    with closing(psycopg2.connect(postgres.url())) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database ORDER BY datname")
        return [name for (name,) in cursor.fetchall()]


@pytest.mark.parametrize("case", ON_A_SERVER, ids=str)
def test_no_database_is_left_on_a_server_that_stays(case: Case, folder: Path, postgres: Server) -> None:
    before = databases(postgres)
    judge(case, call([*words(case.arguments), "--database-url", postgres.url()], folder))
    assert databases(postgres) == before


def test_without_assertions_nothing_is_judged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "1")
    judge(
        Case("run FAM-01 --fault text-status-finds-chat", USAGE, "Python runs with -O", "Unset PYTHONOPTIMIZE"),
        call(["run", "FAM-01", "--fault", "text-status-finds-chat"], folder),
    )


@pytest.mark.parametrize("place", ["/dev/full", "a pipe that nobody reads"])
def test_a_summary_that_cannot_be_printed_leaves_the_exit_code_as_it_is(place: str, folder: Path) -> None:
    program = Path(sys.executable).with_name("horde-conformance")
    if place == "/dev/full":
        out = os.open(place, os.O_WRONLY)
    else:
        nobody, out = os.pipe()
        os.close(nobody)
    try:
        done = subprocess.run(
            [program, *words("run FAM-01 --target {closed}")],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
            timeout=PATIENCE, check=False,
        )  # fmt: skip
    finally:
        os.close(out)
    assert (done.returncode, done.stderr) == (COULD_NOT_RUN, "")
    assert (folder / "report" / "report.json").is_file()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_so(signal_number: int, folder: Path) -> None:
    program = Path(sys.executable).with_name("horde-conformance")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with subprocess.Popen(
            [program, "run", "FAM-01", "--target", url],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            start_new_session=True,
        ) as process:  # fmt: skip
            # It has called, and waits for an answer that nobody gives.
            called, _ = listener.accept()
            process.send_signal(signal_number)
            _, said = process.communicate(timeout=PATIENCE)
            called.close()
    assert process.returncode == COULD_NOT_RUN
    assert said == "Interrupted; what was started has been ended.\n"


def data_folders() -> set[Path]:
    places = {Path("/dev/shm"), Path(tempfile.gettempdir())}
    return {found for place in places for found in place.glob("horde-pg-*")}


def kept_by_nobody(folders: set[Path]) -> set[Path]:
    """Those of the folders that no running server serves. A server of another run may be just coming or going."""
    lines = ""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            lines += (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace") + "\n"
        except OSError:
            continue
    return {found for found in folders if str(found) not in lines and found.exists()}


@pytest.fixture
def no_data_left() -> Iterator[None]:
    before = data_folders()
    yield
    deadline = time.monotonic() + 10.0
    while kept_by_nobody(data_folders() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert kept_by_nobody(data_folders() - before) == set()


@pytest.mark.usefixtures("no_data_left")
@pytest.mark.parametrize("case", [ON_A_SERVER[0], ON_A_SERVER[3]], ids=str)
def test_no_server_of_our_own_is_left(case: Case, folder: Path) -> None:
    judge(case, call(words(case.arguments), folder))


@pytest.mark.usefixtures("no_data_left")
@pytest.mark.parametrize("files", ["", " --baseline before.sql --migration change.sql"], ids=["alone", "with files"])
def test_a_target_that_does_not_answer_is_reported_as_judged_by_nothing(files: str, folder: Path) -> None:
    # With files the migration's suite has a PostgreSQL of its own, which must go as well.
    called = call(words(f"run FAM-01 MIG-01 --target {{closed}}{files}"), folder)
    assert called.exit == COULD_NOT_RUN
    assert "Nothing was judged: The target does not answer: " in called.out
    assert "Is it running, and is the URL that of its root" in called.out
    assert "Traceback" not in called.out + called.err
    assert called.running == []
    assert (folder / "report" / "report.json").is_file()


@pytest.mark.parametrize("arguments", ["frobnicate", "run --seed many"])
def test_what_the_command_line_does_not_know_is_a_usage_error(arguments: str, folder: Path) -> None:
    called = call(arguments.split(), folder)
    assert called.exit == USAGE
    assert called.err.startswith("Usage: horde-conformance")
    assert "Traceback" not in called.out + called.err


def test_the_search_for_what_still_runs_finds_what_does() -> None:
    mark = secrets.token_hex(8)
    with subprocess.Popen(["sleep", "60"], env={**os.environ, MARK: mark}) as sleeper:
        try:
            assert [line.split()[0] for line in running(mark)] == ["sleep"]
        finally:
            sleeper.kill()
    assert running(mark) == []
