"""How the system's own tools and processes are used: mount, mkfs, dpkg-deb, and what /proc says of a process.

Tools are called by an argument list, never through a shell; a failure is one `NodeError` with the tool's own words.
"""

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from evictd.errors import NodeError

_STEP_SECONDS = 0.01
_TOOL_TIMEOUT_SECONDS = 300
_START_TIME_FIELD = 19  # of /proc/PID/stat, counted from the field after the command's name


def run_tool(*arguments: str | Path, environment: Mapping[str, str] | None = None, folder: Path | None = None) -> str:
    """Run a tool to its end and give its standard output; raises `NodeError` when it fails or is not there."""
    argv = [str(argument) for argument in arguments]
    try:
        done = subprocess.run(  # noqa: S603 - an argument list of our own
            argv,
            env=None if environment is None else dict(environment),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TOOL_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NodeError(f"{argv[0]}: {error}") from error
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).split())[-400:]
        raise NodeError(f"{' '.join(argv[:4])}: exit status {done.returncode}: {words}")
    return done.stdout


def wait_for(condition: Callable[[], bool], *, seconds: float = 20, step_seconds: float = _STEP_SECONDS) -> bool:
    """Ask every 10 ms until the condition holds; False when it never did within about so many seconds."""
    for _ in range(int(seconds / step_seconds)):
        if condition():
            return True
        time.sleep(step_seconds)
    return condition()


def start_time(pid: int) -> int | None:
    """When the process started, in clock ticks since boot; with the pid it names a process for good.

    `None`: there is no such, or nobody has asked yet how it ended.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[_START_TIME_FIELD])


def process_ids() -> list[int]:
    """Every process that this pid namespace can see."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - names only


def command_line(pid: int) -> list[str]:
    """Give the arguments of a process; none for one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []
