"""Kills the processes of a pod through its cgroup, when its grace period is over; no other program takes part.

On cgroup v2 one write to `cgroup.kill` kills everything below the pod's cgroup, without a capability and without a race (Linux
5.14). On v1 every process of `cgroup.procs` is sent SIGKILL through a pidfd, again and again until none is left, which needs
CAP_KILL. The runtime would do the same at the end of the grace, but on a node out of memory or disk it took six seconds for it
(issue 13), and the OOM killer does not wait. The runtime is asked all the same: it has the network and the mounts to clean up.

What is killed is bounded twice: the cgroup is named from the pod's uid below the cgroup of all pods, and `kill_cgroup` refuses a
directory whose name does not end with that uid.
"""

import errno
import os
import re
import resource
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evictd.act.termination import Termination
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.errors import NodeError
from evictd.worker import ErrorReporter

SOURCE = "terminate"
FIRST_DELAY = 20 * MILLISECOND
LAST_DELAY = 1 * SECOND
"""The time from one attempt to the next doubles from the first to the last; a process dies some milliseconds after SIGKILL."""
ROUNDS = 10
"""How often one attempt goes through the processes on v1: each round finds those that were forked during the one before."""
LEAST_BATCH = 256
"""How many processes are held open at once, or a quarter of the descriptors that evictd may have; each batch reads the list."""

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
"""Errors that may be over at the next attempt."""
FAR_FUTURE = 1 << 62
"""Nanoseconds: later than any clock."""
_UID = re.compile(r"[0-9A-Za-z][-._0-9A-Za-z]{0,252}")


def kill_cgroup(directory: Path, uid: str) -> bool:
    """Kill every process in a pod's cgroup and below; whether none was left. On v1 it can fork no more from then on.

    Raises `NodeError` if the directory is not that of the pod with this uid, or if the kernel refuses; a lack of descriptors
    or of memory is no refusal, because it may be over at the next attempt.
    """
    if not belongs(directory.name, uid):
        raise NodeError(f"{directory.name}: is not the cgroup of pod {uid}")
    what = "cgroup.kill"
    try:
        try:
            with (directory / what).open("r+b", buffering=0) as file:
                file.write(b"1")
        except FileNotFoundError:
            what = "SIGKILL"
            _stop_forks(directory)
            _kill_one_by_one(directory)
        return not any(_processes(directory))
    except OSError as error:
        if error.errno in _PASSING:
            return False
        raise NodeError(f"{what}: {error.strerror}") from error


def belongs(name: str, uid: str) -> bool:
    """Whether a pod's cgroup has this name: `pod<uid>`, or `...-pod<uid>.slice` with `_` for `-` under the systemd driver.

    A uid with a `_` has no slice of its own, because another pod's may be written alike.
    """
    if not _UID.fullmatch(uid):
        return False
    return name == f"pod{uid}" or ("_" not in uid and name.endswith(f"-pod{uid.replace('-', '_')}.slice"))


def _stop_forks(directory: Path) -> None:
    """Let the cgroup have no further task: a fork bomb makes new ones faster than one by one can be killed."""
    # OSError: the hierarchy is another one than the pids controller's
    with suppress(OSError), (directory / "pids.max").open("r+b", buffering=0) as file:
        file.write(b"0")


def _kill_one_by_one(directory: Path) -> None:
    killed: set[int] = set()
    for _ in range(ROUNDS):
        found = sorted(set(_processes(directory)) - killed)
        if not found:
            return
        batch = max(LEAST_BATCH, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)
        for begin in range(0, len(found), batch):
            _kill_batch(directory, found[begin : begin + batch])
        killed.update(found)


def _kill_batch(directory: Path, pids: Iterable[int]) -> None:
    """Send SIGKILL to those that are in the cgroup while their pidfd is open: a PID that is used again is never meant."""
    held: dict[int, int] = {}
    try:
        for pid in pids:
            with suppress(ProcessLookupError):
                held[pid] = os.pidfd_open(pid)
        for pid in held.keys() & set(_processes(directory)):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(held[pid], signal.SIGKILL)
    finally:
        for fd in held.values():
            os.close(fd)


