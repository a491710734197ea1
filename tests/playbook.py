"""Provides a small language for tests of the core: readings of the node and the expected decisions.

    book = Playbook(config(hard={"memory.available": "1Gi"}), pods=[...], usage={...})
    book.at("0s", memory="500Mi of 4Gi").conditions("MemoryPressure").evicts("a", grace=1)
    book.at("10s", memory="2Gi of 4Gi").does_nothing()

Every decision of a step must be named, else the test fails; a failure shows all decisions and findings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import EvictionConfig, ImageReclaim, Policy
from evictd.core.model.decision import EvictPod, ReclaimNode, RecordEvent, ReportConditions, Wait
from evictd.core.model.finding import Finding, NoAction, NoActionReason
from evictd.core.model.observation import (
    EvictionAnswer,
    Filesystems,
    Observation,
    Outcomes,
    Reclaim,
    ReclaimOutcome,
    RemovedPod,
)
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.resources import Container, Volume, VolumeKind
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import PhaseName, State, Step
from evictd.core.model.stats import (
    ContainerStats,
    DiskUsage,
    FsStats,
    IOStats,
    MemoryStats,
    NodeStats,
    PodStats,
    PressureStall,
    PSIStats,
    RlimitStats,
    SwapStats,
    VolumeStats,
)
from evictd.core.model.threshold import Threshold
from evictd.core.model.threshold_config import parse_threshold_value
from evictd.core.units.duration import parse_duration
from evictd.core.units.quantity import parse_quantity

SINGLE = Filesystems()
DEDICATED = Filesystems(dedicated_image_fs=True)
SPLIT = Filesystems(dedicated_image_fs=True, split_container_fs=True)
NO_COLLECTING: dict[str, Any] = {"reclaim_containers": False, "reclaim_images": ImageReclaim.OFF}
"""Settings with which nothing is collected before a pod is evicted."""


def number(text: str) -> int:
    """Bytes or counts from a quantity's text."""
    return parse_quantity(text).value()


def threshold(signal: str, value: str, *, grace: str = "0s", min_reclaim: str | None = None) -> Threshold:
    """One threshold, parsed as in a configuration."""
    known = Signal(signal)
    parsed = parse_threshold_value(known, value)
    assert parsed is not None
    reclaim = None if min_reclaim is None else parse_threshold_value(known, min_reclaim)
    return Threshold(signal=known, value=parsed, grace_period=parse_duration(grace), min_reclaim=reclaim)


def config(
    *,
    hard: Mapping[str, str] | None = None,
    soft: Mapping[str, tuple[str, str]] | None = None,
    min_reclaim: Mapping[str, str] | None = None,
    transition: str = "5m",
    **more: Any,
) -> EvictionConfig:
    """An eviction configuration from texts; soft thresholds are (value, grace)."""
    reclaim = min_reclaim or {}
    thresholds = [threshold(s, v, min_reclaim=reclaim.get(s)) for s, v in (hard or {}).items()]
    thresholds += [threshold(s, v, grace=g, min_reclaim=reclaim.get(s)) for s, (v, g) in (soft or {}).items()]
    return EvictionConfig(thresholds=tuple(thresholds), pressure_transition_period=parse_duration(transition), **more)


def pod(
    name: str,
    *,
    priority: int = 0,
    memory: str | None = None,
    storage: str | None = None,
    storage_limit: str | None = None,
    grace: int | None = None,
    source: PodSource = PodSource.API,
    volumes: Iterable[Volume] = (),
    **more: Any,
) -> Pod:
    """A pod with one container `c`, its uid the same as its name."""
    requests = {
        key: parse_quantity(text)
        for key, text in (("memory", memory), ("ephemeral-storage", storage))
        if text is not None
    }
    limits = {} if storage_limit is None else {"ephemeral-storage": parse_quantity(storage_limit)}
    return Pod(
        name=name,
        namespace=more.pop("namespace", "default"),
        uid=more.pop("uid", name),
        priority=priority,
        source=source,
        termination_grace_period_seconds=grace,
        containers=more.pop("containers", (Container(name="c", requests=requests, limits=limits),)),
        volumes=tuple(volumes),
        **more,
    )


def empty_dir(name: str, *, size_limit: str | None = None, medium: str = "") -> Volume:
    """An emptyDir."""
    limit = None if size_limit is None else parse_quantity(size_limit)
    return Volume(name=name, kind=VolumeKind.EMPTY_DIR, size_limit=limit, medium=medium)


