"""The contract of a profile, for targets that publish none: what every carrier of this protocol must answer.

It is as wide as the specification: refusals are any 4xx with a sentence, answers hold at least what the actors of a
story need, and further fields are free.
"""

from __future__ import annotations

from typing import Any

from conformance.actors import Family
from conformance.profile import Profile

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_AMOUNT: Schema = {"type": "number"}
_ID: Schema = {"type": ["string", "integer"]}
_MODELS: Schema = {"type": "array", "items": _TEXT}
_OBJECTS: Schema = {"type": "array", "items": {"type": "object"}}
_MESSAGES: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": _TEXT},
    },
}
_SHARED: dict[str, Schema] = {
    "models": _MODELS, "trusted_workers": _FLAG, "validated_backends": _FLAG, "slow_workers": _FLAG, "dry_run": _FLAG,
    "nsfw": _FLAG, "worker_blacklist": _FLAG,
}  # fmt: skip

# A body's fields by their names in the profile: the required ones first.
_BODIES: dict[str, tuple[dict[str, Schema], dict[str, Schema]]] = {
    "submit_text": ({"prompt": _TEXT}, _SHARED),
    "submit_chat": ({"messages": _MESSAGES}, {**_SHARED, "tools": _OBJECTS, "stream": _FLAG}),
    "pop": (
        {"name": {"type": "string", "minLength": 1, "maxLength": 100}, "models": _MODELS},
        {"chat_models": _MODELS, "accept_text": _FLAG, "threads": {"type": "integer", "minimum": 1, "maximum": 50},
         "max_length": {"type": "integer", "minimum": 16, "maximum": 4096}, "nsfw": _FLAG},
    ),
    "reply": (
        {"id": _TEXT, "generation": _TEXT},
        {"message": {"type": "object", "required": ["role", "content"],
                     "properties": {"role": {"enum": ["assistant"]}, "content": _TEXT}},
         "finish_reason": {"enum": ["stop", "length"]}, "state": {"enum": ["ok", "censored", "faulted"]}},
    ),
    "progress": ({"id": _TEXT, "output": _TEXT}, {}),
}  # fmt: skip

# What an answer that carries the operation out holds, by the names in the profile.
_ANSWERS: dict[str, dict[str, Schema]] = {
    "submit": {"id": _ID, "kudos": _AMOUNT},
    "status": {
        "finished": _COUNT, "processing": _COUNT, "waiting": _COUNT, "done": _FLAG, "faulted": _FLAG, "kudos": _AMOUNT,
        "generations": _OBJECTS,
    },
    "job": {"id": {"type": ["string", "integer", "null"]}},
    "reply": {"reward": _AMOUNT},
    "progress": {"cancelled": _FLAG},
}  # fmt: skip

# The answer's kind of an operation, where it is not the operation's own name.
_KINDS = {"pop": "job"}
_OPERATIONS = (
    *(f"{act}_{family}" for family in Family for act in ("submit", "status", "cancel", "record")),
    *("pop", "reply", "progress"),
)


def document(profile: Profile) -> Schema:
    """The OpenAPI document of this profile's routes."""
    paths: dict[str, Schema] = {}
    for operation in _OPERATIONS:
        method, path = profile.route(operation)
        paths.setdefault(path.partition("?")[0], {})[method.lower()] = _operation(profile, operation)
    return {"openapi": "3.1.0", "info": {"title": profile.name, "version": "1"}, "paths": paths}


def _operation(profile: Profile, operation: str) -> Schema:
    kind = operation.partition("_")[0]
    carried_out: Schema = {"description": "carried out", "content": _content(_answer(profile, kind))}
    described: Schema = {
        "operationId": operation,
        "responses": {
            **{str(status): carried_out for status in profile.statuses[kind]},
            "4XX": {"description": "refused", "content": _content(_placed({profile.errors.message: _TEXT}))},
        },
    }
    if kind == "submit":
        for status in profile.statuses["dry_run"]:
            priced = _placed({profile.answer["submit"]["kudos"]: _AMOUNT})
            described["responses"].setdefault(str(status), {"description": "priced", "content": _content(priced)})
        described["responses"][str(profile.statuses[kind][0])] = {**carried_out, "links": _links(profile, operation)}
    if operation in _BODIES:
        described["requestBody"] = {"required": True, "content": _content(_body(profile, operation))}
    if "{id}" in profile.routes[operation]:
        described["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": _TEXT}]
    return described


def _content(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _links(profile: Profile, operation: str) -> Schema:
    pointer = profile.answer["submit"]["id"].replace(".", "/")
    family = operation.removeprefix("submit_")
    return {
        act: {"operationId": f"{act}_{family}", "parameters": {"id": f"$response.body#/{pointer}"}}
        for act in ("status", "cancel")
    }


def _answer(profile: Profile, kind: str) -> Schema:
    name = _KINDS.get(kind, kind)
    return _placed({profile.answer[name][field]: schema for field, schema in _ANSWERS.get(name, {}).items()})


def _body(profile: Profile, operation: str) -> Schema:
    required, optional = _BODIES[operation]
    places = profile.body[operation.partition("_")[0]]
    schema = _placed({places[name]: field for name, field in required.items()})
    return _placed({places[name]: field for name, field in optional.items()}, schema, required=False)


def _placed(fields: dict[str, Schema], whole: Schema | None = None, *, required: bool = True) -> Schema:
    """An object's schema with each field at its dotted place."""
    whole = {"type": "object", "properties": {}} if whole is None else whole
    for place, schema in fields.items():
        inner = whole
        *parents, last = place.split(".")
        for parent in parents:
            _require(inner, parent, required)
            inner = inner["properties"].setdefault(parent, {"type": "object", "properties": {}})
        _require(inner, last, required)
        inner["properties"][last] = schema
    return whole


def _require(schema: Schema, name: str, required: bool) -> None:
    if required and name not in schema.setdefault("required", []):
        schema["required"].append(name)
