"""The named situations of the load room."""

from __future__ import annotations

from conformance.errors import Exit, Situation


class BadMeasurements(Situation):
    """Measurements from which nothing can be said: too few, or not numbers."""

    exit = Exit.COULD_NOT_RUN


class UnknownScenario(Situation):
    """No scenario of that name."""


class BadPlan(Situation):
    """A load run is asked for that cannot be: a phase without a length, no rate, a bad URL."""


class GeneratorNotStarted(Situation):
    """The processes that make the load did not come up, or left no result."""

    exit = Exit.COULD_NOT_RUN


class BadTarget(Situation):
    """A target of a duet that is neither a URL nor a command that starts a server."""


class BadPairs(Situation):
    """A file of a duet's rounds that cannot be read, or that another duet wrote."""


class BadQueue(Situation):
    """A description of a queue that cannot be read, or that this target cannot have."""


class QueueTooLarge(Situation):
    """A queue larger than what is free for it; nothing was written."""


class SeedingFailed(Situation):
    """The database or the target refused rows of a queue; nothing of it is left."""

    exit = Exit.COULD_NOT_RUN


class WrongCounts(Situation):
    """A queue that is not there as it was described; nothing of it is left."""

    exit = Exit.COULD_NOT_RUN


class BadSession(Situation):
    """A session that cannot be read, or that no target could be put through."""


class CouldNotCount(Situation):
    """Calls whose traffic with the database could not be counted: another job came, or there was none."""

    exit = Exit.COULD_NOT_RUN


class CountsNotVisible(Situation):
    """A gate on a count of a target whose database shows none: it is refused before anything is loaded."""


class NotMeasurable(Situation):
    """A target that does not do what is to be measured: it refuses, or hands out something else."""

    exit = Exit.COULD_NOT_RUN
