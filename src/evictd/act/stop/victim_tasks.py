"""Judges by its cgroups whether a victim still has a process, where the runtime's answer may be out of date.

A runtime whose own disk is full cannot record that a container ended, and lists it as running until there is space. The kernel
knows better, but only of a cgroup that was seen with tasks before: a container whose cgroup has another name
(`docker-<id>.scope`), or none of its own (Kata's single sandbox cgroup), looks exactly like one that is gone. For such a
container the cgroup of its pod decides, if that one was seen with tasks; else only the runtime's answer counts.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import CgroupReader, container_cgroups, is_safe_name, is_safe_path
from evictd.observe.cgroups.file_descriptor_cache import VanishedError


@dataclass(slots=True, kw_only=True)
class _Victim:
    """The cgroups and processes seen of one pod since it was chosen."""

    pod_cgroup: str
    containers: set[str] = field(default_factory=set)
    seen: dict[str, str] = field(default_factory=dict)
    """The cgroup of each container that was seen with tasks, by container id."""
    pod_seen: bool = False
    """Whether the pod's cgroup was seen with tasks."""


class VictimTasks:
    """Remembers which cgroups of each victim were seen with tasks. For the loop's thread."""

    def __init__(self, cgroups: CgroupReader) -> None:
        self._cgroups = cgroups
        self._victims: dict[str, _Victim] = {}

    def watch(self, uid: str, pod_cgroup: str, containers: Iterable[str]) -> None:
        """Look for the cgroups of a pod's running containers; called before any of them is stopped, and again for new ones."""
        victim = self._victims.setdefault(uid, _Victim(pod_cgroup=pod_cgroup))
        if not is_safe_path(victim.pod_cgroup):
            return
        victim.containers.update(each for each in containers if is_safe_name(each))
        victim.pod_seen = victim.pod_seen or _has_tasks(self._cgroups, victim.pod_cgroup) is True
        for each in victim.containers - victim.seen.keys():
            paths = container_cgroups(victim.pod_cgroup, each)
            found = next((path for path in paths if _has_tasks(self._cgroups, path)), None)
            if found is not None:
                victim.seen[each] = found

    def none_left(self, uid: str, running: Iterable[str]) -> bool:
        """Whether every container of a watched pod is known to have no task left; `running` are those listed as such now."""
        victim = self._victims.get(uid)
        if victim is None:
            return False
        self.watch(uid, victim.pod_cgroup, running)
        return bool(victim.containers) and all(self._ended(victim, each) for each in victim.containers)

    def retain(self, uids: Collection[str]) -> None:
        """Drop what is known of all other pods."""
        for uid in self._victims.keys() - set(uids):
            del self._victims[uid]

    def __len__(self) -> int:
        return len(self._victims)

    def _ended(self, victim: _Victim, container: str) -> bool:
        path = victim.seen.get(container)
        if path is None and not victim.pod_seen:
            return False
        return _has_tasks(self._cgroups, path or victim.pod_cgroup) is False


def _has_tasks(cgroups: CgroupReader, path: str) -> bool | None:
    """Whether a cgroup has a task, itself or below; `None` where that cannot be read, False for one that does not exist."""
    try:
        return cgroups.pids_current(path) > 0
    except VanishedError:
        return False
    except NodeError:
        return None
