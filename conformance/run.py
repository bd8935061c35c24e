"""One run: profile and target are resolved, the suites judge, a report comes of it."""

from __future__ import annotations

import importlib
import os
import platform
import re
import secrets
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from conformance import catalogue, counting, migration, plugin, preflight, record, targets
from conformance import profile as profiles
from conformance.client import Client
from conformance.counting import Counting
from conformance.errors import BadOptions, CouldNotRun, DatabaseNotReady, TargetNotReady
from conformance.profile import Profile
from conformance.stage import Cast, Resources
from fixtures import faults
from fixtures.postgres import Server, open_server
from reports import model
from reports.known import KnownFailure

if TYPE_CHECKING:
    from conformance.database import Database

SUITES = "conformance.suites"


@dataclass(frozen=True)
class Options:
    """What was asked for. Without `target` the embedded reference is judged.

    `evidence` is the report's folder: what shows the failures is written there, under `evidence/`.
    """

    patterns: tuple[str, ...] = ()
    target: str | None = None
    profile: str | None = None
    database_url: str | None = None
    database_proxy: str | None = None
    baseline: str | None = None
    migration: str | None = None
    seed: int | None = None
    explore: bool = False
    strict: bool = False
    fault: str | None = None
    known_failures: tuple[KnownFailure, ...] = ()
    evidence: Path | None = None
    on_result: Callable[[str, model.CheckResult], None] | None = None
    on_begin: Callable[[model.Report], object] | None = None

    @property
    def profile_name(self) -> str:
        """The profile that was asked for, or the one that goes without saying."""
        return self.profile or ("aihorde" if self.target else "reference")


def check(options: Options) -> None:
    """See that the options go together, before anything is started.

    Raises:
        BadOptions: they do not, or the target is no URL, or this Python leaves assertions out.
        FaultError: there is no such fault.
    """
    if not __debug__:
        # Without its assertions a check passes on anything.
        raise BadOptions(
            "Python runs with -O, which leaves out the assertions that the checks are made of.",
            "Unset PYTHONOPTIMIZE, and call it without -O.",
        )
    if bool(options.baseline) != bool(options.migration):
        raise BadOptions(
            "--baseline and --migration go together; one of them is missing.",
            "Give the schema before the migration and the migration, or neither.",
        )
    if options.fault is not None and options.target is not None:
        raise BadOptions(
            "A fault is put into the embedded reference, not into the server at a URL.",
            "Leave out --fault or --target.",
        )
    if options.target is not None and not _is_url(options.target):
        raise BadOptions(
            f"The target {options.target!r} is no URL.", "Write it as http://host:port, without the base path /api/v2."
        )
    if options.target is not None and "@" in urlsplit(options.target).netloc:
        raise BadOptions(
            "The target's URL holds a name or a password, which would stand in every report.",
            "Leave it out; the profile says how accounts are obtained.",
        )
    if options.database_proxy is not None:
        _check_proxy(options)
    if options.fault is not None:
        faults.get(options.fault)


def _check_proxy(options: Options) -> None:
    if not options.target or not options.database_url:
        raise BadOptions(
            "--database-proxy goes with --target and --database-url: the server, and where its database is.",
            "Give both; in front of the reference's database the harness puts a proxy by itself.",
        )
    _listening_address(options.database_proxy or "")


