"""Sets the documented `oom_score_adj` of containers (`oomScoreAdj: Enforce`; the default is Report).

Raising a score needs no privilege, lowering one needs CAP_SYS_RESOURCE, which a container or a hardened unit may lack; this is
reported as one problem. The process's directory in /proc is held open while its cgroup membership is checked, so that a PID that
the kernel has reused in the meantime is never written to.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from evictd.core.model.observation import Problem
from evictd.core.model.oom import OomScoreDifference

SOURCE = "oom_score_adj"


def enforce_oom_scores(
    differences: Iterable[OomScoreDifference], *, cgroup_root: Path, proc_root: Path
) -> tuple[tuple[OomScoreDifference, ...], tuple[Problem, ...]]:
    """Write the documented score to every named process; never raises. Return those corrected, and one problem for the others.

    A process that has ended counts as corrected.
    """
    done, faults = list[OomScoreDifference](), list[str]()
    for difference in differences:
        try:
            for pid in difference.pids:
                _write(difference, pid, cgroup_root, proc_root)
            done.append(difference)
        except OSError as error:
            faults.append(_fault(difference, error))
    more = f" (and {len(faults) - 1} more containers)" if len(faults) > 1 else ""
    return tuple(done), (Problem(source=SOURCE, detail=faults[0] + more),) if faults else ()


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
