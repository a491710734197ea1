"""Runs system tools (mount, mkfs, dpkg-deb) and reads processes from /proc.

Tools are called with an argument list, never through a shell; a failure is one `NodeError` with the tool's output.
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


def run_tool(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    seconds: float = _TOOL_TIMEOUT_SECONDS,
) -> str:
    """Run a tool and return its standard output; raises `NodeError` if it fails, does not end in time or does not exist."""
    argv = [str(argument) for argument in arguments]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed argument list, no shell
            argv,
            env=None if environment is None else dict(environment),
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NodeError(f"{argv[0]}: {error}") from error
    if done.returncode:
        output = " ".join((done.stderr or done.stdout).split())[-400:]
        raise NodeError(f"{' '.join(argv[:4])}: exit status {done.returncode}: {output}")
    return done.stdout


def wait_for(condition: Callable[[], bool], *, seconds: float = 60, step_seconds: float = _STEP_SECONDS) -> bool:
    """Check a condition every `step_seconds` until it holds; returns False if it does not within about `seconds`."""
    for _ in range(int(seconds / step_seconds)):
        if condition():
            return True
        time.sleep(step_seconds)
    return condition()


def start_time(pid: int) -> int | None:
    """Return a process's start time in clock ticks since boot, which together with the pid identifies it.

    `None` if the process does not exist or is a zombie.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[_START_TIME_FIELD])


def process_ids() -> list[int]:
    """Return the pids of all processes visible in this pid namespace."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]  # noqa: PTH208 - names only


def command_line(pid: int) -> list[str]:
    """Return the arguments of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []
