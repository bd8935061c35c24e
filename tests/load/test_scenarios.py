"""Each scenario runs against the reference without an error, and what it did there is the history of one queue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import profile as profiles
from conformance import targets
from conformance.histories import judge, recorded
from fixtures.postgres import open_server
from load.running import equipped, run
from load.scenarios.exchanges import kept
from load.scenarios.plan import Phase
from load.scenarios.table import SCENARIOS

REFERENCE = profiles.load("reference")
STEADY = (Phase(name="steady", seconds=1.5, rate=20),)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with open_server() as postgres, targets.embedded(REFERENCE, postgres) as target:
        yield target.url


@pytest.mark.parametrize("name", [scenario.name for scenario in SCENARIOS])
def test_a_scenario_does_to_the_reference_what_it_says(url: str, tmp_path: Path, name: str) -> None:
    plan = equipped(url, "reference", scenario=name, phases=STEADY, exchanges=tmp_path, lanes=1, models=2)
    result = run(plan)
    operations = {series.operation.partition(":")[0].partition(" ")[0] for series in result.series}
    assert result.errors() == 0, [str(series.key) for series in result.series]
    assert operations - {"whole"} <= set(next(s.operations for s in SCENARIOS if s.name == name))
    assert result.response("steady").count > 20
    exchanges = list(kept(tmp_path, url, REFERENCE))
    history = recorded(exchanges, REFERENCE)
    assert len(history.operations) == len(exchanges)
    assert judge(history) is None
