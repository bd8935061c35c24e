"""What is loaded: a server at a URL, or the reference that is started; with what is seen of it beside its answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from conformance import targets
from conformance.profile import Profile
from fixtures.counting.proxy import CountingProxy
from fixtures.postgres import PostgresError, Server, open_server
from load.errors import BadTarget
from load.probes.listening import address
from load.probes.watching import watching
from load.running import Meeting
from load.sessions.counting import Counter

# Any free port of this machine's own.
_ANYWHERE = ("127.0.0.1", 0)


@dataclass(frozen=True)
class Options:
    """On what a session is played. Without `target` it is the embedded reference.

    `meeting`: where workers of other hosts come, which then make all of the load.
    """

    target: str | None = None
    profile: str | None = None
    database_url: str | None = None
    seed: int = 1
    # Where we listen between the server and its database, as host:port.
    database_proxy: str | None = None
    meeting: Meeting | None = None

    @property
    def profile_name(self) -> str:
        """The profile that was asked for, or the one that goes without saying."""
        return self.profile or ("aihorde" if self.target else "reference")


@contextmanager
def loaded(options: Options, profile: Profile, *, on_wire: bool) -> Iterator[tuple[targets.Target, Counter]]:
    """The target, and who counts it; what was started for it is gone at the end.

    `on_wire`: whether bytes have to be counted, so that the reference is started behind the counting proxy.

    Raises:
        BadTarget: a proxy in front of a database that is not named.
        ReferenceNotStarted, PostgresError: the reference does not come up; the proxy cannot listen.
    """
    listen = address(options.database_proxy) if options.database_proxy else None
    with ExitStack() as stack:
        if options.target is None:
            yield _started(options, profile, listen or (_ANYWHERE if on_wire else None), stack)
            return
        if listen and not options.database_url:
            raise BadTarget("A proxy stands in front of a database, whose URL is missing.", "Give --database-url.")
        proxy = None
        if listen and options.database_url:
            proxy = stack.enter_context(CountingProxy(options.database_url, listen))
        watch = stack.enter_context(watching(options.database_url, proxy=proxy))
        yield (
            targets.Target(options.target, options.database_url),
            Counter(watch, profile, options.database_url, on_wire=proxy is not None),
        )


def _started(
    options: Options, profile: Profile, listen: tuple[str, int] | None, stack: ExitStack
) -> tuple[targets.Target, Counter]:
    postgres = stack.enter_context(open_server(options.database_url))
    database_url = stack.enter_context(targets.fresh_database(profile, postgres))
    proxy = stack.enter_context(CountingProxy(database_url, listen)) if listen else None
    reached = proxy.through(database_url) if proxy else database_url
    server = stack.enter_context(targets.started(profile.server.command, reached))
    target = targets.Target(server.url(), database_url)
    watch = stack.enter_context(
        watching(database_url, admin_url=_extended(postgres), proxy=proxy, server=server.process.pid)
    )
    return target, Counter(watch, profile, database_url, on_wire=proxy is not None)


def _extended(postgres: Server) -> str | None:
    """A database with pg_stat_statements on this server; None where it has it not, as a look then says."""
    try:
        return postgres.url(postgres.create_database(extensions=["pg_stat_statements"]))
    except PostgresError:
        return None
