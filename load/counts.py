"""Counts before times: what one pop costs in statements, rows, bytes and values out of line, and by which plan.

A queue of long conversations waits; pops that hand nothing, a text job or a chat job out are made, and everything that
can be counted of them is. The counts are the same on every machine and beside any load.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from conformance import profile as profiles
from conformance import targets
from conformance.actors import Account, Family, Worker
from conformance.client import Client
from conformance.profile import Profile
from fixtures.postgres import Server, open_server
from fixtures.postgres.embedded import Embedded
from load.errors import CouldNotCount
from load.probes import alone, counted, journal, plan
from load.probes.counted import Counted
from load.probes.facts import Fact, NotMeasured
from load.probes.journal import Journal
from load.probes.plan import Plan
from load.probes.reading import Reader
from load.probes.watching import Costs, watching
from load.seeding import Description, Payload, seeded

POPS = 50
PAYLOAD = 65536
DEFAULT_FILE = Path("build/counts/costs.json")
NOTHING, TEXT, CHAT = "nothing", "a text job", "a chat job"


class Counts(Fact):
    """What pops cost by what they hand out, while conversations of so many bytes wait, and how candidates are read."""

    payload_bytes: int
    waiting: int
    costs: dict[str, Costs]
    plan: Plan | NotMeasured


def measure(
    profile: Profile, postgres: Server, fault: str | None = None, *, told: Callable[[], object] | None = None
) -> Counts:
    """Count pops of the profile's own server on a database of its own.

    Args:
        told: see `Watch.calls`; by default each kind of pop takes ten seconds, in which sessions tell what they did.

    Raises:
        CouldNotCount: a pop handed something else out than it had to.
    """
    extended = postgres.create_database(extensions=["pg_stat_statements"])
    queue = Description(
        rows=2 * (POPS + 3), chat_share=0.5, users=10,
        payload=Payload(bytes=(PAYLOAD, PAYLOAD), carried_by=("messages",)),
    )  # fmt: skip
    with ExitStack() as stack:
        stack.callback(postgres.drop_database, extended)
        target = stack.enter_context(counted.own(profile, postgres, fault))
        ready = stack.enter_context(seeded(queue, profile, database_url=target.database_url))
        watch = stack.enter_context(
            watching(
                target.database_url, admin_url=postgres.url(extended), proxy=target.proxy, server=target.process,
                background=target.background,
            )
        )  # fmt: skip
        kinds = [
            (what, family, _worker(target.client, target.owner, fields))
            for what, family, fields in _kinds(profile, ready.models)
        ]
        # First ones make the workers, and what is prepared once.
        for _, family, worker in kinds:
            _pop(worker, family)
        watch.settle(told)
        costs = {}
        for what, family, worker in kinds:
            with watch.calls(POPS, told=told) as watched:
                for _ in range(POPS):
                    _pop(worker, family)
            assert watched.costs is not None
            costs[what] = watched.costs
        seen = _plan(profile, postgres, target, ready.models, fault)
        if isinstance(seen, NotMeasured):
            seen = _planned(profile, target, costs[TEXT]) or seen
        return Counts(payload_bytes=PAYLOAD, waiting=queue.rows, costs=costs, plan=seen)


def _planned(profile: Profile, target: Counted, costs: Costs) -> Plan | None:
    """The plan for unknown values, where only the statements' texts are known."""
    if isinstance(costs.statements, NotMeasured):
        return None
    with closing(Reader(target.database_url)) as reader:
        found = plan.generic(reader, [one.text for one in costs.statements], profile.seeding.table)
    return None if isinstance(found, NotMeasured) else found


def _kinds(profile: Profile, models: tuple[str, ...]) -> list[tuple[str, Family | None, dict[str, Any]]]:
    both = {"models": list(models), "chat_models": list(models)}
    return [
        (NOTHING, None, {**both, "max_length": profile.limits.max_length_minimum}),
        (TEXT, Family.TEXT, {"models": list(models), "chat_models": []}),
        (CHAT, Family.CHAT, {**both, "accept_text": False}),
    ]


def _worker(client: Client, owner: Account, fields: dict[str, Any]) -> Worker:
    profile = client.profile
    declared = {
        "max_length": profile.limits.max_length_maximum, "max_context_length": 65536,
        "bridge_agent": profile.workers.validated_bridge, **fields,
    }  # fmt: skip
    return Worker(client, owner, f"counts {secrets.token_hex(4)}", declared)


