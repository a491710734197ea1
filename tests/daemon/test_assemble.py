"""The daemon's parts come together, keep others out, and are all given back."""

import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.config.settings import MemoryFormula, Settings
from evictd.core.signal import Signal
from evictd.daemon.assemble import Machine, Site, build_node, build_watching, load_yaml, lock_directory
from evictd.daemon.housekeeping import boot_clock, wall_clock
from evictd.daemon.remembered import Remembered
from evictd.daemon.state_file import StateFile
from evictd.errors import InputError, NodeError


class Quiet:
    """A teller that says nothing."""

    def complain(self, source: str, detail: str) -> None:
        raise AssertionError(f"{source}: {detail}")

    def event(self, event: object) -> None:
        raise AssertionError(event)

    def oom_score(self, difference: object) -> None:
        raise AssertionError(difference)


def site(folder: Path, stack: ExitStack, **fields: Any) -> Site:
    settings = Settings(
        state_directory=folder,
        root_dir=folder,
        pod_logs_dir=folder,
        container_runtime_endpoint=f"unix://{folder}/nobody.sock",
        image_service_endpoint=f"unix://{folder}/nobody.sock",
    )
    quiet: Any = Quiet()
    return Site(
        settings=replace(settings, **fields),
        machine=Machine(),
        node_name="n",
        clock=boot_clock,
        wall=wall_clock,
        teller=quiet,
        stack=stack,
    )


def test_two_daemons_do_not_share_a_state_directory(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        lock_directory(tmp_path / "state", first)
        with pytest.raises(NodeError, match="another evictd"):
            lock_directory(tmp_path / "state", second)
    with ExitStack() as third:
        lock_directory(tmp_path / "state", third)


def test_a_state_directory_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ExitStack() as stack, pytest.raises(NodeError, match="stateDirectory"):
        lock_directory(tmp_path / "file" / "state", stack)


def test_everything_that_was_opened_is_given_back(tmp_path: Path) -> None:
    before = {thread.name for thread in threading.enumerate()}
    with ExitStack() as stack:
        made = site(tmp_path, stack)
        node = build_node(made, StateFile(tmp_path / "s", "b"), Remembered(images={}, running_since=0), lambda: None)
        lookout = build_watching(made, node.observer)
        assert Signal.MEMORY_AVAILABLE in lookout.watch._sources
        assert {thread.name for thread in threading.enumerate()} > before
    left = {thread.name for thread in threading.enumerate()} - before
    assert not {name for name in left if name.startswith(("evictd", "terminate", "disk-usage"))}


def test_without_the_watch_nothing_is_read_between_two_cycles(tmp_path: Path) -> None:
    with ExitStack() as stack:
        made = site(tmp_path, stack, memory_watch=False)
        node = build_node(made, StateFile(tmp_path / "s", "b"), Remembered(images={}, running_since=0), lambda: None)
        lookout = build_watching(made, node.observer)
        assert not lookout.watch._sources
        assert not lookout.watch._others


def test_the_other_formula_is_read_from_meminfo(tmp_path: Path) -> None:
    with ExitStack() as stack:
        made = site(tmp_path, stack, memory_formula=MemoryFormula.MEM_AVAILABLE)
        node = build_node(made, StateFile(tmp_path / "s", "b"), Remembered(images={}, running_since=0), lambda: None)
        source = build_watching(made, node.observer)._sources[Signal.MEMORY_AVAILABLE]
        source.capacity = 1 << 40
        read = source.read()
        assert read is not None
        assert read.available_bytes is not None
        assert 0 < read.available_bytes < 1 << 40


def test_a_manifest_may_be_yaml() -> None:
    assert load_yaml("kind: Pod\n") == {"kind": "Pod"}
    assert load_yaml("") is None
    with pytest.raises(InputError):
        load_yaml("a: [1\n")
    with pytest.raises(InputError):
        load_yaml("a: 1\na: 2\n")
