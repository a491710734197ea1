"""Kills the processes of a pod through its cgroup, when its grace period is over; no other program takes part.

On cgroup v2 one write to `cgroup.kill` kills everything below the pod's cgroup, frozen or not, without a capability and without
a race (Linux 5.14). On v1 every process of each `cgroup.procs` is sent SIGKILL through a pidfd, again and again until none is
left, which needs CAP_KILL; then frozen cgroups are thawed, because a frozen process of v1 does not die. The runtime would do the
same at the end of the grace, but on a node out of memory or disk it took six seconds for it, and the OOM killer does not wait.
The runtime is asked all the same: it has the network and the mounts to clean up.

What is killed is bounded twice: the cgroup is named from the pod's uid below the cgroup of all pods, and `PodKill` refuses a
directory whose name does not end with that uid. What one pod costs is bounded as well: an attempt visits `VISITS` cgroups, the
next one goes on from there, and an error of one pod is reported and leaves the others to be killed. A cgroup that cannot be read
never counts as empty.

A process in uninterruptible sleep (state D) cannot be killed before the kernel wakes it up: `unkillable` names such pods.
"""

import errno
import os
import re
import resource
import signal
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from evictd.act.stop.cgroup_tree import is_populated, processes, read, uninterruptible, walk, write
from evictd.act.stop.termination import Termination
from evictd.act.trees import opened
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import NodeError
from evictd.worker import ErrorReporter, describe

SOURCE = "terminate"
FIRST_DELAY = 20 * MILLISECOND
LAST_DELAY = 1 * SECOND
"""The time from one attempt to the next doubles from the first to the last; a process dies some milliseconds after SIGKILL."""
STUCK_AFTER = 2 * SECOND
"""How long after the first attempt the states of processes that still live are read; a large process takes a second to exit."""
VISITS = 2048
"""How many cgroups one attempt visits: some 150 ms. The next attempt goes on from there, after those of the other pods."""
ROUNDS = 10
"""How often one attempt goes through the processes on v1: each round finds those that were forked during the one before."""
LEAST_BATCH = 256
"""How many processes are held open at once, or a quarter of the descriptors that evictd may have; each batch reads the list."""
_LOOKED_AT = 256
"""How many cgroups are visited to see whether a pod that is not listed has one; if there are more, it counts as having one."""
_EXAMINED = 256
"""How many processes of a pod are examined for their state."""

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that may be over at the next attempt."""
FAR_FUTURE = 1 << 62
"""Nanoseconds: later than any clock."""
_UID = re.compile(r"[0-9A-Za-z][-._0-9A-Za-z]{0,252}")


def kill_cgroup(directory: Path, uid: str) -> bool:
    """Kill every process in a pod's cgroup and below in one attempt; whether none was left. Raises `NodeError`."""
    return PodKill(directory, uid, freezer=directory).attempt()


def belongs(name: str, uid: str) -> bool:
    """Whether a pod's cgroup has this name: `pod<uid>`, or `...-pod<uid>.slice` with `_` for `-` under the systemd driver.

    A uid with a `_` has no slice of its own, because another pod's may be written alike.
    """
    if not _UID.fullmatch(uid):
        return False
    return name == f"pod{uid}" or ("_" not in uid and name.endswith(f"-pod{uid.replace('-', '_')}.slice"))


