"""The pytest plugin that turns checks into verdicts.

It drops the checks that a run does not select, gives each its stage, and keeps what came of it: an assertion that
does not hold is *failed*; everything else that stops a story is *could not run*, with the reason.
"""

from __future__ import annotations

import gc
import inspect
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis.configuration import set_hypothesis_home_dir

from conformance import catalogue, lanes, preflight
from conformance.checks import MARK, Broken
from conformance.client import Exchange
from conformance.errors import BadCatalogue, CouldNotRun, TargetNotReady
from conformance.stage import Cast, Resources, Stage
from reports import model
from reports.evidence import Evidence

Results = list[tuple[str, model.CheckResult]]

STAGE = pytest.StashKey[Stage]()
RESULTS = pytest.StashKey[Results]()
# How the connection to the target was lost in a check that did not pass.
LOST = pytest.StashKey[str | None]()


@dataclass
class Outcomes:
    """What a run of the suites found out, by requirement id."""

    checked: set[str] = field(default_factory=set)
    results: dict[str, list[model.CheckResult]] = field(default_factory=dict)


class VerdictPlugin:
    """Runs the checks of the selected ids and collects their results."""

    def __init__(
        self,
        resources: Resources,
        selected: set[str],
        started: float,
        on_result: Callable[[str, model.CheckResult], None] | None = None,
        casts: Sequence[Cast] = (),
    ) -> None:
        self.resources = resources
        self.selected = selected
        self.started = started
        self.on_result = on_result
        self.casts = casts
        self.outcomes = Outcomes()
        self.errors: list[str] = []
        # Why no further check can run, once the target is gone for good.
        self.gone: str | None = None

    @pytest.fixture
    def stage(self, request: pytest.FixtureRequest) -> Iterator[Stage]:
        """The stage of one check."""
        if self.gone is not None:
            raise CouldNotRun(self.gone)
        stage = Stage(self.resources, request.node.name)
        request.node.stash[STAGE] = stage
        self.resources.client.recorder.take()
        self.resources.client.recorder.on_behalf = f"#{','.join(self._wanted(request.node))}"
        if self.resources.database is not None:
            self.resources.database.told.clear()
        yield stage
        stage.tidy()

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register the mark that `check` sets."""
        config.addinivalue_line("markers", f"{MARK}(ids, half): the requirements that a check judges")
        # Nobody reads pytest's long tracebacks; making them took five sixths of a run in which everything fails.
        config.option.tbstyle = "value"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A suite that does not import is the harness's own mistake: no run may pass without it."""
        if report.failed:
            self.errors.append(f"{report.nodeid}: {report.longrepr}")

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the checks of the selected rows; those that look at the whole queue come last."""
        kept: list[pytest.Item] = []
        dropped: list[pytest.Item] = []
        for item in items:
            try:
                requirements = _judged(item)
            except BadCatalogue as mistake:
                self.errors.append(mistake.what)
                continue
            self.outcomes.checked |= {requirement.id for requirement in requirements}
            (kept if self._wanted(item) else dropped).append(item)
        if self.errors:
            kept, dropped = [], items[:]
        config.hook.pytest_deselected(items=dropped)
        items[:] = sorted(kept, key=_alone)

    def _wanted(self, item: pytest.Item) -> list[str]:
        """Of the requirements that a check judges those that this run selects and the target declares."""
        capabilities = self.resources.client.profile.capabilities
        if "chat" not in capabilities and _half(item) != "text":
            return []
        return [r.id for r in _judged(item) if r.id in self.selected and r.declared(capabilities)]

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Run the checks that share the target side by side; pytest's own loop runs what is left of the items."""
        together = [item for item in session.items if not _alone(item)]
        if len(self.casts) < 2 or len(together) < 2 or session.config.option.collectonly:
            return
        tasks = _tasks(together)
        openers = [partial(self._lane, cast, tasks) for cast in self.casts]
        # What stands now stands until the end: no lane's collector, nor Hypothesis, needs to look through it again.
        gc.freeze()
        lanes.share(range(len(tasks)), openers, lambda _, results: self._tell(results), partial(self._lost, tasks))
        session.items[:] = [item for item in session.items if _alone(item)]

    @contextmanager
    def _lane(self, cast: Cast, tasks: Sequence[Sequence[pytest.Item]]) -> Iterator[Callable[[int], Results]]:
        """In a lane's process: run the items of one task and give their results."""
        with self.resources.in_lane(cast) as self.resources:
            yield lambda index: [result for item in tasks[index] for result in self._judge(item, None)]

    def _lost(self, tasks: Sequence[Sequence[pytest.Item]], index: int) -> None:
        reason = "the harness's process that told the story was ended"
        for item in tasks[index]:
            lost = model.CheckResult(name=item.name, verdict="could_not_run", reason=reason, seconds=0.0)
            self._tell([(id, lost) for id in self._wanted(item)])

    def _tell(self, results: Results) -> None:
        for id, result in results:
            self.outcomes.results.setdefault(id, []).append(result)
            if self.on_result is not None:
                self.on_result(id, result)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a check in this process."""
        self._tell(self._judge(item, nextitem))
        return True

    def _judge(self, item: pytest.Item, nextitem: pytest.Item | None) -> Results:
        """Run a check, and once more where the target was restarted under it."""
        results = self._run(item, nextitem)
        if (lost := item.stash[LOST]) is not None and self._back():
            again = f"the connection was lost in the first run ({lost}), and the target answers again"
            results = [(id, result.model_copy(update={"again": again})) for id, result in self._run(item, nextitem)]
        return results

    def _run(self, item: pytest.Item, nextitem: pytest.Item | None) -> Results:
        item.stash[RESULTS], item.stash[LOST] = [], None
        runtestprotocol(item, nextitem=nextitem, log=False)
        return item.stash[RESULTS]

    def _back(self) -> bool:
        """Wait for the target to answer again, and see that it still knows us; otherwise nothing more can run."""
        client, cast = self.resources.client, self.resources.cast
        patience = client.profile.timings.restart
        try:
            preflight.heartbeat_within(client, patience)
            preflight.recognised(client, cast)
        except TargetNotReady as reason:
            self.gone = f"{reason.what} {reason.hint}"
        finally:
            client.recorder.take()
        return self.gone is None

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """Keep the verdict of a check's call, or of a stage that could not be set."""
        # A tidying that fails says nothing about the story that was told.
        if call.when == "call" or (call.when == "setup" and call.excinfo is not None):
            self._keep(item, call)

    def _keep(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        error = call.excinfo.value if call.excinfo else None
        stage = item.stash.get(STAGE, None)
        exchanges = self.resources.client.recorder.take()
        story = inspect.getdoc(getattr(item, "function", None)) or ""
        broken = _broken(error, item)
        for id in self._wanted(item):
            spared = broken is not None and broken.requirement != id
            if broken is not None and spared and not broken.others_judged:
                continue
            verdict, reason = _verdict(None if spared else error)
            shown = [] if verdict == "passed" else exchanges[-_EVIDENCE:]
            result = model.CheckResult(
                name=item.name,
                story=story,
                verdict=verdict,
                reason=reason,
                seconds=max(0.0, call.duration),
                calls=len(exchanges),
                waited=_waited(exchanges),
                notes=stage.notes if stage else {},
                exchanges=[self._evidence(e) for e in shown],
                evidence=self._made(id, item, error, exchanges, shown, reason) if verdict == "failed" else None,
            )
            item.stash[RESULTS].append((id, result))
        if error is not None:
            item.stash[LOST] = next((e.error for e in exchanges if e.lost), None)

    def _made(
        self, id: str, item: pytest.Item, error: BaseException | None, exchanges: list[Exchange],
        shown: list[Exchange], reason: str | None,
    ) -> Evidence | None:  # fmt: skip
        stage = item.stash.get(STAGE, None)
        if error is None or stage is None:
            return None
        # Nobody pays for it whose target is conformant.
        from conformance.evidence import making  # noqa: PLC0415

        told = [] if self.resources.database is None else list(self.resources.database.told)
        failed = making.Failed(item.name, [id], error, stage, exchanges, told)
        return making.evidence(failed, shown, reason or "")

    def _evidence(self, exchange: Exchange) -> model.Exchange:
        return model.Exchange(
            actor=exchange.actor,
            operation=exchange.operation,
            method=exchange.method,
            url=exchange.url,
            request_headers=dict(exchange.request_headers),
            request_body=_short(exchange.request_body),
            status=exchange.status,
            response_headers=dict(exchange.response_headers),
            response_body=_short(exchange.response_body),
            started=max(0.0, exchange.started - self.started),
            seconds=max(0.0, exchange.ended - exchange.started),
            error=exchange.error,
        )


# The last exchanges of a failed check tell how it failed; more than these nobody reads.
_EVIDENCE = 30
_BODY = 4000


def _short(text: str | None) -> str | None:
    if text is None or len(text) <= _BODY:
        return text
    return f"{text[:_BODY]}… ({len(text)} characters)"


def _judged(item: pytest.Item) -> list[catalogue.Requirement]:
    mark = item.get_closest_marker(MARK)
    ids = mark.args if mark else ()
    if not ids or not all(id in catalogue.requirements() for id in ids):
        raise BadCatalogue(
            f"The check {item.nodeid} judges no requirement of the catalogue.", "Mark it with @check(ID)."
        )
    return [catalogue.requirements()[id] for id in ids]


def _half(item: pytest.Item) -> str:
    mark = item.get_closest_marker(MARK)
    assert mark is not None
    half = mark.kwargs["half"]
    return str(item.callspec.params["family"] if half is None else half)  # type: ignore[attr-defined]  # set by parametrize


def _waited(exchanges: Sequence[Exchange]) -> float:
    """Seconds in which at least one of the calls was under way."""
    waited, until = 0.0, -math.inf
    for exchange in sorted(exchanges, key=lambda e: e.started):
        waited += max(0.0, exchange.ended - max(until, exchange.started))
        until = max(until, exchange.ended)
    return waited


def _broken(error: BaseException | None, item: pytest.Item) -> Broken | None:
    """The error, where it names one of the check's requirements as the broken one."""
    if isinstance(error, Broken) and any(error.requirement == requirement.id for requirement in _judged(item)):
        return error
    return None


def _alone(item: pytest.Item) -> bool:
    """What counts bytes has its own target, or must have the run's for itself, and its proxy is this process's."""
    return any("alone" in row.marks or "database_proxy" in row.capabilities for row in _judged(item))


def _tasks(items: Sequence[pytest.Item]) -> list[list[pytest.Item]]:
    """What a lane takes at a time: a check, or first of all the checks of a suite that says they are one task."""
    suites: dict[str, list[pytest.Item]] = {}
    single: list[list[pytest.Item]] = []
    for item in items:
        suite = item.getparent(pytest.Module)
        if suite is not None and getattr(suite.obj, "ONE_TASK", False):
            suites.setdefault(suite.nodeid, []).append(item)
        else:
            single.append([item])
    return [*suites.values(), *single]


def _verdict(error: BaseException | None) -> tuple[model.CheckVerdict, str | None]:
    if error is None:
        return "passed", None
    if isinstance(error, AssertionError):
        return "failed", _sentence(error) or "an assertion without a sentence does not hold"
    if isinstance(error, CouldNotRun):
        return "could_not_run", str(error)
    # Neither said by a check nor by an actor: an answer of a shape that nobody foresaw. Not judged, never passed.
    return "could_not_run", f"{type(error).__name__}: {error}"


def _sentence(error: BaseException) -> str:
    # pytest adds the compared values under the sentence; one line says what broke.
    return str(error).split("\nassert ")[0].strip()


# Only what the suites need: other people's plugins and settings must not reach into a verdict.
_PLUGINS = (
    "hypothesispytest",
    "locust",
    "schemathesis",
    "xdist",
    "cacheprovider",
    "terminal",
    "junitxml",
    "faulthandler",
    "unraisableexception",
    "threadexception",
)
ARGUMENTS = (
    "--pyargs", "--noconftest", "--import-mode=importlib", "-c", os.devnull, "--rootdir=/", "--strict-markers",
    *(f"-pno:{name}" for name in _PLUGINS),
)  # fmt: skip
_FOREIGN = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "horde-conformance")  # noqa: PTH111 - never raises


def call_pytest(arguments: list[str], plugin: object) -> int | pytest.ExitCode:
    """Run pytest with our arguments and plugin, and nothing that the caller's environment would add."""
    foreign = {name: os.environ.pop(name) for name in _FOREIGN if name in os.environ}
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        return pytest.main([*ARGUMENTS, *arguments], plugins=[plugin])
    finally:
        del os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
        os.environ.update(foreign)


def run(plugin: VerdictPlugin, suites: str) -> Outcomes:
    """Run the suites in this process and give what they found.

    Raises:
        BadCatalogue: a suite does not import, or names no requirement.
    """
    # What Hypothesis keeps between runs (tables of Unicode) is no business of the folder that we are called in.
    set_hypothesis_home_dir(_CACHE)
    code = call_pytest([suites], plugin)
    if plugin.errors or code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
        raise BadCatalogue(
            "The suites could not be collected: " + (" ".join(plugin.errors) or f"pytest ended with {code!r}."),
            "This is a mistake in the harness, not in your target; please report it.",
        )
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    return plugin.outcomes
