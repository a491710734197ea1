"""Simulates a node without free PIDs: no new thread can be started."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

REFUSAL = "can't start new thread"


@contextmanager
def no_thread_to_give() -> Iterator[None]:
    """Refuse every thread that the calling thread starts; threads of the doubles are not affected."""
    starved, start = threading.current_thread(), threading.Thread.start

    def start_for_others(thread: threading.Thread) -> None:
        if threading.current_thread() is starved:
            raise RuntimeError(REFUSAL)
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_for_others)
        yield
