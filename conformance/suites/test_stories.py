"""Whatever requesters and workers of both families do: the families, the queue and the money keep their rules."""

from __future__ import annotations

import sys

from conformance.checks import Broken, check
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.stories.search import explore

# The longest check of all: to be begun among the first.
ONE_TASK = True
STORIES = 12
# A slow target is told fewer in this time, one that is explored as many as there is time for; a few judge nothing.
SECONDS = 60.0
FEW = 5


@check("FAM-05", "POP-04", "POP-05", "POP-13", "POP-14", "RPL-22", "RPL-23", "ACC-06")
def test_stories_of_both_families_keep_every_rule(stage: Stage) -> None:
    """Requesters and workers do what they like in any order, also two at once: a model says what must be seen."""
    stories = sys.maxsize if stage.resources.explore else STORIES
    search = explore(stage, seed=stage.resources.seed, stories=stories, seconds=SECONDS)
    stage.note("stories", search.told_first)
    if search.smallest is not None:
        # Where a run does not select the row that is broken, the report tells it all the same.
        stage.note(search.smallest.rule, search.smallest.sentence)
        raise Broken(search.smallest.rule, search.smallest.sentence, others_judged=search.told_first >= FEW)
    if search.told_first < FEW:
        raise CouldNotRun(f"only {search.told_first} stories could be told in {SECONDS:g} s")