def usage(
    of: Pod,
    *,
    memory: str | None = None,
    rootfs: str | None = None,
    logs: str | None = None,
    volumes: Mapping[str, str] | None = None,
    inodes: int | None = None,
    processes: int | None = None,
    stall: float | None = None,
    io: float | None = None,
    swap: str | None = None,
    file_pages: str | None = None,
) -> PodStats:
    """A pod's usage; `inodes` are those of its writable layer, `stall` and `io` percentages of the time."""
    taken = volumes or {}
    parts = [text for text in (rootfs, logs, *taken.values()) if text is not None]
    container = ContainerStats(
        of.containers[0].name,
        None if memory is None else number(memory),
        None if rootfs is None and inodes is None else DiskUsage(None if rootfs is None else number(rootfs), inodes),
        None if logs is None else DiskUsage(number(logs), 0),
    )
    return PodStats(
        name=of.name,
        namespace=of.namespace,
        uid=of.uid,
        containers=(container,),
        volumes=tuple(VolumeStats(name, number(text), 0) for name, text in taken.items()),
        memory=None
        if memory is None
        else MemoryStats(
            working_set_bytes=number(memory),
            psi=psi(stall),
            swap_bytes=None if swap is None else number(swap),
            clean_file_bytes=None if file_pages is None else number(file_pages),
        ),
        io=None if io is None else IOStats(psi=psi(io)),
        ephemeral_storage=DiskUsage(sum(number(text) for text in parts), None) if parts else None,
        process_count=processes,
    )


def psi(stall: float | None) -> PSIStats | None:
    """A PSI file with this percentage everywhere."""
    return None if stall is None else PSIStats(*(PressureStall(stall, stall, stall, 0),) * 2)


def node(
    *,
    memory: str | None = None,
    allocatable: str | None = None,
    nodefs: str | None = None,
    nodefs_inodes: str | None = None,
    imagefs: str | None = None,
    imagefs_inodes: str | None = None,
    pids: str | None = None,
    pids_rate: int | None = None,
    time: int | None = None,
    fill_rate: int | None = None,
    nodefs_rate: int | None = None,
    stop_time: int | None = None,
    collect_time: int | None = None,
    stall: float | None = None,
    io: float | None = None,
    swap: str | None = None,
    file_pages: tuple[str, str, float] | None = None,
    **others: FsStats,
) -> NodeStats:
    """The node's numbers, each as `AVAILABLE of CAPACITY`; a statistic that is not named is missing. The `fill_rate` is memory's.

    `stall` and `io` are percentages of the time that the pods stall. `file_pages` are the node's clean file pages,
    `MemAvailable`, and the percentage of the time that a task of the node stalls for memory.
    """
    return NodeStats(
        memory=_with_file_pages(_memory(memory, time, fill_rate), file_pages),
        pods_memory=_memory(allocatable, time) if stall is None else MemoryStats(time=time, psi=psi(stall)),
        pods_io=None if io is None else IOStats(time=time, psi=psi(io)),
        fs=_fs(nodefs, nodefs_inodes, time, nodefs_rate),
        image_fs=_fs(imagefs, imagefs_inodes, time),
        container_fs=others.get("container_fs"),
        rlimit=None if pids is None else _rlimit(pids, time, pids_rate),
        swap=None if swap is None else _swap(swap, time),
        stop_time=stop_time,
        collect_time=collect_time,
    )


def _pair(text: str) -> tuple[int, int]:
    available, _, capacity = text.partition(" of ")
    return number(available), number(capacity)


def _memory(text: str | None, time: int | None, fill_rate: int | None = None) -> MemoryStats | None:
    if text is None:
        return None
    available, capacity = _pair(text)
    return MemoryStats(
        time=time, available_bytes=available, working_set_bytes=capacity - available, fill_rate=fill_rate
    )


def _with_file_pages(memory: MemoryStats | None, file_pages: tuple[str, str, float] | None) -> MemoryStats | None:
    if memory is None or file_pages is None:
        return memory
    pages, available, stalled = file_pages
    return replace(
        memory,
        clean_file_bytes=number(pages),
        mem_available_bytes=number(available),
        stalled=round(stalled * 100),
    )


def _swap(text: str, time: int | None) -> SwapStats:
    available, capacity = _pair(text)
    return SwapStats(time=time, available_bytes=available, usage_bytes=capacity - available)


def _fs(size: str | None, inodes: str | None, time: int | None, fill_rate: int | None = None) -> FsStats | None:
    if size is None and inodes is None:
        return None
    available, capacity = (None, None) if size is None else _pair(size)
    free, total = (None, None) if inodes is None else _pair(inodes)
    return FsStats(
        time=time,
        available_bytes=available,
        capacity_bytes=capacity,
        inodes_free=free,
        inodes=total,
        fill_rate=fill_rate,
    )


def _rlimit(text: str, time: int | None, fill_rate: int | None) -> RlimitStats:
    available, capacity = _pair(text)
    return RlimitStats(time=time, max_pid=capacity, current=capacity - available, fill_rate=fill_rate)


