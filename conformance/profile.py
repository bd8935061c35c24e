"""Profiles: what a target's protocol calls things, how fast it is, and what it claims.

No check names a route, a field or a status of its own: it asks the profile. `profiles/aihorde.toml` holds every
key; a profile file `extends` it (by default) and gives only what differs. A key that the base does not have is an
error, so that a typing error cannot pass for a setting.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    field_validator,
    model_validator,
)

from conformance.catalogue import CAPABILITIES, Capability
from conformance.errors import BadProfile, UnknownProfile
from reports.model import sha256_of

BASE = "aihorde"


# A method and a path, in which {id} is replaced.
Route = Annotated[str, Field(pattern=r"^(GET|POST|PUT|PATCH|DELETE) /\S*$")]
# A day at most: what the clock of a socket cannot hold is no time to wait.
Seconds = Annotated[float, Field(ge=0, le=86400)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Headers(_Part):
    """Header names."""

    key: str
    client_agent: str
    incidental: tuple[str, ...]


class Errors(_Part):
    """Where an error's code and sentence stand, and the codes that say *not found*."""

    code: str
    message: str
    not_found_codes: tuple[str, ...]
    job_not_found_codes: tuple[str, ...]
    too_many_codes: tuple[str, ...]
    upfront_amount: str

    @field_validator("upfront_amount", mode="after")
    @classmethod
    def _has_one_group(cls, pattern: str) -> str:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise ValueError(f"no regular expression: {error}") from None
        if pattern and groups != 1:
            raise ValueError("it has exactly one group, the amount")
        return pattern


class Limits(_Part):
    """What the target takes at most."""

    concurrency: PositiveInt
    n: PositiveInt
    max_length_minimum: PositiveInt
    max_length_maximum: PositiveInt
    faults: PositiveInt
    body_bytes: NonNegativeInt
    stop_sequences: NonNegativeInt
    stop_characters: NonNegativeInt


class SamplingField(_Part):
    """A sampling field's values within its range and outside it, and what a worker is handed without one."""

    within: Annotated[tuple[Any, ...], Field(min_length=1)]
    outside: tuple[Any, ...] = ()
    default: Any = None


class Timings(_Part):
    """How old a read may be and how long things take, in seconds."""

    answer: Seconds
    preflight: Seconds
    restart: Seconds
    settlement: Seconds
    balance: Seconds
    statistics: Seconds
    speed: Seconds
    positions: Seconds
    worker_refresh: Seconds
    cleaner: Seconds
    job_lifetime: Seconds
    request_lifetime: Seconds


class RateLimit(_Part):
    """Patience with a target that limits rates."""

    retries: Annotated[int, Field(ge=0)]
    longest_wait: Seconds


class Tokens(_Part):
    """How tokens are estimated from characters (code points)."""

    characters: PositiveInt
    floor: NonNegativeInt


class Accounts(_Part):
    """How accounts are obtained, and how many."""

    method: str
    lanes: PositiveInt
    requesters: PositiveInt
    owners: PositiveInt
    workers_per_owner: PositiveInt
    kudos: PositiveInt
    requester_keys_variable: str
    anonymous_key: str
    owner_keys_variable: str
    moderator_keys_variable: str
    spare_keys_variable: str


def _names_each_check(template: str, *further: str) -> str:
    """Without a name of its own each check would see the others' requests."""
    filled = template
    for place in ("{unique}", "{alias}", *further):
        filled = filled.replace(place, "")
    if "{unique}" not in template or "{" in filled or "}" in filled:
        raise ValueError(f"it holds {{unique}} and may hold {' and '.join((*further, '{alias}'))}, and no other brace")
    return template


class Models(_Part):
    """Names of models for checks."""

    template: Annotated[str, AfterValidator(lambda template: _names_each_check(template, "{known}"))]
    known: str


class Moderation(_Part):
    """What the filter acts on: a phrase, all that it matches, and whose; `model` is a template, empty where none is."""

    phrase: str
    pattern: re.Pattern[str]
    model: Annotated[str, AfterValidator(lambda template: template and _names_each_check(template, "{known}"))]
    flagging: bool

    @model_validator(mode="after")
    def _pattern_matches_the_phrase(self) -> Moderation:
        """With a pattern that matches nothing whatever reaches a worker would pass."""
        if self.phrase and not self.pattern.search(self.phrase):
            raise ValueError("pattern does not match the phrase")
        return self


class Webhook(_Part):
    """How a target reaches our receiver: its URL without a path, the port that we listen on (0: any), and patience."""

    url: Annotated[str, Field(pattern=r"^(https?://\S+)?$")]
    port: Annotated[int, Field(ge=0, le=65535)]
    patience: Seconds


