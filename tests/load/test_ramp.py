"""The knee is where the server stops holding, never where the generator does, and its interval is what was seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from load import gates, running, sessions
from load.errors import BadSession
from load.gates import Errors, Quantile
from load.health import Facts, Measure, Process, Reason, judge
from load.recording import Histogram, Series
from load.scenarios import stall
from load.scenarios.plan import Phase, Plan
from load.scenarios.result import Result
from load.sessions import Verdict
from load.sessions.ramp import PHASE, Knee, Ramp, State, Step, knee, step

RATES = (10.0, 20.0, 40.0, 80.0)
LETTERS: dict[str, State] = {"h": "held", "b": "broke", "?": "unknown"}


def found(*ramps: str) -> Knee:
    """Of ramps written as one letter a step: held, broke, or `?`."""
    steps = [
        Step(ramp=place, rate=rate, state=LETTERS[letter], reasons=() if letter == "h" else (f"why {letter}",))
        for place, letters in enumerate(ramps)
        for rate, letter in zip(RATES, letters, strict=False)
    ]
    return knee("one", steps)


@pytest.mark.parametrize(
    ("ramps", "held", "best", "broke", "verdict"),
    [
        (["hhb"], 20, 20, 40, Verdict.PASS),
        (["hhb", "hb"], 10, 10, 40, Verdict.PASS),
        (["hhb", "hb", "hhhb"], 10, 20, 80, Verdict.PASS),
        # What comes after a step that did not hold says nothing.
        (["hbhh"], 10, 10, 20, Verdict.PASS),
        (["hhhh"], 80, 80, None, Verdict.PASS),
        (["hh?"], 20, 20, None, Verdict.INVALID),
        (["hh?", "hhb"], 20, 20, 40, Verdict.PASS),
        # One ramp held what another did not: no upper end is known.
        (["hb", "hhh?"], 10, 10, None, Verdict.INVALID),
        (["hb", "hhhh"], 10, 10, None, Verdict.PASS),
        (["b"], None, None, 10, Verdict.FAIL),
        (["?"], None, None, None, Verdict.INVALID),
        (["b", "hb"], None, None, 20, Verdict.FAIL),
    ],
)  # fmt: skip
def test_a_knee_is_read_off_the_first_step_of_each_ramp_that_did_not_hold(
    ramps: list[str], held: float | None, best: float | None, broke: float | None, verdict: Verdict
) -> None:
    made = found(*ramps)
    assert (made.held, made.best, made.broke, made.judgement.verdict) == (held, best, broke, verdict)


def test_the_generators_ceiling_is_told_as_such() -> None:
    made = found("hh?")
    assert made.sentence == "the knee is at least 20 a second (over 1 ramp)"
    assert made.judgement.reasons == ("the knee is at least 20 a second (over 1 ramp); at 40: why ?",)


def test_a_broken_rule_ends_a_ramp_and_fails_it() -> None:
    steps = [
        Step(ramp=0, rate=10, state="held"),
        Step(ramp=0, rate=20, state="broke", reasons=("twice",), witness="twice"),
    ]
    made = knee("one", steps)
    assert (made.held, made.broke, made.judgement.verdict) == (10, 20, Verdict.FAIL)
    assert made.judgement.reasons == ("At 20 a second: twice",)


# One step


RAMP = Ramp(begin=10, end=80, steps=4, seconds=60, at_most_seconds=0.25)


def measured(
    *, response: float = 0.01, service: float = 0.01, measures: Sequence[Measure] = (), crashed: int = 0
) -> Result:
    process = Process(
        index=0, pid=1, wall=60, cpu=6, waited=0, lag_median=0, lag_tail=0, lateness_median=0, due=1000, begun=1000,
        recorded=1000 + crashed, clock_step=0,
    )  # fmt: skip
    facts = Facts(workers=1, processes=(process,), recorded=1000 + crashed, answered=1000, median_response=response)
    health = judge(facts)
    assert health.reasons == ()
    reasons = tuple(Reason(measure=m, process=0, value=1, limit=0, sentence=f"{m}.") for m in measures)
    times = {"service": Histogram.of([service] * 1000).encode(), "response": Histogram.of([response] * 1000).encode()}
    series = [Series(phase=PHASE, operation="pop", outcome="done", count=1000, **times)]
    if crashed:
        series.append(Series(phase=PHASE, operation="pop", outcome="crashed", count=crashed, **times))
    return Result(
        plan=Plan(scenario="life-cycle", url="http://127.0.0.1:9", phases=(Phase(name=PHASE, seconds=60, rate=20),)),
        workers=1, begun=0, interrupted=False, series=tuple(series), seconds=(), lag="", lateness="",
        health=health.model_copy(update={"reasons": reasons}),
    )  # fmt: skip


def judged(result: Result, witness: str | None = None, unjudged: Sequence[str] = ()) -> State:
    return step(0, 20, result, gates.judge(RAMP.gates, result, {}), witness, unjudged).state


def test_a_step_holds_where_all_is_well() -> None:
    assert judged(measured()) == "held"


def test_a_tail_beyond_its_limit_and_an_error_break_a_step() -> None:
    assert judged(measured(response=0.3, service=0.3)) == "broke"
    assert judged(measured(crashed=1)) == "broke"


def test_a_generator_at_its_ceiling_says_nothing_of_the_server() -> None:
    for measure in (Measure.CPU, Measure.LAG, Measure.LONGEST_LAG, Measure.CORES, Measure.WORKERS):
        assert judged(measured(response=0.3, service=0.3, measures=[measure])) == "unknown"
        assert judged(measured(response=0.3, service=0.3, measures=[measure, Measure.RATE])) == "unknown"
    # It was late, and the server was not: the arrivals waited for the generator.
    assert judged(measured(response=0.3, measures=[Measure.RATE, Measure.LATENESS])) == "unknown"


def test_a_server_that_holds_a_generator_back_is_what_broke() -> None:
    assert judged(measured(response=9, service=9, measures=[Measure.RATE, Measure.LATENESS])) == "broke"


def test_what_a_server_says_itself_needs_no_generator_to_be_believed() -> None:
    assert judged(measured(measures=[Measure.CPU], crashed=1)) == "broke"
    assert judged(measured(measures=[Measure.CPU]), witness="handed out twice") == "broke"


def test_what_could_not_be_judged_did_not_hold() -> None:
    assert judged(measured(), unjudged=["Kudos were not judged."]) == "unknown"


_BODY = b'{"id": null, "ids": [], "skipped": {}}'


@contextmanager
def one_at_a_time(seconds: float) -> Iterator[str]:
    """The URL of a server whose capacity is one call in so many seconds."""
    turn = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with turn:
                time.sleep(seconds)
            self.send_response(200)
            self.send_header("Content-Length", str(len(_BODY)))
            with suppress(OSError):
                # The run is over, and nobody waits for this one.
                self.end_headers()
                self.wfile.write(_BODY)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


def test_a_server_with_a_known_knee_breaks_beyond_it_and_not_before() -> None:
    known = Ramp(begin=10, end=200, steps=2, seconds=21, at_most_seconds=0.25)
    steps = []
    with one_at_a_time(0.02) as url:
        for rate in known.rates:
            phases = (Phase(name=PHASE, seconds=6, rate=rate),)
            plan = stall.plan(url, seconds=6, rate=rate).model_copy(update={"phases": phases})
            result = running.run(plan)
            tail = Quantile(phase=PHASE, quantile=0.8, at_most_seconds=0.25)
            steps.append(step(0, rate, result, gates.judge([tail], result, {}), None, ()))
    # Where others want the cores a step may say nothing; it never says the wrong thing.
    assert steps[0].state != "broke"
    assert steps[1].state == "broke", steps[1].reasons
    assert knee("one", steps).broke in {None, 200.0}


# What is described


def test_rates_rise_evenly_on_a_logarithmic_scale() -> None:
    assert list(RAMP.rates) == [10, 20, 40, 80]
    assert RAMP.total_seconds == 2 * 4 * 61
    assert [type(gate) for gate in RAMP.gates] == [Errors, Quantile]


RUN = 'sentence = "Rises."\n[[run]]\nname = "one"\nscenario = "life-cycle"\n'


@pytest.mark.parametrize(
    ("ramp", "said"),
    [
        ("{ from = 80, to = 10, steps = 4, seconds = 60 }", "below"),
        ("{ from = 1, to = 10, steps = 4, seconds = 10 }", "too few calls"),
        ("{ from = 10, to = 80, steps = 1, seconds = 60 }", "steps"),
        ("{ from = 10, to = 80, steps = 4, seconds = 60 }\ngate = [{ phase = 'x', error_ratio = 0.0 }]", "ramp"),
    ],
)
def test_a_ramp_that_cannot_be_is_refused(ramp: str, said: str) -> None:
    with pytest.raises(BadSession, match=said):
        sessions.parse(f"{RUN}ramp = {ramp}", "mine")


def test_a_run_has_phases_or_a_ramp() -> None:
    with pytest.raises(BadSession, match="phases, with gates, or a ramp"):
        sessions.parse(RUN, "mine")
    run = sessions.parse(f"{RUN}ramp = {{ from = 10, to = 80, steps = 4, seconds = 60 }}", "mine").run[0]
    one = run.step(0, 20.0)
    assert (one.name, one.seconds, one.ramp) == ("one, ramp 1, 20 a second", 61, None)
    assert len(one.gate) == 2
