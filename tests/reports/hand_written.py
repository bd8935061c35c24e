"""Load reports to look at, with figures written by hand."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from reports.measured.model import LoadReport
from reports.measured.parts import (
    Amplified,
    Block,
    Check,
    Curve,
    Database,
    Duet,
    Figure,
    Finding,
    Knee,
    Machine,
    Measured,
    Moment,
    Operation,
    Phase,
    Point,
    Quantiles,
    Ran,
    Ratio,
    Run,
    Sessions,
    Slope,
    Step,
    Sweep,
    Table,
    Target,
)
from reports.model import Harness

STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
KIB = 1024
PAYLOADS = (0, KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)
HOSTILE = '<script>alert(1)</script> $\\frac{1}{0}$ & "quoted" \x1b[31m\u202e]]>'


def quantiles(middle: float) -> Quantiles:
    return Quantiles(p50=middle, p90=middle * 2, p99=middle * 5)


def moments(count: int, *, operations: tuple[str | None, ...] = (None, "pop")) -> tuple[Moment, ...]:
    return tuple(
        Moment(
            second=second,
            operation=operation,
            counts={"done": 180 + second % 7, "limited": 3, "crashed": int(second % 50 == 49)},
            service=quantiles(0.002 + 0.0005 * math.sin(second / 9)),
            response=quantiles(0.0022 + (0.4 if second % 50 == 49 else 0)),
        )
        for second in range(count)
        for operation in operations
    )


def checks() -> tuple[Check, ...]:
    return (
        Check(measure="achieved rate", value=0.998, limit=0.98, at_least=True, unit="share"),
        Check(measure="loop lag", process=0, value=0.00016, limit=0.0005, unit="seconds"),
        Check(measure="loop lag", process=1, value=0.0031, limit=0.0005, unit="seconds"),
        Check(measure="CPU", process=0, value=0.41, limit=0.8, unit="share"),
        Check(measure="CPU", process=1, value=0.44, limit=0.8, unit="share"),
    )


def sessions(seconds: int) -> tuple[Sessions, ...]:
    """A chain of three once in the middle, and a look that failed."""
    looks = [
        Sessions(
            second=second + 0.4, took_seconds=0.01, active=2 + second % 3, in_transaction=1, idle=5,
            waiting=3 * (second == seconds // 2), longest_chain=2 * (second == seconds // 2), locks_granted=20,
            locks_awaited=3, longest_wait_seconds=0.2, deadlocks=1, waits={"Lock: tuple": 2, "LWLock: WALWrite": 1},
        )
        for second in range(-1, seconds)
    ]  # fmt: skip
    return (*looks, Sessions(second=seconds, took_seconds=5.0, failed="the server closed the connection"))


def counts() -> tuple[Figure, ...]:
    alone = Figure(phase="alone", name="statements per empty pop", value=5.0)
    return (alone, *(Figure(phase=phase, name="scans per pop", value=1.25) for phase in ("warm-up", "steady")))


def statements() -> tuple[Ran, ...]:
    scan = Ran(
        phase="steady", statement="SELECT w.id FROM waiting_prompts w", calls=50, rows=100, blocks=900,
        calls_per_pop=1.25,
    )  # fmt: skip
    return (scan, Ran(phase="steady", statement="DELETE FROM old", calls=9, rows=0, blocks=9000, uncalled=True))


def knee() -> Knee:
    """Two ramps: one broke where the other still held, whose last step says nothing."""
    states = {(1, 10.0): "held", (1, 20.0): "broke", (2, 10.0): "held", (2, 20.0): "held", (2, 40.0): "unknown"}
    steps = tuple(
        Step.model_validate(
            {"ramp": ramp, "rate": rate, "state": state, "reason": f"It {state}.", "run": "run-1-mixed"}
        )
        for (ramp, rate), state in states.items()
    )
    said = "The knee is 10 a second, between 10 and 20 (over 2 ramps)."
    return Knee(slug="ramp-1", name="climb", sentence=said, best=10, held=10, broke=20, steps=steps)


def run(seconds: int = 120, **given: Any) -> Run:
    third = seconds / 4
    phases = tuple(
        Phase(name=name, begin=place * third, end=(place + 1) * third, rate=rate, judged=name != "warm-up")
        for place, (name, rate) in enumerate((("warm-up", 50), ("steady", 200), ("pressure", 400), ("relief", 100)))
    )
    operations = tuple(
        Operation(
            phase=phase.name, operation=operation, done=5000, expected=12, errors=3,
            service=quantiles(0.002), response=quantiles(0.0022),
        )
        for phase in phases
        for operation in ("pop", "submit_chat")
    )  # fmt: skip
    fields: dict[str, Any] = {
        "slug": "run-1-mixed", "name": "mixed", "scenario": "mixed", "workers": 2, "phases": phases,
        "expected": ("done", "limited"), "operations": operations, "moments": moments(seconds), "checks": checks(),
        "counts": counts(), "statements": statements(), "sessions": sessions(seconds),
    }  # fmt: skip
    return Run(**(fields | given))


def amplified(branch: str = "empty pop", slope: float = 0.0, intercept: float = 1979.0) -> Amplified:
    counts = tuple((payload, intercept + slope * payload) for payload in PAYLOADS)
    return Amplified(
        branch=branch, counts=counts, slope=slope, intercept_bytes=intercept, largest_residual=0.0, exact=True
    )


def curve(name: str, levels: tuple[float, ...], middles: tuple[float, ...]) -> Curve:
    points = tuple(
        Point(level=level, middle=middle, low=middle * 0.9, high=middle * 1.2)
        for level, middle in zip(levels, middles, strict=True)
    )
    rounds = tuple(tuple((p.level, p.middle) for p in points) for _ in range(3))
    return Curve(name=name, points=points, rounds=rounds, slope=Slope(value=0.012, low=-0.004, high=0.031))


def sweeps() -> tuple[Sweep, ...]:
    over_payload = Sweep(
        slug="latency-over-payload", over="payload", level_unit="bytes", figure="service time of a pop",
        curves=(
            curve("empty pop", PAYLOADS[1:], (0.0016, 0.0016, 0.0017, 0.0016, 0.0018)),
            curve("chat job", PAYLOADS[1:], (0.0026, 0.0029, 0.0041, 0.009, 0.031)),
        ),
    )  # fmt: skip
    over_depth = Sweep(
        slug="latency-over-depth", over="waiting rows", level_unit="rows", figure="service time of a pop",
        curves=(curve("empty pop", (100, 1000, 10000, 100000), (0.0016, 0.0017, 0.0017, 0.0019)),),
    )  # fmt: skip
    refused = Sweep(
        slug="statements-over-refused", over="rows refused ahead", level_unit="rows", figure="statements of a pop",
        figure_unit="statements", curves=(curve("text pop", (0, 10, 100, 1000, 10000), (4, 4, 4, 4, 4)),),
    )  # fmt: skip
    return over_payload, over_depth, refused


def ratio(middle: float, answer: str = "equivalent", margin: float = 0.02) -> Ratio:
    return Ratio(
        answer=answer, ratio=middle, low=middle - 0.008, high=middle + 0.009, margin=margin, smallest_effect=0.041,
        pairs=100, launches=4,
    )  # fmt: skip


def duet() -> Duet:
    blocks = tuple(
        Block(
            launch=0, round=number, arm=arm, calls=90, failed=0, median_seconds=0.002, server_cpu_seconds=0.0011,
            database_cpu_seconds=0.0004, generator_cpu_seconds=0.0003,
        )
        for number in range(4)
        for arm in ("a", "again", "b")
    )  # fmt: skip
    measures = (
        Measured(measure="CPU time per call", comparison=ratio(1.093, "slower"), guard=ratio(1.003)),
        Measured(measure="median latency", comparison=ratio(1.06, "slower", 0.05), guard=ratio(0.998, margin=0.05)),
    )
    return Duet(
        a="profile", b="python -m slow --port {port}", answer="slower",
        reason="CPU time per call +9.3% (+8.5% to +10.2%, margin 2%)", measures=measures, rounds=100, blocks=blocks,
    )  # fmt: skip


def finding(outcome: str = "pass", kind: str = "gate", **given: Any) -> Finding:
    fields: dict[str, Any] = {
        "name": "steady: p99", "kind": kind, "outcome": outcome,
        "sentence": "steady: 0.99 of all calls within 250 ms (response): 11 ms, of 10000 calls.", "rows": "findings",
    }  # fmt: skip
    return Finding(**(fields | given))


def bare(**given: Any) -> LoadReport:
    """A report of nothing, but for what is given."""
    fields: dict[str, Any] = {
        "harness": Harness(name="horde-conformance", version="0.1.0"),
        "title": "Load session: default",
        "command": "horde-conformance load run default --seed 7",
        "seed": 7,
        "started_at": STARTED,
        "ended_at": STARTED + timedelta(seconds=130),
        "machine": Machine(
            cores=2, processor="Xeon", memory_bytes=8 * 2**30, kernel="Linux 6.1.0", python="3.11.7", load_average=0.4
        ),
        "database": Database(
            version="18.6", settings={"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        ),
        "targets": (Target(address="http://127.0.0.1:8000", profile="reference"),),
    }
    return LoadReport(**(fields | given))


def full(seconds: int = 120, **given: Any) -> LoadReport:
    """A report with a drawing of each kind."""
    table = Table(
        slug="statements", title="Statements of an empty pop", note="Counted by pg_stat_statements.",
        columns=("statement", "calls a pop", "rows a call"),
        rows=(("SELECT id FROM waiting_prompts WHERE …", 1.0, 3.0), ("UPDATE workers SET …", 1, None)),
    )  # fmt: skip
    fields: dict[str, Any] = {
        "findings": (
            finding(run="run-1-mixed", rows="run-1-mixed-operations"),
            finding(
                "invalid", "generator", run="run-1-mixed", rows="run-1-mixed-generator", name="mixed: the generator",
                sentence="Of process 1: its loop was 3.10 ms late at the median, where 0.50 ms may be.",
            ),
            finding(rows="amplification", kind="figure", outcome="pass", requirement="LOD-06", name="Amplification",
                    sentence="An empty pop reads 0.000 bytes for each byte of payload."),
            finding("recorded", "figure", rows="statements-over-refused", name="Growth", sentence="No growth."),
        ),
        "runs": (run(seconds),),
        "knees": (knee(),),
        "amplification": (
            amplified(), amplified("text job", 0.0, 3100.0), amplified("chat job", 1.021, 4200.0),
            amplified("chat job, natural", 7.1, 4300.0),
        ),
        "sweeps": sweeps(),
        "duet": duet(),
        "tables": (table,),
        "unmeasured": ("Detoasted values: the database gives no statistics of its toast tables.",),
    }  # fmt: skip
    return bare(**(fields | given))