class Recording(_Part):
    """The exchange that was recorded before chat: its file (empty: there is none), and the template of its model."""

    text: str
    model: Annotated[str, AfterValidator(lambda template: template and _names_each_check(template))]


class Workers(_Part):
    """Bridge agents of workers."""

    validated_bridge: str
    unvalidated_bridge: str


class Eligibility(_Part):
    """The rules that the target enforces on text."""

    rules: tuple[str, ...]


class Money(_Part):
    """Kudos."""

    submit_fee: float
    finish_fee: float
    rounding: float


class Database(_Part):
    """SQL statements; an empty one is one that the target does not have."""

    ledger: str
    request_row: str
    generation_rows: str
    generation_row: str
    lock_generation: str
    expire_request: str
    expire_generation: str
    copy_request: str
    remove_copies: str
    replace_content: str
    generation_column: str
    reply_columns: tuple[str, ...]
    content_tables: tuple[str, ...]
    prompt_column: str
    chat_column: str
    messages_column: str
    extras_column: str
    hold: str


class Seeding(_Part):
    """How a queue is written into the target's tables; without a `table` it can only be submitted.

    `columns` and `models_columns` map each column that is written to a template of its value; `carriers` map what may
    carry a payload to its column (empty: the target has none).
    """

    table: str
    columns: dict[str, str]
    models_table: str
    models_columns: dict[str, str]
    carriers: dict[str, str]
    chat_prompt: Annotated[str, Field(pattern=r"^[^\\{}]*\{content\}[^\\{}]*$")]
    model: Annotated[str, Field(pattern=r"\{unique\}")]
    add_user: str
    users: str
    rows: str
    counts: str
    settle: tuple[str, ...]
    put_back: str
    remove: tuple[str, ...]
    tidy: tuple[str, ...]
    largest_bytes: PositiveInt


class Migration(_Part):
    """The migration's files, and what the record says it adds."""

    baseline: str
    file: str
    tables: dict[str, int]
    discriminator: str
    operation_key_index: str
    worker_indexes: tuple[str, ...]


class Contract(_Part):
    """Where the target publishes its contract, and how much is drawn from it."""

    paths: tuple[Annotated[str, Field(pattern=r"^/\S*$")], ...]
    examples: PositiveInt
    seconds: Seconds
    exploring: Seconds


class Server(_Part):
    """How the target is started."""

    command: tuple[str, ...]


