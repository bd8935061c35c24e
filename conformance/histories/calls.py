"""One exchange as an operation of a history, read as the profile says."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import from_json

from conformance.client import Exchange
from conformance.histories.model import (
    UNLIMITED,
    AnyOperation,
    Balance,
    Cancel,
    Fault,
    Outcome,
    Pop,
    Progress,
    Reading,
    Reply,
    Submit,
)
from conformance.profile import Profile, dig

# What keeps a request from workers that serve its model, unless it is left out or has this value.
_RESTRICTING: dict[str, Any] = {
    "softprompt": None, "trusted_workers": False, "validated_backends": False, "slow_workers": True, "workers": [],
    "nsfw": False,
}  # fmt: skip
# What keeps requests of its models from a worker, unless it is left out or has this value.
_CHOOSY: dict[str, Any] = {"nsfw": True, "word_list": []}


_ENCODER = json.JSONEncoder(sort_keys=True)


class Accounts:
    """Names for accounts: their keys are nobody's business."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, key: str) -> str:
        return self._names.setdefault(key, f"account {len(self._names) + 1}")


Get = Callable[..., Any]


class Places:
    """Where a profile has what a history is made of: worked out once for all of its calls.

    `sent` and `told` give our fields' readers by kind; `known` the names that a body of a kind may hold.
    """

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.key = profile.headers.key
        self.anonymous = profile.accounts.anonymous_key
        self.streams = "streaming" in profile.capabilities
        self.sent = {kind: _getters(fields) for kind, fields in profile.body.items()}
        self.told = {kind: _getters(fields) for kind, fields in profile.answer.items()}
        self.known = {
            kind: frozenset(path.partition(".")[0] for path in fields.values()) for kind, fields in profile.body.items()
        }
        # What workers declare they declare again and again, to the letter.
        self.declared: dict[str | None, dict[str, Any]] = {}
        # One tuple for all that name the same models.
        self.shared: dict[tuple[str, ...], tuple[str, ...]] = {}


def _getters(fields: Mapping[str, str]) -> dict[str, Get]:
    return {name: _getter(path) for name, path in fields.items()}


def _getter(path: str) -> Get:
    """What `dig` does with this path, of an object."""
    if "." in path:
        return lambda data, default=None: dig(data, path, default)
    return lambda data, default=None: data.get(path, default)


class Call:
    """An exchange whose operation bears on a history; each of its bodies is read once."""

    __slots__ = ("_body", "answer", "exchange", "family", "kind", "outcome", "places")

    def __init__(self, exchange: Exchange, places: Places, kind: str, family: str) -> None:
        self.exchange, self.places, self.kind, self.family = exchange, places, kind, family
        self._body: dict[str, Any] | None = None
        self.answer = _object(exchange.response_body)
        self.outcome = _outcome(exchange, places.profile.statuses[kind], self.answer)

    @property
    def body(self) -> dict[str, Any]:
        if self._body is None:
            self._body = _object(self.exchange.request_body)
        return self._body

    @property
    def common(self) -> dict[str, Any]:
        """What every operation has."""
        exchange = self.exchange
        return {
            "actor": exchange.actor, "outcome": self.outcome, "called": exchange.started, "returned": exchange.ended,
        }  # fmt: skip

    @property
    def key(self) -> str:
        return self.exchange.request_headers.get(self.places.key, "")

    @property
    def request(self) -> str:
        """The id in the path."""
        return self.exchange.url.rstrip("/").rpartition("/")[2]

    @property
    def usual(self) -> bool:
        """Whether the body holds nothing but what the profile knows."""
        return self.body.keys() <= self.places.known[self.kind]

    @property
    def content(self) -> str:
        """What a submit asks for and the job that is made of it holds, comparable."""
        if self.kind == "submit":
            return canonical(self.sent("messages" if self.family == "chat" else "prompt"))
        return canonical(self.told("prompt" if self.told("chat", kind="job") is None else "messages", kind="job"))

    def sent(self, name: str, default: Any = None) -> Any:
        """A field of ours in the request's body."""
        return self.places.sent[self.kind][name](self.body, default)

    def told(self, name: str, *, kind: str | None = None) -> Any:
        """A field of ours in the answer."""
        return self.places.told[kind or self.kind][name](self.answer)


