"""How a container's documented `oom_score_adj` is put back (`oomScoreAdj: Enforce`; off unless asked for).

Raising a score needs nothing, lowering one needs CAP_SYS_RESOURCE, which a container or a hardened unit may lack: that is
one problem for as long as it lasts, never tried around. A process is held by its directory in /proc while its membership is
checked, so that a pid that was given to somebody else meanwhile is never touched.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evictd.core.observation import Problem
from evictd.core.oom import OomScoreDifference

SOURCE = "oom_score_adj"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforced:
    """What became of it: whose score is right again, and in one problem what could not be done."""

    done: tuple[OomScoreDifference, ...] = ()
    problems: tuple[Problem, ...] = ()


def enforce_oom_scores(differences: Iterable[OomScoreDifference], *, cgroup_root: Path, proc_root: Path) -> Enforced:
    """Write the documented score to every process named; never raises. Vanished processes are done."""
    done, faults = [], []
    for difference in differences:
        try:
            for pid in difference.pids:
                _write(difference, pid, cgroup_root, proc_root)
            done.append(difference)
        except OSError as error:
            faults.append(_fault(difference, error))
    if not faults:
        return Enforced(done=tuple(done))
    more = f" (and {len(faults) - 1} more containers)" if len(faults) > 1 else ""
    return Enforced(done=tuple(done), problems=(Problem(source=SOURCE, detail=faults[0] + more),))


def _fault(difference: OomScoreDifference, error: OSError) -> str:
    denied = isinstance(error, PermissionError) and difference.expected < difference.found
    why = "lowering it needs CAP_SYS_RESOURCE" if denied else error.strerror
    return (
        f"{difference.pod.full_name} {difference.container}: "
        f"stays {difference.found} instead of {difference.expected}: {why}"
    )


def _write(difference: OomScoreDifference, pid: int, cgroup_root: Path, proc_root: Path) -> None:
    try:
        process = os.open(proc_root / str(pid), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        members = (cgroup_root / difference.cgroup.lstrip("/") / "cgroup.procs").read_text(encoding="ascii").split()
        if str(pid) not in members:
            return
        score = os.open(SOURCE, os.O_WRONLY | os.O_CLOEXEC, dir_fd=process)
        try:
            os.write(score, str(difference.expected).encode("ascii"))
        finally:
            os.close(score)
    except (FileNotFoundError, ProcessLookupError):
        return
    finally:
        os.close(process)