def _listening_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 65536:
        raise BadOptions(
            f"--database-proxy {text!r} is no address to listen on.", "Write it as host:port, as in 127.0.0.1:6432."
        )
    return host.strip("[]"), int(port)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        root = not (parts.query or parts.fragment or any(map(str.isspace, text)))
        return root and parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def run(options: Options) -> model.Report:
    """Judge a target and give the report; its exit code says the rest.

    Raises:
        Situation: the options cannot be carried out; nothing was started, or all of it has been ended.
    """
    selected = selection(options.patterns)
    check(options)
    profile = resolve(options)
    check_declared(selected, profile)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    begun, started = datetime.now(UTC), time.monotonic()
    aborted: str | None = None
    outcomes = plugin.Outcomes()
    url = options.target or ""
    importing = None if options.target else _importing()
    with ExitStack() as stack:
        postgres = stack.enter_context(_postgres(options, profile, selected))
        counted = stack.enter_context(_counting(options, profile, selected, postgres))
        target = stack.enter_context(_target(options, postgres))
        url = target.url
        judged = stack.enter_context(_faulty_migration(profile, options.fault))
        client = stack.enter_context(Client(target.url, judged))
        database = stack.enter_context(_database(target))
        # Not before: what was asked for in vain leaves the report of the run before it.
        if options.on_begin is not None:
            options.on_begin(_unfinished(options, profile, selected, seed, begun))
        try:
            with preflight.in_time(client):
                if options.database_proxy:
                    # Only now its server can reach its database: it may still be waiting for that, or be yet to start.
                    preflight.heartbeat_within(client, _UNTIL_CONNECTED)
                casts = preflight.ready(client, lanes(selected, judged))
                resources = Resources(
                    client,
                    casts[0],
                    database,
                    seed,
                    postgres,
                    options.fault,
                    options.explore,
                    counted,
                    options.evidence,
                )
                preflight.round_trip(resources)
            if counted is not None:
                counted.get_ready()
            # Lanes are forked from this process, which no thread may be half through an import then.
            if importing is not None:
                importing.join()
        except TargetNotReady as reason:
            aborted = f"{reason.what} {reason.hint}"
            resources = Resources(client, Cast([], []), database, seed)
            outcomes = judge(resources, set(), started)
        else:
            outcomes = judge(resources, selected, started, options.on_result, casts)
    return _report(options, profile, rows(selected, profile, outcomes, aborted), seed, begun, url, aborted)


def _report(
    options: Options, profile: Profile, rows: list[model.RequirementResult], seed: int, begun: datetime, url: str,
    aborted: str | None,
) -> model.Report:  # fmt: skip
    kind: Literal["embedded", "url"] = "url" if options.target else "embedded"
    return model.Report(
        harness=model.Harness(name="horde-conformance", version=version("horde-conformance")),
        catalogue=model.Catalogue(
            version=catalogue.VERSION,
            sha256=model.catalogue_sha256(r.model_dump() for r in catalogue.judged().values()),
        ),
        environment=model.Environment(
            python=platform.python_version(), system=f"{platform.system()} {platform.release()} {platform.machine()}",
            cores=os.cpu_count(),
        ),
        target=model.Target(
            url=url, kind=kind, profile=profile.name, profile_sha256=profile.sha256, fault=options.fault
        ),
        started_at=begun,
        ended_at=datetime.now(UTC),
        seed=seed,
        strict=options.strict,
        selection=model.Selection(patterns=list(options.patterns), capabilities=sorted(profile.capabilities)),
        denominator=denominator(selection(options.patterns), profile),
        known_failures=list(options.known_failures),
        requirements=rows,
        aborted=aborted,
    )  # fmt: skip


def selection(patterns: Sequence[str]) -> set[str]:
    """The ids that the patterns match and checks judge.

    Raises:
        NothingMatches: a pattern matches no requirement.
        BadOptions: a pattern matches only what a load run measures.
    """
    for pattern in patterns:
        if not catalogue.select([pattern]) & catalogue.judged().keys():
            raise BadOptions(
                f"What {pattern!r} matches is measured by a load run; no check judges it.",
                "Use `horde-conformance load`; `horde-conformance load --help` says how.",
            )
    return catalogue.select(patterns) & catalogue.judged().keys()


def denominator(selected: set[str], profile: Profile) -> list[str]:
    """The selected ids that the target declares, in the catalogue's order."""
    every = catalogue.judged().values()
    return [r.id for r in every if r.id in selected and r.declared(profile.capabilities)]


def _unfinished(options: Options, profile: Profile, selected: set[str], seed: int, begun: datetime) -> model.Report:
    """What stands for the run until it ends, so that one which is killed leaves no older verdict behind."""
    aborted = "The run did not come to its end: it was stopped or killed."
    nothing = plugin.Outcomes(checked=set(denominator(selected, profile)))
    return _report(
        options,
        profile,
        rows(selected, profile, nothing, aborted),
        seed,
        begun,
        options.target or "not started yet",
        aborted,
    )


# The last two are what Schemathesis imports when it is first used.
_WHAT_SUITES_STAND_ON = (
    "conformance.contract.drawing",
    "conformance.contract.holding",
    "conformance.stories.search",
    "schemathesis.specs.openapi.schemas",
    "schemathesis.transport.asgi",
)


