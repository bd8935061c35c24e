"""What every part of a report is made of: frozen models, and values that JSON in UTF-8 can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, JsonValue


def _storable(value: Any) -> Any:
    """Return a value that JSON in UTF-8 can hold: no lone surrogates, no NaN, no foreign types.

    What a target sends reaches notes and reasons; an escape there is better than no report at all.
    """
    if value is None or isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {_storable(str(key)): _storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_storable(item) for item in value]
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")


Text = Annotated[str, BeforeValidator(_storable)]
Notes = Annotated[dict[str, JsonValue], BeforeValidator(_storable)]
Headers = Annotated[dict[str, str], BeforeValidator(_storable)]


class Frozen(BaseModel):
    """A part of a report: fixed once made, without a field that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