def _processes(directory: Path) -> Iterator[int]:
    """List the processes of a cgroup and of those below it; zero is one of another PID namespace. Never this process."""
    for folder, _, _ in os.walk(directory, onerror=_unless_passing):
        try:
            lines = Path(folder, "cgroup.procs").read_bytes().split()
        except OSError as error:
            _unless_passing(error)
            continue  # removed meanwhile
        for line in lines:
            if (pid := int(line)) not in {0, os.getpid()}:
                yield pid


def _unless_passing(error: OSError) -> None:
    """Raise what only hides the processes for a moment: they must not count as gone."""
    if error.errno in _PASSING:
        raise error


def _any_processes(directories: Iterable[Path]) -> bool:
    """Whether there is a process in one of them; also where that cannot be read now."""
    try:
        return any(any(_processes(each)) for each in directories)
    except OSError:
        return True


def _asked(termination: Termination) -> tuple[int, int]:
    """Identify one attempt to stop a pod: what is found running after it is asked, and killed, anew."""
    return termination.started_at, termination.attempts


@dataclass(slots=True, kw_only=True)
class _Attempts:
    """What was done since a pod was last asked to stop."""

    asked: tuple[int, int]
    next_at: int
    delay: int = FIRST_DELAY
    ended: bool = False
    occupied: bool = False
    """Whether a process was seen in the pod's cgroup: where none ever was, its processes may be elsewhere."""


class CgroupKiller:
    """Kills the pods whose grace period is over.

    `directories` names the directories that the cgroup of a pod with this uid may have, under every QoS class. `emptied` is
    called with the uid of a pod whose processes were all killed. A reason why nothing can be killed here, such as a cgroup
    filesystem that is mounted read-only, is reported once; then the runtime alone kills.
    """

    def __init__(
        self,
        directories: Callable[[str], Iterable[Path]],
        errors: ErrorReporter,
        emptied: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._directories = directories
        self._errors = errors
        self._emptied = emptied
        self._reported: set[str] = set()
        self._attempts: dict[str, _Attempts] = {}

    def kill_overdue(self, terminations: Iterable[Termination], now: int) -> list[Termination]:
        """Kill what is left of the pods whose grace is over; gives those that were emptied by it."""
        return [each for each in terminations if self.due_at(each) <= now and self._attempt(each, now)]

    def forget(self, uid: str) -> None:
        """Drop the record of a pod."""
        self._attempts.pop(uid, None)

    def due_at(self, termination: Termination) -> int:
        """Give when this pod is to be killed, or looked at again; the far future where nothing is left to do."""
        made = self._attempts.get(termination.uid)
        if made is None or made.asked != _asked(termination):
            return termination.grace_ends_at
        return FAR_FUTURE if made.ended else made.next_at

    def _attempt(self, termination: Termination, now: int) -> bool:
        """Kill one pod; whether its cgroup was found and is empty."""
        made = self._attempts.get(termination.uid)
        if made is None or made.asked != _asked(termination):
            seen = made is not None and made.occupied and made.asked[0] == termination.started_at
            made = _Attempts(asked=_asked(termination), next_at=now, occupied=seen)
            self._attempts[termination.uid] = made
        made.next_at, made.delay = now + made.delay, min(2 * made.delay, LAST_DELAY)
        found = [each for each in self._directories(termination.uid) if each.is_dir()]
        try:
            made.occupied = made.occupied or _any_processes(found)
            emptied = [kill_cgroup(each, termination.uid) for each in found]
        except NodeError as error:
            made.ended = True
            self._report(str(error))
            return False
        # Also where there is none: the runtime has removed it, or names it in a way of its own.
        made.ended = all(emptied)
        if made.ended and made.occupied:
            self._emptied(termination.uid)
        return made.ended and bool(found)

    def _report(self, reason: str) -> None:
        if reason not in self._reported:
            self._reported.add(reason)
            self._errors.report_error(SOURCE, f"pods are killed by the runtime alone: {reason}")
