"""What our pages share: a style sheet, and an environment of templates in which every text is escaped."""

from __future__ import annotations

from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reports.text import one_line, visible

# Longer texts are cut on a page; the report has them whole.
LONGEST_TEXT = 600

# No script, no network: were a target's text ever taken for markup, nothing in it could run or be fetched.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def environment(package: str) -> Environment:
    """Templates of a package, and the shared ones under their names."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(__package__, ".")]),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters["shown"] = lambda text: one_line(str(text), LONGEST_TEXT)
    made.filters["visible"] = lambda text: visible(str(text))
    made.globals["policy"] = POLICY
    return made


def style(package: str, name: str) -> Markup:
    """The shared style sheet, and behind it a package's own."""
    sheets = [files(__package__) / "look.css", files(package) / name]
    return Markup("\n".join(sheet.read_text("utf-8") for sheet in sheets))  # noqa: S704 - our own files
