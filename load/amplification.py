"""Payload amplification (LOD-06): bytes that the database sends for a pop, for each byte of payload that waits.

Exact counts and a straight line through them, not times: the same on every machine and beside any load. Two figures
for each branch. *Deferral*: the payload stands in messages and extras alone and all else is constant, so that the
slope is what a server reads of them. *Natural*: conversations as they are submitted, whose flattened copies grow with
them.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from conformance import profile as profiles
from conformance.actors import Family, Job, Worker
from conformance.profile import Profile
from fixtures.postgres import open_server
from load.errors import BadQueue, BadTarget, CouldNotCount
from load.probes import alone, listening
from load.probes import counted as counting
from load.probes.counted import Counted
from load.probes.facts import Fact, NotMeasured
from load.seeding import Description, Payload, seeded
from load.statistics import Amplification, amplification
from reports import write
from reports.measured.parts import Target

Way = Literal["deferral", "natural"]
Takes = Literal["chat", "text", "both"]

SIZES = (0, 1024, 4096, 16384, 65536, 262144, 1048576)
"""Payload bytes, from what stays in the row to the largest conversation."""

NOTHING = "nothing handed out"
DEFAULT_FILE = Path("build/amplification/pops.jsonl")
# Each pop is made this often; on a server that does the same each time the counts are equal.
REPEATS = 2
# Laden requests that wait whatever is handed out: a page of candidates holds some.
_COMPANY = 2


class Pop(Fact):
    """One pop that was counted.

    `payload_bytes` are those of each laden request that waits, which is also the one handed out where the branch says
    so. `by_statement` are bytes received, by the statement's fingerprint.
    """

    way: Way
    branch: str
    takes: Takes
    payload_bytes: int
    received_bytes: int
    sent_bytes: int
    statements: int
    by_statement: dict[str, int]


class Branch(Fact):
    """The line through the pops of one branch, and the statement whose bytes grow most, with its own slope."""

    way: Way
    branch: str
    takes: Takes
    line: Amplification
    grows_most: str
    grows_by: float


class Measured(Fact):
    """All pops that were counted, the lines through them, and what could not be had."""

    pops: tuple[Pop, ...]
    branches: tuple[Branch, ...]
    not_measured: tuple[NotMeasured, ...]


# ---------------------------------------------------------------------------------------- counting


def measure(
    target: Counted, sizes: Sequence[int] = SIZES, *, shown: Callable[[Iterable[Any], int], Iterable[Any]] | None = None
) -> Measured:
    """Count pops of each branch, while ever heavier requests wait; `shown` draws a bar around the scenes.

    Raises:
        CouldNotCount: a pop brought another job than it had to.
    """
    ways: tuple[Way, ...] = ("deferral", "natural")
    scenes = [(way, size) for way in ways for size in sizes]
    pops: list[Pop] = []
    refused: dict[Way, NotMeasured] = {}
    # The first scene makes the server open its connections and prepare its statements; it does not count.
    played = [scenes[0], *scenes]
    for number, (way, size) in enumerate(shown(played, len(played)) if shown else played):
        if way in refused:
            continue
        try:
            counted = list(scene(target, way, size))
            pops += counted if number else []
        except BadQueue as reason:
            refused[way] = NotMeasured(not_measured=f"amplification, {way}", reason=reason.what.rstrip("."))
    return Measured(pops=tuple(pops), branches=tuple(lines(pops)), not_measured=tuple(refused.values()))


def scene(target: Counted, way: Way, size: int) -> Iterator[Pop]:
    """Pops of each branch while requests that carry so many bytes wait behind two small ones.

    Raises:
        BadQueue: this target cannot have such a queue.
    """
    small = Description(rows=2, chat_share=0.5, n=2 * REPEATS, seed=1)
    natural = way == "natural"
    laden = Description(
        rows=(4 if natural else 2) + _COMPANY, chat_share=0.5 if natural else 1, n=REPEATS, seed=2,
        payload=Payload(bytes=(size, size), carried_by="natural" if natural else ("messages", "chat_extras")),
    )  # fmt: skip
    with _queue(target, small) as first, _queue(target, laden) as second:
        yield from _Scene(target, way, size, (*first.models, *second.models)).pops()


def _queue(target: Counted, description: Description) -> Any:
    profile = target.client.profile
    return seeded(description, profile, database_url=target.database_url, url=target.client.url)


@dataclass(frozen=True)
class _Scene:
    """A queue as it stands, and the models that its workers serve."""

    target: Counted
    way: Way
    size: int
    models: tuple[str, ...]

    def pops(self) -> Iterator[Pop]:
        workers = {takes: self._worker(takes) for takes in ("chat", "text", "both")}
        too_small: dict[str, Any] = {"max_length": self._profile.limits.max_length_minimum}
        for worker in workers.values():
            # What comes only with a worker's first pop is not counted.
            worker.pop(extra=None, **too_small)
        for takes, worker in workers.items():
            yield from self._made(takes, worker, None, "", **too_small)
        # In the queue's order, and each request is used up: text, then chat.
        for takes, family in (("text", "text"), ("both", "text"), ("both", "chat"), ("chat", "chat")):
            yield from self._made(takes, workers[takes], Family(family), "small")
        yield from self._made("chat", workers["chat"], Family.CHAT, "laden")
        if self.way == "natural":
            yield from self._made("text", workers["text"], Family.TEXT, "laden")
            yield from self._made("both", workers["both"], Family.TEXT, "laden")
        yield from self._made("both", workers["both"], Family.CHAT, "laden")

    @property
    def _profile(self) -> Profile:
        return self.target.client.profile

    @property
    def _weight(self) -> int:
        """Payload bytes of a laden request: where it is deferred, messages and extras carry as much each."""
        return self.size if self.way == "natural" else 2 * self.size

    def _worker(self, takes: str) -> Worker:
        models = list(self.models)
        declared = {
            "models": models,
            "chat_models": [] if takes == "text" else models,
            "accept_text": takes != "chat",
            "max_length": self._profile.limits.max_length_maximum,
            "max_context_length": 65536,
            "bridge_agent": self._profile.workers.validated_bridge,
        }
        name = f"load {takes} {secrets.token_hex(4)}"
        return Worker(self.target.client, self.target.owner, name, declared)

    def _made(self, takes: str, worker: Worker, family: Family | None, load: str, **declared: Any) -> Iterator[Pop]:
        for _ in range(REPEATS):
            job, window = self.target.count(lambda: worker.pop(**declared))
            self._check(job, family, load)
            statements = window.statements
            yield Pop(
                way=self.way, branch=f"{load} {family} job" if family else NOTHING, takes=takes,
                payload_bytes=self._weight, received_bytes=window.traffic.received, sent_bytes=window.traffic.sent,
                statements=sum(part.calls for part in statements.values()),
                by_statement={name: part.received for name, part in statements.items()},
            )  # fmt: skip

    def _check(self, job: Job | None, family: Family | None, load: str) -> None:
        """The branch is the one that it is counted as: the job is of this family, and as large as it must be."""
        brought = job.family if job else None
        size = len(job.answer.exchange.response_body or "") if job else 0
        heavy = size >= self._weight if load == "laden" else True
        if brought is not family or not heavy:
            wanted = f"a {load} {family} job of {self._weight} bytes" if family else NOTHING
            raise CouldNotCount(
                f"A pop brought {f'a {brought} job of {size} bytes' if brought else 'nothing'} instead of {wanted}.",
                "Does the target hand requests out in the order in which they came, and does nobody else pop?",
            )


# ---------------------------------------------------------------------------------------- lines


def lines(pops: Sequence[Pop]) -> Iterator[Branch]:
    """The line of each branch, in the order in which they were counted; none where there are too few sizes."""
    groups: dict[tuple[Way, str, Takes], list[Pop]] = {}
    for pop in pops:
        groups.setdefault((pop.way, pop.branch, pop.takes), []).append(pop)
    for (way, branch, takes), counted in groups.items():
        if len({pop.payload_bytes for pop in counted}) < 3:
            continue
        line = amplification([(pop.payload_bytes, pop.received_bytes) for pop in counted])
        most, by = _grows_most(counted)
        yield Branch(way=way, branch=branch, takes=takes, line=line, grows_most=most, grows_by=by)


def _grows_most(pops: Sequence[Pop]) -> tuple[str, float]:
    """The statement whose bytes grow most with the payload: it is where to look."""
    names = {name for pop in pops for name in pop.by_statement}
    slopes = {
        name: amplification([(pop.payload_bytes, pop.by_statement.get(name, 0)) for pop in pops]).slope
        for name in names
    }
    return max(slopes.items(), key=lambda item: (item[1], item[0]), default=("", 0.0))


def keep(file: Path, measured: Measured) -> None:
    """Write the raw rows, one pop a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(pop.model_dump_json() + "\n" for pop in measured.pops), encoding="utf-8")


