"""Records cycles in the journal and checkpoints in the state file, on the thread of a `JobQueue`.

The loop never waits for a disk. A checkpoint is written when it changed; a change of the observations last seen alone is no
reason to write. While something is waited for (a grace period, a victim) the time of the last cycle is kept current: a start
would take what lies between for an absence (`core.eviction.accounts.absence`).
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evictd.codec.checksum import sealed
from evictd.codec.records.journal import encode_entry
from evictd.codec.records.journaled import LastRecord, encode_kill, encode_refusal, usage_of
from evictd.codec.times import rfc3339
from evictd.core.eviction.accounts.absence import LONGEST_COUNTED
from evictd.core.eviction.refusals.backoff import Refusal
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import begun_evictions
from evictd.core.model.observation import Observation, Problem, SignalObservation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS
from evictd.core.model.state import State, Step
from evictd.core.model.stats import PodStats
from evictd.daemon.kubelet_evictions import KubeletEviction, encode_kubelet_eviction
from evictd.daemon.store.checkpoint import Checkpoint, CheckpointSource, encode_checkpoint
from evictd.daemon.store.journal import JournalFile
from evictd.daemon.store.reserved_file import EmergencyFile, ReservedFile
from evictd.daemon.store.state_file import StateFile
from evictd.observe.cgroups.kernel_kills import KernelKill
from evictd.observe.pods.log_tails import log_tails
from evictd.worker import QUEUED_JOBS, JobQueue


@frozen
class Cycle:
    """One call of the core with all its arguments; `now` boot-time clock, `wall` wall clock, both nanoseconds."""

    now: int
    wall: int
    before: State
    observation: Observation
    config: EvictionConfig
    step: Step


@frozen
class OthersEnds:
    """What the kubelet and the kernel ended since the last cycle."""

    by_kubelet: tuple[KubeletEviction, ...] = ()
    by_kernel: tuple[KernelKill, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.by_kubelet or self.by_kernel)


Readings = Mapping[str, list[tuple[float, int]]]
"""By signal: how many seconds before a cycle, and what was available."""

MOST_UNWRITTEN = 32
"""Journal records that wait while the disk is full, some 100 KB each on a node with a hundred pods, or while it hangs."""
_RECORD_SIZE = QUEUED_JOBS // MOST_UNWRITTEN
"""Places of the queue that a record takes: each holds its whole observation, some 400 KB."""

SMALL_BYTES = 4096
"""Reserved for a small file; conditions.json has less than a thousand."""


class Recorder:
    """Queues records to be written; `memory` is the data that is kept beside the core's state.

    Without `logs_dir` the journal has no ends of victims' logs.
    """

    def __init__(
        self,
        jobs: JobQueue,
        *,
        state_file: StateFile,
        journal: JournalFile,
        logs_dir: Path | None,
        memory: CheckpointSource,
    ) -> None:
        self._jobs = jobs
        self._state_file = state_file
        self._journal = journal
        self._logs_dir = logs_dir
        self._memory = memory
        self._saved: Checkpoint | None = None
        self._saved_cycle: int | None = None
        self._last = LastRecord()
        self._unwritten: deque[bytes] = deque(maxlen=MOST_UNWRITTEN)
        self._emergency = EmergencyFile(state_file.path.with_name(".emergency"))
        jobs.submit("emergency file", self._emergency.make)
        jobs.submit("state", state_file.reserve)
        jobs.submit("journal", journal.reserve)

    def has_outcome(self, cycle: Cycle) -> bool:
        """Whether a cycle is the first to see a victim gone, a collection ended, or evictd blind or held back."""
        outcome = self._last.outcome_is_new(cycle.before, cycle.observation, cycle.step)
        return outcome or self._last.reason_is_new(cycle.step, cycle.now)

    def repeats(self, cycle: Cycle) -> bool:
        """Whether a cycle only records the events that the last journaled one recorded."""
        return self._last.repeats(cycle.step)

    def journal(
        self,
        cycle: Cycle,
        *,
        refusals: tuple[Refusal, ...] = (),
        others: OthersEnds = OthersEnds(),  # noqa: B008 - a frozen value
        trend: Readings | None = None,
    ) -> None:
        """Append a cycle with usage and log tails of each new victim, and what happened since the last one.

        That is the `refusals`, what `others` ended, and the readings of what is short in the minutes before.
        """
        self._last = self._last.followed_by(cycle.observation, cycle.step, cycle.now)
        self._jobs.submit("journal", partial(self._append, cycle, refusals, others, trend), size=_RECORD_SIZE)

    def _append(
        self,
        cycle: Cycle,
        refusals: tuple[Refusal, ...],
        others: OthersEnds,
        trend: Readings | None,
    ) -> None:
        stats, leaving = cycle.observation.pod_stats, {victim.uid for victim in cycle.step.state.in_flight}
        begun = begun_evictions(cycle.step.decisions)
        victims = [each.pod for each in begun if each.pod.uid in leaving]  # of a dry run none leaves
        extra: dict[str, Any] = {
            "dryRun": cycle.observation.outcomes.dry_run,
            "lastWords": {pod.uid: self._victim_details(pod, stats.get(pod.uid)) for pod in victims},
        }
        if refusals:
            extra["refused"] = [encode_refusal(each) for each in refusals]
        if trend:
            extra["trend"] = trend
        if others.by_kubelet:
            extra["kubeletEvicted"] = [encode_kubelet_eviction(each) for each in others.by_kubelet]
        if others.by_kernel:
            extra["kernelKilled"] = [encode_kill(each.where, each.uid, each.count) for each in others.by_kernel]
        line = encode_entry(
            now=cycle.now,
            wall=rfc3339(cycle.wall),
            state=cycle.before,
            observation=cycle.observation,
            config=cycle.config,
            step=cycle.step,
            extra=extra,
        )
        self._unwritten.append(sealed(line))
        self._write_journal()

    def _write_journal(self) -> None:
        """Append the unwritten records, oldest first; those that the disk refuses are retried with the next save."""
        while self._unwritten:
            self._emergency.write(lambda: self._journal.append(self._unwritten[0]))
            self._unwritten.popleft()

    def _victim_details(self, pod: Pod, stats: PodStats | None) -> dict[str, Any]:
        details: dict[str, Any] = {"usage": None if stats is None else usage_of(stats)}
        if self._logs_dir is not None:
            details["logs"] = log_tails(self._logs_dir, namespace=pod.namespace, name=pod.name, uid=pod.uid)
        return details

    def save(self, state: State, *, always: bool = False) -> None:
        """Write a checkpoint if it is not the one written last; give the emergency file to the runtime of a full disk."""
        if state.in_flight and any(seen.available.value() <= 0 for seen in _disks(state)):
            self._jobs.submit("emergency file", self._emergency.give_up)
        if self._unwritten:
            self._jobs.submit("journal", self._write_journal)
        checkpoint = self._memory.checkpoint(state)
        comparable = replace(checkpoint, state=replace(state, last_seen={}, holdings={}, last_cycle_at=None))
        if always or comparable != self._saved or self._is_outdated(state):
            self._saved, self._saved_cycle = comparable, state.last_cycle_at
            if not self._jobs.submit("state", partial(self._write_state, checkpoint)):
                self._saved = None  # the next cycle tries again

    def _is_outdated(self, state: State) -> bool:
        """Whether something is waited for, and a start would take the time since the cycle in the file for an absence."""
        waits = state.thresholds_first_observed_at or state.in_flight or state.collections
        at, saved = state.last_cycle_at, self._saved_cycle
        return bool(waits) and at is not None and (saved is None or at - saved >= LONGEST_COUNTED)

    def _write_state(self, checkpoint: Checkpoint) -> None:
        try:
            content = encode_checkpoint(checkpoint)
            self._emergency.write(lambda: self._state_file.write(content))
        except BaseException:
            self._saved = None  # the next cycle tries again
            raise

    def problems(self) -> tuple[Problem, ...]:
        """Return the files that the last attempt could not write; the writer has logged each error."""
        return tuple(
            Problem(source=source, detail=f"not written: {detail}") for source, detail in self._jobs.failing.items()
        )

    def replace_file(self, path: Path, content: bytes) -> None:
        """Replace the content of a small file of the state directory; its blocks are reserved from the first time on."""
        self._jobs.submit(path.name, lambda: self._emergency.write(partial(self._replace, path, content)))

    def _replace(self, path: Path, content: bytes) -> None:
        file = ReservedFile(path, SMALL_BYTES)
        file.reserve()
        file.write(content)

    def close(self) -> bool:
        """Finish writing, within a bound; whether everything was written."""
        written = self._jobs.close()
        if written:
            self._journal.close()
        return written


def _disks(state: State) -> Iterator[SignalObservation]:
    """Return the disks as last seen."""
    return (seen for signal, seen in state.last_seen.items() if SIGNALS[signal].filesystem is not None)
