"""Every scenario's user class: for processes that join a run of another host, whose scenario they learn from it."""

from __future__ import annotations

from load.scenarios.cancel_storm import CancelStorm
from load.scenarios.head_of_line import HeadOfLine
from load.scenarios.hot_user import HotUser
from load.scenarios.life_cycle import LifeCycle
from load.scenarios.mixed import Mixed
from load.scenarios.pop_scan import PopScan
from load.scenarios.progress_storm import ProgressStorm

__all__ = ["CancelStorm", "HeadOfLine", "HotUser", "LifeCycle", "Mixed", "PopScan", "ProgressStorm"]
