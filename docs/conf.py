"""How the documentation is built: what the code knows is read from it, so that no page can drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer.main
from typer.cli import get_docs_for_click

from conformance import catalogue, listing
from conformance.__main__ import join_load
from conformance.cli import app as command_line

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "horde-conformance"
copyright = "the contributors to horde-conformance, Apache-2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "horde-conformance"
exclude_patterns = ["_build"]


def requirements() -> str:
    """The catalogue as Markdown: one section an area, one row a requirement."""
    return listing.requirements(catalogue.requirements(), listing.Format.MARKDOWN)


def commands() -> str:
    """The sub-commands as Markdown, one section each."""
    join_load(command_line, ["load"])
    command = typer.main.get_command(command_line)
    context = typer.Context(command, info_name="horde-conformance")
    text = get_docs_for_click(obj=command, ctx=context, name="horde-conformance")
    return text[text.index("\n## ") :]


GENERATED = {"reference/requirements": requirements, "reference/commands": commands}


def append(_: Sphinx, page: str, source: list[str]) -> None:
    """Put what is generated for a page below what is written on it."""
    if page in GENERATED:
        source[0] += "\n" + GENERATED[page]() + "\n"


def setup(sphinx: Sphinx) -> None:
    """Let Sphinx fill the generated pages as it reads them."""
    sphinx.connect("source-read", append)
