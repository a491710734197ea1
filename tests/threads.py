"""A node that is out of PIDs: the kernel gives nobody another thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

REFUSAL = "can't start new thread"


@contextmanager
def no_thread_to_give() -> Iterator[None]:
    """Refuse every thread that the calling one wants to start; what stands for the rest of the world goes on."""
    starved, start = threading.current_thread(), threading.Thread.start

    def start_for_others(thread: threading.Thread) -> None:
        if threading.current_thread() is starved:
            raise RuntimeError(REFUSAL)
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_for_others)
        yield
