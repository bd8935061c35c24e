"""Waking up on time within gevent's loop, whose own timers count in milliseconds.

`gevent.sleep` ends up in epoll, whose timeouts are whole milliseconds: an arrival would begin half a millisecond
late at the median, half of what a fast target takes. Linux has timers of nanoseconds that are watched like a socket.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from array import array
from pathlib import Path

import gevent
from gevent import get_hub

from load.arrivals import stream
from load.scenarios.plan import Plan

_MONOTONIC, _ABSOLUTE, _FLAGS = 1, 1, os.O_NONBLOCK | os.O_CLOEXEC
# Between two looks at how late the loop is, in the mean: they come at random moments, or those of all processes, and
# regular arrivals as well, would fall on one moment and meet each other rather than what the loop is like.
_GLANCE = 0.02


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Time), ("value", _Time))


class Timer:
    """Wakes one greenlet at given moments of `time.monotonic()`."""

    def __init__(self) -> None:
        self._file, self._watch = -1, None
        if sys.platform == "linux":
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._file = self._libc.timerfd_create(_MONOTONIC, _FLAGS)
        if self._file >= 0:
            self._watch = get_hub().loop.io(self._file, 1)

    def sleep_until(self, moment: float) -> None:
        """Let others run until that moment, and at least once."""
        left = moment - time.monotonic()
        if left <= 0:
            gevent.sleep(0)
        elif self._watch is None:
            gevent.sleep(left)
        else:
            whole = int(moment)
            setting = _Setting(_Time(0, 0), _Time(whole, int((moment - whole) * 1e9) or 1))
            self._libc.timerfd_settime(self._file, _ABSOLUTE, ctypes.byref(setting), None)
            get_hub().wait(self._watch)
            os.read(self._file, 8)


class Probe:
    """What a process measures of itself while phases last that count."""

    def __init__(self, plan: Plan, begun: float, index: int = 0) -> None:
        self._draw = stream(plan.seed, "probe", index)
        self.lags: array[float] = array("d")
        self.clock_step = 0.0
        self.wall = self.cpu = self.waited = 0.0
        self._spans = [
            (begun + stretch.begin, begun + stretch.end)
            for phase, stretch in zip(plan.phases, plan.stretches, strict=True)
            if phase.counts
        ]
        self._clock = _clock()

    def run(self) -> None:
        """Look until the last phase that counts is over."""
        timer = Timer()
        for begin, end in self._spans:
            timer.sleep_until(begin)
            wall, cpu, waited, due = time.monotonic(), time.process_time(), _waited(), begin
            while (due := due + self._draw.expovariate(1 / _GLANCE)) < end:
                timer.sleep_until(due)
                self.lags.append(time.monotonic() - due)
            self.wall += time.monotonic() - wall
            self.cpu += time.process_time() - cpu
            self.waited += _waited() - waited

    def look_at_the_clock(self) -> None:
        """Note by how much the wall clock moved against the monotonic one since the last look."""
        before, self._clock = self._clock, _clock()
        self.clock_step = max(self.clock_step, abs(self._clock - before))


def _clock() -> float:
    return time.time() - time.monotonic()


def _waited() -> float:
    """Seconds in which this process was runnable while another had the core; 0 where the kernel does not say."""
    try:
        return int(Path("/proc/self/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
