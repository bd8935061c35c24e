"""What a load run measured: two series of times for each operation and outcome, in HDR histograms.

*Service time* runs from the send, *response time* from the intended start: the second counts what a stalled target
made others wait, the first does not. Both are kept in microseconds to three significant digits (0.1 %). In the hot
path a time is three appends to arrays (0.6 µs measured, against 2.2 µs for each of two records in a histogram);
once a second they are folded. Expected refusals are series of their own, and no errors.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import numpy as np
from hdrh.histogram import HdrHistogram
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

# Microseconds: from one to an hour, which no call takes, and three digits.
LOWEST, HIGHEST, DIGITS = 1, 3_600_000_000, 3
# Below this many microseconds each has a bucket of its own; above, each doubling has half as many.
_HALVES = 11
# Of a second's sketch: buckets of 0.8 %, enough to draw it.
_SKETCHED = 8
_MICROSECONDS = 1e6


class Outcome(StrEnum):
    """How a call ended."""

    DONE = "done"
    LIMITED = "limited"
    UPFRONT = "upfront"
    GONE = "gone"
    REFUSED = "refused"
    CRASHED = "crashed"
    LOST = "lost"


# What a loaded target is right to answer: refused for its rate or for too much waiting, or to be paid beforehand.
EXPECTED = frozenset({Outcome.LIMITED, Outcome.UPFRONT})


@dataclass(frozen=True, order=True)
class Key:
    """Which series: the phase in which the arrival was due, the operation, how the call ended."""

    phase: str
    operation: str
    outcome: str

    def __str__(self) -> str:
        return f"{self.phase}/{self.operation}/{self.outcome}"

    @classmethod
    def read(cls, text: str) -> Self:
        phase, operation, outcome = text.split("/")
        return cls(phase, operation, outcome)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Counts(_Part):
    """A sparse histogram: lowest values of buckets in microseconds, ascending, and how many fell into each."""

    values: tuple[int, ...]
    counts: tuple[int, ...]


class Series(_Part):
    """One series of a whole run. The histograms are HDR's own encoding (V2, base64), of microseconds."""

    phase: str
    operation: str
    outcome: str
    count: int
    service: str
    response: str

    @property
    def key(self) -> Key:
        return Key(self.phase, self.operation, self.outcome)

    @property
    def service_times(self) -> Histogram:
        return Histogram.decode(self.service)

    @property
    def response_times(self) -> Histogram:
        return Histogram.decode(self.response)


class Second(_Part):
    """What ended within one second of the run, of one series, with sketches (0.8 %) of both times."""

    second: int
    phase: str
    operation: str
    outcome: str
    count: int
    service: Counts
    response: Counts


class Histogram:
    """Times in seconds, kept from 1 µs to an hour at 0.1 %; what is outside counts as the nearest within."""

    def __init__(self) -> None:
        self._hdr = HdrHistogram(LOWEST, HIGHEST, DIGITS)

    @classmethod
    def of(cls, seconds: Iterable[float]) -> Self:
        made = cls()
        made.add(bucketed(np.fromiter(seconds, float)))
        return made

    @classmethod
    def decode(cls, text: str) -> Self:
        made = cls()
        made._hdr.decode_and_add(text)
        return made

    def encode(self) -> str:
        encoded: bytes | str = self._hdr.encode()
        return encoded.decode("ascii") if isinstance(encoded, bytes) else encoded

    def add(self, counts: Counts) -> None:
        for value, count in zip(counts.values, counts.counts, strict=True):
            self._hdr.record_value(value, count)

    def merge(self, other: Histogram) -> None:
        """Add what the other holds: as exact as if both had been recorded in one."""
        if other.count:
            self._hdr.add(other._hdr)

    @property
    def count(self) -> int:
        return int(self._hdr.get_total_count())

    def quantile(self, share: float) -> float:
        """Seconds within which this share (0 to 1) of all fell; 0 where there are none."""
        return float(self._hdr.get_value_at_percentile(share * 100)) / _MICROSECONDS if self.count else 0.0

    def quantiles(self, shares: Iterable[float]) -> dict[float, float]:
        """Several quantiles at once, in seconds."""
        wanted = list(shares)
        found = self._hdr.get_percentile_to_value_dict([share * 100 for share in wanted]) if self.count else {}
        return {share: found.get(share * 100, 0) / _MICROSECONDS for share in wanted}

    @property
    def mean(self) -> float:
        return float(self._hdr.get_mean_value()) / _MICROSECONDS

    @property
    def maximum(self) -> float:
        return float(self._hdr.get_max_value()) / _MICROSECONDS


