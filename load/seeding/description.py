"""A queue by one description: which rows, how large, in what order. Frozen, read from TOML."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from load.errors import BadQueue

LARGEST_PAYLOAD = 1024 * 1024

Carrier = Literal["messages", "chat_extras", "prompt", "gen_payload"]
Rule = Literal["max_length", "max_context_length", "nsfw", "model", "family"]

NATURAL: tuple[Carrier, ...] = ("messages", "prompt", "gen_payload")
"""Where a payload stands when a conversation is submitted: in the messages and in each flattened copy."""

_UNITS = {"B": 1, "KiB": 1024, "MiB": 1024 * 1024}


def _bytes(value: Any) -> Any:
    written = re.fullmatch(r"(\d+) *(B|KiB|MiB)", value) if isinstance(value, str) else None
    return int(written[1]) * _UNITS[written[2]] if written else value


def _range(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else (value, value)


Bytes = Annotated[int, BeforeValidator(_bytes), Field(ge=0, le=LARGEST_PAYLOAD)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Payload(_Part):
    """What each row carries: `bytes` in each of the carrying columns, a share of them incompressible.

    `bytes` is a number, a text such as "64 KiB", or a range of two of them, both ends included.
    """

    bytes: Annotated[tuple[Bytes, Bytes], BeforeValidator(_range)] = (0, 0)
    incompressible: Annotated[float, Field(ge=0, le=1)] = 1.0
    carried_by: Literal["natural"] | Annotated[tuple[Carrier, ...], Field(min_length=1)] = "natural"

    @field_validator("bytes", mode="after")
    @classmethod
    def _in_order(cls, sizes: tuple[int, int]) -> tuple[int, int]:
        if sizes[0] > sizes[1]:
            raise ValueError(f"a range goes from the smaller to the larger, not from {sizes[0]} to {sizes[1]}")
        return sizes

    @property
    def carriers(self) -> tuple[Carrier, ...]:
        return NATURAL if self.carried_by == "natural" else self.carried_by

    @property
    def mean(self) -> float:
        """Bytes a row in each carrying column, on average."""
        return sum(self.bytes) / 2


class Refused(_Part):
    """Rows older than all that wait, which the worker that the queue is made for must not have, by one rule."""

    rows: NonNegativeInt = 0
    by: Rule = "max_context_length"


class Expired(_Part):
    """Rows older than all others, whose life is over."""

    rows: NonNegativeInt = 0


class Description(_Part):
    """A queue. `rows` wait for a worker of the queue's own models; refused and expired rows come on top.

    The oldest are the expired rows, then the refused ones, both at the highest of the `priorities`.
    """

    rows: NonNegativeInt
    seed: NonNegativeInt = 1
    chat_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    models: Annotated[int, Field(ge=1, le=1000)] = 1
    users: Annotated[int, Field(ge=1, le=10_000)] = 1
    priorities: Annotated[tuple[Annotated[int, Field(ge=-(10**9), le=10**9)], ...], Field(min_length=1)] = (0,)
    n: Annotated[int, Field(ge=1, le=20)] = 1
    max_length: Annotated[int, Field(ge=16, le=1024)] = 80
    max_context_length: Annotated[int, Field(ge=80, le=32_768)] = 1024
    lifetime_seconds: PositiveInt | None = None
    payload: Payload = Payload()
    refused: Refused = Refused()
    expired: Expired = Expired()

    @model_validator(mode="after")
    def _holds_together(self) -> Description:
        if self.total == 0:
            raise ValueError("a queue has at least one row")
        if self.refused.rows and self.refused.by == "family" and self.chat_share not in {0, 1}:
            raise ValueError(
                "rows can be refused by their family only where all that wait are of the other: "
                f"chat_share is 0 or 1, not {self.chat_share:g}"
            )
        if self.max_length > self.max_context_length:
            raise ValueError("max_length is at most max_context_length")
        return self

    @property
    def total(self) -> int:
        """All rows, whatever their kind."""
        return self.rows + self.refused.rows + self.expired.rows


def parse(text: str, name: str) -> Description:
    """The description in a TOML text; `name` is what a person is told it is.

    Raises:
        BadQueue: no TOML, an unknown key, a bad value.
    """
    try:
        return Description.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadQueue(f"The queue {name} is not valid TOML: {error}.", "Mend the line it names.") from None
    except ValidationError as error:
        raise BadQueue(*_told(name, error)) from None


def _told(name: str, error: ValidationError) -> tuple[str, str]:
    first = error.errors()[0]
    place = ".".join(
        str(part) for part in first["loc"] if isinstance(part, int) or part in _KEYS or part == first["loc"][-1]
    )
    if first["type"] == "extra_forbidden":
        return f"The queue {name} has an unknown key: {place}.", f"The keys are {', '.join(sorted(_KEYS))}."
    said = first["msg"].removeprefix("Value error, ")
    where = f" at {place}" if place else ""
    size = 'Bytes are a number, a text such as "64 KiB", or a range of two; 1 MiB at most.'
    return f"The queue {name} has a bad value{where}: {said}.", size if "bytes" in place else "Mend this value."


_KEYS = {key for part in (Description, Payload, Refused, Expired) for key in part.model_fields}


def read(path: Path) -> Description:
    """The description in a TOML file.

    Raises:
        BadQueue: it cannot be read, or see `parse`.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadQueue(f"The queue {path} cannot be read: {error}.", "Give a TOML file in UTF-8.") from None
    return parse(text, str(path))
