"""What a probe says: a figure, or that it could not be had and why. What was not measured is never a zero."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Fact(BaseModel):
    """A thing that was measured. Frozen; JSON in and out."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NotMeasured(Fact):
    """What could not be measured here, and why: a fact about the target, not an error."""

    not_measured: str
    reason: str

    def __str__(self) -> str:
        return f"{self.not_measured}: not measured, {self.reason}"

    @property
    def why(self) -> str:
        """The same under a heading that says already that it was not measured."""
        return f"{self.not_measured}: {self.reason}"
