"""The script that shows a failure again: a shell, curl, sed and grep; psql where the story needs the database."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlsplit

from conformance.evidence.deciding import Condition
from conformance.evidence.linking import decided_by, kept_beside, new_id, repeats, said_by
from conformance.evidence.naming import Names, Role, captures, new
from conformance.evidence.patterns import last_name, lines_of
from conformance.evidence.sql import FUNCTIONS, bound
from conformance.evidence.steps import Step
from conformance.evidence.told import Asked, Call, Sql, Told
from conformance.profile import Profile

# A longer script nobody reads, and a longer argument no shell takes.
LARGEST = 1024 * 1024
# Rounds of a race, and calls of all rounds together, save for the least rounds.
ROUNDS = 20
_CALLS = 200
# What depends on whoever else calls the server.
_OF_OTHERS = frozenset({"wait_time", "queue_position"})
# What tells of accounts, which the script has others of.
_OF_ACCOUNTS = frozenset({"workers", "make_account"})
_ECHOES = 3
# As the client of the checks escapes a path.
_PLAIN = "%/:?=&;,@!$'()*+~[]"


class NoScript(Exception):
    """No script can tell this story again; the text is the reason."""


@dataclass(frozen=True)
class Script:
    """A script's text, the programs and variables that it needs beside a shell, and how often it tries a race."""

    text: str
    needs: tuple[str, ...]
    rounds: int


@dataclass
class Story:
    """What a script is written from."""

    title: str
    file: str
    base: str
    agent: str
    profile: Profile
    roles: Sequence[Role]
    made_up: Sequence[str]
    steps: Sequence[Step]
    conditions: Sequence[Condition]
    names: Names = field(default_factory=Names)


def script(story: Story) -> Script:
    """The script of a story.

    Raises:
        NoScript: it cannot be told again with curl.
    """
    if any(_hears(one, story.profile) for step in story.steps for one in step.told):
        raise NoScript("it is heard by a webhook's receiver, which is no curl")
    writer = _Writer(story)
    lines = writer.lines()
    body = [*writer.beginnings(), *writer.spelt(lines)]
    rounds = _rounds(story.steps)
    if rounds > 1:
        body = ["story() {", *body, "}", *_race(rounds)]
    text = writer.head() + "\n".join(body) + "\n"
    if strangers := [key for key in _keys(story) if len(key) > 8 and key in text]:
        raise NoScript(f"{len(strangers)} keys of its calls are of accounts that no script can make")
    if len(text) > LARGEST:
        raise NoScript(f"it would be {len(text)} characters long")
    return Script(text, tuple(writer.needs), rounds)


def _hears(one: Told, profile: Profile) -> bool:
    name = profile.body["submit"].get("webhook", "webhook")
    return isinstance(one, Call) and f'"{name}": "http' in (one.exchange.request_body or "")


def _keys(story: Story) -> set[str]:
    """The keys that the calls were made with, save the one that everybody knows."""
    header, known = story.profile.headers.key, {story.profile.accounts.anonymous_key}
    told = (one for step in story.steps for one in step.told if isinstance(one, Call))
    return {call.exchange.request_headers.get(header, "") for call in told} - known


