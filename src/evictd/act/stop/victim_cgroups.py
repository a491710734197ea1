"""Follows the cgroups of victims: which still have a process, and which are killed because their grace period is over.

Whether a victim still has a process the runtime may not know: one whose own disk is full cannot record that a container ended,
and lists it as running until there is space. The kernel knows better, but only of a cgroup that was seen with tasks before: a
container whose cgroup has another name (`docker-<id>.scope`), or none of its own (Kata's single sandbox cgroup), looks exactly
like one that is gone. For such a container the cgroup of its pod decides, if that one was seen with tasks; else only the
runtime's answer counts.

`cgroup_kill` has how a pod is killed. An error of one pod is reported and leaves the others to be killed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evictd.act.stop.cgroup_kill import PodKill
from evictd.act.stop.freezer import PodFreezer
from evictd.act.stop.termination import Termination
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import NodeError
from evictd.observe.cgroups.cgroup import container_cgroups
from evictd.observe.cgroups.cgroup_reader import CgroupReader
from evictd.observe.cgroups.file_descriptor_cache import VanishedError
from evictd.observe.untrusted_paths import is_safe_name, is_safe_path
from evictd.worker import ErrorReporter, describe

SOURCE = "terminate"
FIRST_DELAY = 20 * MILLISECOND
LAST_DELAY = 1 * SECOND
"""The time from one attempt to the next doubles from the first to the last; a process dies some milliseconds after SIGKILL."""
STUCK_AFTER = 2 * SECOND
"""How long after the first attempt the states of processes that still live are read; a large process takes a second to exit."""
FAR_FUTURE = 1 << 62
"""Nanoseconds: later than any clock."""


def _asked(termination: Termination) -> tuple[int, int]:
    """Return the identity of one attempt to stop a pod; processes that run after it are examined and killed anew."""
    return termination.started_at, termination.attempts


@dataclass(slots=True, kw_only=True)
class _Attempts:
    """The steps taken since a pod was last asked to stop."""

    asked: tuple[int, int]
    next_at: int
    first_at: int
    delay: int = FIRST_DELAY
    ended: bool = False
    kills: dict[Path, PodKill] = field(default_factory=dict)
    unkillable: tuple[int, ...] = ()
    """PIDs of the pod's processes that are in uninterruptible sleep."""

    @property
    def occupied(self) -> bool:
        """Whether a process was seen in the pod's cgroup: where none ever was, its processes may be elsewhere."""
        return any(each.occupied for each in self.kills.values())


@dataclass(slots=True, kw_only=True)
class _Seen:
    """The cgroups of one pod that were seen with tasks since it was chosen."""

    pod_cgroup: str
    containers: set[str] = field(default_factory=set)
    cgroups: dict[str, str] = field(default_factory=dict)
    """The cgroup of each container that was seen with tasks, by container id."""
    pod_seen: bool = False
    """Whether the pod's own cgroup was seen with tasks."""

    def update(self, reader: CgroupReader, containers: Iterable[str]) -> None:
        """Look for the cgroups of the containers that have none yet, these included."""
        if not is_safe_path(self.pod_cgroup):
            return
        self.containers.update(each for each in containers if is_safe_name(each))
        self.pod_seen = self.pod_seen or _has_tasks(reader, self.pod_cgroup) is True
        for each in self.containers - self.cgroups.keys():
            paths = container_cgroups(self.pod_cgroup, each)
            found = next((path for path in paths if _has_tasks(reader, path)), None)
            if found is not None:
                self.cgroups[each] = found

    def has_ended(self, reader: CgroupReader) -> bool:
        """Whether every container is known to have no task left."""
        return bool(self.containers) and all(self._is_over(reader, each) for each in self.containers)

    def _is_over(self, reader: CgroupReader, container: str) -> bool:
        path = self.cgroups.get(container)
        if path is None and not self.pod_seen:
            return False
        return _has_tasks(reader, path or self.pod_cgroup) is False


def _has_tasks(reader: CgroupReader, path: str) -> bool | None:
    """Whether a cgroup or one below it has a task; `None` if unreadable, False if it does not exist."""
    try:
        return reader.pids_current(path) > 0
    except VanishedError:
        return False
    except NodeError:
        return None


