"""Checks side by side: lanes are processes, forked from one that has everything ready, that take task after task.

A process each, not a thread each: pytest runs one check at a time in a process, and a check that hangs or crashes
takes nobody with it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from typing import Any

# Opened in the lane's own process; what it gives does one task and returns what the task's result is.
Opener = Callable[[], AbstractContextManager[Callable[[int], Any]]]

# Seconds that a lane which was told to stop gets to put away what it made.
_PUTTING_AWAY = 10.0


@dataclass
class _Lane:
    process: ForkProcess
    pipe: Connection
    task: int | None = None


class Mistake(Exception):
    """What a lane raised that it should not have: the harness's own mistake, told where all others are."""


def share(
    tasks: Iterable[int], openers: Sequence[Opener], on_done: Callable[[int, Any], None], on_lost: Callable[[int], None]
) -> None:
    """Do all tasks in lanes, each task once and in the order given; told in this process as they end.

    Args:
        tasks: numbers that mean something to the openers.
        openers: one for each lane.
        on_done: told a task and its result.
        on_lost: told a task whose lane ended under it. Tasks that no lane was left for are told to nobody.

    Raises:
        Mistake: a task raised.
    """
    waiting = list(tasks)[::-1]
    lanes: list[_Lane] = []
    try:
        for opener in openers[: len(waiting)]:
            lanes.append(_start(opener, [lane.pipe for lane in lanes]))
        while busy := {lane.pipe: lane for lane in lanes if _busy(lane, waiting)}:
            for ready in connection.wait(busy):
                _listen(busy[ready], lanes, on_done, on_lost)  # type: ignore[index]  # what we waited for are pipes
    finally:
        _end(lanes)


def _busy(lane: _Lane, waiting: list[int]) -> bool:
    """Whether the lane is at work, after giving it the next task where it has none."""
    if lane.task is None and waiting:
        lane.task = waiting.pop()
        with suppress(OSError):
            # A lane that is gone is heard of when it is listened to.
            lane.pipe.send(lane.task)
    return lane.task is not None


def _listen(
    lane: _Lane, lanes: list[_Lane], on_done: Callable[[int, Any], None], on_lost: Callable[[int], None]
) -> None:
    assert lane.task is not None
    task, lane.task = lane.task, None
    try:
        result = lane.pipe.recv()
    except (EOFError, OSError):
        lanes.remove(lane)
        _end([lane])
        on_lost(task)
        return
    if isinstance(result, Mistake):
        raise result
    on_done(task, result)


def _start(opener: Opener, others: list[Connection]) -> _Lane:
    ours, theirs = get_context("fork").Pipe()
    process = get_context("fork").Process(target=_work, args=(opener, theirs, [*others, ours]))
    process.start()
    theirs.close()
    return _Lane(process, ours)


def _work(opener: Opener, pipe: Connection, not_ours: list[Connection]) -> None:
    # A pipe whose other end stands open in a second lane would never tell its own lane that we are gone.
    for other in not_ours:
        other.close()
    # Ctrl-C reaches every process of the terminal; it is the first one that tells us what to do about it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _interrupt)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        try:
            with opener() as do:
                while True:
                    pipe.send(do(pipe.recv()))
        except (EOFError, KeyboardInterrupt, BrokenPipeError):
            raise
        except Exception as mistake:  # noqa: BLE001 - it is told, where it would else be lost with this process
            pipe.send(Mistake(f"{type(mistake).__name__}: {mistake}"))


def _interrupt(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _end(lanes: Iterable[_Lane]) -> None:
    """Lanes without a task end by themselves when nobody speaks to them any more; the others are interrupted."""
    for lane in lanes:
        lane.pipe.close()
        if lane.task is not None:
            lane.process.terminate()
    for lane in lanes:
        lane.process.join(_PUTTING_AWAY)
        lane.process.kill()
        lane.process.join()
