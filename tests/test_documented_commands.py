"""Each documented command works from any folder, also from one whose own packages and settings bear our names."""

from __future__ import annotations

import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pytest

from conformance import profile as profiles

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The reader's own server, wherever a document speaks of one.
THEIR_SERVER = "http://127.0.0.1:7001"
# What a whole run does is the README's own session to show; here a few requirements show that it starts and ends.
FEW = "FAM-01"
PATIENCE = 120.0


@dataclass(frozen=True)
class Documented:
    """A command as documents show it, with the files, by name, that the same documents say to write."""

    line: str
    files: tuple[tuple[str, str], ...]


def blocks(document: Path, *languages: str) -> Iterator[str]:
    for language, text in BLOCK.findall(document.read_text("utf-8")):
        if language in languages:
            yield text


def files(document: Path) -> dict[str, str]:
    """The TOML blocks of a document that begin with the name of a file."""
    named = {text: re.match(r"# (\S+\.toml)\n", text) for text in blocks(document, "toml")}
    return {match[1]: text for text, match in named.items() if match}


def quick(line: str) -> str:
    """The command with a small selection where it would judge a whole area, or everything."""
    if not line.startswith("horde-conformance run"):
        return line
    line = re.sub(r" ([A-Z]{3})$", r" \1-01", line)
    return line if re.search(r" [A-Z]{3}-\d\d$", line) else f"{line} {FEW}"


def commands() -> dict[Documented, str]:
    """The lines of every shell block that call the console command or a module of ours, with where they stand."""
    found: dict[Documented, str] = {}
    for document in DOCUMENTS:
        written = files(document)
        for text in blocks(document, "bash", "console", "sh"):
            for line in re.sub(r"\\\n", " ", text).splitlines():
                if match := re.match(r"(?:\$ )?((?:horde-conformance|python -P -m)\b.*)", line):
                    needed = tuple((name, text) for name, text in written.items() if name in line)
                    found.setdefault(Documented(quick(match[1].strip()), needed), named(document))
    return found


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server's repository that has packages of our names; whoever imports one of them fails."""
    folder = tmp_path_factory.mktemp("repository")
    for room in ("conformance", "fixtures", "load", "reports"):
        (folder / room).mkdir()
        (folder / room / "__init__.py").write_text(f"raise RuntimeError('the reader\\'s own {room} was imported')\n")
    (folder / "conftest.py").write_text("raise RuntimeError('the reader\\'s own conftest was imported')\n")
    for ours, theirs in (("schema.sql", "before.sql"), ("5.1.15.sql", "change.sql")):
        shutil.copy(ROOT / "fixtures" / "horde" / "sql" / ours, folder / theirs)
    for run in ("before", "after", "report"):
        (folder / run).mkdir()
        shutil.copy(ROOT / "tests" / "reports" / "published" / "report-2.json", folder / run / "report.json")
    (folder / "known.toml").write_text(next(blocks(ROOT / "docs" / "how-to" / "accept-a-known-failure.md", "toml")))
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    return folder


@contextmanager
def started(line: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A documented command in a folder, as a shell beside our interpreter would run it; ended at the end."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        shlex.split(line), cwd=folder, env={**os.environ, "PATH": path}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)


def said(output: IO[str], pattern: str) -> str:
    """The first match of a pattern in what a command that goes on prints."""
    deadline, text = time.monotonic() + PATIENCE, ""
    while time.monotonic() < deadline:
        ready, _, _ = select.select([output], [], [], 1.0)
        if not ready:
            continue
        chunk = os.read(output.fileno(), 4096).decode()
        text += chunk
        if match := re.search(pattern, text):
            return match[0]
        assert chunk, f"it ended: {text}"
    raise AssertionError(f"it never said {pattern!r}: {text}")


@pytest.fixture(scope="module")
def server(trap: Path) -> Iterator[str]:
    """A server where a document says `--target`: the reference, started as the documents say."""
    with started("horde-conformance reference", trap) as process:
        assert process.stdout is not None
        yield said(process.stdout, r"http://127\.0\.0\.1:\d+")


@pytest.mark.parametrize("documented", [pytest.param(d, id=f"{where}: {d.line}") for d, where in commands().items()])
def test_a_documented_command_works_beside_packages_of_the_same_names(
    documented: Documented, trap: Path, request: pytest.FixtureRequest
) -> None:
    for name, text in documented.files:
        (trap / name).write_text(text)
    line = documented.line
    if THEIR_SERVER in line:
        line = line.replace(THEIR_SERVER, request.getfixturevalue("server"))
    with started(line, trap) as process:
        assert process.stdout is not None
        if re.match(r"horde-conformance reference\b", line):
            assert said(process.stdout, r"http://127\.0\.0\.1:\d+")
            process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE)
    assert "the reader's own" not in output
    assert process.returncode == (1 if "--fault" in line else 0), output


def test_the_documents_show_commands() -> None:
    shown = {documented.line.split()[1] for documented in commands() if documented.line.startswith("horde-conformance")}
    assert {"run", "list", "explain", "faults", "reference", "profile"} <= shown


@pytest.mark.parametrize("document", [document for document in DOCUMENTS if files(document)], ids=named)
def test_a_documented_profile_can_be_loaded(document: Path, tmp_path: Path) -> None:
    for name, text in files(document).items():
        (tmp_path / name).write_text(text)
        assert profiles.load(str(tmp_path / name)).name == name.removesuffix(".toml")


def test_the_trap_would_catch_a_command_that_looks_where_it_stands(trap: Path) -> None:
    with started("python -c 'import conformance'", trap) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "the reader's own conformance was imported" in output
