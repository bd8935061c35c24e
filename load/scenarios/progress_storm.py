"""Progress storm: few chat generations, each told of in progress again and again, with longer and longer output."""

from __future__ import annotations

from collections import Counter

from conformance.actors import Family
from load.scenarios.calling import Due
from load.scenarios.driving import LoadUser
from load.scenarios.people import Crew

# Generations under way in each process, and progress posts of each before it ends.
_UNDER_WAY, _POSTS = 20, 100
_WORDS = "And some more words. "


class ProgressStorm(LoadUser):
    """Posts progress on the generation whose turn it is; after its last post it is replied to, and another begins."""

    scenario = "progress-storm"

    def prepare(self, crew: Crew) -> None:
        self.posts: Counter[str] = Counter()
        for _ in range(_UNDER_WAY):
            self._begin(crew, Due("preparation", 0.0))

    def arrive(self, crew: Crew, due: Due) -> None:
        if not crew.held:
            self._begin(crew, due)
            return
        held = crew.held.popleft()
        self.posts[held.id] += 1
        if self.posts[held.id] < _POSTS:
            crew.held.append(held)
            crew.progress(due, held, _WORDS * self.posts[held.id])
        else:
            del self.posts[held.id]
            crew.reply(due, held)
            self._begin(crew, due.now())

    def _begin(self, crew: Crew, due: Due) -> None:
        crew.submit(due, Family.CHAT)
        held = crew.pop(due.now())
        if held is not None:
            crew.held.append(held)
