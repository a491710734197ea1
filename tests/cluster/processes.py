"""The processes of a cluster: started with a log each, killed with the test session, and swept when that was killed.

A cluster's folder is `<temp>/evictd-cluster-<pid>-<start time of that process>-<random>`. Every process of it has the folder in
its arguments, so that `sweep` finds all of them by the folder and the folder by the name of an owner that is gone.
`setpriv --pdeathsig` ends a process with the thread that started it; the sweep is for what that leaves, the folder first of all.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from evictd_testnode import cgroups
from evictd_testnode.sweep import start_cleanup_process, wait_for_exit
from evictd_testnode.tool import command_line, process_ids, start_time, wait_for

PREFIX = "evictd-cluster-"
_NAME = re.compile(rf"{PREFIX}([0-9]+)-([0-9]+)-[a-z0-9_]+")
_STOP_SECONDS = 20.0


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Make a cluster's folder; processes and files of it are gone at the end, also when this process is killed."""
    start_cleanup_process("tests.cluster.processes")
    pid = os.getpid()
    made = Path(mkdtemp(prefix=f"{PREFIX}{pid}-{start_time(pid)}-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        remove(made)


def sweep() -> None:
    """Remove every cluster whose owner is gone."""
    for path in Path(gettempdir()).iterdir():
        owner = _NAME.fullmatch(path.name)
        if owner is not None and start_time(int(owner[1])) != int(owner[2]):
            remove(path)


def remove(path: Path) -> None:
    """Kill the cluster's processes and delete its folder."""

    def ended() -> bool:
        pids = processes(path)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    group = f"/{path.name}"
    cgroups.kill(cgroups.pids_of(group))
    cgroups.remove_group(group)
    assert wait_for(ended), f"processes of {path} that cannot be killed: {processes(path)}"
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(path)


def processes(path: Path) -> list[int]:
    """Pids whose arguments name a file below the folder; this process's own ancestors and pytest are no such."""
    inside = f"{path}/"
    return [pid for pid in process_ids() if pid != os.getpid() and _names(command_line(pid), inside)]


def _names(arguments: list[str], inside: str) -> bool:
    return any(argument.startswith("--") and inside in argument for argument in arguments)


@dataclass
class Process:
    """One program with its arguments; may be started again after it was stopped or killed."""

    name: str
    folder: Path
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapped: bool = False
    """It is the child of a wrapper (`nsenter --pid`) that passes no signal on: signals go to the child."""
    _popen: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it; its output is appended to `<folder>/<name>.log`."""
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return self.folder / f"{self.name}.log"

    @property
    def pid(self) -> int:
        """The process id; it must have been started."""
        assert self._popen is not None
        return self._popen.pid

    def _targets(self) -> list[int]:
        if not self.wrapped:
            return [self.pid]
        return [int(pid) for pid in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]

    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Suspend it by SIGSTOP; at the end it goes on."""
        targets = self._targets()
        for pid in targets:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in targets:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal and wait for the end; SIGKILL follows where it does not come."""
        if self._popen is None:
            return
        if self._popen.poll() is None:
            for pid in self._targets():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        try:
            self._popen.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait(_STOP_SECONDS)
        self._popen = None


if __name__ == "__main__":
    wait_for_exit(sys.argv[1:])
    sweep()