def _rounds(steps: Sequence[Step]) -> int:
    """How often a race is told at most: the more calls it has, the less often."""
    calls = sum(len(step.told) for step in steps)
    return max(3, min(ROUNDS, _CALLS // calls)) if any(len(step.told) > 1 for step in steps) else 1


def _race(rounds: int) -> list[str]:
    return f"""
# A race: told again until it shows, {rounds} times at most.
round=0; result=2
while [ $round -lt {rounds} ]; do
  round=$((round + 1))
  (story); code=$?
  [ $code -eq 1 ] && exit 1
  [ $code -eq 0 ] && result=0
done
exit $result""".split("\n")


# New in each telling: six digits of the second, the process and the round.
_RUN = "run=$(printf %06d $((($(date +%s) * 7919 + $$ * 31 + ${round:-0}) % 1000000)))"


class _Writer:
    def __init__(self, story: Story) -> None:
        self.story = story
        self.names = story.names
        self.needs: list[str] = ["curl", "grep", "sed"]
        self._listed = story.profile.accounts.method != "test-user"
        self._variables: dict[str, str] = {}

    def spelt(self, lines: list[str]) -> list[str]:
        """The lines, with the other spellings of an id after it was kept."""
        said: list[str] = []
        for line in lines:
            said.append(line)
            name = line.split(" ")[1] if line.startswith("keep ") else ""
            if f"{name}:upper" in self.names.used:
                said.append(f'name {name}:upper "$(printf %s "$value" | sed \'y/abcdef/ABCDEF/\')"')
            if f"{name}:bare" in self.names.used:
                said.append(f'name {name}:bare "$(printf %s "$value" | sed \'s/-//g\')"')
        return said

    # What comes before the calls

    def head(self) -> str:
        """What every script begins with."""
        story, profile = self.story, self.story.profile
        database = any(isinstance(one, Sql) for step in story.steps for one in step.told)
        usage = " [postgresql://…]" if database else ""
        if self._variables:
            usage += "".join(
                f"\n# Needs the environment variable {name}." for name in dict.fromkeys(self._variables.values())
            )
        further = [FUNCTIONS, "database=${2:-$DATABASE_URL}"] if database else []
        if database:
            self.needs += ["psql", "DATABASE_URL"]
        self.needs += dict.fromkeys(self._variables.values())
        filled = {
            "TITLE": story.title, "FILE": story.file.rpartition("/")[2], "USAGE": usage, "BASE": story.base,
            "PATIENCE": f"{profile.timings.answer:g}", "AGENT_HEADER": profile.headers.client_agent,
            "AGENT": story.agent, "KEY_HEADER": profile.headers.key, "FURTHER": "\n".join(further),
        }  # fmt: skip
        text = (files("conformance") / "evidence" / "repro.sh").read_text("utf-8")
        return re.sub("@([A-Z_]+)@", lambda found: filled.get(found[1], found[0]), text)

    def beginnings(self) -> list[str]:
        """Names and accounts that the story's calls use."""
        lines = ["names=", _RUN, 'name run "$run"']
        # They sort as the failing run's did.
        ranks = {value: rank for rank, value in enumerate(sorted(set(self.story.made_up)), 1)}
        for value in self.story.made_up:
            name = self.names.values.get(value)
            if name in self.names.used:
                lines.append(f'name {name} "n${{run}}{ranks[value]:03d}{"x" * (len(value) - 10)}"')
        for number, role in enumerate(self._used_roles()):
            lines += self._account(role, f"a{number}")
        return lines

    def _used_roles(self) -> list[Role]:
        needed = {name.split(":")[0].rpartition("_")[0] for name in self.names.used}
        if "flagged1" in needed:
            needed.add("moderator1")
        return sorted((r for r in self.story.roles if r.name in needed), key=lambda role: role.flagged)

    def _account(self, role: Role, number: str) -> list[str]:
        place = self.story.profile.answer["account" if self._listed else "make_account"]
        if self._listed:
            lines = [self._listed_key(role), *self._ask(number, f"@{role.name}_key@", "account")]
        else:
            fields = {
                "username": f"{role.name} @run@", "oauth_id": f"repro-{role.name} @run@", "moderator": role.moderator,
                "trusted": role.trusted, "kudos": self.story.profile.accounts.kudos,
            }  # fmt: skip
            lines = [*self._send(number, "", "make_account", fields)]
            lines.append(f"keep {role.name}_key {number} {last_name(place['key'])}")
        used = [what for what in ("alias", "id") if role.flagged or f"{role.name}_{what}" in self.names.used]
        lines += [f"keep {role.name}_{what} {number} {last_name(place[what])}" for what in used]
        if role.flagged and not self._listed:
            flag = self._send(
                f"{number}f", "@moderator1_key@", "modify_account", {"flagged": True}, id=f"@{role.name}_id@"
            )
            lines += flag
        return lines

    def _listed_key(self, role: Role) -> str:
        accounts = self.story.profile.accounts
        kinds = {
            "requester": accounts.requester_keys_variable, "owner": accounts.owner_keys_variable,
            "moderator": accounts.moderator_keys_variable,
        }  # fmt: skip
        kind, place = re.sub(r"\d", "", role.name), int(re.sub(r"\D", "", role.name))
        if kind not in kinds:
            raise NoScript(f"the {kind} of the story is nobody that the environment has a key of")
        self._variables[role.name] = kinds[kind]
        nth = "s/^" + "[^,]*, *" * (place - 1) + "\\([^,]*\\).*/\\1/p"
        return f'name {role.name}_key "$(printf %s "${{{kinds[kind]}:?}}" | sed -n {shlex.quote(nth)})"'

    def _ask(self, number: str, key: str, operation: str) -> list[str]:
        method, path = self.story.profile.route(operation)
        return [f"say {number} {key} {method} {shlex.quote(path)}", f"ready {number} 200"]

    def _send(self, number: str, key: str, operation: str, fields: Mapping[str, Any], **ids: str) -> list[str]:
        method, path = self.story.profile.route(operation, **ids)
        body = json.dumps(self.story.profile.build(operation, fields))
        lines = [f"say {number} {key or chr(39) * 2} {method} {path} application/json <<'END'", body, "END"]
        ok = self.story.profile.statuses["make_account" if operation == "make_account" else "moderate"]
        return [*lines, f"ready {number} {shlex.quote('|'.join(map(str, ok)))}"]

    # The calls

    def lines(self) -> list[str]:
        every = [one for step in self.story.steps for one in step.told]
        last = max((one.number for one in every if self._expected(one)), default=0)
        told = [one for one in every if one.number <= last]
        if not told:
            raise NoScript("no answer decided it")
        lines: list[str] = []
        for step in self.story.steps:
            kept = [one for one in step.told if one.number <= last]
            if kept:
                lines += self._step(step, kept, [later for later in told if later not in kept])
        return [*lines, f'echo "the defect shows: {_quoted(self.story.title)}"', "exit 1"]

    def _step(self, step: Step, told: list[Told], others: list[Told]) -> list[str]:
        lines = ["", *([f"sleep {step.after}"] if step.after else [])]
        made = [self._one(one) for one in told]
        if len(made) > 1:
            # Side by side: the first line of a call is the command, its body follows.
            lines += [line for call in made for line in (call[0], call[1] + " &", *call[2:])]
            lines.append("wait")
        else:
            (call,) = made
            if step.again:
                lines += ["look=0", f"while [ $look -lt {step.again * 10} ]; do", "look=$((look + 1))"]
            lines += call
        conditions = [c for one in told for c in self._expected(one)]
        lines += self._after(told, conditions, others, step)
        return lines

    def _expected(self, one: Told) -> list[Condition]:
        """What decided the failure, and after it what else the check read of the answer.

        A check's verdict follows from what it read. So a healthy server differs in something of that, be it in what
        the failed assertion does not show.
        """
        decided = [c for c in self.story.conditions if c.told.number == one.number]
        places = {c.place for c in decided}
        if isinstance(one, Sql):
            ledger = one.statement == self.story.profile.database.ledger and one.pieces
            return [Condition(one, Asked(0, "rows", (), one.pieces[0].value))] if ledger else decided
        if one.exchange.operation == "account" or one.exchange.operation.endswith("statistics"):
            # Others move them too: of them only what is of this story.
            return [c for c in decided if c.asked is None] + [Condition(one, asked) for asked in self._named(one)]
        if "body" in places or one.exchange.operation in _OF_ACCOUNTS:
            return decided
        read = [asked for asked in one.asked(self.story.profile) if asked.place not in places]
        read = [asked for asked in read if not new(asked.value) and last_name(asked.place) not in _OF_OTHERS]
        return decided + [Condition(one, asked) for asked in (*read, *self._echoed(one))]

    def _named(self, call: Call) -> list[Asked]:
        """What an answer holds under a name of this story's."""
        said = [p for p in call.pieces if p.path and any(m in str(p.path[-1]) for m in self.story.made_up)]
        return [Asked(0, ".".join(map(str, p.path)), p.path, p.value) for p in said]

    def _echoed(self, call: Call) -> list[Asked]:
        """Of a job the texts in which something of this story was said: they tell whose job it is."""
        if call.exchange.operation != "pop":
            return []
        said = [p for p in call.pieces if isinstance(p.value, str) and any(m in p.value for m in self.story.made_up)]
        return [Asked(0, ".".join(map(str, p.path)), p.path, p.value) for p in said[:_ECHOES]]

    def _one(self, one: Told) -> list[str]:
        if isinstance(one, Sql):
            statement = self.names.put(bound(one))
            return ["# The database", f"sql {one.number} <<'END'", *statement.split("\n"), "END"]
        exchange = one.exchange
        key = next((v for n, v in exchange.request_headers.items() if n == self.story.profile.headers.key), "")
        kind = next((v for n, v in exchange.request_headers.items() if n.lower() == "content-type"), None)
        path = self.names.put(_path(exchange.url, self.story.base), path=True)
        key, path = shlex.quote(self.names.put(key)), shlex.quote(quote(path, safe=_PLAIN))
        source = f"from={exchange.address} " if exchange.address else ""
        said = f"{source}say {one.number} {key} {exchange.method} {path}"
        title = f"# {one.number}. {exchange.actor}: {exchange.operation}"
        if exchange.request_body is None:
            return [title, said]
        if exchange.request_bytes is not None:
            raise NoScript("a body is no UTF-8")
        body = self.names.put(exchange.request_body)
        return [title, f"{said} {shlex.quote(kind or 'x')} <<'END'", *body.split("\n"), "END"]

    def _after(self, told: list[Told], conditions: list[Condition], others: list[Told], step: Step) -> list[str]:
        """What is expected of answers, and kept of them."""
        lines: list[str] = []
        places = {c.told.number for c in conditions if c.asked is None}
        expected = [line for c in conditions for line in lines_of(c, self.names)]
        if step.again:
            looks = [line for c in _looks(told, self.story.profile) for line in lines_of(c, self.names)]
            lines += [
                f"  ({'; '.join(looks) or ':'}; exit 3) >/dev/null",
                "  [ $? -eq 3 ] && break",
                "  sleep 0.1",
                "done",
            ]
        for one in told:
            if isinstance(one, Call) and one.number not in places and one.exchange.status is not None:
                lines.append(f"must {one.number} {self._carried_out(one)}")
        lines += expected
        for one in told:
            if isinstance(one, Call):
                lines += self._unlike(one)
        for one in told:
            if isinstance(one, Call):
                later = "".join(new_id(one) for other in others if repeats(other, one))
                later += "\n".join(said_by(other) for other in others if other.number > one.number)
                later += "\n".join(decided_by(c) for c in self.story.conditions if c.told.number > one.number)
                for found in captures(one, later, self.names, _prefix(one)):
                    which = f" {found.occurrence}" if found.occurrence > 1 else ""
                    lines.append(
                        kept_beside(one, found, self.names) or f"keep {found.name} {one.number} {found.member}{which}"
                    )
        return lines

    def _unlike(self, call: Call) -> list[str]:
        """A call that was made before, and got another id then."""
        earlier = (one for step in self.story.steps for one in step.told if one.number < call.number)
        ids = [new_id(one) for one in earlier if isinstance(one, Call) and repeats(call, one)]
        known = [self.names.put(id) for id in ids if id in self.names.values and id != new_id(call)]
        return [f"lacks {call.number} {shlex.quote(name)}" for name in known]

    def _carried_out(self, call: Call) -> str:
        """The statuses with which a call like this is carried out, or the one with which it was answered."""
        status, operation = call.exchange.status, call.exchange.operation
        kinds = (operation, operation.partition("_")[0])
        alike = next((s for kind in kinds if status in (s := self.story.profile.statuses.get(kind, ()))), (status,))
        return shlex.quote("|".join(map(str, alike)))


def _looks(told: Sequence[Told], profile: Profile) -> list[Condition]:
    return [Condition(one, asked) for one in told if isinstance(one, Call) for asked in one.asked(profile)]


def _path(url: str, base: str) -> str:
    if url.startswith(base):
        return url[len(base) :]
    # What goes to another server of the check's (one that is counted) is asked of this one.
    return url[len("{0.scheme}://{0.netloc}".format(urlsplit(url))) :]


def _prefix(call: Call) -> str:
    return {"pop": "job", "submit": "request", "make": "made"}.get(
        call.exchange.operation.partition("_")[0], call.exchange.operation.partition("_")[0]
    )


def _quoted(text: str) -> str:
    return re.sub(r'[\\"$`]', lambda found: "\\" + found[0], text)
