"""The contract is found where the target publishes it, ours stands in where there is none, and a broken one says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from conformance.actors import Family
from conformance.client import Answer, Client, Exchange
from conformance.contract import documents, operations, ours
from conformance.contract.documents import Document, Untrue
from conformance.contract.operations import Link
from conformance.profile import Profile, load
from fixtures.nulls.server import Answer as Served
from fixtures.nulls.server import Request, json_answer, serve

REFERENCE = load("reference")
HORDE = load("aihorde")
NOWHERE = Served(404, b"{}")


def found(published: Mapping[str, Served]) -> Document:
    def answer(request: Request) -> Served:
        return published.get(request.path, NOWHERE)

    with serve(answer) as url, Client(url, REFERENCE) as client:
        return documents.find(client)


def swagger(*routes: str, **more: Any) -> dict[str, Any]:
    """A Swagger 2 document as the AI Horde's, whose base path stands apart."""
    paths: dict[str, Any] = {}
    for route in routes:
        method, _, path = route.partition(" ")
        paths.setdefault(path, {})[method.lower()] = {"responses": {"200": {"description": ""}}}
    return {"swagger": "2.0", "basePath": "/api", "info": {"title": "t", "version": "1"}, "paths": paths, **more}


def test_the_first_contract_is_taken() -> None:
    second = swagger("POST /v2/generate/text/pop")
    assert found({"/api/swagger.json": json_answer(200, second)}) == Document("/api/swagger.json", second)
    first = {**second, "swagger": "2.0", "info": {"title": "first", "version": "1"}}
    both = {"/openapi.json": json_answer(200, first), "/api/swagger.json": json_answer(200, second)}
    assert found(both).raw == first


@pytest.mark.parametrize(
    "served",
    [
        NOWHERE,
        json_answer(200, {}),
        json_answer(200, []),
        Served(200, b"<html></html>", "text/html"),
        json_answer(500, {"openapi": "3"}),
    ],
)
def test_without_a_contract_ours_stands_in(served: Served) -> None:
    document = found({"/openapi.json": served})
    assert document == documents.of_profile(REFERENCE)
    assert document.place == "the profile"


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (Served(200, b'{"openapi": "3.1.0", "paths": '), "no JSON"),
        (json_answer(200, {"openapi": "3.1.0"}), "no paths"),
        (json_answer(200, {"swagger": "2.0", "paths": [1]}), "no paths"),
        (json_answer(200, swagger(definitions={"A": {"$ref": "other.json#/A"}})), "refers to other.json#/A"),
        (json_answer(200, swagger(definitions={"A": {"$ref": "https://example.org/a"}})), "refers to https:"),
        (json_answer(200, swagger(definitions={"A": {"$ref": "#/definitions/B"}})), "refers to #/definitions/B"),
    ],
)
def test_a_broken_contract_says_what_is_wrong_with_it(served: Served, said: str) -> None:
    with pytest.raises(Untrue, match=said):
        found({"/openapi.json": served})


TEXT = (
    "POST /v2/generate/text/async", "GET /v2/generate/text/status/{id}", "DELETE /v2/generate/text/status/{id}",
    "GET /v2/generate/text/request/{id}", "POST /v2/generate/text/pop", "POST /v2/generate/text/submit",
)  # fmt: skip


def test_routes_are_found_whatever_the_document_calls_their_ids_and_wherever_its_base_path_stands() -> None:
    renamed = [route.replace("{id}", "{request}") for route in TEXT]
    expected = {"submit_text", "status_text", "cancel_text", "record_text", "pop", "reply"}
    assert set(operations.described(Document("d", swagger(*renamed)), HORDE, Family.TEXT)) == expected
    server = {**swagger(*TEXT), "basePath": "", "servers": [{"url": "https://example.org/api/"}]}
    found = operations.described(Document("d", server), HORDE, Family.TEXT)
    assert str(found["cancel_text"]) == "DELETE /v2/generate/text/status/{id}"


def test_a_route_that_is_left_out_is_named() -> None:
    with pytest.raises(Untrue, match="leaves out POST /api/v2/generate/text/pop"):
        operations.described(Document("d", swagger(*TEXT[:4], *TEXT[5:])), HORDE, Family.TEXT)
    with pytest.raises(Untrue, match="leaves out POST /api/v2/generate/chat/async"):
        operations.described(Document("d", swagger(*TEXT)), HORDE, Family.CHAT)


