"""The sentences of the decision record, word by word, by the requirements that make them hold."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class Sentence(BaseModel):
    """One sentence of the record, and the ids of the requirements that it is the reason for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    requirements: tuple[str, ...]


@cache
def sentences() -> tuple[Sentence, ...]:
    """Every sentence, in the record's order."""
    data = tomllib.loads((files("conformance") / "record.toml").read_text("utf-8"))
    return tuple(Sentence.model_validate(one) for one in data["sentence"])


def quoted(id: str) -> list[str]:
    """The sentences that a requirement serves; none where the record says nothing of it."""
    return [one.text for one in sentences() if id in one.requirements]
