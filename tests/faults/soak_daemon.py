"""Runs the daemon of `make soak` in a process of its own: its memory, descriptors and turns are not those of the doubles.

The process runs the loop cycle after cycle and takes commands between two of them, one JSON object a line, each answered by its
figures. A crash ends the daemon without its last checkpoint and begins the next one in the same process, so that what any of them
leaves behind counts; only cycles of references are collected in between, as the end of a process frees them as well. The process
ends with its parent, also where that is killed: its standard input closes.
"""

import gc
import json
import resource
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from types import SimpleNamespace
from typing import Any, Self, cast

from evictd import clock
from evictd.daemon.run import freeze_gc, use_one_arena
from tests.faults.harness import Run
from tests.faults.node_double import FakeNode
from tests.kube.api_server import ApiServer

TURN_SECONDS = 0.02


class DaemonProcess:
    """The daemon's process, from `start` to `close`; `node` and `api` are the doubles that the faults change."""

    def __init__(self, node: FakeNode, endpoint: str, api: ApiServer, *, health: str) -> None:
        self.node = node
        self.api = api
        self.meanwhile: Callable[[], None] = lambda: None
        """Called again and again until a command is answered."""
        arguments = [str(node.folder), endpoint, str(api.kubeconfig()), health]
        command = [sys.executable, "-m", "tests.faults.soak_daemon", *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.figures: dict[str, Any] = {}
        self.ask()

    def ask(self, **command: object) -> None:
        """Send a command and wait for the figures that answer it; the daemon answers after its cycle, the node goes on."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        while not select.select([process.stdout], [], [], TURN_SECONDS)[0]:
            self.meanwhile()
        self.figures = json.loads(process.stdout.readline())

    def crash(self) -> None:
        """End the daemon as SIGKILL does and begin the next one."""
        self.ask(crash=True)

    @contextmanager
    def wall_clock_shifted(self, by: int) -> Iterator[None]:
        """Shift its wall clock by nanoseconds."""
        self.ask(wall=by)
        yield
        self.ask(wall=0)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _figures(run: Run) -> dict[str, object]:
    return {
        "resident": resident_bytes(),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "cycles": run.cycles,
        "in flight": run.describe()[:2000],
    }


def _shift(wall: int) -> None:
    clock.time = SimpleNamespace(  # type: ignore[assignment, attr-defined]
        CLOCK_BOOTTIME=time.CLOCK_BOOTTIME,
        clock_gettime_ns=time.clock_gettime_ns,
        monotonic_ns=time.monotonic_ns,
        time_ns=lambda: time.time_ns() + wall,
    )


def _read(commands: "SimpleQueue[dict[str, Any] | None]") -> None:
    for line in sys.stdin:
        commands.put(json.loads(line))
    commands.put(None)


def main() -> int:
    """Run until standard input closes."""
    freeze_gc()
    use_one_arena()
    folder, endpoint, kubeconfig, health = sys.argv[1:]
    commands: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
    threading.Thread(target=_read, args=(commands,), daemon=True).start()
    node = SimpleNamespace(folder=Path(folder), stopped=(), pods={}, pressed=False, refresh=lambda: None)
    api = SimpleNamespace(kubeconfig=lambda: kubeconfig)
    with Run(cast("FakeNode", node), endpoint, cast("ApiServer", api), health=health) as run:
        while True:
            run.cycle()
            try:
                command = commands.get_nowait()
            except Empty:
                continue
            if command is None:
                return 0
            if command.get("crash"):
                run.crash()
                del run.loop, run.wake, run._recorder
                gc.collect()
                run.start()
            if "wall" in command:
                _shift(command["wall"])
            print(json.dumps(_figures(run)), flush=True)
            run.logged.clear()


if __name__ == "__main__":
    sys.exit(main())
