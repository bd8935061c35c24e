"""TXT: what stays as it was, for clients and workers that never mention chat."""

from __future__ import annotations

from conformance import replay
from conformance.checks import check
from conformance.replay import Replay
from conformance.stage import Stage


@check("TXT-01", half="text")
def test_what_was_recorded_before_chat_happens_again(stage: Stage) -> None:
    """A client and a worker of before chat repeat their calls: each answer holds what it held and costs what it did."""
    recording = replay.read(stage.profile.recording.text)
    telling = Replay(stage, recording)
    for story in recording.story:
        telling.tell(story)
    stage.note("recorded stories", [story.name for story in recording.story])
