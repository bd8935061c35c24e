"""The page as an accessibility checker sees it: axe-core, whose file the variable AXE_CORE names."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from reports.page.page import page
from tests.reports.browser import CHROMIUM, needs_browser
from tests.reports.test_page import evidence

if TYPE_CHECKING:
    from tests.reports.conftest import Maker

AXE = Path(os.environ.get("AXE_CORE", ""))
SCRIPT = """
axe.run().then(found => {
  const said = document.createElement("pre");
  said.id = "axe";
  said.textContent = JSON.stringify(
    {violations: found.violations.map(one => [one.id, one.nodes[0].html]), passes: found.passes.length});
  document.body.append(said);
});
"""

pytestmark = [
    needs_browser,
    pytest.mark.skipif(
        not AXE.is_file(), reason="AXE_CORE names no axe.min.js: the page was not looked at by an accessibility checker"
    ),
]


def checked(text: str, folder: Path, *options: str) -> dict[str, Any]:
    """What axe says of a page with all of it unfolded; its policy, which lets no script run, is taken out for that."""
    bare = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("<details", "<details open")
    file = folder / "page.html"
    script = AXE.read_text("utf-8").replace("</script", "<\\/script")
    # Looked for first: were the page's own text to hold it, this would find that.
    assert 'id="axe"' not in bare
    file.write_text(f"{bare}<script>{script}</script><script>{SCRIPT}</script>", "utf-8")
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=60000",
            f"--user-data-dir={folder / 'profile'}", *options, "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    said = re.search(r'<pre id="axe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert said is not None, "axe did not end"
    found: dict[str, Any] = json.loads(html.unescape(said[1]))
    return found


@pytest.mark.parametrize("options", [[], ["--blink-settings=preferredColorScheme=0"]], ids=["light", "dark"])
def test_the_page_breaks_no_rule(make: Maker, tmp_path: Path, options: list[str]) -> None:
    failed = make.check("failed", name="test_two", exchanges=[make.exchange()], evidence=evidence())
    rows = [make.row("FAM-09", failed, record=["A sentence."]), *make.mixed().requirements]
    known = [{"id": "FAM-01", "reason": "r", "link": "l", "expires": "2026-12-31"}]
    found = checked(page(make.report(*rows, known_failures=known)), tmp_path, *options)
    assert found["violations"] == []
    assert found["passes"] > 20


def test_a_page_that_breaks_one_would_be_found_out(tmp_path: Path) -> None:
    found = checked("<html><body><img src='data:,'></body></html>", tmp_path)
    assert "image-alt" in {rule for rule, _ in found["violations"]}