# ---------------------------------------------------------------------------------------- the command


def amplification_command(
    target: Annotated[str | None, typer.Option(help="Root URL of a server; the embedded reference by default.")] = None,
    database_url: Annotated[
        str | None,
        typer.Option(help="With --target: the target's database. Without: a PostgreSQL; embedded by default."),
    ] = None,
    database_proxy: Annotated[
        str,
        typer.Option(help="With --target: host:port where we listen, through which the server reaches its database."),
    ] = "",
    profile: Annotated[str, typer.Option(help="A built-in profile or a TOML file.")] = "reference",
    fault: Annotated[str | None, typer.Option(help="A named fault to start the reference with.")] = None,
    out: Annotated[Path, typer.Option(help="The file of raw rows, one pop a line.")] = DEFAULT_FILE,
) -> None:
    """Count the bytes that a database sends for a pop, for each byte of payload that waits.

    No verdict: the conformance half judges deferral. Ends with 0, or with 3 where it could not be counted. The report
    stands beside the raw rows.
    """
    from load.telling import measures, place  # noqa: PLC0415 - it tells of this module

    protocol, start = profiles.load(profile), measures.Start()
    write.check_writable(out.parent)
    with _target(protocol, target, database_url, database_proxy, fault) as counted:
        database = place.database(counted.database_url)
        measured = measure(counted, shown=_bar)
    keep(out, measured)
    show(measured, Console(highlight=False))
    told = Target(address=target or "the reference, started for it", profile=protocol.name)
    page = measures.kept(measures.tell_amplification(measured, start, told, database), out.parent)
    sys.stdout.write(f"Raw rows: {out}\nDrawings and figures: {page}\n")


