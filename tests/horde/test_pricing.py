"""Prices against the numbers that were verified on the AI Horde (facts, section 3)."""

from __future__ import annotations

import pytest

from fixtures.horde import pricing
from fixtures.horde.settings import Settings

SETTINGS = Settings()
MODEL = "test/model-13b"
VALIDATED = "KoboldCppEmbedWorker:2:https://example.org"


def reward(prompt: int, generation: int, things: int, **more: object) -> float:
    given = {"model": MODEL, "bridge_agent": VALIDATED, "trusted": True} | more
    tokens = pricing.bounded(pricing.estimate(generation), things)
    return pricing.reward(
        SETTINGS,
        tokens=tokens,
        prompt_tokens=pricing.estimate(prompt),
        things=things,
        **given,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("prompt", "generation", "things", "kudos"),
    [
        (400, 200, 80, 6.53),
        (400, 0, 80, 2.61),
        (240, 160, 80, 5.16),
        (100, 80, 80, 2.53),
        (100, 160, 80, 5.05),
        (100, 320, 80, 10.11),
    ],
)
def test_a_known_model_pays_by_tokens_and_context(prompt: int, generation: int, things: int, kudos: float) -> None:
    assert reward(prompt, generation, things) == kudos


def test_an_unvalidated_backend_earns_three_tenths() -> None:
    assert reward(100, 320, 80, bridge_agent="unknown:0:unknown") == 3.03


def test_an_unknown_model_pays_a_trusted_owner_by_tokens_and_another_by_context_alone() -> None:
    assert reward(400, 200, 80, model="who/knows") == pytest.approx(1.694281134220648)
    assert reward(400, 0, 80, model="who/knows", trusted=False) == reward(
        400, 200, 80, model="who/knows", trusted=False
    )


@pytest.mark.parametrize("model", ["test/model-13b::alias#3", "test/model-13b-GPTQ-Q4", "test/model-13b-x1y2-Q8::a#1"])
def test_an_alias_and_a_quantisation_are_the_known_model(model: str) -> None:
    assert pricing.billions(SETTINGS, model) == 13


@pytest.mark.parametrize(
    "model", ["test/model-13b-Q4_K_M", "test/model-13b.Q4_K_M", "test/model-13b-GPTQ", "koboldcpp/x"]
)
def test_a_name_that_the_reference_does_not_match_is_unknown(model: str) -> None:
    assert pricing.billions(SETTINGS, model) is None


@pytest.mark.parametrize(("n", "kudos"), [(1, 25), (3, 73)])
def test_a_dry_run_forecasts_the_cost(n: int, kudos: int) -> None:
    assert pricing.dry_run(SETTINGS, models=[MODEL], max_length=80, max_context_length=1024, n=n) == kudos


def test_600_tokens_of_13_b_ask_for_371_43_beforehand() -> None:
    assert pricing.upfront(SETTINGS, models=[MODEL], max_length=600, n=1) == 371.43
    assert pricing.upfront(SETTINGS, models=[], max_length=600, n=2) == 40


@pytest.mark.parametrize(("threads", "queued", "limit"), [(0, 0, 512), (0, 1000, 256), (10, 100, 472), (100, 0, 512)])
def test_the_free_limit_stays_between_256_and_512(threads: int, queued: int, limit: int) -> None:
    assert pricing.free_limit(SETTINGS, threads, queued) == limit


@pytest.mark.parametrize(("characters", "tokens"), [(76, 19), (80, 20), (81, 21), (84, 21)])
def test_a_token_is_four_characters_begun(characters: int, tokens: int) -> None:
    assert pricing.estimate(characters) == tokens
    assert pricing.posted_tokens("\U0001f600" * characters, 80) == max(20, tokens)


def test_max_length_caps_what_the_floor_raises() -> None:
    assert pricing.bounded(1, 16) == 16
    assert pricing.bounded(1000, 80) == 80
