"""The rules of the house hold: who may import whom, what a check may name, what a file may say."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.catalogue import requirements
from conformance.profile import load

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("conformance", "fixtures", "load", "reports")
SUITES = sorted((ROOT / "conformance" / "suites").rglob("*.py"))
HORDE = sorted((ROOT / "fixtures" / "horde").rglob("*.py"))
FAULTS = sorted((ROOT / "fixtures" / "faults").rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
CITED = re.compile(r"\b(?!UTF)[A-Z]{3}-\d{2}\b")


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(path: Path) -> Iterator[str]:
    """Every module that a file imports, by its full name; a name taken from a module stands below it."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += [node.module] if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)


def strings(path: Path) -> Iterator[str]:
    """Every string of a file that is not documentation."""
    tree = ast.parse(path.read_text("utf-8"))
    documentation = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documentation:
            yield node.value


def within(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def tracked() -> list[Path]:
    """The files that travel with the project: those that git keeps."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize(
    ("room", "closed"),
    [
        ("fixtures", ("conformance", "load", "reports")),
        ("reports", ("conformance", "load", "fixtures")),
        ("conformance", ("load",)),
        ("load", ("conformance.suites", "conformance.plugin")),
    ],
)
def test_a_room_imports_only_what_stands_below_it(room: str, closed: tuple[str, ...]) -> None:
    # The one console command is joined in one thin place.
    sources = sorted(set((ROOT / room).rglob("*.py")) - {ROOT / "conformance" / "__main__.py"})
    assert sources
    wrong = [(named(s), module) for s in sources for module in imported(s) if within(module, *closed)]
    assert wrong == []


def test_the_reference_server_imports_nothing_of_the_harness() -> None:
    assert HORDE
    wrong = [
        (named(source), module)
        for source in HORDE
        for module in imported(source)
        if within(module, *ROOMS) and not within(module, "fixtures.horde")
    ]
    assert wrong == []


def test_the_reference_server_knows_nothing_of_faults() -> None:
    sources = [path for path in (ROOT / "fixtures" / "horde").rglob("*") if path.suffix in {".py", ".sql"}]
    assert sources
    telling = re.compile(r"fixtures[./]faults|\bfaults\b.*\bpatch|--fault\b")
    assert [named(path) for path in sources if telling.search(path.read_text("utf-8"))] == []


def test_no_suite_knows_the_reference_server() -> None:
    assert SUITES
    for suite in SUITES:
        assert [m for m in imported(suite) if within(m, "fixtures.horde", "fixtures.faults")] == [], named(suite)
        assert [s for s in strings(suite) if re.match(r"fixtures[./](horde|faults)\b", s)] == [], named(suite)


def test_no_check_names_a_route() -> None:
    assert SUITES
    routes = {part for route in load("reference").routes.values() for part in route.partition(" ")[2].split("{")[:1]}
    assert "/generate/text/pop" in routes
    for suite in SUITES:
        told = [s for s in strings(suite) if "/api/" in s or "/v2/" in s or any(route in s for route in routes)]
        assert told == [], named(suite)


def test_no_check_names_a_status_code() -> None:
    assert SUITES
    for suite in SUITES:
        tree = ast.parse(suite.read_text("utf-8"))
        told = [
            f"line {node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if (
                isinstance(node, ast.Compare)
                and "status" in ast.unparse(node)
                and _numbers(node) & set(range(100, 600))
            )
            or (isinstance(node, ast.Attribute) and node.attr == "status_code")
        ]
        assert told == [], named(suite)


def _numbers(tree: ast.AST) -> set[int]:
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is int}


def test_no_check_reads_an_answer_by_itself() -> None:
    """A field is read by its place in the profile: never `answer.body["kudos"]` or `.json()["kudos"]`."""
    assert SUITES
    for suite in SUITES:
        tree = ast.parse(suite.read_text("utf-8"))
        told = [
            f"line {node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
            and re.search(r"(?<!profile)\.(body|json\(\))(\[|$)", ast.unparse(node.value))
        ]
        assert told == [], named(suite)


@pytest.mark.parametrize("where", ["suites", "faults", "documents"])
def test_every_id_that_is_cited_stands_in_the_catalogue(where: str) -> None:
    files = {"suites": SUITES, "faults": FAULTS, "documents": DOCUMENTS}[where]
    cited = {(named(path), found) for path in files for found in CITED.findall(path.read_text("utf-8"))}
    assert cited
    assert sorted((path, found) for path, found in cited if found not in requirements()) == []


def test_a_requirement_is_worded_in_the_catalogue_only() -> None:
    statements = [row.statement for row in requirements().values() if len(row.statement) > 40]
    for path in [*SUITES, *FAULTS, *DOCUMENTS]:
        text = " ".join(path.read_text("utf-8").split())
        assert [s for s in statements if s in text] == [], named(path)


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")), ids=named)
def test_a_link_of_a_document_leads_somewhere(document: Path) -> None:
    """Sphinx holds this for `docs`; these are read where the repository is."""
    links = re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_what_a_room_reads_is_installed_with_it() -> None:
    for room in ROOMS:
        spec = importlib.util.find_spec(room)
        assert spec is not None
        installed = Path(next(iter(spec.submodule_search_locations or ())))
        kept = [path for path in tracked() if path.is_relative_to(ROOT / room)]
        assert kept
        missing = [named(p) for p in kept if not (installed / p.relative_to(ROOT / room)).is_file()]
        assert missing == []


def test_no_file_names_a_machine() -> None:
    """Neither a folder of somebody's machine nor the address of a registry: both are other ones elsewhere."""
    roots = "work|root|home|Users|opt/pypi"
    told = re.compile(rf"(?<![\w.:/{{}}-])/(?:{roots})/|\bpypi\.(?:org|python)|pythonhosted|--index-url|--find-links")
    files = [path for path in tracked() if path != Path(__file__).resolve() and path.suffix != ".png"]
    assert files
    wrong = []
    for path in files:
        lines = path.read_text("utf-8").splitlines()
        wrong += [f"{named(path)}:{number}: {line}" for number, line in enumerate(lines, 1) if told.search(line)]
    assert wrong == []


def test_the_locks_pin_everything_by_hash() -> None:
    pinned = {}
    for lock in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / lock).read_text("utf-8").replace("\\\n", " ")
        rows = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        assert rows
        assert [row for row in rows if not re.match(r"\S+==\S+ .*--hash=sha256:[0-9a-f]{64}", row)] == [], lock
        pinned[lock] = dict(row.split(" ")[0].split("==") for row in rows)
    run, everything = pinned.values()
    assert {name for name in run if run[name] != everything.get(name)} == set()


def test_each_session_says_in_one_line_what_it_does() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text("utf-8"))
    sessions = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("session" in ast.unparse(d) for d in node.decorator_list)
    ]
    assert {"conformance", "tests", "lint", "types", "docs", "readme", "lock"} <= {s.name for s in sessions}
    for session in sessions:
        assert (ast.get_docstring(session) or "\n").count("\n") == 0, session.name
