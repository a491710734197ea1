"""What is kept on disk: the journal, what survives a restart, and the last words of victims.

Everything goes through the writer's thread, so the loop never waits for a disk. The state is written when something
in it changed that a restart must not lose; the numbers last seen alone are no reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evictd.act.perform import Refusal
from evictd.act.report import rfc3339
from evictd.codec.journal import encode_entry
from evictd.codec.state import encode_state
from evictd.core.config import EvictionConfig
from evictd.core.decision import EvictPod
from evictd.core.observation import Observation
from evictd.core.pod import Pod
from evictd.core.state import State, Step
from evictd.core.stats import PodStats
from evictd.daemon.journal_file import JournalFile
from evictd.daemon.log_tail import log_tails
from evictd.daemon.state_file import StateFile, replace_file
from evictd.daemon.writer import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Cycle:
    """One call of the core with all its arguments; `now` boot-time clock, `wall` wall clock, both nanoseconds."""

    now: int
    wall: int
    before: State
    observation: Observation
    config: EvictionConfig
    step: Step


Extras = Callable[[], Mapping[str, Any]]
"""Gives what is remembered beside the core's state (last-used images, evicted pods), as plain JSON values."""


class Recorder:
    """Hands records over to the writer."""

    def __init__(
        self, writer: Writer, *, state_file: StateFile, journal: JournalFile, logs_dir: Path, extras: Extras
    ) -> None:
        self._writer = writer
        self._state_file = state_file
        self._journal = journal
        self._logs_dir = logs_dir
        self._extras = extras
        self._saved: tuple[State, Mapping[str, Any]] | None = None

    def journal(self, cycle: Cycle, *, dry_run: bool, refusals: tuple[Refusal, ...] = ()) -> None:
        """Append a cycle; with the usage and the last words of everyone who is about to be stopped, and who was refused since."""
        victims = (
            () if dry_run else tuple(d for d in cycle.step.decisions if isinstance(d, EvictPod) and not d.shortens)
        )

        refused = [{"pod": each.pod.full_name, "uid": each.pod.uid, "detail": each.detail} for each in refusals]
        more = {"refused": refused} if refused else {}

        def append() -> None:
            stats = cycle.observation.pod_stats
            words = {victim.pod.uid: self._last_words(victim.pod, stats.get(victim.pod.uid)) for victim in victims}
            self._journal.append(
                encode_entry(
                    now=cycle.now,
                    wall=rfc3339(cycle.wall),
                    state=cycle.before,
                    observation=cycle.observation,
                    config=cycle.config,
                    step=cycle.step,
                    extra={"dryRun": dry_run, "lastWords": words, **more},
                )
            )

        self._writer.submit("journal", append)

    def _last_words(self, pod: Pod, stats: PodStats | None) -> dict[str, Any]:
        logs = log_tails(self._logs_dir, namespace=pod.namespace, name=pod.name, uid=pod.uid)
        return {"usage": None if stats is None else usage_of(stats), "logs": logs}

    def save(self, state: State, *, always: bool = False) -> None:
        """Write down what must survive a restart, if it is not what was written last."""
        worth, extras = (replace(state, last_observations={}), self._extras())
        if not always and self._saved == (worth, extras):
            return
        self._saved = (worth, extras)
        self._writer.submit("state", lambda: self._state_file.write({"state": encode_state(state), **extras}))

    def replace_file(self, path: Path, content: bytes) -> None:
        """Put a new content in place of a file of the state directory."""
        self._writer.submit(path.name, lambda: replace_file(path, content))

    def close(self) -> bool:
        """Finish writing, within a bound; whether everything was written."""
        written = self._writer.close()
        if written:
            self._journal.close()
        return written


def usage_of(stats: PodStats) -> dict[str, Any]:
    """Say what a pod used, in plain numbers."""
    memory, disk = stats.memory, stats.ephemeral_storage
    return {
        "memoryWorkingSetBytes": None if memory is None else memory.working_set_bytes,
        "ephemeralStorageUsedBytes": None if disk is None else disk.used_bytes,
        "inodesUsed": None if disk is None else disk.inodes_used,
        "processCount": stats.process_count,
    }
