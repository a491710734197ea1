"""Kills the processes of a pod through its cgroup; no other program takes part.

On cgroup v2 one write to `cgroup.kill` kills everything below the pod's cgroup, frozen or not, without a capability and without
a race (Linux 5.14). On v1 every process of each `cgroup.procs` is sent SIGKILL through a pidfd, again and again until none is
left, which needs CAP_KILL; then frozen cgroups are thawed, because a frozen process of v1 does not die. The runtime would do the
same at the end of the grace, but on a node out of memory or disk it took six seconds for it, and the OOM killer does not wait.
The runtime is asked all the same: it has the network and the mounts to clean up.

What is killed is bounded twice: the cgroup is named from the pod's uid below the cgroup of all pods, and `PodKill` refuses a
directory whose name does not end with that uid. What one pod costs is bounded as well: an attempt visits `VISITS` cgroups, the
next one goes on from there. A cgroup that cannot be read never counts as empty. `victim_cgroups` says when a pod is killed.

A process in uninterruptible sleep (state D) cannot be killed before the kernel wakes it up: `unkillable` names such pods.
"""

import errno
import os
import re
import resource
import signal
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from evictd.act.stop.cgroup_tree import REMOVED, is_populated, processes, read, uninterruptible, walk, write
from evictd.errors import NodeError
from evictd.observe.untrusted_paths import opened

VISITS = 2048
"""Number of cgroups that one attempt visits (some 150 ms). The next attempt goes on from there, after the other pods'."""
ROUNDS = 10
"""Number of rounds over the processes on v1; each round finds those that were forked during the previous one."""
LEAST_BATCH = 256
"""Processes held open at once, or a quarter of evictd's descriptors if that is more; each batch reads the list anew."""
_LOOKED_AT = 256
"""Most cgroups visited to find that of a pod that is not listed; if there are more, the pod counts as having one."""
_EXAMINED = 256
"""Most processes of a pod whose state is read."""

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, *REMOVED})
"""Errors that may be over at the next attempt, which finds nothing where the cgroup was removed during this one."""
_UID = re.compile(r"[0-9A-Za-z][-._0-9A-Za-z]{0,252}")


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
        """Whether the last attempt stopped before the end of the tree."""
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
        """Return the examined processes in state D; none if the states cannot be read."""
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
            if is_populated(self._directory) is False:
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
        try:
            self._directory.stat()  # Path.is_dir of Python 3.14 answers False for every error
        except FileNotFoundError:
            self.found = False
            return True
        self.found = True
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
    """Send SIGKILL to the processes that are in the cgroup while their pidfd is open, so that no reused PID is signalled."""
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
