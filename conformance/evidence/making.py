"""Makes the evidence of a failed check: in memory for the report, and as files beside it."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conformance.catalogue import requirements
from conformance.client import Exchange
from conformance.evidence.deciding import Condition, conditions
from conformance.evidence.har import har
from conformance.evidence.naming import Names, Role, roles
from conformance.evidence.shell import NoScript, Story, script
from conformance.evidence.steps import steps
from conformance.evidence.told import Call, Sql, Told, as_postgres, plain
from conformance.stage import Stage
from reports.evidence import Deciding, Evidence, Repro
from reports.write import write_text

if TYPE_CHECKING:
    from conformance.database import Statement

FOLDER = "evidence"
# A story of more calls is not told again by a script.
_CALLS = 250
_SAID = 300


@dataclass(frozen=True)
class Failed:
    """A check that failed: its name, the ids that it judges, how it failed, and all that was exchanged for it."""

    name: str
    ids: Sequence[str]
    error: BaseException
    stage: Stage
    exchanges: Sequence[Exchange]
    statements: Sequence[Statement]


def evidence(failed: Failed, kept: Sequence[Exchange], came: str) -> Evidence:
    """The evidence of a failed check; its files are written where the run has a folder for them.

    Args:
        kept: the exchanges that the report shows.
        came: the failure's sentence.
    """
    told = _told(failed)
    deciding = conditions(failed.error, [one for one, _, _ in told], failed.stage.profile)
    written, reason = _repro(failed, told, deciding)
    har_file, cut = _har(failed)
    return Evidence(
        expected=requirements()[failed.ids[0]].statement,
        came=came,
        deciding=_shown(deciding, kept),
        har=har_file,
        repro=written,
        no_repro=reason,
        server=_server(failed),
        cut=cut,
    )


def place(failed: Failed, ending: str) -> str:
    """The path of a file of a check's evidence, in the report's folder."""
    name = re.sub(r"[^a-z0-9]+", "-", failed.name.lower().removeprefix("test_")).strip("-")
    if len(name) > 80 or not re.fullmatch(r"test_[a-z0-9_]+", failed.name):
        name = f"{name[:80]}-{hashlib.sha256(failed.name.encode('utf-8', 'backslashreplace')).hexdigest()[:6]}"
    return f"{FOLDER}/{failed.ids[0]}/{name}{ending}"


def _relevant(failed: Failed) -> list[Exchange]:
    """Of a check that judges examples what came before them, and the one that failed."""
    began = failed.stage.example_began
    exchanges = failed.exchanges if began is None else [*failed.exchanges[: began[0]], *failed.exchanges[began[1] :]]
    return sorted(exchanges, key=lambda exchange: exchange.started)


def _told(failed: Failed) -> list[tuple[Told, float, float]]:
    """What was told, in the order of its beginnings, with the moments of its beginning and end."""
    relevant = _relevant(failed)
    first = relevant[0].started if relevant else 0.0
    events: list[tuple[float, float, Any]] = [(e.started, e.ended, e) for e in relevant]
    events += [(s.moment, s.moment, s) for s in failed.statements if s.moment >= first]
    events.sort(key=lambda event: event[0])
    numbered = enumerate(events, 1)
    return [(_numbered(number, what), begin, end) for number, (begin, end, what) in numbered]


def _numbered(number: int, what: Any) -> Told:
    if isinstance(what, Exchange):
        return Call(number, what)
    return Sql(
        number, what.text, what.values, what.rows is not None, "" if what.rows is None else as_postgres(what.rows)
    )


def _repro(
    failed: Failed, told: Sequence[tuple[Told, float, float]], deciding: Sequence[Condition]
) -> tuple[Repro | None, str | None]:
    file = place(failed, ".sh")
    try:
        made = script(_story(failed, file, told, deciding))
    except NoScript as reason:
        return None, str(reason)
    except Exception as mistake:  # noqa: BLE001 - whatever a target answers, a failure without a script is a failure
        return None, f"the harness could not write it: {type(mistake).__name__}: {mistake}"
    folder = failed.stage.resources.evidence
    if folder is not None:
        write_text(folder / file, made.text)
    return Repro(file=file, script=made.text, needs=list(made.needs), rounds=made.rounds), None


def _story(
    failed: Failed, file: str, told: Sequence[tuple[Told, float, float]], deciding: Sequence[Condition]
) -> Story:
    judged = {condition.told.number for condition in deciding}
    ledger = failed.stage.profile.database.ledger

    def needed(one: Told) -> bool:
        return isinstance(one, Call) or not one.reads or one.number in judged or one.statement == ledger

    kept = [each for each in told if needed(each[0])]
    if len(kept) > _CALLS:
        raise NoScript(f"the story has {len(kept)} calls")
    stage, people = failed.stage, _people(failed.stage)
    names = Names()
    names.of_roles(people)
    for number, name in enumerate(stage.names, 1):
        names.add(name, f"new{number}")
    statement = requirements()[failed.ids[0]].statement
    return Story(
        title=f"{', '.join(failed.ids)}: {statement}",
        file=file,
        base=stage.client.url,
        agent=f"{stage.profile.client_agent}#{','.join(failed.ids)}",
        profile=stage.profile,
        roles=people,
        made_up=stage.names,
        steps=steps(kept),
        conditions=deciding,
        names=names,
    )


def _people(stage: Stage) -> list[Role]:
    return roles(stage.resources.cast)


def _har(failed: Failed) -> tuple[str | None, str | None]:
    folder = failed.stage.resources.evidence
    if folder is None:
        return None, None
    keys = [role.account.key for role in _people(failed.stage)]
    epoch = time.time() - time.monotonic()
    made = har(failed.exchanges, title=f"{', '.join(failed.ids)}: {failed.name}", epoch=epoch, keys=keys)
    file = place(failed, ".har")
    write_text(folder / file, made.text)
    return file, made.cut


def _shown(deciding: Sequence[Condition], kept: Sequence[Exchange]) -> list[Deciding]:
    places = {id(exchange): number for number, exchange in enumerate(kept)}
    return [
        Deciding(exchange=places[id(c.told.exchange)], place=c.place, came=_came(c, c.told))
        for c in deciding
        if isinstance(c.told, Call) and id(c.told.exchange) in places
    ]


def _came(condition: Condition, call: Call) -> str:
    said = plain(call.exchange.status if condition.asked is None else condition.asked.value)
    return said if len(said) <= _SAID else f"{said[:_SAID]}…"


def _server(failed: Failed) -> list[Any]:
    resources, profile = failed.stage.resources, failed.stage.profile
    if resources.database is None:
        return []
    from conformance.evidence.rows import rows_of  # noqa: PLC0415 - with a database only

    submits = [e for e in _relevant(failed) if e.operation.startswith("submit_") and e.response_body]
    ids = [
        found
        for e in submits
        for found in re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", e.response_body or "")
    ]
    return list(rows_of(ids, resources.database, profile))