def _pop(worker: Worker, family: Family | None) -> None:
    job = worker.pop()
    worker.client.recorder.take()
    if (job.family if job else None) is not family:
        raise CouldNotCount(
            f"A pop brought {f'a {job.family} job' if job else 'nothing'} instead of {family or 'nothing'}.",
            "Does somebody else pop or queue on this target?",
        )


def _plan(
    profile: Profile, postgres: Server, target: Counted, models: tuple[str, ...], fault: str | None
) -> Plan | NotMeasured:
    """The plan by which a second server, whose sessions log it, reads the candidates."""
    table = profile.seeding.table
    if not isinstance(postgres.provider, Embedded):
        return NotMeasured(not_measured="the plan of the candidates", reason="the database's log is not ours to read")
    with closing(Reader(target.database_url)) as reader:
        refused = journal.switch_on(reader)
        if refused is not None:
            return refused
        log = Journal(postgres.provider.log)
        # A session is told when it is opened: the connections of this server were opened before.
        with (
            targets.serving(profile.server.command, target.database_url, fault=fault) as url,
            Client(url, profile) as client,
        ):
            _pop(_worker(client, target.owner, {"models": list(models), "chat_models": list(models)}), Family.TEXT)
        return plan.analysed(reader, log.read(), table)


# ---------------------------------------------------------------------------------------- the command


def counts_command(
    profile: Annotated[str, typer.Option(help="A built-in profile or a TOML file, with [server] and [seeding].")] = (
        "reference"
    ),
    database_url: Annotated[str | None, typer.Option(help="A PostgreSQL; embedded by default.")] = None,
    fault: Annotated[str | None, typer.Option(help="A named fault to start the reference with.")] = None,
    out: Annotated[Path, typer.Option(help="The file of all counts, in JSON.")] = DEFAULT_FILE,
) -> None:
    """Count what a pop costs in statements, rows, bytes and values out of line, and show how candidates are read."""
    with open_server(database_url) as postgres:
        measured = measure(profiles.load(profile), postgres, fault)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(measured.model_dump_json(indent=1), encoding="utf-8")
    show(measured, Console(highlight=False))
    sys.stdout.write(f"All counts: {out}\n")


def show(measured: Counts, console: Console) -> None:
    """Print the counts per pop, the statements of a pop, the plan, and what could not be measured."""
    console.print(f"{measured.waiting} requests wait; a conversation has {measured.payload_bytes} bytes.")
    table = Table("per pop that hands out", *measured.costs)
    for name in next(iter(measured.costs.values())).per_call:
        table.add_row(name, *(f"{costs.per_call.get(name, float('nan')):,.2f}" for costs in measured.costs.values()))
    for name, seconds in (("server", "server_seconds"), ("database", "database_seconds")):
        cells = [_milliseconds(costs, seconds) for costs in measured.costs.values()]
        table.add_row(f"CPU of the {name}, ms", *cells)
    console.print(table)
    for what, costs in measured.costs.items():
        if isinstance(costs.statements, tuple):
            _show_statements(what, costs, console)
    if isinstance(measured.plan, Plan):
        read = ", ".join(f"{node.kind} {node.index or node.table or ''}".strip() for node in measured.plan.nodes)
        console.print(f"Candidates ({measured.plan.way}): {read}.", soft_wrap=True)
        console.print("; ".join(measured.plan.remarks) or "Nothing is read from end to end, nothing is unpacked.")
    facts = {str(fact) for costs in measured.costs.values() for fact in costs.not_measured}
    for fact in sorted(facts | ({str(measured.plan)} if isinstance(measured.plan, NotMeasured) else set())):
        console.print(fact, soft_wrap=True)


def _show_statements(what: str, costs: Costs, console: Console) -> None:
    assert isinstance(costs.statements, tuple)
    table = Table(f"statements of a pop that hands out {what}", "calls", "rows", "blocks")
    for one in costs.statements:
        if one.uncalled:
            continue
        figures = (f"{figure / costs.calls:.2f}" for figure in (one.calls, one.rows, one.blocks))
        table.add_row(one.fingerprint[:90], *figures)
    console.print(table)


def _milliseconds(costs: Costs, name: str) -> str:
    seconds = None if isinstance(costs.cpu, NotMeasured) else getattr(costs.cpu, name)
    return "not measured" if seconds is None else f"{seconds / costs.calls * 1000:.2f}"


if __name__ == "__main__":
    alone.run(counts_command)
