"""The stage on which a check tells its story: actors, names of its own, money, and the clock.

Isolation is by key (specification, section 2): every check has models, workers and requests of its own, so that
checks share one server and one queue without seeing each other.
"""

from __future__ import annotations

import random
import re
import string
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.errors import Flaky
from hypothesis.strategies import SearchStrategy

from conformance import moderating
from conformance.actors import Account, Family, Job, Request, Requester, Worker
from conformance.catalogue import Capability
from conformance.client import Client
from conformance.errors import CouldNotRun
from conformance.histories import History, recorded
from conformance.moderating import Moderator
from conformance.money import Money
from conformance.profile import Profile
from fixtures.postgres import Server

if TYPE_CHECKING:
    from conformance.counting import Counted, Counting
    from conformance.database import Database

T = TypeVar("T")

# Between two looks at something that only looking shows.
_GLANCE = 0.05
# Seconds given to making a failing example small.
_SHRINKING = 5.0


@dataclass
class Workforce:
    """The workers of one owner: how many there are, and which no check needs any more, with when it last did."""

    made: int = 0
    free: deque[tuple[float, str]] = field(default_factory=deque)


@dataclass
class Cast:
    """The accounts of a run: requesters, trusted owners of workers, and one owner who is not trusted."""

    requesters: list[Account]
    owners: list[Account]
    untrusted: list[Account] = field(default_factory=list)
    moderators: list[Account] = field(default_factory=list)
    spares: list[Account] = field(default_factory=list)
    flagged: Account | None = None
    workers: dict[str, Workforce] = field(default_factory=dict)


@dataclass
class Resources:
    """What the checks of one run share. `postgres` is a server on which the harness may make databases.

    `explore` asks the contract suite for more examples than the run's seed gives, from seeds of their own. `evidence`
    is the report's folder, where evidence of failures is written; None writes none.
    """

    client: Client
    cast: Cast
    database: Database | None
    seed: int
    postgres: Server | None = None
    fault: str | None = None
    explore: bool = False
    counting: Counting | None = None
    evidence: Path | None = None

    @contextmanager
    def in_lane(self, cast: Cast) -> Iterator[Resources]:
        """The same for a process of its own: connections are not shared over a fork, nor are accounts between lanes."""
        with ExitStack() as stack:
            client = stack.enter_context(Client(self.client.url, self.client.profile))
            database = stack.enter_context(closing(self.database.anew())) if self.database else None
            postgres = stack.enter_context(self.postgres.shared()) if self.postgres else None
            yield replace(self, client=client, cast=cast, database=database, postgres=postgres)


