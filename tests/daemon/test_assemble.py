"""The daemon's parts are built from the settings, and all of them are closed."""

import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evictd.act.dry_run import DryRunActuator
from evictd.codec.config.evictd_config import Memory
from evictd.config.settings import MemoryFormula
from evictd.core.model.signal import Signal
from evictd.daemon.assemble import Assembly
from evictd.daemon.host.liveness import Liveness, SdNotifier
from evictd.daemon.run import roots_of
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from tests.settings import settings_with


class Quiet:
    """Telemetry that fails the test if it is used."""

    def report_error(self, source: str, detail: str) -> None:
        raise AssertionError(f"{source}: {detail}")

    def event(self, event: object) -> None:
        raise AssertionError(event)

    def corrected(self, difference: object) -> None:
        raise AssertionError(difference)


def assembly(folder: Path, stack: ExitStack, cgroup: Path | None = None, **fields: Any) -> Assembly:
    settings = settings_with(
        state_directory=folder,
        root_dir=folder,
        pod_logs_dir=str(folder),
        container_runtime_endpoint=f"unix://{folder}/absent.sock",
        image_service_endpoint=f"unix://{folder}/absent.sock",
    )
    quiet: Any = Quiet()
    settings = settings_with(base=settings, **fields)
    roots = roots_of(settings) if cgroup is None else replace(roots_of(settings), cgroup=cgroup)
    return Assembly(settings, roots, quiet, stack, Liveness(SdNotifier(), LatestSnapshot()))


@pytest.mark.parametrize("images", ["absent", "other"])
@pytest.mark.usefixtures("memory_cgroups")
def test_everything_that_was_opened_is_closed(tmp_path: Path, images: str) -> None:
    """Also with another endpoint for images than for containers."""
    before = set(threading.enumerate())  # a thread that another test has left may end meanwhile
    with ExitStack() as stack:
        parts = assembly(tmp_path, stack, image_service_endpoint=f"unix://{tmp_path}/{images}.sock")
        assert not isinstance(parts.node.effects.actuator, DryRunActuator)
        assert parts.node is parts.node
        assert Signal.MEMORY_AVAILABLE in parts.watch._sources
        assert set(threading.enumerate()) - before
    left = set(threading.enumerate()) - before
    assert not {each.name for each in left if each.name.startswith(("evictd", "terminate", "disk-usage"))}


@pytest.mark.usefixtures("memory_cgroups")
def test_without_the_watch_nothing_is_read_between_two_cycles(tmp_path: Path) -> None:
    with ExitStack() as stack:
        watch = assembly(tmp_path, stack, memory=Memory(watch=False)).watch
        assert not watch._sources
        assert not watch.memory._others


@pytest.mark.usefixtures("memory_cgroups")
def test_the_other_formula_is_read_from_meminfo(tmp_path: Path) -> None:
    with ExitStack() as stack:
        parts = assembly(tmp_path, stack, memory=Memory(formula=MemoryFormula.MEM_AVAILABLE))
        source = parts.watch._sources[Signal.MEMORY_AVAILABLE]
        source.capacity = 1 << 40
        read = source.read()
        assert read is not None
        assert read.available_bytes is not None
        assert 0 < read.available_bytes < 1 << 40


def test_a_stop_uses_no_descriptor_of_the_observer(tmp_path: Path) -> None:
    """In a cluster another thread begins it: a descriptor that one thread closes would show the other a wrong file's numbers."""
    pod = tmp_path / "kubepods/podu"
    pod.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("memory pids")
    (pod / "pids.current").write_text("1\n")
    with ExitStack() as stack:
        parts = assembly(tmp_path, stack, tmp_path)
        cgroups = parts._stopper._cgroups
        before = len(parts._stats._files)
        cgroups.watch("u", "/kubepods/podu", ["c"])
        assert not cgroups.none_left("u", ["c"])  # it was read
        assert len(parts._stats._files) == before