class VictimCgroups:
    """Kills the pods whose grace period is over, and remembers which of their cgroups were seen with tasks.

    `directories` names the directories that the cgroup of a pod with this uid may have, under every QoS class, and `freezer_of`
    the directory of the same cgroup in the freezer's hierarchy of v1. `emptied` is called with the uid of a pod whose processes
    were all killed. A reason why nothing can be killed here, such as a cgroup filesystem that is mounted read-only, is reported
    once; then the runtime alone kills. `reader` reads the cgroups that `watch` names, from any thread, so it must keep no file
    open; without one nothing is known of them.
    """

    def __init__(
        self,
        directories: Callable[[str], Iterable[Path]],
        errors: ErrorReporter,
        emptied: Callable[[str], object] = lambda _: None,
        freezer_of: Callable[[Path], Path] = lambda directory: directory,
        *,
        reader: CgroupReader | None = None,
    ) -> None:
        self._directories = directories
        self._errors = errors
        self._emptied = emptied
        self._freezer_of = freezer_of
        self.freezer = PodFreezer(lambda uid: map(freezer_of, directories(uid)), errors)
        self._reported: set[str] = set()
        self._attempts: dict[str, _Attempts] = {}
        self._reader = reader
        self._seen: dict[str, _Seen] = {}

    # --- tasks that were seen, for the threads that begin stops -----------------------------------------------------

    def watch(self, uid: str, pod_cgroup: str, containers: Iterable[str]) -> None:
        """Look for the cgroups of a pod's running containers; called before any of them is stopped, and again for new ones."""
        if self._reader is not None:
            self._seen.setdefault(uid, _Seen(pod_cgroup=pod_cgroup)).update(self._reader, containers)

    def none_left(self, uid: str, running: Iterable[str]) -> bool:
        """Whether every container of a watched pod is known to have no task left; `running` are those listed as such now."""
        seen = self._seen.get(uid)
        if seen is None or self._reader is None:
            return False
        seen.update(self._reader, running)
        return seen.has_ended(self._reader)

    # --- kills, for the thread that ends pods -----------------------------------------------------------------------

    def kill_overdue(self, terminations: Iterable[Termination], now: int) -> list[Termination]:
        """Kill the remaining processes of pods whose grace is over; return the pods that this emptied."""
        return [each for each in terminations if self.due_at(each) <= now and self._attempt(each, now)]

    def forget(self, uid: str) -> None:
        """Drop the record of a pod."""
        self._attempts.pop(uid, None)
        self._seen.pop(uid, None)

    def due_at(self, termination: Termination) -> int:
        """Return when this pod is to be killed, or looked at again; the far future where nothing is left to do."""
        made = self._attempts.get(termination.uid)
        if made is None or made.asked != _asked(termination):
            return termination.grace_ends_at
        return FAR_FUTURE if made.ended else made.next_at

    def has_processes(self, uid: str) -> bool:
        """Whether a pod's cgroup has a process, or cannot be read; not where its cgroup has another name."""
        found = [PodKill(each, uid, freezer=each) for each in self._directories(uid)]
        return any(each.has_processes() for each in found)

    def unkillable(self) -> Mapping[str, tuple[int, ...]]:
        """Return the processes in state D of each pod that cannot be killed because of them, by the pod's uid."""
        return {uid: each.unkillable for uid, each in tuple(self._attempts.items()) if each.unkillable}

    def _attempt(self, termination: Termination, now: int) -> bool:
        """Kill one pod; whether its cgroup was found and is empty. An error of one pod must not keep the others alive."""
        made = self._begun(termination, now)
        made.next_at = now + made.delay
        try:
            found = self._kill(termination.uid, made, now)
        except NodeError as error:
            made.ended = True
            self._report(f"pods are killed by the runtime alone: {error}")
            return False
        except Exception as error:  # tried again
            self._report(describe(error))
            return False
        if made.ended and made.occupied:
            self._emptied(termination.uid)
        return made.ended and found

    def _begun(self, termination: Termination, now: int) -> _Attempts:
        made = self._attempts.get(termination.uid)
        if made is None or made.asked[0] != termination.started_at:
            made = _Attempts(asked=_asked(termination), next_at=now, first_at=now)
        elif made.asked != _asked(termination):
            made = _Attempts(asked=_asked(termination), next_at=now, first_at=made.first_at, kills=made.kills)
        self._attempts[termination.uid] = made
        return made

    def _kill(self, uid: str, made: _Attempts, now: int) -> bool:
        """Make one attempt; whether the pod has a cgroup."""
        made.delay = min(2 * made.delay, LAST_DELAY)
        for each in self._directories(uid):
            if each not in made.kills:
                made.kills[each] = PodKill(each, uid, freezer=self._freezer_of(each))
        kills = made.kills.values()
        # Also where there is none: the runtime has removed it, or names it in a way of its own.
        emptied = [each.attempt() for each in kills]
        made.ended = all(emptied)
        if any(each.unfinished for each in kills):
            made.delay, made.next_at = FIRST_DELAY, now + FIRST_DELAY
        late = not made.ended and now - made.first_at >= STUCK_AFTER
        made.unkillable = tuple(pid for each in kills for pid in each.unkillable()) if late else ()
        return any(each.found for each in kills)

    def _report(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            self._errors.report_error(SOURCE, reason)