class Stage:
    """One check's stage. `name` is the check's; `notes` are facts that it records for the report."""

    def __init__(self, resources: Resources, name: str) -> None:
        self.resources = resources
        self.name = name
        self.client = resources.client
        self.profile: Profile = resources.client.profile
        self.notes: dict[str, Any] = {}
        self.random = random.Random(f"{resources.seed}/{name}")
        self.money = Money(self.client, resources.database)
        self._counted: Counted | None = None
        # When the target's clock was moved past the life of a request or generation, by id.
        self._moved: dict[str, float] = {}
        self._requests: list[Request] = []
        self._hired: list[tuple[Workforce, str]] = []
        self._workers: list[Worker] = []
        # Each name that was made up here, and where among the exchanges the example that is judged last began.
        self.names: list[str] = []
        self.example_began: tuple[int, int] | None = None
        # Names must be new on a server that keeps what earlier runs left; a run with the same seed is new too.
        self._names = random.Random()

    # Names and people

    def unique(self, length: int = 10) -> str:
        """Letters and digits that nobody has used before; the first is a letter."""
        alphabet = string.ascii_lowercase + "0123456789"
        first = self._names.choice(string.ascii_lowercase)
        name = first + "".join(self._names.choices(alphabet, k=length - 1))
        self.names.append(name)
        return name

    def model(self, owner: int | Account = 0) -> str:
        """A model name of this check's own with a known price, served by that owner's workers only."""
        return self._named(self.profile.models.template, owner)

    def nsfw_model(self, owner: int | Account = 0) -> str:
        """A model name of this check's own, of a model marked nsfw.

        Raises:
            CouldNotRun: the profile knows none.
        """
        if not self.profile.moderation.model:
            raise CouldNotRun("the profile names no model that is marked nsfw")
        return self._named(self.profile.moderation.model, owner)

    def _named(self, template: str, owner: int | Account) -> str:
        account = self.owner(owner) if isinstance(owner, int) else owner
        return template.format(known=self.profile.models.known, unique=self.unique(), alias=account.alias)

    def open_model(self) -> str:
        """A model name of this check's own that any owner's workers may serve; its price is unknown."""
        return f"conformance/{self.unique()}"

    def requester(self, index: int = 0) -> Requester:
        """One of the requesters; core runs with three."""
        return Requester(self.client, _pick(self.resources.cast.requesters, index, "requesters"))

    def anonymous(self) -> Requester:
        """Somebody without an account of their own, and so without kudos to show beforehand.

        Raises:
            CouldNotRun: everybody needs an account.
        """
        key = self.profile.accounts.anonymous_key
        if not key:
            raise CouldNotRun("the target serves nobody without an account")
        return Requester(self.client, Account("anonymous", key, "", ""))

    def owner(self, index: int = 0) -> Account:
        """One of the trusted owners; core runs with two."""
        return _pick(self.resources.cast.owners, index, "trusted owners")

    def untrusted_owner(self) -> Account:
        """The owner who is not trusted."""
        return _pick(self.resources.cast.untrusted, 0, "untrusted owners")

    def moderator(self) -> Moderator:
        """Somebody with a moderator's rights."""
        return Moderator(self.client, _pick(self.resources.cast.moderators, 0, "moderators"))

    def spare(self, role: str = "requester") -> Account:
        """An account that nobody else uses and that may be spoilt: a `requester`, or an `owner` who is trusted.

        Raises:
            CouldNotRun: the target makes none, and none is left of those that are listed.
        """
        if self.profile.accounts.method == "test-user":
            return moderating.made(self.client, f"spare {role}", f"spare {self.unique()}", trusted=role == "owner")
        if not self.resources.cast.spares:
            raise CouldNotRun("no spare account is left")
        return self.resources.cast.spares.pop()

    def flagged(self) -> Requester:
        """A requester whose account is flagged; the same one in each check of a lane.

        Raises:
            CouldNotRun: nobody can be flagged.
        """
        if not self.profile.moderation.flagging:
            raise CouldNotRun("the filter does not go over what a flagged account sends")
        cast = self.resources.cast
        if cast.flagged is None:
            account = self.spare()
            self.moderator().flag(account)
            cast.flagged = account
        return Requester(self.client, cast.flagged)

    def elsewhere(self) -> AbstractContextManager[Client]:
        """A client whose calls come from an `address` of its own, for a `with`."""
        return self.client.elsewhere(f"127.{'.'.join(str(self._names.randint(2, 254)) for _ in range(3))}")

    def worker(
        self,
        models: Sequence[str],
        chat_models: Sequence[str] | None = None,
        *,
        owner: int | Account = 0,
        **declaration: Any,
    ) -> Worker:
        """A worker new to its target. It declares chat only for `chat_models`, and is a validated, roomy one.

        Where the owner may have no more workers, one that an earlier check is done with is taken, after the time in
        which the target still knows it by its old declaration (specification: Isolation).

        Raises:
            CouldNotRun: the profile's number of workers per owner is used up by this check alone.
        """
        account = self.owner(owner) if isinstance(owner, int) else owner
        declared: dict[str, Any] = {
            "models": list(models),
            "bridge_agent": self.profile.workers.validated_bridge,
            "max_length": self.profile.limits.max_length_maximum,
            "max_context_length": 65536,
            **declaration,
        }
        if chat_models is not None:
            declared["chat_models"] = list(chat_models)
        worker = Worker(self.client, account, self._worker_name(account), declared)
        self._workers.append(worker)
        return worker

    def _worker_name(self, owner: Account) -> str:
        limit = self.profile.accounts.workers_per_owner
        force = self.resources.cast.workers.setdefault(owner.key, Workforce())
        if force.made < limit:
            force.made += 1
            name = f"conformance {self.unique()}"
        elif force.free:
            released, name = force.free.popleft()
            time.sleep(max(0.0, released + self.profile.timings.worker_refresh - time.monotonic()))
        else:
            raise CouldNotRun(f"{owner.role} has no workers left: {limit} at a time")
        self._hired.append((force, name))
        return name

    def chat_worker(self, *models: str, **declaration: Any) -> Worker:
        """A worker that serves these models and declares chat for each; it takes text as well."""
        return self.worker(models, models, **declaration)

    def text_worker(self, *models: str, **declaration: Any) -> Worker:
        """A worker that serves these models and never mentions chat."""
        return self.worker(models, **declaration)

    def serving(self, family: Family, *models: str, **declaration: Any) -> Worker:
        """A worker that is served requests of this family."""
        return (self.chat_worker if family is Family.CHAT else self.text_worker)(*models, **declaration)

    # Requests

    def submit(
        self, family: Family, *models: str, content: str | None = None, requester: int = 0, **fields: Any
    ) -> Request:
        """Queue a request of either family whose one message, or prompt, is `content` (some words by default)."""
        words = f"Tell me about {self.unique()}." if content is None else content
        if family is Family.CHAT:
            fields.setdefault("messages", [{"role": "user", "content": words}])
        else:
            fields.setdefault("prompt", words)
        return self.keep(self.requester(requester).submit(family, models, **fields))

    def chat(self, *models: str, **fields: Any) -> Request:
        """Queue a chat request."""
        return self.submit(Family.CHAT, *models, **fields)

    def text(self, *models: str, **fields: Any) -> Request:
        """Queue a text request."""
        return self.submit(Family.TEXT, *models, **fields)

    def twin_content(self, max_length: int = 80) -> str:
        """Words long enough that the prompt's estimate is capped in both families (specification: Twins)."""
        length = self.profile.tokens.characters * max_length + 64
        return "".join(self.random.choices(string.ascii_lowercase + " ", k=length))

    def keep(self, request: Request) -> Request:
        """Cancel this request when the check is over."""
        self._requests.append(request)
        return request

    def tidy(self) -> None:
        """Cancel what the check left waiting, so that it counts against no later check's limits; let its workers go."""
        if self._counted is not None and self._counted.stage is not self:
            self._counted.stage.tidy()
        for force, name in self._hired:
            force.free.append((time.monotonic(), name))
        self._hired.clear()
        for request in self._left():
            try:
                request.requester.try_cancel(request)
            except CouldNotRun:
                return

    def _left(self) -> list[Request]:
        """The requests of which something may wait still: neither they ended nor was all replied to that a model's ask.

        A job does not say which request it is of. But a model is a check's own.
        """
        asked: Counter[str] = Counter()
        for request in self._requests:
            asked.update(dict.fromkeys(request.models, request.sent.get("n", 1)))
        replied = Counter(model for worker in self._workers for model in worker.replied.values())
        return [
            request
            for request in self._requests
            if not request.over
            and not (len(request.models) == 1 and replied[request.models[0]] >= asked[request.models[0]])
        ]

    # The database and the clock

    def needs(self, *capabilities: Capability) -> None:
        """Go on only where the target declares these.

        Raises:
            CouldNotRun: one is not declared.
        """
        missing = [c for c in capabilities if c not in self.profile.capabilities]
        if missing:
            raise CouldNotRun(f"the target does not declare {', '.join(missing)}")

    @property
    def database(self) -> Database:
        """The target's database.

        Raises:
            CouldNotRun: it is not ours to see.
        """
        if self.resources.database is None:
            raise CouldNotRun("the target's database is not given")
        return self.resources.database

    def counted(self) -> Counted:
        """A stage on which what the target and its database exchange is counted; it may be another target's.

        Raises:
            CouldNotRun: nothing counts it.
        """
        if self.resources.counting is None:
            raise CouldNotRun("what the target and its database exchange is not counted")
        if self._counted is None:
            self._counted = self.resources.counting.on(self)
        return self._counted

    def expire(self, request: Request) -> None:
        """Move the target's clock past the request's expiry; the target's cleaner has not yet been waited for."""
        self._move(self.profile.database.expire_request, request.id)

    def time_out(self, job: Job) -> None:
        """Move the target's clock past the lifetime of a generation; the cleaner has not yet been waited for."""
        for id in job.ids:
            self._move(self.profile.database.expire_generation, id)

    def _move(self, statement: str, id: str) -> None:
        self.needs("time")
        self._moved[id] = time.monotonic()
        if self.database.run(statement, id=id) != 1:
            raise CouldNotRun(f"the clock of {id} could not be moved: no such row")

    def until(self, look: Callable[[], T], *, within: float | None = None) -> T:
        """Look again and again until what is seen is true, and give what was seen last, true or not.

        Args:
            look: gives what is seen.
            within: seconds; by default three of the cleaner's intervals and two seconds.
        """
        patience = 3 * self.profile.timings.cleaner + 2.0 if within is None else within
        deadline = time.monotonic() + patience
        while True:
            seen = look()
            if seen or time.monotonic() >= deadline:
                return seen
            time.sleep(_GLANCE)

    # Many at once, and many examples

    @contextmanager
    def crowd(self, size: int) -> Iterator[ThreadPoolExecutor]:
        """Threads for actors that act at the same time."""
        with ThreadPoolExecutor(max_workers=size) as pool:
            yield pool

    def at_once(self, *acts: Callable[[], T]) -> list[T]:
        """Do all acts at the same time and give what each gave, in the order of the acts."""
        with self.crowd(len(acts)) as pool:
            return [future.result() for future in [pool.submit(act) for act in acts]]

    def for_all(
        self, examples: SearchStrategy[T], judge: Callable[[T], None], *, count: int = 25, seed: int | None = None
    ) -> None:
        """Judge many examples, with the run's seed or another; of a failure the smallest example is told.

        Args:
            examples: what the judge is given.
            judge: asserts what holds for each; makes its own requests.
            count: examples at most.
        """
        worst: list[T] = []
        failures: list[BaseException] = []
        stop_shrinking = 0.0

        def run(example: T) -> None:
            # Each example costs calls to a target, so that shrinking ends after a while with the smallest so far.
            nonlocal stop_shrinking
            if worst and time.monotonic() > stop_shrinking and example != worst[-1]:
                return
            self.example_began = (self.example_began or (self.exchanged, 0))[0], self.exchanged
            try:
                judge(example)
            except BaseException as failure:
                stop_shrinking = stop_shrinking or time.monotonic() + _SHRINKING
                worst.append(example)
                failures.append(failure)
                raise

        run.__name__ = re.sub(r"\W+", "_", self.name)
        settled = hypothesis.settings(
            max_examples=count,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            print_blob=False,
            phases=(Phase.explicit, Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )(hypothesis.given(examples)(run))
        self.example_began = None
        try:
            hypothesis.seed(self.resources.seed if seed is None else seed)(settled)()
            self.example_began = None
        except Flaky:
            # A target that fails an example now and then has failed it.
            raise failures[-1] from None

    # What happened

    @property
    def exchanged(self) -> int:
        """How many exchanges there have been: a place for a history to begin at."""
        return len(self.client.recorder.exchanges)

    def history(self, since: int = 0) -> History:
        """What this check did and was answered, from that many exchanges on: for the history checker to judge."""
        return recorded(self.client.recorder.exchanges[since:], self.profile, moved=self._moved)

    def note(self, name: str, fact: Any) -> None:
        """Record a fact for the report; it judges nothing."""
        self.notes[name] = fact


def _pick(accounts: list[Account], index: int, what: str) -> Account:
    if index >= len(accounts):
        raise CouldNotRun(f"the story needs {index + 1} {what}; the profile's accounts give {len(accounts)}")
    return accounts[index]
