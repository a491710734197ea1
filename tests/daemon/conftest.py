"""Fixtures of the loop."""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.daemon.double import LoopOnScript

Make = Callable[..., LoopOnScript]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Make a loop over observations; options are those of `LoopOnScript`."""
    made: list[LoopOnScript] = []

    def build(*arguments: object, **options: object) -> LoopOnScript:
        made.append(LoopOnScript(tmp_path, *arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    yield build
    for each in made:
        each.close()


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """A service manager that listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(60)
        yield listener
