"""Concurrent calls: one thread for any number, an end to each call, and no thread left after `close`."""

import asyncio
import threading
from concurrent.futures import CancelledError

import pytest

from evictd.clients.cri.channel import EventLoopThread
from evictd.errors import RuntimeUnavailableError
from tests.threads import no_thread_to_give

NAME = "test-loop"


async def nothing() -> None:
    """Nothing to finish."""


def running() -> bool:
    return NAME in {thread.name for thread in threading.enumerate()}


def test_many_calls_under_way_need_no_other_thread() -> None:
    loop, arrived = EventLoopThread(NAME), threading.Semaphore(0)
    go_on = loop.begin(_event).result(60)

    async def call() -> int:
        arrived.release()
        await go_on.wait()
        return 7

    async def release() -> None:
        go_on.set()

    with no_thread_to_give():
        calls = [loop.begin(call) for _ in range(50)]
        assert all(arrived.acquire(timeout=60) for _ in calls)
        assert not any(each.done() for each in calls)
        loop.begin(release).result(60)
        assert [each.result(60) for each in calls] == [7] * 50
    loop.close(nothing)


async def _event() -> asyncio.Event:
    return asyncio.Event()


async def _forever() -> None:
    await asyncio.Event().wait()


def test_a_cancelled_call_ends_at_once_and_the_others_go_on() -> None:
    loop = EventLoopThread(NAME)
    first, second = loop.begin(_forever), loop.begin(_event)
    assert first.cancel()
    assert first.done()
    second.result(60)
    loop.close(nothing)


def test_close_ends_what_is_under_way_and_the_thread() -> None:
    loop, finished = EventLoopThread(NAME), threading.Event()

    async def finish() -> None:
        finished.set()

    call = loop.begin(_forever)
    assert running()
    loop.close(finish)
    with pytest.raises(CancelledError):
        call.result(60)
    assert finished.is_set()
    assert not running()
    loop.close(finish)
    with pytest.raises(RuntimeUnavailableError, match="closed"):
        loop.begin(_forever)


def test_a_node_that_gives_no_thread_is_unavailable() -> None:
    with no_thread_to_give(), pytest.raises(RuntimeUnavailableError, match="no thread to wait for"):
        EventLoopThread(NAME)


def test_a_fault_in_the_loop_disturbs_no_call_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    loop = EventLoopThread(NAME)

    async def faulty() -> None:
        asyncio.get_running_loop().call_soon(int, "x")

    loop.begin(faulty).result(60)
    loop.begin(_event).result(60)
    loop.close(nothing)
    assert capfd.readouterr().err == ""