class Playbook:
    """A sequence of readings, and the expected decisions of each."""

    def __init__(
        self,
        settings: EvictionConfig,
        *,
        pods: Sequence[Pod] = (),
        usage: Iterable[PodStats] = (),
        filesystems: Filesystems = SINGLE,
        state: State | None = None,
    ) -> None:
        self.config = settings
        self.pods = tuple(pods)
        self.usage = {stats.uid: stats for stats in usage}
        self.filesystems = filesystems
        self.state = state or State()
        self.gone: frozenset[str] = frozenset()
        self.left: list[Any] = []
        self.step = Step(state=self.state, decisions=(), findings=())

    def at(
        self,
        time: str,
        *,
        reclaimed: Iterable[ReclaimOutcome] | None = None,
        failed: bool = False,
        gone: Iterable[str] | None = None,
        answers: Iterable[EvictionAnswer] = (),
        collecting: Iterable[Filesystem] | None = None,
        dry_run: bool = False,
        own: Iterable[str] = (),
        absent: bool = False,
        page_cache: ReclaimOutcome | None = None,
        unused_images: int | None = None,
        drops_page_cache: bool = True,
        removed: Mapping[str, RemovedPod] | None = None,
        **numbers: Any,
    ) -> Self:
        """Show the node at a time; victims of earlier steps are gone unless `gone` says which ones are.

        Pods are measured at this time, unless their statistics say when. Unless evictd was `absent`, it has looked since the last
        step and seen nothing new. `removed` has by uid the pods that are listed no more.
        """
        self.finish()
        now = parse_duration(time)
        if not absent:
            self.state = replace(self.state, last_cycle_at=now)
        cleaned_up = self.gone if gone is None else frozenset(gone)
        outcomes = Outcomes(
            reclaimed=None if reclaimed is None else tuple(reclaimed),
            collecting=None if collecting is None else frozenset(collecting),
            cleaned_up=cleaned_up,
            answers=tuple(answers),
            dry_run=dry_run,
            page_cache=page_cache,
            unused_images=unused_images,
        )
        observation = Observation(
            node=None if failed else node(time=now + 1, **numbers),
            pods=tuple(pod for pod in self.pods if pod.uid not in cleaned_up),
            pod_stats={uid: measured_at(stats, now) for uid, stats in self.usage.items()},
            filesystems=self.filesystems,
            outcomes=outcomes,
            own_pods=frozenset(own),
            drops_page_cache=drops_page_cache,
            removed_pods=removed or {},
        )
        self.step = synchronize(self.state, observation, self.config, now)
        self.state = self.step.state
        self.left = [d for d in self.step.decisions if not isinstance(d, Wait | RecordEvent)]
        self.gone |= {d.pod.uid for d in self.left if isinstance(d, EvictPod)}
        return self

    def conditions(self, *names: str) -> Self:
        """Expect the conditions that this step reports."""
        decision = self._take(ReportConditions)
        assert tuple(condition.value for condition in decision.conditions) == names, self._shown()
        return self

    def evicts(self, name: str, *, grace: int | None = None, shortens: bool = False) -> Self:
        """Expect the next pod that this step evicts."""
        decision = self._take(EvictPod)
        assert (decision.pod.name, decision.shortens) == (name, shortens), self._shown()
        assert grace is None or decision.grace_period_seconds == grace, self._shown()
        return self

    def reclaims(self, *actions: str, wanted: int | None = None) -> Self:
        """Expect the reclaim actions of this step, in order."""
        decision = self._take(ReclaimNode)
        assert decision.actions == tuple(Reclaim(action) for action in actions), self._shown()
        assert decision.wanted_bytes == wanted, self._shown()
        return self

    def does_nothing(self) -> Self:
        """Expect no decision."""
        assert self.left == [], self._shown()
        return self

    def stays_silent(self, why: NoActionReason) -> Self:
        """Expect the reason for no (further) action."""
        assert why in {f.why for f in self.step.findings if isinstance(f, NoAction)}, self._shown()
        return self

    def in_phase(self, name: PhaseName) -> Self:
        """What the last step left the node busy with."""
        assert self.state.activity is name, self._shown()
        return self

    def finish(self) -> None:
        """Fail if a decision of the last step was not expected."""
        assert self.left == [], f"not named: {self._shown()}"

    def findings(self, kind: type[Finding]) -> list[Any]:
        """Return the findings of one kind in the last step."""
        return [finding for finding in self.step.findings if isinstance(finding, kind)]

    def eviction(self) -> EvictPod:
        """Return the eviction of the last step."""
        return next(d for d in self.step.decisions if isinstance(d, EvictPod))

    def _take(self, kind: type[Any]) -> Any:
        for index, decision in enumerate(self.left):
            if isinstance(decision, kind):
                return self.left.pop(index)
        raise AssertionError(f"no {kind.__name__} in {self._shown()}")

    def _shown(self) -> str:
        lines = [f"  decided {decision}" for decision in self.step.decisions]
        lines += [f"  found {finding}" for finding in self.step.findings if isinstance(finding, NoAction)]
        return "\n" + "\n".join(lines)


def measured_at(stats: PodStats, now: int) -> PodStats:
    """The same statistics, with all parts measured now where they do not say when."""
    if stats.disk_time is not None or stats.layers_time is not None:
        return stats
    return replace(stats, time=now, disk_time=now, layers_time=now)


def as_kubelet(settings: EvictionConfig) -> EvictionConfig:
    """The same under policy Kubelet."""
    return replace(settings, policy=Policy.KUBELET)