def _outcome(exchange: Exchange, fine: tuple[int, ...], answer: dict[str, Any]) -> Outcome:
    status = exchange.status
    if status is None:
        return Outcome.REFUSED if exchange.unsent else Outcome.UNKNOWN
    if 400 <= status < 500:
        return Outcome.REFUSED
    return Outcome.DONE if status in fine and answer else Outcome.UNKNOWN


def call(exchange: Exchange, places: Places) -> Call | None:
    """The call that an exchange is; None where its operation bears on no history."""
    kind, _, family = exchange.operation.partition("_")
    if kind not in _READ or family not in {"", "text", "chat"}:
        return None
    return Call(exchange, places, kind, family)


def operation(made: Call, accounts: Accounts) -> AnyOperation | None:
    """What a call did; None where it did nothing that a history tells, or says it in no way that we can read."""
    return _READ[made.kind](made, accounts)


def _submit(made: Call, accounts: Accounts) -> Submit | None:
    n = made.sent("n", 1)
    if made.sent("dry_run") or type(n) is not int:
        return None
    id, key = _id(made.told("id")), made.sent("operation_key")
    known = made.outcome is not Outcome.DONE or id is not None
    anonymous = made.key == made.places.anonymous
    context, models = made.sent("max_context_length"), _texts(made.sent("models"))
    return Submit(
        **{**made.common, "outcome": made.outcome if known else Outcome.UNKNOWN},
        account=accounts.name(made.key),
        family=made.family,
        request=id if id is not None and made.outcome is Outcome.DONE else "",
        n=n,
        models=made.places.shared.setdefault(models, models),
        key=key if isinstance(key, str) and not anonymous else None,
        # Where the target claims no streaming the hint means nothing.
        stream=made.family == "chat" and made.places.streams and made.sent("stream") is True,
        shape=f"{made.family} {context} {_lengths(made.sent('messages' if made.family == 'chat' else 'prompt'))}",
        max_length=_whole(made.sent("max_length"), made.places.profile.limits.max_length_maximum),
        max_context_length=_whole(context, 0),
        open=_holds(made, _RESTRICTING),
        usual=made.usual,
    )


def _holds(made: Call, usual: Mapping[str, Any]) -> bool:
    """Whether each of these fields is left out or has this value."""
    body, places = made.body, made.places.sent[made.kind]
    return all(places[name](body, value) == value for name, value in usual.items())


def _pop(made: Call, accounts: Accounts) -> Pop:
    known, said = made.places.declared, made.exchange.request_body
    declared = known.get(said)
    if declared is None:
        declared = known[said] = _declared(made)
    return Pop(**made.common, account=accounts.name(made.key), **declared, **_job(made))


def _declared(made: Call) -> dict[str, Any]:
    """What a worker says of itself."""
    declared, models = _texts(made.sent("chat_models")), _texts(made.sent("models"))
    length, context = made.sent("max_length"), made.sent("max_context_length")
    bounded = type(length) is not int or type(context) is not int
    return {
        "models": models,
        "chat_models": declared,
        "text": made.sent("accept_text") is not False,
        "amount": _whole(made.sent("amount"), 1),
        "max_length": _whole(length, UNLIMITED),
        "max_context_length": _whole(context, UNLIMITED),
        "bridge": str(made.sent("bridge_agent", "")),
        "open": _holds(made, _CHOOSY) and made.usual and not bounded and set(declared) <= set(models),
    }


def _job(made: Call) -> dict[str, Any]:
    """What a pop handed out: nothing, or generations of a family and a model."""
    first, listed = _id(made.told("id", kind="job")), made.told("ids", kind="job")
    if made.outcome is not Outcome.DONE or first is None:
        return {}
    ids = [_id(id) for id in listed] if isinstance(listed, list) else []
    lifetime = made.told("lifetime", kind="job")
    return {
        "generations": tuple(id for id in ids if id is not None) or (first,),
        "family": "text" if made.told("chat", kind="job") is None else "chat",
        "model": str(made.told("model", kind="job") or ""),
        "lifetime": float(lifetime) if _is_number(lifetime) else None,
    }


