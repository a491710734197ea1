"""Finds running containers whose `oom_score_adj` differs from the documented one (kubelet `qos.GetContainerOOMScoreAdjust`).

The kubelet sets the score once, when a container is created; daemon restarts, restricted runtimes and privileged processes
change it. Processes are found through `cgroup.procs` of the container's cgroup, whose PIDs are of the reader's pid namespace.
A process or cgroup that ends during the reading is no difference.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evictd.core.gc.container_gc import ContainerState
from evictd.core.model.oom import OomScoreDifference, oom_score_adj
from evictd.core.model.pod import Pod
from evictd.core.model.resources import Container
from evictd.observe.runtime.runtime_view import RuntimeView

OOM_SCORE_ADJ = "oom_score_adj"

_SCORE = re.compile(r"-?[0-9]{1,4}")
_PID = re.compile(r"[0-9]{1,10}")


def oom_score_differences(
    pods: Iterable[Pod], view: RuntimeView, *, memory_capacity: int, cgroup_root: Path, proc_root: Path
) -> tuple[OomScoreDifference, ...]:
    """Compare every running container of these pods; pods with unknown requests are skipped, as they have no documented score.

    `cgroup_root` is the mount point of a hierarchy that holds all containers (`containers_root`); `memory_capacity` in bytes.
    """
    running, found = running_names(view), list[OomScoreDifference]()
    for pod in pods:
        cgroup = view.pod_cgroups.get(pod.uid)
        if cgroup is None or not pod.spec_known:
            continue
        for spec, child in running_containers(pod, cgroup, running, cgroup_root):
            if scores := _scores(child, proc_root):
                found += _compare(pod, spec, scores, f"{cgroup}/{child.name}", memory_capacity)
    return tuple(found)


def running_names(view: RuntimeView) -> dict[str, str]:
    """Return the names of the running containers by id."""
    return {row.id: row.name for row in view.containers if row.state is ContainerState.RUNNING}


def running_containers(
    pod: Pod, cgroup: str, running: Mapping[str, str], cgroup_root: Path
) -> Iterator[tuple[Container, Path]]:
    """Yield the `running_names` of a pod with the directories of their cgroups, which are below the pod's `cgroup`."""
    specs = {container.name: container for container in (*pod.init_containers, *pod.containers)}
    for child in _child_cgroups(cgroup_root / cgroup.lstrip("/")):
        spec = specs.get(running.get(container_id(child.name), ""))
        if spec is not None:
            yield spec, child


def containers_root(cgroup: Path) -> Path:
    """Return the root of a hierarchy that holds all containers, below a mount point such as /sys/fs/cgroup."""
    if (cgroup / "cgroup.controllers").is_file():
        return cgroup
    return next((each for each in (cgroup / "memory", cgroup / "unified") if each.is_dir()), cgroup)


def container_id(cgroup_name: str) -> str:
    """Extract the id from the name of a container's cgroup: `<id>`, `crio-<id>` or `cri-containerd-<id>.scope`."""
    return cgroup_name.removesuffix(".scope").rpartition("-")[2]


def _compare(
    pod: Pod, spec: Container, scores: Mapping[int, int], cgroup: str, memory_capacity: int
) -> Iterator[OomScoreDifference]:
    expected, lowest = oom_score_adj(pod, spec, memory_capacity), min(scores.values())
    if lowest != expected:
        yield OomScoreDifference(
            pod=pod,
            container=spec.name,
            expected=expected,
            found=lowest,
            cgroup=cgroup,
            pids=tuple(sorted(pid for pid, score in scores.items() if score == lowest)),
        )


def _child_cgroups(cgroup: Path) -> list[Path]:
    """List the cgroups directly below one; none if it is gone."""
    try:
        return sorted(path for path in cgroup.iterdir() if path.is_dir())
    except OSError:
        return []


def _scores(cgroup: Path, proc_root: Path) -> dict[int, int]:
    """Read the score of each process in a cgroup."""
    scores = {}
    for pid in _read(cgroup / "cgroup.procs").split():
        score = _read(proc_root / pid / OOM_SCORE_ADJ).strip()
        if _SCORE.fullmatch(score) and _PID.fullmatch(pid):
            scores[int(pid)] = int(score)
    return scores


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):  # the process has ended, or the file is not the kernel's
        return ""
