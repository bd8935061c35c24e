"""A page as a browser sees it, where there is a browser."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")

needs_browser = pytest.mark.skipif(
    not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}: the page was not looked at in one"
)


def looked_at(page: Path, folder: Path) -> tuple[str, str, set[str]]:
    """The document that a browser made of a page, what it complained of, and the hosts that it asked."""
    log = folder / "net.json"
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-component-update",
            "--disable-background-networking", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr", f"--log-net-log={log}", "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    asked = re.findall(r'"url":"(?:https?|wss?)://([^/"]*)', log.read_text("utf-8"))
    complaints = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    # The browser calls its maker, whatever it shows.
    return done.stdout, complaints, {host for host in asked if not host.endswith("google.com")}
