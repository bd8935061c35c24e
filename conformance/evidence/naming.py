"""Names for what is new in each telling: accounts, made-up names, and the ids that a target gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from conformance.actors import Account
from conformance.evidence.spans import Piece
from conformance.evidence.told import Call
from conformance.stage import Cast

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
# What an answer gives anew each time: ids, keys, moments. Shorter texts are words of the protocol.
_NEW = re.compile(rf"(?:{UUID.pattern}|[A-Za-z0-9_-]{{20,64}}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T.*)")


# What an account that was just made is called: its alias, or its number.
_ALIAS = re.compile(r"(?:.*#)?\d+")


@dataclass(frozen=True)
class Role:
    """An account that the script makes for itself: who it is, and what it may do."""

    name: str
    account: Account
    trusted: bool = False
    moderator: bool = False
    flagged: bool = False


def roles(cast: Cast) -> list[Role]:
    """The accounts that stand ready for every check."""
    many: list[tuple[str, list[Account], bool, bool, bool]] = [
        ("requester", cast.requesters, False, False, False),
        ("owner", cast.owners, True, False, False),
        ("untrusted", cast.untrusted, False, False, False),
        ("moderator", cast.moderators, True, True, False),
        ("flagged", [cast.flagged] if cast.flagged else [], False, False, True),
    ]
    return [
        Role(f"{name}{i + 1}", account, trusted, moderator, flagged)
        for name, accounts, trusted, moderator, flagged in many
        for i, account in enumerate(accounts)
    ]


@dataclass(frozen=True)
class Capture:
    """A value of an answer that later calls need: its name, and the how manieth of its member's name it is."""

    name: str
    member: str
    occurrence: int


@dataclass
class Names:
    """Texts that are new in each telling, each with the name that stands for it in a script as `@name@`."""

    values: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    _numbers: dict[str, str] = field(default_factory=dict)

    def add(self, value: str, name: str) -> None:
        """Let `@name@` stand for a text from now on; a number stands for itself but in a path."""
        if value.isdigit():
            self._numbers.setdefault(value, name)
        elif value:
            self.values.setdefault(value, name)

    def of_roles(self, roles: Iterable[Role]) -> None:
        for role in roles:
            self.add(role.account.key, f"{role.name}_key")
            self.add(role.account.alias, f"{role.name}_alias")
            self.add(role.account.id, f"{role.name}_id")

    def put(self, text: str, *, path: bool = False) -> str:
        """The text with `@name@` for each text that has a name, in the spellings that checks give ids."""
        spelt = self._spellings()
        if spelt:
            pattern = re.compile("|".join(map(re.escape, sorted(spelt, key=len, reverse=True))))
            text = pattern.sub(lambda found: self._said(spelt[found[0]]), text)
        if path:
            text = re.sub(r"(?<=/)\d+(?=[/?]|$)", lambda found: self.number(found[0]), text)
        return text

    def _spellings(self) -> dict[str, str]:
        spelt: dict[str, str] = {}
        for value, name in self.values.items():
            if UUID.fullmatch(value):
                spelt[value.upper()] = f"{name}:upper"
                spelt[value.replace("-", "")] = f"{name}:bare"
        return spelt | self.values

    def number(self, number: str) -> str:
        """What stands for an account's number, or itself."""
        return self._said(self._numbers[number]) if number in self._numbers else number

    def _said(self, name: str) -> str:
        self.used.add(name)
        return f"@{name}@"


def new(value: object) -> bool:
    """Whether a value is one that a target makes up anew each time."""
    return isinstance(value, str) and _NEW.fullmatch(value) is not None


def captures(call: Call, later: str, names: Names, prefix: str) -> list[Capture]:
    """What of an answer later calls say again and no name stands for yet; each gets a name.

    Args:
        later: all that later calls say.
        prefix: what the names begin with: what the answer is to.
    """
    found: list[Capture] = []
    for piece in _candidates(call):
        value = str(piece.value)
        if value in names.values or not _said_later(value, later):
            continue
        name = _free(f"{prefix}_{piece.name or 'value'}", names.values)
        names.add(value, name)
        found.append(Capture(name, piece.name or "", _occurrence(call, piece)))
    return found


def _candidates(call: Call) -> Iterable[Piece]:
    made = call.exchange.operation == "make_account"
    scalars = (piece for piece in call.pieces if piece.name is not None and isinstance(piece.value, str | int))
    return (piece for piece in scalars if new(piece.value) or (made and _ALIAS.fullmatch(str(piece.value))))


def _said_later(value: str, later: str) -> bool:
    # A number is said in a path only, where all of a segment is it.
    said = f"/{value}" in later if value.isdigit() else value in later
    return said or (UUID.fullmatch(value) is not None and (value.upper() in later or value.replace("-", "") in later))


def _occurrence(call: Call, piece: Piece) -> int:
    """The how manieth scalar of this name it is, those of an array of that name counted one by one."""
    alike = [p for p in call.pieces if p.name == piece.name and not isinstance(p.value, dict | list)]
    return alike.index(piece) + 1


def _free(name: str, taken: Mapping[str, str]) -> str:
    name = re.sub(r"\W", "_", name)
    names, number = set(taken.values()), 2
    if name not in names:
        return name
    while f"{name}{number}" in names:
        number += 1
    return f"{name}{number}"
