"""`python -P -m load.sweeps`: the sweeps alone."""

from __future__ import annotations

from load.probes import alone
from load.sweeps.cli import sweep_command

alone.run(sweep_command)
