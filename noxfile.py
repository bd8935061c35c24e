"""The sessions of the project: what a person runs and what the CI runs are the same."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "docs", "tests", "conformance"]

ROOT = Path(__file__).parent
RUN_LOCK = "requirements.lock"
DEV_LOCK = "requirements-dev.lock"

# Where bytecode may not be written, pytest rewrites its plugins in every run: three seconds instead of one.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# uv trusts a list of its own unless told to trust what the machine trusts, as pip does: behind a company's proxy it
# could fetch nothing.
os.environ.setdefault("UV_SYSTEM_CERTS", "1")


def install(session: nox.Session, lock: str, *, compiled: bool = False) -> None:
    """Install what `lock` pins, by hash, and the project as it stands; a later run finds the former in place.

    `compiled` writes the bytecode at once, or processes that start side by side each compile for themselves.
    """
    session.install("--require-hashes", "-r", lock, env={"UV_COMPILE_BYTECODE": "1" if compiled else "0"})
    # The lock holds the build backend: building the project asks no registry for one that is not pinned.
    session.install("--no-deps", "--no-build-isolation", ".")


@nox.session(tags=["ci"])
def lint(session: nox.Session) -> None:
    """Check rules and format with ruff."""
    session.install("--require-hashes", "-r", DEV_LOCK)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(tags=["ci"])
def types(session: nox.Session) -> None:
    """Check the types with mypy, strictly."""
    install(session, DEV_LOCK)
    session.run("mypy", *session.posargs)


@nox.session(tags=["ci"])
def docs(session: nox.Session) -> None:
    """Build the documentation into docs/_build/html, or the folder given; a warning is an error."""
    install(session, DEV_LOCK)
    folder = session.posargs[0] if session.posargs else "docs/_build/html"
    with tempfile.TemporaryDirectory() as doctrees:
        session.run("sphinx-build", "-q", "-W", "--keep-going", "-E", "-d", doctrees, "docs", folder)
    session.log(f"Read {folder}/index.html")


@nox.session(tags=["ci"])
def tests(session: nox.Session) -> None:
    """Run the project's own tests; arguments after -- go to pytest."""
    install(session, RUN_LOCK, compiled=True)
    session.run("pytest", *session.posargs)


@nox.session(tags=["ci"])
def conformance(session: nox.Session) -> None:
    """Judge a server, the embedded reference by default: nox -s conformance -- --target URL."""
    install(session, RUN_LOCK, compiled=True)
    session.run("horde-conformance", "run", *session.posargs)


@nox.session
def benchmark(session: nox.Session) -> None:
    """Print the slowest checks and the history checker's rate; arguments after -- go to the run of the checks."""
    install(session, RUN_LOCK, compiled=True)
    with tempfile.TemporaryDirectory() as report:
        session.run("horde-conformance", "run", "--out", report, *session.posargs)
        session.run("horde-conformance", "slowest", f"{report}/report.json")
    session.run("python", "-P", "-m", "conformance.histories.benchmark")


@nox.session
def load(session: nox.Session) -> None:
    """Load a server for two minutes, the embedded reference by default: nox -s load -- --target URL."""
    install(session, RUN_LOCK, compiled=True)
    session.run("horde-conformance", "load", "run", *session.posargs)


@nox.session
def yardstick(session: nox.Session) -> None:
    """Hold the reference to the statements that it issues, and to what is known of the AI Horde's times."""
    install(session, RUN_LOCK, compiled=True)
    session.run("python", "-P", "-m", "load.yardstick", *session.posargs)


@nox.session(name="duet-power")
def duet_power(session: nox.Session) -> None:
    """Play duets whose truth is known, and count false alarms and finds; goes on where it was stopped."""
    install(session, RUN_LOCK, compiled=True)
    session.run("python", "-P", "-m", "load.duet.power", *session.posargs)


@nox.session(venv_backend="none", tags=["ci"])
def readme(session: nox.Session) -> None:
    """Do what the README tells a newcomer to do, in a fresh clone of HEAD with an empty environment."""
    commands = re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    if len(commands) < 2:
        session.error("README.md no longer shows its two commands, each on a line that begins with `python3 -m venv`.")
    bare = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        session.run("git", "clone", "--quiet", str(ROOT), folder, external=True)
        with session.chdir(folder):
            for command in commands:
                try:
                    session.run("sh", "-c", command, external=True, env=bare, include_outer_env=False)
                except CommandFailed:
                    failed.append(command)
    if failed:
        session.error("These commands of the README failed:\n" + "\n".join(failed))


@nox.session
def lock(session: nox.Session) -> None:
    """Remake the two lock files; arguments after -- go to uv, for instance --upgrade."""
    session.install("uv")
    compiler = [
        "uv",
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--python-version",
        "3.11",
    ]
    compiler += ["--custom-compile-command", "nox -s lock", *session.posargs, "pyproject.toml"]
    session.run(*compiler, "--group", "build", "--output-file", RUN_LOCK)
    session.run(*compiler, "--group", "dev", "--constraint", RUN_LOCK, "--output-file", DEV_LOCK)
