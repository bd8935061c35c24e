"""A run that is killed leaves a report that says so, and no older verdict."""

from __future__ import annotations

from conformance import run
from reports.known import KnownFailure
from reports.model import Report

NOBODY = "http://127.0.0.1:1"


def test_before_the_first_request_stands_what_is_to_be_judged_and_that_nothing_was() -> None:
    begun: list[Report] = []
    known = KnownFailure.model_validate(
        {"id": "POP-01", "reason": "known", "link": "https://a/1", "expires": "2999-01-01"}
    )
    options = run.Options(
        patterns=("FAM-01", "POP-01", "MIG-01"), target=NOBODY, on_begin=begun.append, known_failures=(known,)
    )
    ended = run.run(options)
    (first,) = begun
    assert first.aborted is not None
    assert "killed" in first.aborted
    assert (first.verdict, first.exit_code) == ("nothing judged", 3)
    assert first.denominator == ["FAM-01", "POP-01"], "what is not declared is not in it"
    assert first.denominator == ended.denominator
    assert (first.catalogue, first.target.profile_sha256) == (ended.catalogue, ended.target.profile_sha256)
    assert first.known_failures == [known]


def test_the_hash_of_a_profile_is_of_what_it_says() -> None:
    at = run.Options(target=NOBODY)
    assert run.resolve(at).sha256 == run.resolve(at).sha256
    assert run.resolve(at).sha256 != run.resolve(run.Options()).sha256
    assert run.resolve(at).sha256 != run.resolve(at).with_capabilities("webhook", "database").sha256
