"""Conversations have exactly the size that is asked for, speak their script, and say the same for the same seed."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixtures.payloads.conversations import SCRIPTS, Speaker, conversation

NAMED = {
    "cyrillic": "CYRILLIC", "greek": "GREEK", "armenian": "ARMENIAN", "arabic": "ARABIC", "persian": "ARABIC",
    "hebrew": "HEBREW", "bengali": "BENGALI", "thai": "THAI", "chinese": "CJK", "traditional": "CJK",
    "japanese": "KATAKANA", "devanagari": "DEVANAGARI", "korean": "HANGUL",
}  # fmt: skip


def size(text: str, unit: str) -> int:
    return len(text) if unit == "points" else len(text.encode("utf-8"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_script_is_spoken_in_its_own_letters(script: str) -> None:
    text = Speaker(script, 7).text(points=400)
    letters = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]
    expected = NAMED.get(script, "LATIN")
    assert sum(name.startswith(expected) for name in letters) > len(letters) / 4


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SCRIPTS), st.integers(0, 3000), st.sampled_from(["points", "octets"]))
def test_a_text_has_exactly_the_size_that_is_asked_for(script: str, wanted: int, unit: str) -> None:
    assert size(Speaker(script, wanted).text(**{unit: wanted}), unit) == wanted


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(0, 5000), st.sampled_from(["points", "octets"]))
def test_a_conversation_has_exactly_the_size_that_is_asked_for(turns: int, wanted: int, unit: str) -> None:
    spoken = Speaker("thai", 3).conversation
    messages = spoken(turns, points=wanted) if unit == "points" else spoken(turns, octets=wanted)
    assert sum(size(message["content"], unit) for message in messages) == wanted
    assert len(messages) == turns
    assert messages[-1]["role"] == "user"


def test_a_megabyte_is_a_megabyte() -> None:
    assert size(Speaker("devanagari", 1).text(octets=1 << 20), "octets") == 1 << 20
    spoken = conversation(1, turns=12, octets=3 << 20)
    assert sum(size(message["content"], "octets") for message in spoken) == 3 << 20


def test_the_same_seed_says_the_same_and_another_seed_something_else() -> None:
    assert conversation(5, octets=2000) == conversation(5, octets=2000)
    assert conversation(5, octets=2000) != conversation(6, octets=2000)


def test_another_process_says_the_same() -> None:
    told = "from fixtures.payloads.conversations import conversation; print(ascii(conversation('a', octets=500)))"
    said = subprocess.run([sys.executable, "-P", "-c", told], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == ascii(conversation("a", octets=500))


def test_faker_is_loaded_only_when_somebody_speaks() -> None:
    told = (
        "import sys; from fixtures.payloads import conversations, examples, edges, wire; print('faker' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-P", "-c", told], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_a_size_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        Speaker().text(points=1, octets=1)
    with pytest.raises(ValueError, match="no size"):
        Speaker().text(octets=-1)
    with pytest.raises(ValueError, match="a turn"):
        Speaker().conversation(0)
    with pytest.raises(KeyError):
        Speaker("klingon")
