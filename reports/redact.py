"""Takes API keys out of what is about to be written down."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# A body that hands out a key (an account just made) names it so.
_KEY_IN_BODY = re.compile(r'("(?:api_?key)"\s*:\s*")([^"\\]+)(")', re.IGNORECASE)

# AI Horde's name, and those that a profile may give instead (`headers.key`).
_KEY_HEADERS = frozenset({"apikey", "xapikey", "authorization"})

# A shorter key is made up by a check ("x"), and taking it out of every text would eat ordinary words.
_SHORTEST_SECRET = 8

# Of this process and those forked from it: whoever reads a report cannot try keys on its placeholders.
_SALT = secrets.token_bytes(16)
_PLACEHOLDER = re.compile(r"\[key [0-9a-f]{8}\]")


def placeholder(key: str) -> str:
    """What stands for a key: the same for the same key wherever a run tells of it. A placeholder stays itself."""
    if _PLACEHOLDER.fullmatch(key):
        return key
    return f"[key {hashlib.sha256(_SALT + key.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}]"


def without_keys(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with a placeholder in each header that carries a key, and wherever else such a key stands.

    A key is looked for everywhere, because a target may hand one account's key to another (SEC-01).
    """
    redactor = Redactor(rows)
    return [redactor.value(row) for row in rows]


class Redactor:
    """Hides the keys that stand in the headers and bodies of what is told, and further ones that are known."""

    def __init__(self, told: Iterable[Any], keys: Iterable[str] = ()) -> None:
        found = {key for one in told for key in _keys(one)} | set(keys)
        secret = sorted(filter(_is_secret, found), key=len, reverse=True)
        self._text = re.compile("|".join(map(re.escape, secret))) if secret else None
        self._bytes = re.compile(self._text.pattern.encode()) if self._text else None

    def value(self, value: Any) -> Any:
        """The same value without the keys."""
        match value:
            case dict():
                return {self.value(name): self._item(name, item) for name, item in value.items()}
            case list():
                return [self.value(item) for item in value]
            case str():
                return self.text(value)
            case bytes():
                return (
                    self._bytes.sub(lambda found: placeholder(found[0].decode()).encode(), value)
                    if self._bytes
                    else value
                )
            case _:
                return value

    def text(self, text: str) -> str:
        """The same text without the keys."""
        named = _KEY_IN_BODY.sub(lambda found: found[1] + placeholder(found[2]) + found[3], text)
        return self._text.sub(lambda found: placeholder(found[0]), named) if self._text else named

    def _item(self, name: str, item: Any) -> Any:
        return _hidden(item) if _is_key_header(name) and isinstance(item, str) else self.value(item)


def _hidden(header: str) -> str:
    scheme, _, key = header.rpartition(" ")
    # A placeholder has a space itself; without the scheme of `Bearer KEY` the header would tell another key.
    return placeholder(header) if _PLACEHOLDER.fullmatch(header) or not scheme else placeholder(key)


def _is_secret(key: str) -> bool:
    # One character repeated is the public anonymous key (ten zeros), which also occurs inside ids.
    return len(key) >= _SHORTEST_SECRET and len(set(key)) > 1 and not _PLACEHOLDER.fullmatch(key)


def _keys(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, item in value.items():
                if _is_key_header(name) and isinstance(item, str):
                    if not _PLACEHOLDER.fullmatch(item):
                        yield item.rpartition(" ")[2]
                else:
                    yield from _keys(item)
        case list():
            for item in value:
                yield from _keys(item)
        case str():
            yield from (found[2] for found in _KEY_IN_BODY.finditer(value))


def _is_key_header(name: Any) -> bool:
    return isinstance(name, str) and name.lower().replace("_", "").replace("-", "") in _KEY_HEADERS
