"""DEF: messages and extras are read for the request that a worker is handed, once, and for nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from conformance.actors import Request
from conformance.checks import check
from conformance.counting import Counted
from conformance.errors import CouldNotRun
from conformance.stage import Stage
from conformance.suites.def_scenes import (
    REPEATS,
    SIZES,
    Queue,
    carries,
    heavy,
    only_this_grew,
    slope,
    weight,
)
from fixtures.payloads.conversations import conversation

if TYPE_CHECKING:
    from conformance.database import Figures

# What a call is about, and the bytes that the database sent for it by the weight of what it should not read.
Points = dict[str, dict[int, int]]
NOTHING = 0.01
ONCE = 1.1
# Of its own payload a hand-out reads this much at least, or the bytes are not seen where they go.
SEEN = 0.9


def _counts(counted: Counted, act: Callable[[], object], points: Points, what: str, weighs: int) -> None:
    """Count an act; where it is done several times, the least counts."""
    received = counted.received(act)
    points[what][weighs] = min(received, points[what].get(weighs, received))


def _never_read(points: Points) -> None:
    for what, by_weight in points.items():
        more = slope(by_weight)
        assert more < NOTHING, (
            f"{what} makes the database send {more:.3f} bytes for each byte of messages and extras that it has no use "
            f"for: {by_weight}"
        )


def _seen(points: dict[int, int]) -> None:
    """Bytes that must be read are seen, so that none seen means none read.

    Raises:
        CouldNotRun: they are not.
    """
    more = slope(points)
    if more < SEEN:
        raise CouldNotRun(
            f"for each byte of messages and extras that a job carries the database sends {more:.3f}: does the server "
            "reach its database through the proxy, and alone?"
        )


@check("DEF-01")
def test_a_pop_reads_nothing_of_those_it_does_not_hand_out(stage: Stage) -> None:
    """Ever heavier chat requests wait; pops that hand out a small chat job, a text job or nothing read no more."""
    counted = stage.counted()
    points: Points = defaultdict(dict)
    control: dict[int, int] = {}
    first: Request | None = None
    for size in SIZES:
        queue = Queue(counted.stage, partial(_lay, counted.stage, size))
        first = first or queue.heavy[0]
        weighs = weight(queue.heavy[0])
        for what, pop in queue.pops():
            _counts(counted, pop, points, what, weighs)
        control[weighs] = counted.received(queue.hand_out)
        only_this_grew(counted.stage, first, queue.heavy[0])
        queue.clear()
    _never_read(points)
    _seen(control)


def _lay(stage: Stage, size: int, model: str) -> Request:
    return heavy(stage, model, size=size)


@check("DEF-02")
def test_a_hand_out_reads_what_it_carries_once(stage: Stage) -> None:
    """Ever heavier chat requests are handed out: the database sends each byte of messages and extras once."""
    counted = stage.counted()
    points: Points = defaultdict(dict)
    first: Request | None = None
    for size in SIZES:
        model = counted.stage.model()
        request = heavy(counted.stage, model, size=size, n=REPEATS)
        first = first or request
        worker = counted.stage.chat_worker(model)
        for _ in range(REPEATS):
            _counts(counted, lambda: carries(worker.pop_job(), request), points, "pop", weight(request))  # noqa: B023
        only_this_grew(counted.stage, first, request)
    more = slope(points["pop"])
    assert more <= ONCE, (
        f"a hand-out makes the database send {more:.3f} bytes for each that it carries: {points['pop']}"
    )
    _seen(points["pop"])


# Letters that stand out of line; to read them touches several blocks.
OUT_OF_LINE = 32768
# What was touched before a look may be told late, but once only: a server that touches blocks does it each time.
LOOKS = 2
# Seconds in which a backend that has become idle reports what it did, even if it is asked for nothing more.
TOLD = 12.0


@check("DEF-03")
def test_a_pop_touches_no_block_out_of_line(stage: Stage) -> None:
    """Messages and extras of waiting requests stand out of line: pops that do not hand them out touch no such block."""
    stage.needs("database_write")
    table = stage.profile.migration.discriminator.partition(".")[0]
    touched = control = 0
    for _ in range(LOOKS):
        queue = Queue(stage, partial(_lay, stage, OUT_OF_LINE))
        control = stage.database.touched_by(stage.profile.database.request_row, table, id=queue.heavy[0].id)
        if not control:
            raise CouldNotRun(f"{weight(queue.heavy[0])} bytes of messages and extras do not stand out of line")
        touched = _touched(stage, table, queue)
        queue.clear()
        if not touched:
            return
    raise AssertionError(
        f"pops that handed out no heavy request touched {touched} blocks out of line of {table}; to write two of "
        f"these and read one touches {control}"
    )


def _touched(stage: Stage, table: str, queue: Queue) -> int:
    """Blocks out of line that were touched while the pops were made.

    A backend reports at most once a second, after a transaction. All is told when as many updates are as there were
    hand-outs, and scans from after the last pop, which more pops make happen.

    Raises:
        CouldNotRun: the statistics do not say so in time.
    """
    before, handed_out = stage.database.figures_of(table), 0
    for what, pop in queue.pops():
        pop()
        handed_out += what != "a pop that hands out nothing"
    last = stage.database.figures_of(table).now
    *_, (_, poke) = queue.pops()

    def told() -> Figures | None:
        poke()
        seen = stage.database.figures_of(table)
        late = seen.scanned is not None and seen.scanned <= last
        return None if late or seen.updates - before.updates < handed_out else seen

    after = stage.until(told, within=TOLD)
    if after is None:
        raise CouldNotRun(f"the statistics of {table} do not tell of {handed_out} hand-outs")
    return after.out_of_line - before.out_of_line


@check("DEF-04")
def test_a_requests_calls_read_neither_messages_nor_extras(stage: Stage) -> None:
    """Ever heavier requests are submitted, asked for, worked on and answered: none of these calls reads them."""
    counted = stage.counted()
    points: Points = defaultdict(dict)
    control: dict[int, int] = {}
    first: Request | None = None
    for size in SIZES[::3] + SIZES[2:3]:
        request = _lived(counted, size, points, control)
        first = first or request
        only_this_grew(counted.stage, first, request)
    _never_read(points)
    _seen(control)


def _lived(counted: Counted, size: int, points: Points, control: dict[int, int]) -> Request:
    """One request from its submit to its last status; what each call made the database send."""
    stage = counted.stage
    submit = partial(heavy, stage, stage.model(), size=size, over_http=True)
    request, window = counted.count(submit)
    weighs = weight(request)
    points["a submit"][weighs] = window.traffic.received
    call = partial(_counts, counted, points=points, weighs=weighs)
    call(request.status, what="the status of a waiting request")
    worker = stage.chat_worker(*request.models)
    job, window = counted.count(lambda: carries(worker.pop_job(request), request))
    control[weighs] = window.traffic.received
    call(lambda: worker.progress(job, "Some words."), what="a progress post")
    call(request.status, what="the status of a request in flight")
    call(lambda: worker.reply(job, "Some more words."), what="a worker's submit")
    call(request.status, what="the status of a finished request")
    return request


@check("DEF-04")
def test_a_cancel_does_not_read_messages(stage: Stage) -> None:
    """Ever heavier requests are cancelled, waiting and in flight: no cancel reads their messages."""
    counted = stage.counted()
    points: Points = defaultdict(dict)
    control: dict[int, int] = {}
    first: Request | None = None
    for size in SIZES[::3] + SIZES[2:3]:
        request = _ended(counted, size, points, control)
        first = first or request
        only_this_grew(counted.stage, first, request)
    _never_read(points)
    _seen(control)


def _ended(counted: Counted, size: int, points: Points, control: dict[int, int]) -> Request:
    """Requests that are cancelled: one that waits, one in flight and, where there are any, one that streams."""
    stage = counted.stage
    hints = [{}, {"stream": True}] if "streaming" in stage.profile.capabilities else [{}]
    waiting = heavy(stage, stage.model(), size=size, tools=False)
    weighs = weight(waiting)
    _counts(counted, waiting.cancel, points, "the cancel of a waiting request", weighs)
    for hint in hints:
        request = heavy(stage, stage.model(), size=size, tools=False, **hint)
        worker = stage.chat_worker(*request.models)
        control[weighs] = counted.received(lambda: carries(worker.pop_job(request), request))  # noqa: B023
        what = f"the cancel of a request in flight that {'streams' if hint else 'does not stream'}"
        _counts(counted, request.cancel, points, what, weighs)
    return waiting


@check("DEF-05")
def test_what_a_natural_conversation_costs_a_pop_is_recorded(stage: Stage) -> None:
    """Ever longer conversations wait: recorded is what a pop that does not hand them out costs, and one that does."""
    counted = stage.counted()
    passing: Points = defaultdict(dict)
    handing: dict[int, int] = {}
    for size in SIZES[1:]:
        queue = Queue(counted.stage, partial(_talk, counted.stage, size))
        weighs = weight(queue.heavy[0])
        for what, pop in queue.pops():
            _counts(counted, pop, passing, what, weighs)
        handing[weighs] = counted.received(queue.hand_out)
        queue.clear()
    _seen(handing)
    costs = {what: round(slope(points), 3) + 0.0 for what, points in passing.items()}
    costs["a pop that hands the conversation out"] = round(slope(handing), 3)
    stage.note("bytes from the database for each byte of a natural conversation", costs)


def _talk(stage: Stage, size: int, model: str) -> Request:
    return stage.chat(model, messages=conversation(stage.resources.seed, octets=size))
