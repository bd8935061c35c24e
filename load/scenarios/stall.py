"""The stall test: does a run see what a stalled target makes others wait? `python -P -m load.scenarios.stall`.

A small server answers at once, save that it stops for S seconds at the end of every P. Arrivals that know nothing of
it wait as long as is left of the stall: a share S/P of them, uniformly between 0 and S. Where the rest takes no time,
the quantile q of the response times is S - (1 - q) P for q above 1 - S/P: with 1 s in every 5 s, p90 is 0.5 s and
p99 0.95 s. A closed loop reads milliseconds there, for it does not ask while it waits.

By default the gaps are constant, so that nothing is left to luck. Of exponential ones 20 s hold 400 that meet a stall,
which alone lets p90 vary by 7 % (one standard error), and one reading in seven would be off by more than a tenth: with
them a run lasts until a tenth is four standard errors. The higher the rate, the more calls end in the moment in which
the stall does, and the later the last of them is read: what that adds is the generator's own, and not calculated away.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import PIPE, Popen

import typer

from conformance.actors import Account
from conformance.errors import Exit
from load.arrivals import Gaps
from load.health import Verdict
from load.running import run
from load.scenarios.plan import Phase, Plan
from load.scenarios.result import Result

_STALL, _PERIOD = 1.0, 5.0
_QUANTILES = (0.5, 0.9, 0.99)
# The quantile that is judged, how far it may lie from what is calculated, and how many standard errors that has to be.
_JUDGED, _WITHIN, _ERRORS = 0.9, 0.1, 4.0
_LOOPBACK = "127.0.0.1"
# Seconds of a run in which nothing is left to luck.
_REGULAR = 20.0
# What a pop is answered: nothing.
_BODY = b'{"id": null, "ids": [], "skipped": {}}'
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


def analytic(share: float, stall: float = _STALL, period: float = _PERIOD) -> float:
    """The quantile of response times that a stall makes, in seconds, over whole periods."""
    return max(0.0, stall - (1 - share) * period)


def error(share: float, arrivals: float, period: float = _PERIOD) -> float:
    """The standard error of that quantile, in seconds, of so many arrivals that come by chance.

    How many of them wait longer is binomial; and of those who wait, each second of waiting holds 1 / `period` of all.
    """
    return period * math.sqrt(share * (1 - share) / arrivals)


def enough(rate: float, gaps: Gaps) -> float:
    """Whole periods, in seconds, after which chance puts no reading of p90 off by as much as is not allowed."""
    if gaps is Gaps.CONSTANT:
        return _REGULAR
    arrivals = (_ERRORS * error(_JUDGED, 1) / (_WITHIN * analytic(_JUDGED))) ** 2
    return math.ceil(arrivals / rate / _PERIOD) * _PERIOD


def verdict(readings: Iterable[tuple[float, bool]]) -> Exit:
    """On readings of p90, in seconds, each with whether its run is believed."""
    readings = list(readings)
    if any(believed and abs(read / analytic(_JUDGED) - 1) > _WITHIN for read, believed in readings):
        return Exit.NOT_CONFORMANT
    return Exit.CONFORMANT if all(believed for _, believed in readings) else Exit.COULD_NOT_RUN


def plan(url: str, *, seconds: float, rate: float, loop: str = "open", gaps: Gaps = Gaps.CONSTANT) -> Plan:
    """Empty pops on the stalling server, for whole periods."""
    nobody = Account("worker", "0000000000", "nobody#1", "1")
    return Plan.model_validate(
        {
            "scenario": "pop-scan",
            "url": url,
            "phases": (Phase(name="steady", seconds=seconds, rate=rate),),
            "loop": loop,
            "gaps": gaps,
            "seeded": True,
            "requesters": (nobody,),
            "owners": (nobody,),
            "models": ("conformance/stall",),
        }
    )


@dataclass(frozen=True)
class Stalling:
    """A running server."""

    url: str
    pid: int


@contextmanager
def stalling(
    stall: float = _STALL, period: float = _PERIOD, pause: float = 0.0, host: str = _LOOPBACK
) -> Iterator[Stalling]:
    """A stalling server in a process of its own, which takes `pause` seconds for each answer."""
    command = [sys.executable, "-P", "-m", "load.scenarios.stall", "--host", host, "--serve"]
    with Popen([*command, str(stall), str(period), str(pause)], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Stalling(process.stdout.readline().strip(), process.pid)
        finally:
            process.terminate()


class _Answering(asyncio.Protocol):
    """Answers each request of one connection: after the pause, or when the stall is over."""

    def __init__(self, stall: float, period: float, pause: float) -> None:
        self._stall, self._period, self._pause = stall, period, pause
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found or len(body) < _length(head):
            return
        self._read.clear()
        left = self._period - time.monotonic() % self._period
        wait = self._pause if left > self._stall else left
        if wait:
            asyncio.get_running_loop().call_later(wait, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        if isinstance(self._transport, asyncio.Transport) and not self._transport.is_closing():
            self._transport.write(_ANSWER)


def _length(head: bytes | bytearray) -> int:
    for line in bytes(head).split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def _serve(host: str, *times: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Answering(*times), host, 0, backlog=1024)
    typer.echo(f"http://{host}:{server.sockets[0].getsockname()[1]}")
    # Who started us holds the other end; when it is gone, so are we.
    await loop.run_in_executor(None, sys.stdin.read)


def row(title: str, result: Result, gaps: Gaps) -> str:
    """A line of the table."""
    response, service = result.response("steady"), result.service("steady")
    told = response.quantiles(_QUANTILES)
    figures = "".join(f"{told[q] * 1000:>10.1f}" for q in _QUANTILES)
    chance = 0.0 if gaps is Gaps.CONSTANT else error(_JUDGED, max(response.count, 1))
    last = f"{chance * 1000:>12.1f}{service.quantile(_JUDGED) * 1000:>13.1f}"
    return f"{title:<24}{response.count:>8}{figures}{last}  {result.health.verdict}"


def _try(title: str, workers: int, options: argparse.Namespace, loop: str) -> tuple[float, bool]:
    seconds = options.seconds or enough(options.rate, options.gaps)
    with stalling() as server:
        result = run(plan(server.url, seconds=seconds, rate=options.rate, loop=loop, gaps=options.gaps), workers)
    typer.echo(row(title, result, options.gaps))
    for reason in result.health.reasons:
        typer.echo(f"    {reason.sentence}")
    return result.response("steady").quantile(_JUDGED), result.health.verdict is Verdict.VALID


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where an open loop's p90 is further off than a tenth, 3 where its run is not believed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rate", type=float, default=100.0, help="arrivals a second")
    parser.add_argument(
        "--seconds", type=float, help="of each run; whole periods of 5 s, by default as many as it takes"
    )
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4], help="processes that make the load")
    parser.add_argument("--gaps", type=Gaps, choices=list(Gaps), default=Gaps.CONSTANT, help="between arrivals")
    parser.add_argument("--host", default=_LOOPBACK, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=float, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.serve:
        asyncio.run(_serve(options.host, *options.serve))
        return 0
    wanted = "".join(f"{analytic(q) * 1000:>10.1f}" for q in _QUANTILES)
    heads = "".join(f"{head:>10}" for head in ("p50", "p90", "p99"))
    typer.echo(f"{'milliseconds':<24}{'calls':>8}{heads}{'p90 +-':>12}{'service p90':>13}")
    typer.echo(f"{'calculated':<24}{'':>8}{wanted}")
    found = verdict([_try(f"open, {workers} processes", workers, options, "open") for workers in options.workers])
    # It reads milliseconds; and as the stall lets its users go together, it is in step and not believed.
    _try("closed, 8 users", 1, options, "closed")
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