def test_only_what_the_target_declares_has_to_be_described() -> None:
    less = HORDE.with_capabilities(without=frozenset({"request_record", "streaming", "chat_request_record"}))
    assert "record_text" not in operations.names(less, Family.TEXT)
    assert set(operations.names(less, Family.CHAT)) == {"submit_chat", "status_chat", "cancel_chat", "pop", "reply"}
    assert "progress" in operations.names(HORDE, Family.CHAT)


def test_no_operators_route_is_among_them() -> None:
    for family in Family:
        routes = {HORDE.routes[name] for name in operations.names(HORDE, family)}
        assert all("/generate/" in route for route in routes)


# Ours


def rebound() -> Profile:
    body = {**HORDE.body, "submit": {**HORDE.body["submit"], "messages": "conversation.turns"}}
    answer = {**HORDE.answer, "submit": {**HORDE.answer["submit"], "id": "request.id"}}
    routes = {**HORDE.routes, "submit_chat": "POST /chats"}
    return HORDE.model_copy(update={"body": body, "answer": answer, "routes": routes, "base_path": "/v9"})


def test_ours_names_routes_and_fields_as_the_profile_does() -> None:
    raw = ours.document(rebound())
    submit = raw["paths"]["/v9/chats"]["post"]
    body = submit["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["conversation"]
    assert body["properties"]["conversation"]["required"] == ["turns"]
    assert submit["responses"]["202"]["content"]["application/json"]["schema"]["required"] == ["request", "kudos"]
    assert submit["responses"]["202"]["links"]["status"]["parameters"] == {"id": "$response.body#/request/id"}


@pytest.mark.parametrize("family", Family)
def test_ours_describes_every_route_of_a_family(family: Family) -> None:
    for profile in (REFERENCE, HORDE, rebound()):
        document = documents.of_profile(profile)
        assert set(operations.described(document, profile, family)) == set(operations.names(profile, family))


# Links


def submitted(body: Any) -> Answer:
    exchange = Exchange("a", "submit_text", "POST", "http://t/", {}, None, 202, {}, "", 0, 0)
    return Answer(exchange, HORDE, "submit", body, 202)


def with_links(links: dict[str, Any], shared: dict[str, Any] | None = None) -> Document:
    raw = swagger(*TEXT)
    raw["paths"]["/v2/generate/text/status/{id}"]["get"]["operationId"] = "status"
    raw["paths"]["/v2/generate/text/async"]["post"]["responses"]["202"] = {"description": "", "links": links}
    return Document("d", {**raw, "components": {"links": shared or {}}})


def led(document: Document, body: Any) -> list[Link]:
    described = operations.described(document, HORDE, Family.TEXT)
    return operations.links(document, described, "submit_text", submitted(body))


def test_links_lead_by_name_by_reference_and_by_component() -> None:
    id = {"id": "$response.body#/id"}
    reference = "#/paths/~1v2~1generate~1text~1status~1{id}/delete"
    document = with_links(
        {
            "look": {"operationId": "status", "parameters": id},
            "cancel": {"operationRef": reference, "parameters": id},
            "again": {"$ref": "#/components/links/again"},
        },
        {"again": {"operationId": "status", "parameters": {"path.id": "$response.body#/ids/1"}}},
    )
    assert led(document, {"id": "x", "ids": ["a", "b"]}) == [
        Link("look", "status_text", "x"), Link("cancel", "cancel_text", "x"), Link("again", "status_text", "b"),
    ]  # fmt: skip


def test_without_links_nothing_is_led_anywhere() -> None:
    assert led(with_links({}), {"id": "x"}) == []


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"operationId": "stutus", "parameters": {"id": "$response.body#/id"}}, "leads to no operation"),
        ({"operationRef": "#/paths/~1nowhere/get"}, "leads to no operation"),
        ({"parameters": {"id": "$response.body#/id"}}, "leads to no operation"),
        ({"operationId": "status", "parameters": {"id": "$response.body#/request/id"}}, "names nothing of the answer"),
        ({"operationId": "status"}, "names nothing of the answer"),
    ],
)
def test_a_broken_link_is_untrue(link: dict[str, Any], said: str) -> None:
    with pytest.raises(Untrue, match=said):
        led(with_links({"broken": link}), {"id": "x"})
