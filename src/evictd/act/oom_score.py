"""How a container's documented `oom_score_adj` is put back (`oomScoreAdj: Enforce`; off unless asked for).

Raising a score needs nothing, lowering one needs CAP_SYS_RESOURCE, which a container or a hardened unit may lack: that is
said once per container, never tried around. A process is held by its directory in /proc while its membership is checked, so
that a pid that was given to somebody else meanwhile is never touched.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from evictd.core.observation import Problem
from evictd.core.oom import OomScoreDifference


def enforce_oom_scores(
    differences: Iterable[OomScoreDifference], *, cgroup_root: Path, proc_root: Path
) -> tuple[Problem, ...]:
    """Write the documented score to every process named; gives what could not be done. Vanished processes are done."""
    problems = []
    for difference in differences:
        subject = f"{difference.pod.full_name} {difference.container}"
        try:
            for pid in difference.pids:
                _write(difference, pid, cgroup_root, proc_root)
        except PermissionError:
            detail = (
                f"{subject}: oom_score_adj stays {difference.found} instead of {difference.expected}: "
                "lowering it needs CAP_SYS_RESOURCE"
            )
            problems.append(Problem(source="oom_score_adj", detail=detail))
        except OSError as error:
            problems.append(Problem(source="oom_score_adj", detail=f"{subject}: {error.strerror}"))
    return tuple(problems)


def _write(difference: OomScoreDifference, pid: int, cgroup_root: Path, proc_root: Path) -> None:
    try:
        process = os.open(proc_root / str(pid), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        members = (cgroup_root / difference.cgroup.lstrip("/") / "cgroup.procs").read_text(encoding="ascii").split()
        if str(pid) not in members:
            return
        score = os.open("oom_score_adj", os.O_WRONLY | os.O_CLOEXEC, dir_fd=process)
        try:
            os.write(score, str(difference.expected).encode("ascii"))
        finally:
            os.close(score)
    except (FileNotFoundError, ProcessLookupError):
        return
    finally:
        os.close(process)
