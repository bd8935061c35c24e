"""Migrations as small as can be: a test writes yesterday's schema and the change, and gets the rehearsal of it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from conformance.migration.rehearsal import Rehearsal
from conformance.profile import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.profile import Migration as Settings
    from fixtures.postgres import Server


@pytest.fixture(scope="session")
def settings() -> Settings:
    return load("reference").migration


@pytest.fixture
def rehearse(postgres: Server, settings: Settings, tmp_path: Path) -> Callable[..., Rehearsal]:
    numbers = itertools.count()

    def make(baseline: str, change: str = "SELECT 1", server: Server = postgres) -> Rehearsal:
        before, file = (tmp_path / f"{name}-{next(numbers)}.sql" for name in ("baseline", "change"))
        before.write_text(baseline)
        file.write_text(change)
        return Rehearsal(server, settings.model_copy(update={"baseline": str(before), "file": str(file)}))

    return make
