"""Takes API keys out of what is about to be written down."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HIDDEN = "…"

# A body that hands out a key (an account just made) names it so.
_KEY_IN_BODY = re.compile(r'("(?:api_?key)"\s*:\s*")([^"\\]+)(")', re.IGNORECASE)

# AI Horde's name, and those that a profile may give instead (`headers.key`).
_KEY_HEADERS = frozenset({"apikey", "xapikey", "authorization"})

# A shorter key is made up by a check ("x"), and taking it out of every text would eat ordinary words.
_SHORTEST_SECRET = 8


def without_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with "…" in each header that carries a key, and wherever else such a key stands.

    A key is looked for everywhere, because a target may hand one account's key to another (SEC-01).
    """
    secrets = sorted({key for key in _keys(rows) if _is_secret(key)}, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, secrets))) if secrets else None
    return [_hide(row, pattern) for row in rows]


def _is_secret(key: str) -> bool:
    # One character repeated is the public anonymous key (ten zeros), which also occurs inside ids.
    return len(key) >= _SHORTEST_SECRET and len(set(key)) > 1


def _keys(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                if _is_key_header(name) and isinstance(item, str):
                    yield item.rpartition(" ")[2]  # without the scheme of `Bearer KEY`
                else:
                    yield from _keys(item)
        case list():
            for item in value:
                yield from _keys(item)
        case str():
            yield from (found[2] for found in _KEY_IN_BODY.finditer(value))


def _hide(value: Any, secrets: re.Pattern[str] | None) -> Any:
    match value:
        case dict():
            return {_hide(name, secrets): _hide_item(name, item, secrets) for name, item in value.items()}
        case list():
            return [_hide(item, secrets) for item in value]
        case str():
            named = _KEY_IN_BODY.sub(rf"\g<1>{HIDDEN}\g<3>", value)
            return secrets.sub(HIDDEN, named) if secrets else named
        case _:
            return value


def _hide_item(name: str, item: Any, secrets: re.Pattern[str] | None) -> Any:
    return HIDDEN if _is_key_header(name) and isinstance(item, str) else _hide(item, secrets)


def _is_key_header(name: str) -> bool:
    return name.lower().replace("_", "").replace("-", "") in _KEY_HEADERS
