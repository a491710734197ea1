"""Is anything of a stopped pod still in the way?

A pod counts as cleaned up when nothing of it runs and what only it could use is removed (kubelet: the pod worker's
finished flag, spec 8.6). Removing takes as long as it takes, so a thread of its own does it.
"""

from collections.abc import Callable, Iterable

from evictd.daemon.writer import Writer
from evictd.errors import EvictdError, NodeError
from evictd.observe.cgroup import CgroupReader, container_cgroups
from evictd.observe.kept_files import VanishedError

Complain = Callable[[str, str], None]


def any_alive(cgroups: CgroupReader, pod_cgroup: str, container_ids: Iterable[str]) -> bool:
    """Whether any of these containers has a process, by its cgroup and not by the runtime's word.

    A runtime whose own disk is full cannot note that a container ended, and says that it is running until there is room.
    """
    return any(_alive(cgroups, path) for each in container_ids for path in container_cgroups(pod_cgroup, each))


def _alive(cgroups: CgroupReader, path: str) -> bool:
    try:
        return cgroups.pids_current(path) > 0
    except VanishedError:
        return False
    except NodeError:
        return True


class Cleanup:
    """Removes the leftovers of each pod once. `remove` blocks, and raises `EvictdError`; `wake` is called after each."""

    def __init__(self, remove: Callable[[str], object], complain: Complain, wake: Callable[[], None]) -> None:
        self._remove = remove
        self._complain = complain
        self._wake = wake
        self._worker = Writer(complain)
        self._begun: set[str] = set()
        self._done: set[str] = set()

    def done(self, uid: str) -> bool:
        """Whether a stopped pod's leftovers are gone; the first call sets it going."""
        if uid not in self._begun:
            self._begun.add(uid)
            if not self._worker.submit("volumes", lambda: self._clean(uid)):
                self._done.add(uid)  # it was complained about; waiting would not help
        return uid in self._done

    def forget(self, uid: str) -> None:
        """Drop the record of a pod that nobody waits for any more; what is under way goes on."""
        self._begun.discard(uid)
        self._done.discard(uid)

    def close(self) -> None:
        """Finish what is under way, within a bound."""
        self._worker.close()

    def _clean(self, uid: str) -> None:
        try:
            self._remove(uid)
        except EvictdError as error:
            self._complain("volumes", str(error))
        finally:
            if uid in self._begun:  # else it is forgotten, and nobody would drop the record again
                self._done.add(uid)
            self._wake()
