"""Where the counting proxy listens, as a person writes it."""

from __future__ import annotations

import re

from load.errors import BadTarget


def address(text: str) -> tuple[str, int]:
    """Host and port of `host:port`.

    Raises:
        BadTarget: it is none.
    """
    found = re.fullmatch(r"(.+):(\d{1,5})", text)
    if found is None or int(found[2]) > 65535:
        raise BadTarget(f"{text!r} is no address to listen on.", "Write it as host:port, as in 127.0.0.1:6432.")
    return found[1].strip("[]"), int(found[2])
