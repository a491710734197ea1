"""Names the directories of pods' cgroups in the hierarchies in which evictd kills and freezes pods itself."""

from collections.abc import Callable, Iterator
from pathlib import Path

from evictd.observe.cgroups.cgroup import pod_cgroups
from evictd.observe.pods.oom_score import containers_root


class PodDirectories:
    """The directories below a mount point such as /sys/fs/cgroup; `pods` returns the cgroup of all pods, `None` while unknown.

    On v1 pods are killed in the hierarchy of `pids`, in which forks can be stopped, and frozen in that of `freezer`.
    """

    def __init__(self, mount: Path, pods: Callable[[], str | None]) -> None:
        root = containers_root(mount)
        self._mount = mount
        self._root = mount / "pids" if root != mount and (mount / "pids").is_dir() else root
        self._pods = pods

    def of(self, uid: str) -> list[Path]:
        """List the directories that a pod's cgroup may have, under every QoS class."""
        pods = self._pods()
        return [] if pods is None else [self._root / path.lstrip("/") for path in pod_cgroups(pods, uid)]

    def freezer_of(self, directory: Path) -> Path:
        """Return the directory of the same cgroup in the hierarchy of the freezer."""
        if self._root == self._mount:
            return directory
        return self._mount / "freezer" / directory.relative_to(self._root)

    def freezers_of(self, uid: str) -> Iterator[Path]:
        """Yield the directories that a pod's cgroup may have in the hierarchy of the freezer."""
        return map(self.freezer_of, self.of(uid))