def bucketed(seconds: NDArray[np.float64], halves: int = _HALVES) -> Counts:
    """The times counted by bucket, whose lowest values are those of an HDR histogram of three digits."""
    whole = np.clip(np.rint(seconds * _MICROSECONDS), LOWEST, HIGHEST).astype(np.int64)
    bits = np.frexp(whole.astype(np.float64))[1]
    shift = np.maximum(bits - halves, 0)
    values, counts = np.unique(whole >> shift << shift, return_counts=True)
    return Counts(values=tuple(values.tolist()), counts=tuple(counts.tolist()))


@dataclass
class _Buffer:
    """Times of one series since the last fold, in seconds."""

    ended: array[float] = field(default_factory=lambda: array("d"))
    service: array[float] = field(default_factory=lambda: array("d"))
    response: array[float] = field(default_factory=lambda: array("d"))


class Recorder:
    """One process's times; `add` is the hot path. Moments are seconds of one clock, whatever its zero."""

    def __init__(self) -> None:
        self._buffers: dict[Key, _Buffer] = {}
        self.recorded = 0

    def add(self, key: Key, intended: float, sent: float, ended: float) -> None:
        buffer = self._buffers.get(key)
        if buffer is None:
            buffer = self._buffers[key] = _Buffer()
        buffer.ended.append(ended)
        buffer.service.append(ended - sent)
        buffer.response.append(ended - intended)
        self.recorded += 1

    def take(self, begun: float) -> list[dict[str, Any]]:
        """What was added since the last time, by series and second since `begun`, as plain data to be sent."""
        buffers, self._buffers = self._buffers, {}
        return [row for key, buffer in buffers.items() for row in _folded(key, buffer, begun)]


def _folded(key: Key, buffer: _Buffer, begun: float) -> Iterable[dict[str, Any]]:
    service, response = np.array(buffer.service), np.array(buffer.response)
    seconds = np.floor(np.array(buffer.ended) - begun).astype(int)
    for second in np.unique(seconds).tolist():
        among = seconds == second
        yield {
            "key": str(key),
            "second": second,
            "service": bucketed(service[among]).model_dump(),
            "response": bucketed(response[among]).model_dump(),
        }


class Merged:
    """The times of all processes of a run, as their messages come in."""

    def __init__(self) -> None:
        self._series: dict[Key, tuple[Histogram, Histogram]] = defaultdict(lambda: (Histogram(), Histogram()))
        self._seconds: dict[tuple[int, Key], tuple[_Sketch, _Sketch]] = defaultdict(lambda: (_Sketch(), _Sketch()))

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add what one process's `Recorder.take` gave."""
        for row in rows:
            key = Key.read(row["key"])
            series, sketches = self._series[key], self._seconds[int(row["second"]), key]
            for name, histogram, sketch in zip(("service", "response"), series, sketches, strict=True):
                counts = Counts.model_validate(row[name])
                histogram.add(counts)
                sketch.add(counts)

    @property
    def recorded(self) -> int:
        return sum(service.count for service, _ in self._series.values())

    def count(self, second: int) -> dict[str, int]:
        """How many calls ended within a second of the run, by outcome."""
        found: dict[str, int] = defaultdict(int)
        for (at, key), (service, _) in self._seconds.items():
            if at == second:
                found[key.outcome] += service.count
        return dict(found)

    def series(self) -> tuple[Series, ...]:
        return tuple(
            Series(
                phase=key.phase,
                operation=key.operation,
                outcome=key.outcome,
                count=service.count,
                service=service.encode(),
                response=response.encode(),
            )
            for key, (service, response) in sorted(self._series.items())
        )

    def seconds(self) -> tuple[Second, ...]:
        return tuple(
            Second(
                second=second,
                phase=key.phase,
                operation=key.operation,
                outcome=key.outcome,
                count=service.count,
                service=service.counts(),
                response=response.counts(),
            )
            for (second, key), (service, response) in sorted(self._seconds.items())
        )


class _Sketch:
    """A second's times, in fewer buckets than a histogram has."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = defaultdict(int)
        self.count = 0

    def add(self, counts: Counts) -> None:
        for value, count in zip(counts.values, counts.counts, strict=True):
            shift = max(value.bit_length() - _SKETCHED, 0)
            self._counts[value >> shift << shift] += count
            self.count += count

    def counts(self) -> Counts:
        return Counts(values=tuple(sorted(self._counts)), counts=tuple(n for _, n in sorted(self._counts.items())))


def total(series: Iterable[Series], *, response: bool = True) -> Histogram:
    """All of these series in one histogram, of response or of service times."""
    whole = Histogram()
    for one in series:
        whole.merge(one.response_times if response else one.service_times)
    return whole
