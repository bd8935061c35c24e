"""A target is held to its own contract, be it OpenAPI or Swagger, and to ours; what is untrue is told with its call."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from conformance import profile, targets
from conformance.accounts import provide
from conformance.actors import Family
from conformance.client import Client
from conformance.contract import documents
from conformance.contract.documents import Document, Untrue
from conformance.contract.holding import Holder
from conformance.stage import Resources, Stage
from fixtures.postgres import Server

REFERENCE = profile.load("reference")
SHORT = REFERENCE.model_copy(update={"contract": REFERENCE.contract.model_copy(update={"examples": 2})})


@pytest.fixture(scope="module")
def resources(postgres: Server) -> Iterator[Resources]:
    with targets.embedded(REFERENCE, postgres) as target, Client(target.url, SHORT) as client:
        yield Resources(client, provide(client)[0], None, seed=7)


@pytest.fixture
def stage(resources: Resources) -> Iterator[Stage]:
    stage = Stage(resources, "a check")
    yield stage
    stage.tidy()


def hold(stage: Stage, family: Family, document: Document) -> None:
    holder = Holder(stage, family, document)
    holder.told_plainly()
    holder.followed()
    holder.within_time(holder.stories(), holder.true_of)
    holder.complete()


def swagger() -> dict[str, Any]:
    """The text routes of the reference in Swagger 2, its base path apart, as the AI Horde's."""
    id = {"name": "id", "in": "path", "required": True, "type": "string"}
    refused = {
        str(status): {"description": "", "schema": {"$ref": "#/definitions/Refusal"}} for status in (400, 401, 404)
    }

    def described(answer: str, *parameters: dict[str, Any], body: str = "", status: int = 200) -> dict[str, Any]:
        sent = (
            [{"name": "payload", "in": "body", "required": True, "schema": {"$ref": f"#/definitions/{body}"}}]
            if body
            else []
        )
        kept = {str(status): {"description": "", "schema": {"$ref": f"#/definitions/{answer}"}}}
        priced = {"200": {"description": "", "schema": {"type": "object"}}}
        return {"parameters": [*parameters, *sent], "responses": {**priced, **kept, **refused}}

    base = "/v2/generate/text"
    return {
        "swagger": "2.0", "basePath": "/api", "info": {"title": "t", "version": "1"},
        "consumes": ["application/json"], "produces": ["application/json"],
        "paths": {
            f"{base}/async": {"post": described("Queued", body="Prompt", status=202)},
            f"{base}/status/{{id}}": {"parameters": [id], "get": described("Status"), "delete": described("Status")},
            f"{base}/request/{{id}}": {"get": described("Anything", id)},
            f"{base}/pop": {"post": described("Anything", body="Pop")},
            f"{base}/submit": {"post": described("Reward", body="Reply")},
        },
        "definitions": {
            "Refusal": {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}},
            "Anything": {"type": "object"},
            "Queued": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
            "Status": {"type": "object", "properties": {"done": {"type": "boolean"}, "waiting": {"type": "integer"}}},
            "Reward": {"type": "object", "properties": {"reward": {"type": "number"}}},
            "Prompt": {"type": "object", "required": ["prompt"], "properties": {"prompt": {"type": "string"}}},
            "Pop": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "maxLength": 9}}},
            "Reply": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
        },
    }  # fmt: skip


def test_swagger_2_is_a_contract_too(stage: Stage) -> None:
    hold(stage, Family.TEXT, Document("swagger", swagger()))
    assert stage.notes["links"] == []
    assert stage.notes["answers"]["submit_text 202"] > 0


def test_swagger_2_that_is_untrue_is_told_with_the_call(stage: Stage) -> None:
    wrong = swagger()
    wrong["definitions"]["Status"]["properties"]["waiting"] = {"type": "string"}
    with pytest.raises(
        AssertionError, match=r"/v2/generate/text/status/\{id\} answered 200.*The call: curl -sS -X (GET|DELETE) http"
    ):
        hold(stage, Family.TEXT, Document("swagger", wrong))


@pytest.mark.parametrize("family", Family)
def test_a_target_that_publishes_nothing_is_held_to_ours(stage: Stage, family: Family) -> None:
    hold(stage, family, documents.of_profile(REFERENCE))
    assert stage.notes["links"] == ["status", "cancel"]


@pytest.mark.parametrize("family", Family)
def test_the_reference_is_held_to_its_own_contract(stage: Stage, family: Family) -> None:
    document = documents.find(stage.client)
    assert document.place == "/openapi.json"
    hold(stage, family, document)
    assert stage.notes["links"] == ["status", "cancel", "record"]


def test_an_undocumented_status_is_told(stage: Stage) -> None:
    untrue = copy.deepcopy(documents.find(stage.client))
    del untrue.raw["paths"]["/api/v2/generate/text/pop"]["post"]["responses"]["401"]
    with pytest.raises(AssertionError, match="Undocumented status code: Received: 401"):
        hold(stage, Family.CHAT, untrue)


def test_a_contract_of_no_known_kind_is_untrue(stage: Stage) -> None:
    found = documents.find(stage.client)
    broken = replace(found, raw={**found.raw, "openapi": "9.9.9"})
    with pytest.raises(Untrue, match="cannot be read"):
        hold(stage, Family.TEXT, broken)


def test_the_seed_of_a_drawn_failure_is_told(stage: Stage) -> None:
    holder = Holder(stage, Family.TEXT, documents.find(stage.client))
    with pytest.raises(AssertionError, match=r"never holds\. Drawn with --seed 7"):
        holder.within_time(holder.stories(), never)


def never(story: dict[str, Any]) -> None:
    raise AssertionError(f"{len(story)} calls: it never holds")


def test_spoilt_calls_are_survived(stage: Stage) -> None:
    holder = Holder(stage, Family.CHAT, documents.find(stage.client))
    holder.within_time(holder.spoilt(), holder.survives)
    assert {name.partition(" ")[0] for name in stage.notes["answers"]} >= {"submit_chat", "pop", "reply", "progress"}
    assert stage.notes["examples"] == 2
