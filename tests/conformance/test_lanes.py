"""Lanes do each task once, side by side, whatever happens to one of them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from conformance import lanes

Do = Callable[[int], Any]


def opener(do: Do, closed: Path | None = None) -> Callable[[], AbstractContextManager[Do]]:
    @contextmanager
    def opened() -> Iterator[Do]:
        try:
            yield do
        finally:
            if closed is not None:
                closed.touch()

    return opened


def shared(tasks: int, openers: list[Any]) -> tuple[dict[int, Any], list[int]]:
    done: dict[int, Any] = {}
    lost: list[int] = []

    def on_done(task: int, result: Any) -> None:
        assert task not in done, "a task is done once"
        done[task] = result

    lanes.share(range(tasks), openers, on_done, lost.append)
    return done, lost


def test_each_task_is_done_once_and_in_a_process_of_its_lane() -> None:
    done, lost = shared(12, [opener(lambda task: (task * task, os.getpid()))] * 3)
    assert {task: result for task, (result, _) in done.items()} == {task: task * task for task in range(12)}
    assert os.getpid() not in {process for _, process in done.values()}
    assert lost == []


def test_two_lanes_work_at_the_same_time() -> None:
    meeting = get_context("fork").Barrier(2)
    done, _ = shared(2, [opener(lambda _: meeting.wait(timeout=30) >= 0)] * 2)
    assert done == {0: True, 1: True}, "neither could go on without the other"


def test_there_are_no_more_lanes_than_tasks() -> None:
    done, _ = shared(1, [opener(lambda _: os.getpid())] * 4)
    assert len(done) == 1


def test_nothing_to_do_is_done() -> None:
    assert shared(0, [opener(lambda task: task)] * 2) == ({}, [])


def test_a_lane_that_is_killed_loses_its_task_and_no_other() -> None:
    def do(task: int) -> int:
        if task == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    done, lost = shared(8, [opener(do)] * 2)
    assert lost == [3]
    assert sorted(done) == [0, 1, 2, 4, 5, 6, 7]


def test_a_task_that_raises_is_a_mistake_and_ends_all() -> None:
    with pytest.raises(lanes.Mistake, match="ZeroDivisionError: "):
        shared(4, [opener(lambda task: 1 // task)] * 2)


def test_what_no_lane_is_left_for_is_told_to_nobody() -> None:
    def do(_: int) -> int:
        os._exit(1)

    done, lost = shared(5, [opener(do)] * 2)
    assert done == {}
    assert sorted(lost) == [0, 1]


def test_lanes_put_away_what_they_opened(tmp_path: Path) -> None:
    shared(4, [opener(lambda task: task, tmp_path / name) for name in ("one", "two")])
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}


def test_an_interrupt_ends_the_lanes_under_their_tasks(tmp_path: Path) -> None:
    started = get_context("fork").Event()

    def do(task: int) -> int:
        if task == 1:
            started.set()
            threading.Event().wait(60)
        started.wait(60)
        return task

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lanes.share(range(2), [opener(do, tmp_path / name) for name in ("one", "two")], interrupted, print)
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}
