"""Which running containers have another `oom_score_adj` than the documented one.

The kubelet has it written once, when a container is created; restarts of daemons, restricted runtimes and privileged
processes change it. Processes are found through the container's cgroup, whose `cgroup.procs` speaks of this pid namespace;
both roots are parameters. What vanishes while it is looked at is no difference.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from evictd.clients.cri.values import ContainerState
from evictd.core.oom import OomScoreDifference, oom_score_adj
from evictd.core.pod import Pod
from evictd.core.resources import Container
from evictd.observe.runtime_view import RuntimeView

OOM_SCORE_ADJ = "oom_score_adj"


def oom_score_differences(
    pods: Iterable[Pod], view: RuntimeView, *, memory_capacity: int, cgroup_root: Path, proc_root: Path
) -> tuple[OomScoreDifference, ...]:
    """Compare every running container of these pods; one of unknown requests has no documented score.

    `cgroup_root` is where any hierarchy that all containers are in is mounted: the unified one, or one of version 1.
    """
    running = {
        container.id: container.name for container in view.containers if container.state is ContainerState.RUNNING
    }
    found: list[OomScoreDifference] = []
    for pod in pods:
        cgroup = view.pod_cgroups.get(pod.uid)
        if cgroup is None or not pod.spec_known:
            continue
        specs = {container.name: container for container in (*pod.init_containers, *pod.containers)}
        for child in _children(cgroup_root / cgroup.lstrip("/")):
            spec = specs.get(running.get(container_id(child.name), ""))
            scores = {} if spec is None else _scores(child, proc_root)
            if spec is not None and scores:
                found += _compare(pod, spec, scores, f"{cgroup}/{child.name}", memory_capacity)
    return tuple(found)


def containers_root(cgroup: Path) -> Path:
    """Give the root of a hierarchy that all containers are in, below a mount point such as /sys/fs/cgroup."""
    if (cgroup / "cgroup.controllers").is_file():
        return cgroup
    return next((each for each in (cgroup / "memory", cgroup / "unified") if each.is_dir()), cgroup)


def container_id(cgroup_name: str) -> str:
    """Read the id from the name of a container's cgroup: `<id>`, `crio-<id>` or `cri-containerd-<id>.scope`."""
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


def _children(cgroup: Path) -> list[Path]:
    try:
        return sorted(path for path in cgroup.iterdir() if path.is_dir())
    except OSError:
        return []


def _scores(cgroup: Path, proc_root: Path) -> dict[int, int]:
    """Read the score of each process in a cgroup."""
    scores = {}
    for pid in _read(cgroup / "cgroup.procs").split():
        score = _read(proc_root / pid / OOM_SCORE_ADJ).strip()
        if score:
            scores[int(pid)] = int(score)
    return scores


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
