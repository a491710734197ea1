"""Tests of the node double: what its threads write at the same time."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.faults.node_double import CALM, MEMORY, FakeNode
from tests.faults.table import content

OVERTAKING_SECONDS = 0.3
"""How long a writer is held up: another one that does not wait for it has finished by then."""


def hold_up(node: FakeNode, other: threading.Thread, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let another thread run within a write of this one, as far as it does not wait for it."""
    write = node.write

    def slow_write(path: str, content: str) -> None:
        if threading.current_thread() is not other:
            other.start()
            other.join(OVERTAKING_SECONDS)
        write(path, content)

    monkeypatch.setattr(node, "write", slow_write)


def test_pod_that_ends_while_the_loop_writes_leaves_the_node_calm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reading from before the end of the pod must not be written after it: evictd would evict one more."""
    node = FakeNode(tmp_path)
    node.press()
    ending = threading.Thread(target=node.end, args=["hog"])
    hold_up(node, ending, monkeypatch)
    node.refresh()
    ending.join()
    assert f"anon {CALM:020}" in (tmp_path / MEMORY).read_text()


def test_fault_that_begins_while_a_pod_ends_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = FakeNode(tmp_path)
    run: Any = SimpleNamespace(node=node)
    fault = content(MEMORY, "a fault")(run)
    beginning = threading.Thread(target=fault.__enter__)
    hold_up(node, beginning, monkeypatch)
    node.end("hog")
    beginning.join()
    assert (tmp_path / MEMORY).read_text() == "a fault"


def test_end_of_a_pod_is_seen_after_its_memory_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode(tmp_path)
    node.press()
    shown: list[tuple[str, bool]] = []
    write = node.write

    def noting_write(path: str, content: str) -> None:
        shown.append((path, node.pods["hog"].running))
        write(path, content)

    monkeypatch.setattr(node, "write", noting_write)
    node.end("hog")
    assert shown == [(MEMORY, True)]
    assert not node.cgroup("hog").exists()