@contextmanager
def _target(
    profile: Profile, url: str | None, database_url: str | None, listen: str, fault: str | None
) -> Iterator[Counted]:
    if url is None:
        with open_server(database_url) as postgres, counting.own(profile, postgres, fault) as counted:
            yield counted
        return
    if database_url is None or not listen:
        raise BadTarget(
            "What a server and its database exchange can be counted only where both are named.",
            "Give --database-url and --database-proxy (host:port), and let the server reach its database there.",
        )
    with counting.in_front_of(url, profile, database_url, listening.address(listen)) as counted:
        yield counted


def _bar(scenes: Iterable[Any], count: int) -> Iterable[Any]:
    return track(scenes, "Amplification", count, console=Console(stderr=True), transient=True)


def show(measured: Measured, console: Console) -> None:
    """Print the table of lines, the flattened copies apart, and what reads the payload where something does."""
    table = Table("branch", "worker", "deferral", "natural", "without payload", "off the line")
    found = {(one.branch, one.takes, one.way): one for one in measured.branches}
    for branch, takes in dict.fromkeys((one.branch, one.takes) for one in measured.branches):
        both = [found.get((branch, takes, way)) for way in ("deferral", "natural")]
        there = [one.line for one in both if one is not None]
        table.add_row(
            branch, takes, *("" if one is None else f"{one.line.slope:.3f}" for one in both),
            f"{there[-1].intercept_bytes:,.0f}", f"{max(line.largest_residual for line in there):.0f}",
        )  # fmt: skip
    console.print(table)
    console.print(
        "Bytes that the database sends per byte of payload. Deferral: the payload stands in messages and extras alone. "
        "Natural: whole conversations, their flattened copies too. In bytes: what a pop costs without payload, and how "
        "far a count lies off its line at most.",
        soft_wrap=True,
    )
    for one in measured.branches:
        if one.line.slope >= 0.01 and "laden" not in one.branch:
            console.print(f"{one.branch} ({one.takes}, {one.way}): {one.grows_by:.3f} of it by {one.grows_most[:160]}")
    for fact in measured.not_measured:
        console.print(str(fact), soft_wrap=True)


if __name__ == "__main__":
    alone.run(amplification_command)