def _reply(made: Call, _: Accounts) -> Reply | Fault | None:
    id = _id(made.sent("id"))
    if id is None:
        return None
    if made.sent("state") == "faulted":
        return Fault(**made.common, generation=id)
    reward, text, message = made.told("reward"), made.sent("generation"), made.sent("message")
    return Reply(
        **made.common,
        generation=id,
        state=str(made.sent("state", "ok")),
        said=_said(text if message is None else message),
        tokens=_tokens(text if isinstance(text, str) else _words(message), made.places.profile),
        reward=float(reward) if _is_number(reward) else None,
        usual=made.usual,
    )


def _progress(made: Call, _: Accounts) -> Progress | None:
    id, cancelled, output = _id(made.sent("id")), made.told("cancelled"), made.sent("output")
    if id is None:
        return None
    return Progress(
        **made.common,
        generation=id,
        tokens=_tokens(output if isinstance(output, str) else "", made.places.profile),
        cancelled=cancelled if isinstance(cancelled, bool) else None,
    )


def _cancel(made: Call, _: Accounts) -> Cancel:
    return Cancel(**made.common, request=made.request)


def _status(made: Call, _: Accounts) -> Reading | None:
    counts = {name: made.told(name) for name in ("finished", "processing", "waiting", "restarted")}
    flags = {name: made.told(name) for name in ("done", "faulted")}
    shown, kudos = made.told("generations"), made.told("kudos")
    whole = all(type(count) is int for count in counts.values()) and all(type(f) is bool for f in flags.values())
    if made.outcome is not Outcome.DONE or not isinstance(shown, list) or not whole:
        return None
    name = "message" if made.family == "chat" else "text"
    said = tuple(_said(made.places.profile.read("generation", name, generation)) for generation in shown)
    kudos = float(kudos) if _is_number(kudos) else None
    return Reading(**made.common, request=made.request, **counts, **flags, kudos=kudos, said=said)


def _account(made: Call, accounts: Accounts) -> Balance | None:
    kudos = made.told("kudos")
    if made.outcome is not Outcome.DONE or not _is_number(kudos):
        return None
    return Balance(**made.common, account=accounts.name(made.key), kudos=float(kudos))


_READ: dict[str, Callable[[Call, Accounts], AnyOperation | None]] = {
    "submit": _submit,
    "pop": _pop,
    "reply": _reply,
    "progress": _progress,
    "cancel": _cancel,
    "status": _status,
    "account": _account,
}


def canonical(value: Any) -> str:
    """The same text for what is equal as JSON: objects unordered, numbers as doubles."""
    return _ENCODER.encode(_doubles(value))


def _doubles(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_doubles(item) for item in value]
    # What no double holds is compared as it is.
    if type(value) is int and abs(value) < 1 << 1000:
        return float(value)
    return value


def _said(value: Any) -> str | None:
    """A reply as a status must show it: a structured one, or a text; NUL is shown as U+FFFD."""
    if isinstance(value, dict | str):
        return canonical(value).replace("\\u0000", "\\ufffd")
    return None


def _object(text: str | None) -> dict[str, Any]:
    try:
        value = _read(text) if text else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read(text: str) -> Any:
    try:
        # Four times as quick; what it does not take, such as half of a surrogate pair, the other one may.
        return from_json(text)
    except (ValueError, TypeError):
        return json.loads(text)


def _id(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _whole(value: Any, default: int) -> int:
    return value if type(value) is int else default


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _lengths(content: Any) -> str:
    """What of a prompt or of messages bears on the price: how long each is, or all of it where that is not plain."""
    if isinstance(content, str):
        return str(len(content))
    plain = isinstance(content, list) and all(
        isinstance(message, dict) and message.keys() == {"role", "content"} and isinstance(message["content"], str)
        for message in content
    )
    return " ".join(f"{m['role']} {len(m['content'])}" for m in content) if plain else canonical(content)


def _words(message: Any) -> str:
    """The text of a structured reply that came without one."""
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _tokens(text: str, profile: Profile) -> int:
    return math.ceil(len(text) / profile.tokens.characters)