class PodKill:
    """Kills every process in one directory that a pod's cgroup may have, and below it, a part at each attempt.

    `freezer` is the directory of the same cgroup in the freezer's hierarchy of v1.
    """

    def __init__(self, directory: Path, uid: str, *, freezer: Path) -> None:
        self._directory = directory
        self._uid = uid
        self._freezer = freezer
        self._round: _Round | None = None
        """The round that the last attempt did not end."""
        self._thaws: Generator[int] | None = None
        self.found = False
        """Whether there was such a directory at the last attempt."""
        self.occupied = False
        """Whether a process was ever seen in it, or it could not be read."""

    @property
    def unfinished(self) -> bool:
        """Whether the last attempt did not come to the end of the tree."""
        return self._round is not None

    def attempt(self) -> bool:
        """Kill what is there; whether nothing was left. On v1 it can fork no more from then on.

        Raises `NodeError` if the directory is not that of the pod with this uid, or if the kernel refuses; a lack of descriptors
        or of memory is no refusal, because it may be over at the next attempt.
        """
        try:
            return self._attempt()
        except OSError as error:
            self._round = self._thaws = None
            self.occupied = True
            if error.errno in _PASSING:
                return False
            raise NodeError(f"{error.filename or 'SIGKILL'}: {error.strerror}") from error

    def unkillable(self) -> tuple[int, ...]:
        """Return those of its processes, as far as they are examined, that are in state D; none where that cannot be read."""
        found = set[int]()
        with suppress(OSError):
            for folder in islice(walk(self._directory), VISITS):
                found |= processes(folder)
                if len(found) >= _EXAMINED:
                    break
        return uninterruptible(sorted(found - {0})[:_EXAMINED])

    def has_processes(self) -> bool:
        """Whether the tree has a process that has not ended; also where it cannot be read, or is too large to be read whole."""
        try:
            if not self._directory.is_dir() or is_populated(self._directory) is False:
                return False
            visits = 0
            for folder in islice(walk(self._directory), _LOOKED_AT):
                visits += 1
                if processes(folder):
                    return True
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return visits == _LOOKED_AT

    def _attempt(self) -> bool:
        self.found = self._directory.is_dir()
        if not self.found:
            return True
        if not belongs(self._directory.name, self._uid):
            raise NodeError(f"{self._directory.name}: is not the cgroup of pod {self._uid}")
        before = is_populated(self._directory)
        self.occupied = self.occupied or before is True
        if self._kill_at_once():
            return is_populated(self._directory) is False
        if before is False:
            return True
        empty = self._kill_in_turn()
        if not empty:
            self._thaw()
        return empty

    def _kill_at_once(self) -> bool:
        """Use `cgroup.kill`; whether there is one."""
        with opened(self._directory) as folder:
            try:
                write(folder, "cgroup.kill", b"1")
            except FileNotFoundError:
                # A fork bomb makes new processes faster than they can be killed one by one.
                with suppress(OSError):  # the hierarchy is another one than the pids controller's
                    write(folder, "pids.max", b"0")
                return False
        return True

    def _kill_in_turn(self) -> bool:
        """Send SIGKILL to each process; whether none was left at the end of the tree."""
        killed, left = set[int](), VISITS
        for _ in range(ROUNDS):
            self._round = self._round or _Round(walk(self._directory))
            left -= self._round.go_on(left, killed)
            self.occupied = self.occupied or self._round.occupied
            if not self._round.ended:
                return False
            made, self._round = self._round, None
            if not made.killed:
                return not made.occupied
        return False

    def _thaw(self) -> None:
        """Thaw what is frozen by the freezer of v1, as far as this attempt gets."""
        self._thaws, visits = self._thaws or walk(self._freezer), 0
        with suppress(FileNotFoundError):  # there is no freezer
            for folder in islice(self._thaws, VISITS):
                visits += 1
                if read(folder, "freezer.self_freezing").strip() == b"1":
                    write(folder, "freezer.state", b"THAWED")
        if visits < VISITS:
            self._thaws = None


@dataclass(slots=True)
class _Round:
    """One traversal of a tree, in which each process is sent SIGKILL."""

    visits: Generator[int]
    occupied: bool = False
    """Whether there was a process, dying ones included."""
    killed: bool = False
    """Whether there was one that had not been sent SIGKILL in the same attempt."""
    ended: bool = False

    def go_on(self, most: int, killed: set[int]) -> int:
        """Visit at most `most` cgroups; return their number. Leave out the processes in `killed`, and add the others to it."""
        count = 0
        for folder in islice(self.visits, most):
            count += 1
            found = processes(folder) - {os.getpid()}
            new = sorted(found - killed - {0})
            self.occupied, self.killed = self.occupied or bool(found), self.killed or bool(new)
            batch = max(LEAST_BATCH, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
            for begin in range(0, len(new), batch):
                _kill_batch(folder, new[begin : begin + batch])
            killed.update(new)
            if 0 in found:
                raise NodeError("its processes are in another PID namespace")
        self.ended = count < most
        return count


def _kill_batch(folder: int, pids: Iterable[int]) -> None:
    """Send SIGKILL to those that are in the cgroup while their pidfd is open: a PID that was reused is never signalled."""
    held: dict[int, int] = {}
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                held[pid] = os.pidfd_open(pid)
        for pid in held.keys() & processes(folder):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(held[pid], signal.SIGKILL)
    finally:
        for fd in held.values():
            os.close(fd)


def _asked(termination: Termination) -> tuple[int, int]:
    """Return what identifies one attempt to stop a pod; what runs after it is asked, and killed, anew."""
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
    """Those of its processes that are in uninterruptible sleep."""

    @property
    def occupied(self) -> bool:
        """Whether a process was seen in the pod's cgroup: where none ever was, its processes may be elsewhere."""
        return any(each.occupied for each in self.kills.values())


class CgroupKiller:
    """Kills the pods whose grace period is over.

    `directories` names the directories that the cgroup of a pod with this uid may have, under every QoS class, and `freezer_of`
    the directory of the same cgroup in the freezer's hierarchy of v1. `emptied` is called with the uid of a pod whose processes
    were all killed. A reason why nothing can be killed here, such as a cgroup filesystem that is mounted read-only, is reported
    once; then the runtime alone kills.
    """

    def __init__(
        self,
        directories: Callable[[str], Iterable[Path]],
        errors: ErrorReporter,
        emptied: Callable[[str], object] = lambda _: None,
        freezer_of: Callable[[Path], Path] = lambda directory: directory,
    ) -> None:
        self._directories = directories
        self._errors = errors
        self._emptied = emptied
        self._freezer_of = freezer_of
        self._reported: set[str] = set()
        self._attempts: dict[str, _Attempts] = {}

    def kill_overdue(self, terminations: Iterable[Termination], now: int) -> list[Termination]:
        """Kill what is left of the pods whose grace is over; return those that were emptied by it."""
        return [each for each in terminations if self.due_at(each) <= now and self._attempt(each, now)]

    def forget(self, uid: str) -> None:
        """Drop the record of a pod."""
        self._attempts.pop(uid, None)

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
