"""Finds the cgroup of all pods: under `cgroupRoot`, else where the runtime's sandboxes say that the pods are."""

from collections.abc import Iterable
from pathlib import Path

from evictd.observe.cgroups.cgroup import PlacedPods, find_pods_cgroup, is_safe_path, place_of
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.reading.problems import Problems


class PodsCgroup:
    """The cgroup of all pods of one node. `explicit` is its path where it has neither of the names that a kubelet gives."""

    def __init__(self, cgroups: CgroupReader, root: str, explicit: str | None = None) -> None:
        self._cgroups = cgroups
        self._root = root
        self._explicit = explicit
        self._placed: PlacedPods | None = None
        """The place that the runtime's sandboxes name."""
        self._elsewhere: PlacedPods | None = None
        """The cgroup below which all pods are, if `cgroupRoot` names another one."""
        self.path: str | None = None
        """The cgroup as last found; `None` if there was none."""

    @property
    def folder(self) -> Path | None:
        """The directory of the cgroup as found last."""
        return None if self.path is None else self._cgroups.folder(self.path)

    def note(self, reported: Iterable[str]) -> None:
        """Remember where the runtime reports the cgroups of pods."""
        self._placed = next(filter(None, map(place_of, reported)), self._placed)

    def find(self, problems: Problems) -> str | None:
        """Return the path of the cgroup; search it while there is none, and again after it was removed."""
        explicit = self._explicit
        if explicit is not None and not is_safe_path(explicit):
            problems.add("pods cgroup", f"unsafe path: {explicit!r}")
            return None
        if self.path is None or not self._cgroups.exists(self.path):
            found = find_pods_cgroup(self._cgroups, self._root) if explicit is None else explicit
            self._elsewhere = self._placed if found is None else None
            found = found if self._elsewhere is None else self._elsewhere.cgroup
            self.path = found if found is not None and self._cgroups.exists(found) else None
        if self.path is None:
            problems.add("pods cgroup", f"there is no {explicit or 'kubepods or kubepods.slice'}")
        elif self._elsewhere is not None:
            remedy = f"the runtime's pods are in {self._elsewhere.cgroup}: set cgroupRoot: {self._elsewhere.root}"
            problems.add("pods cgroup", f"there is no kubepods below cgroupRoot {self._root}; {remedy}")
        return self.path
