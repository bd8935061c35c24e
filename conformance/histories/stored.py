"""A history as a JSON file, to be kept as evidence and judged again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from conformance.errors import BadHistory
from conformance.histories.model import History

_HISTORY = TypeAdapter(History)


def save(history: History, path: Path) -> None:
    """Write a history to a file."""
    path.write_bytes(_HISTORY.dump_json(history, indent=1))


def plain(history: History) -> Any:
    """A history as what JSON holds, for a report."""
    return _HISTORY.dump_python(history, mode="json")


def load(path: Path) -> History:
    """Read a history from a file.

    Raises:
        BadHistory: it cannot be read, or holds no history.
    """
    try:
        return _HISTORY.validate_json(path.read_bytes())
    except OSError as error:
        raise BadHistory(
            f"The file {path} cannot be read: {error.strerror}.", "Give the file of a recorded history."
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its beginning"
        raise BadHistory(
            f"{path} holds no history: at {place}: {first['msg']}.", "Give the file of a recorded history."
        ) from None