def _importing() -> threading.Thread:
    """Import in a thread what the suites stand on: it takes a second, in which PostgreSQL and the server come up.

    Where nothing comes up meanwhile, the lane that needs it does better to import it beside the others.
    """
    # What `requests` does about this warning itself, a test that another thread begins or ends meanwhile undoes.
    warnings.filterwarnings("ignore", module=r"urllib3\.contrib\.socks")
    thread = threading.Thread(target=lambda: [importlib.import_module(name) for name in _WHAT_SUITES_STAND_ON])
    thread.start()
    return thread


def judge(
    resources: Resources,
    selected: set[str],
    started: float,
    on_result: Callable[[str, model.CheckResult], None] | None = None,
    casts: Sequence[Cast] = (),
) -> plugin.Outcomes:
    """Run the suites on what is already running, in a lane for each cast; the preflight is the caller's."""
    return plugin.run(plugin.VerdictPlugin(resources, selected, started, on_result, casts), SUITES)


# A lane costs its accounts: one that has no more than a few rows to judge does not save them.
_ROWS_OF_A_LANE = 4


def lanes(selected: set[str], profile: Profile) -> int:
    """How many checks run side by side: as many as the profile allows, fewer where little is selected."""
    declared = sum(catalogue.requirements()[id].declared(profile.capabilities) for id in selected)
    return max(1, min(profile.accounts.lanes, declared // _ROWS_OF_A_LANE))


# Seconds that a server at a URL gets to answer once its database can be reached through the proxy.
_UNTIL_CONNECTED = 15.0


def rows(
    selected: set[str], profile: Profile, outcomes: plugin.Outcomes, aborted: str | None
) -> list[model.RequirementResult]:
    """Every requirement that checks judge with its verdict, whether it was judged or not."""
    return [_row(r, selected, profile, outcomes, aborted) for r in catalogue.judged().values()]


def _row(
    requirement: catalogue.Requirement,
    selected: set[str],
    profile: Profile,
    outcomes: plugin.Outcomes,
    aborted: str | None,
) -> model.RequirementResult:
    checks = outcomes.results.get(requirement.id, [])
    verdict: model.RequirementVerdict
    reason: str | None = None
    if requirement.id not in selected:
        verdict = "not_selected"
    elif not requirement.declared(profile.capabilities):
        verdict = "not_declared"
        reason = "not declared: " + ", ".join(sorted(set(requirement.capabilities) - profile.capabilities))
    elif requirement.id not in outcomes.checked:
        verdict = "no_check_yet"
    elif aborted is not None:
        verdict, reason = "could_not_run", "nothing was judged"
    elif not checks:
        verdict, reason = "could_not_run", "no check of this row ran"
    else:
        verdict, reason = model.requirement_verdict(checks)
    return model.RequirementResult(
        id=requirement.id,
        area=requirement.area,
        level=requirement.level,
        basis=requirement.basis,
        half=requirement.half,
        statement=requirement.statement,
        capabilities=list(requirement.capabilities),
        marks=list(requirement.marks),
        record=record.quoted(requirement.id),
        verdict=verdict,
        reason=reason,
        checks=checks,
    )


def resolve(options: Options) -> Profile:
    """The profile of a run, with the capabilities that the options add or take away.

    Raises:
        Situation: the profile or a file that it needs is not usable.
    """
    profile = profiles.load(options.profile_name)
    if not options.target and not (profile.server.command and profile.migration.baseline and profile.migration.file):
        raise BadOptions(
            f"The profile {options.profile_name!r} does not say how its server is started on a fresh database.",
            "Give --target URL, or name the [server] command and the [migration] files in the profile.",
        )
    if options.baseline and options.migration:
        profile = profile.with_migration(
            str(Path(options.baseline).absolute()), str(Path(options.migration).absolute())
        )
        if not options.target:
            # What we start is the reference, which does not know these files' schema.
            profile = profile.with_capabilities(without=frozenset({"server_start"}))
    elif options.target:
        profile = profile.with_capabilities(without=frozenset({"migration", "server_start"}))
    if options.target and not options.database_proxy:
        profile = profile.with_capabilities(without=frozenset({"database_proxy"}))
    elif options.target:
        profile = profile.with_capabilities("database_proxy")
    if options.target and not options.database_url:
        profile = profile.with_capabilities(without=frozenset({"database", "database_write", "database_proxy"}))
        if profile.database.expire_request:
            profile = profile.with_capabilities(without=frozenset({"time"}))
    if "migration" in profile.capabilities:
        migration.parse(profile.migration)
    return profile


def check_declared(selected: set[str], profile: Profile) -> None:
    """Of the selected rows the profile declares at least one.

    Raises:
        BadOptions: none, so that nothing could be judged.
    """
    rows = [catalogue.requirements()[i] for i in selected]
    if any(row.declared(profile.capabilities) for row in rows):
        return
    missing = sorted({c for row in rows for c in row.capabilities} - profile.capabilities)
    given = {"migration": "--baseline and --migration", "database_proxy": "--database-proxy"}
    options = "".join(f" `{name}` comes with {option}." for name, option in given.items() if name in missing)
    raise BadOptions(
        f"None of the selected requirements can be judged: not declared is {', '.join(missing)}.",
        f"Claim it in the profile's capabilities, or select others.{options}",
    )


@contextmanager
def _postgres(options: Options, profile: Profile, selected: set[str]) -> Iterator[Server | None]:
    """A PostgreSQL for the reference or for the migration's suite; none where neither needs it."""
    migrates = "migration" in profile.capabilities and any(i.startswith("MIG-") for i in selected)
    if options.target and not migrates:
        yield None
        return
    with open_server(None if options.target else options.database_url) as server:
        if migrates or options.migration:
            migration.check(server, profile.migration)
        yield server


@contextmanager
def _counting(
    options: Options, profile: Profile, selected: set[str], postgres: Server | None
) -> Iterator[Counting | None]:
    """What counts bytes and statements for the checks that need it; none where no such check is selected.

    Begun before the reference is started, so that the second server comes up beside it.
    """
    rows = [catalogue.requirements()[id] for id in selected]
    if not any("database_proxy" in row.capabilities and row.declared(profile.capabilities) for row in rows):
        yield None
    elif options.target:
        assert options.database_url is not None
        assert options.database_proxy is not None
        with counting.in_front_of(options.database_url, _listening_address(options.database_proxy)) as counted:
            yield counted
    else:
        assert postgres is not None
        with counting.beside(profiles.load(options.profile_name), postgres, options.fault) as counted:
            yield counted


@contextmanager
def _target(options: Options, postgres: Server | None) -> Iterator[targets.Target]:
    if options.target:
        yield targets.Target(options.target, options.database_url)
        return
    assert postgres is not None
    # On the profile's own files, whichever migration is judged.
    with targets.embedded(profiles.load(options.profile_name), postgres, options.fault) as target:
        yield target


@contextmanager
def _faulty_migration(profile: Profile, fault: str | None) -> Iterator[Profile]:
    """The profile whose migration holds the fault, where the fault is one of the migration.

    The reference runs on the right one all the same: what is judged is the file, on databases of the suite's own.
    """
    text = "" if fault is None else migration.locate(profile.migration.file).read_text("utf-8")
    altered = text if fault is None else faults.migrated(fault, text)
    if altered == text:
        yield profile
        return
    with tempfile.TemporaryDirectory(prefix="horde-conformance-") as folder:
        file = Path(folder) / Path(profile.migration.file).name
        file.write_text(altered, "utf-8")
        yield profile.with_migration(profile.migration.baseline, str(file))


def _opened(url: str) -> Database:
    # A third of a second, which a run over HTTP alone does not pay.
    from sqlalchemy.exc import ArgumentError  # noqa: PLC0415

    from conformance.database import Database  # noqa: PLC0415

    try:
        database = Database(url)
        database.rows("SELECT 1")
    except (ArgumentError, ValueError):
        # The text itself is not repeated: it may hold a password.
        raise DatabaseNotReady(
            "The URL of the target's database cannot be read.",
            "Write it as postgresql://user:password@host:port/database.",
        ) from None
    except CouldNotRun as reason:
        raise DatabaseNotReady(
            f"The target's database cannot be read: {reason}.",
            "Check host, port, user, password and database name of --database-url, and that the server runs.",
        ) from None
    return database


@contextmanager
def _database(target: targets.Target) -> Iterator[Database | None]:
    if target.database_url is None:
        yield None
        return
    database = _opened(target.database_url)
    try:
        yield database
    finally:
        database.close()