class Profile(_Part):
    """One target's protocol. Frozen; `with_capabilities` and `with_migration` give changed copies."""

    name: str
    extends: str
    base_path: Annotated[str, Field(pattern=r"^(/[^?#\s]*[^/?#\s])?$")]
    client_agent: str
    capabilities: frozenset[Capability]
    routes: dict[str, Route]
    headers: Headers
    statuses: dict[str, tuple[int, ...]]
    errors: Errors
    body: dict[str, dict[str, str]]
    answer: dict[str, dict[str, str]]
    limits: Limits
    sampling: dict[str, SamplingField]
    timings: Timings
    rate_limit: RateLimit
    tokens: Tokens
    accounts: Accounts
    models: Models
    moderation: Moderation
    webhook: Webhook
    recording: Recording
    workers: Workers
    eligibility: Eligibility
    money: Money
    database: Database
    seeding: Seeding
    migration: Migration
    contract: Contract
    server: Server

    def with_capabilities(self, *added: Capability, without: frozenset[str] = frozenset()) -> Profile:
        """This profile with capabilities added and taken away."""
        return self.model_copy(update={"capabilities": (self.capabilities | set(added)) - without})

    def with_migration(self, baseline: str, file: str) -> Profile:
        """This profile with the two files that the migration's suite runs, and the capability for it."""
        update = {"migration": self.migration.model_copy(update={"baseline": baseline, "file": file})}
        return self.model_copy(update=update).with_capabilities("migration")

    @property
    def sha256(self) -> str:
        """The hash of all that it says, however its file says it."""
        return sha256_of(self.model_dump(mode="json") | {"capabilities": sorted(self.capabilities)})

    def route(self, operation: str, **ids: str) -> tuple[str, str]:
        """The method and the path, base path included, of an operation."""
        method, _, path = self.routes[operation].partition(" ")
        for name, value in ids.items():
            path = path.replace("{" + name + "}", value)
        return method, self.base_path + path

    def build(self, operation: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A request's body: each field of ours set at the place where this protocol has it.

        Raises:
            KeyError: the profile has no such field; a mistake in a suite, not in a target.
        """
        body: dict[str, Any] = {}
        for name, value in fields.items():
            put(body, self.body[operation][name], value)
        return body

    def read(self, kind: str, name: str, data: Any, default: Any = None) -> Any:
        """A field of ours read out of an answer, or the default where the answer has none."""
        return dig(data, self.answer[kind][name], default)


def put(body: dict[str, Any], path: str, value: Any) -> None:
    """Set a dotted path in nested objects, making the objects on the way and merging objects at its end."""
    *parents, last = path.split(".")
    for parent in parents:
        # A copy: the object may be one that the caller put here, and is not ours to change.
        inner = body.get(parent)
        body[parent] = dict(inner) if isinstance(inner, dict) else {}
        body = body[parent]
    if isinstance(value, dict) and isinstance(body.get(last), dict):
        body[last] = {**value, **body[last]}
    else:
        body[last] = value


def dig(data: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path in nested objects, or the default where there is none."""
    for part in path.split("."):
        if not isinstance(data, dict) or part not in data:
            return default
        data = data[part]
    return data


def built_in() -> list[str]:
    """The names of the profiles that come with the harness."""
    folder = files("conformance") / "profiles"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def load(name_or_path: str) -> Profile:
    """The profile of that name, or in that TOML file.

    Raises:
        UnknownProfile: neither a built-in name nor a file.
        BadProfile: unreadable TOML, an unknown key, a wrong type.
    """
    data = _merged(name_or_path, seen=())
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise BadProfile(
            f"The profile {name_or_path!r} has a bad value at {place}: {first['msg']}.", _hint(first)
        ) from None


def _hint(error: Any) -> str:
    if error["loc"][:1] == ("capabilities",):
        return "The capabilities are: " + ", ".join(CAPABILITIES) + "."
    return "`horde-conformance profile aihorde` prints every key with its default."


def source(name_or_path: str) -> str:
    """The TOML text of a profile.

    Raises:
        UnknownProfile: neither a built-in name nor a file.
    """
    if name_or_path in built_in():
        return (files("conformance") / "profiles" / f"{name_or_path}.toml").read_text("utf-8")
    path = Path(name_or_path)
    if not path.is_file():
        close = difflib.get_close_matches(name_or_path, built_in(), n=1)
        meant = f"Did you mean {close[0]!r}? " if close else ""
        raise UnknownProfile(
            f"There is no profile {name_or_path!r}: it is neither a built-in name nor a file.",
            f"{meant}Built in are {', '.join(built_in())}; otherwise give the path of a TOML file.",
        )
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadProfile(
            f"The profile {name_or_path!r} cannot be read: {error}.", "Give a TOML file in UTF-8."
        ) from None


def _merged(name_or_path: str, seen: tuple[str, ...]) -> dict[str, Any]:
    text = source(name_or_path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadProfile(
            f"The profile {name_or_path!r} is not valid TOML: {error}.", "Mend the line it names."
        ) from None
    if name_or_path == BASE:
        return data
    parent = data.get("extends", BASE)
    if not isinstance(parent, str) or parent in (*seen, name_or_path):
        raise BadProfile(
            f"The profile {name_or_path!r} extends {parent!r}.",
            f"Extend a built-in profile such as {BASE!r}.",
        )
    base = _merged(parent, (*seen, name_or_path))
    for key in _unknown(data, base):
        close = difflib.get_close_matches(key, list(_keys(base)), n=1, cutoff=0.5)
        raise BadProfile(
            f"The profile {name_or_path!r} has an unknown key: {key}.",
            f"Did you mean {close[0]}?" if close else f"`horde-conformance profile {BASE}` prints every key.",
        )
    return _overlay(base, data)


# Here a profile names things of its own: any key is right.
_OPEN = ("migration.tables", "sampling", "seeding.columns", "seeding.models_columns")


def _keys(data: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in data.items():
        yield prefix + key
        if isinstance(value, dict):
            yield from _keys(value, f"{prefix}{key}.")


def _unknown(data: Mapping[str, Any], base: Mapping[str, Any]) -> list[str]:
    known = set(_keys(base))
    return [k for k in _keys(data) if k not in known and not k.startswith(tuple(f"{o}." for o in _OPEN))]


def _overlay(base: Mapping[str, Any], data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    merged = dict(base)
    for key, value in data.items():
        inner = isinstance(value, dict) and isinstance(base.get(key), dict) and prefix + key not in _OPEN
        merged[key] = _overlay(base[key], value, f"{prefix}{key}.") if inner else value
    return merged
