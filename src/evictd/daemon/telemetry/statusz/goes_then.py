"""Finds the pod that goes when a threshold acts, where it is another one than the pod that would go now.

By the time at which a threshold acts the pods that grow now hold more, or their growth is over and decides no more. So the core
is asked about a reading that was not made yet (`first_to_go`):

* `at_threshold`: when the first threshold acts, each pod and what belongs to none have grown on as in the last minute.
  The node's amount, the pods' statistics (for the ranking) and the holdings (for the laws) are all moved on by the same growth.
* `goes_if_growth_ended`: at the end of a grace period nothing has grown since. The holdings are followed over readings that are
  all the same, until growth of before does not count any more.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from evictd.core.eviction.accounts.holdings import WINDOW, follow_holdings
from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.next_up import NextUp, first_to_go, next_at
from evictd.core.eviction.reclaim import layout_of
from evictd.core.model.finding import NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.holdings import MeasuredLevel, SupplyHoldings
from evictd.core.model.observation import signal_observations
from evictd.core.model.signal import SIGNALS, Filesystem, Resource, Signal
from evictd.core.model.stats import ContainerStats, DiskUsage, FsStats, MemoryStats, NodeStats, PodStats, RlimitStats
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.status.times.timing import acts_in
from evictd.render.stop_reason import stop_reason

_COUNTED = frozenset({Signal.MEMORY_AVAILABLE, Signal.PID_AVAILABLE}) | {
    signal for signal in Signal if SIGNALS[signal].filesystem is not None
}
_CULPRITS = {NoActionReason.PROTECTED_CULPRIT, NoActionReason.UNMEASURED_CULPRIT}
_CYCLE = 10 * SECOND
"""The time between two readings in which nothing grows."""


def at_threshold(
    answer: NextUp | None,
    findings: tuple[ThresholdFinding, ...],
    stated: Mapping[str, Any],
    snapshot: Snapshot,
    now: int,
) -> dict[str, Any]:
    """Return the pod that goes in the place of the first one of now if the growth lasts, or why none does.

    `findings` are the thresholds of the signal, `stated` has its rate and, in the same order, the times to them. Asked of the
    core with the holdings of the time at which the first one acts: each pod grows as in the last minute, and no pod has
    arrived or ended. `grows`: whether the pod itself does.
    """
    found: dict[str, Any] = {"nextIfItGrows": None, "stopIfItGrows": ""}
    if answer is None or answer.signal not in _COUNTED or not _may_change(answer, snapshot):
        return found
    due = {each.threshold for each in findings if each.met and not each.grace_left}
    first = None if due and answer.victim is not None else _first_to_act(findings, stated, due)
    then = None if first is None else _grown_until(*first, stated, snapshot, now)
    if then is None:
        return found
    later, growing = then
    row, stop = later.victim, later.stop
    if row is None:
        if stop is None or answer.stop is not None or not _is_culprit(stop, snapshot):
            return found
        return {**found, "stopIfItGrows": stop_reason(stop).first}
    if answer.victim is not None and row.uid == answer.victim.uid:
        return found
    goes = {
        "pod": row.pod.full_name,
        "usage": row.usage,
        "request": row.request // NANO,
        "grows": row.uid in growing,
    }
    return {**found, "nextIfItGrows": goes}


def _first_to_act(
    findings: Iterable[ThresholdFinding], stated: Mapping[str, Any], due: Collection[Threshold]
) -> tuple[float, ThresholdFinding] | None:
    """Return the first threshold that acts, of those that are not due, and in how many seconds; `None` where none is foreseen."""
    times = [
        (seconds, finding)
        for each, finding in zip(stated["thresholds"], findings, strict=True)
        if finding.threshold not in due
        and (each["secondsToThreshold"] or 0) <= FORESEEN_SECONDS
        and (seconds := acts_in(each)) is not None
    ]
    return min(times, key=lambda each: each[0], default=None)


def _grown_until(
    seconds: float, finding: ThresholdFinding, stated: Mapping[str, Any], snapshot: Snapshot, now: int
) -> tuple[NextUp, frozenset[str]] | None:
    """Return what the core answers when a threshold acts, and the uids of the pods that grow until then; `None`: not known."""
    signal, node, rate = finding.threshold.signal, snapshot.observation.node, stated.get("fillRate")
    supply = supply_of(signal, layout_of(snapshot.state.disks))
    held = snapshot.state.holdings.get(supply)
    if held is None or node is None or not rate or not held.growing:
        return None
    since_reading = round(seconds * SECOND) + now - snapshot.at  # times count from now on
    passed = since_reading + snapshot.at - held.at
    grown = {uid: each.rate * passed // SECOND for uid, each in held.growing.items()}
    left = min(finding.limit.value() - 1, stated["available"] - rate * since_reading // SECOND)
    later = replace(
        snapshot.observation,
        node=_node_with(node, signal, max(left, 0)),
        pod_stats=_grown_stats(snapshot, signal, grown),
    )
    holdings = {**snapshot.state.holdings, supply: _grown_holdings(held, grown, snapshot.at, passed)}
    state = replace(snapshot.state, holdings=holdings)
    found = next_at(finding.threshold, state, later, snapshot.config, snapshot.at)
    return None if found is None else (found, frozenset(uid for uid, more in grown.items() if more))


def _may_change(answer: NextUp, snapshot: Snapshot) -> bool:
    """Whether what grows may change the answer: a pod goes now, or none because of a culprit."""
    return answer.victim is not None or _is_culprit(answer.stop, snapshot)


def _is_culprit(stop: NoAction | None, snapshot: Snapshot) -> bool:
    """Whether no pod goes because of a culprit; of one that a disruption budget guards time decides, not growth."""
    if stop is None or stop.why not in _CULPRITS:
        return False
    return stop.pod is None or stop.pod.uid not in snapshot.state.backoff.budgets


def goes_if_growth_ended(
    answer: NextUp | None, findings: tuple[ThresholdFinding, ...], stated: Mapping[str, Any], snapshot: Snapshot
) -> dict[str, Any] | None:
    """Return the pod that goes when a grace period ends if nothing has grown since; `None` where no other one would.

    Only where the signal fell much less in its last readings than in the last minute: the growth of that minute decides which pod
    is first now, and counts no more at the end of the grace period. `stated` has the rates of the signal.
    """
    state, node, soft = snapshot.state, snapshot.observation.node, [each for each in findings if each.met]
    if answer is None or answer.victim is None or node is None or not stated.get("lately"):
        return None
    if not soft or not all(each.grace_left for each in soft):
        return None
    if answer.signal not in _COUNTED or state.in_flight:  # what an ended pod held comes back until then
        return None
    finding = min(soft, key=lambda each: each.grace_left or 0)
    then = snapshot.at + -(-(finding.grace_left or 0) // _CYCLE) * _CYCLE  # a grace period ends in a cycle
    still = _without_rates(node)
    later, layout = replace(snapshot.observation, node=still), layout_of(state.disks)
    seen, known = signal_observations(still), snapshot.config.thresholds
    first = then if then - snapshot.at >= WINDOW else snapshot.at + _CYCLE
    for at in range(first, then + 1, _CYCLE):
        state = replace(state, holdings=follow_holdings(state, later, seen, known, layout=layout, now=at))
    row = first_to_go(finding.threshold, state, later, snapshot.config, then)
    return None if row is None or row.uid == answer.victim.uid else {"pod": row.pod.full_name}


def _without_rates(node: NodeStats) -> NodeStats:
    """Return the node's numbers without the rates at which its supplies fill."""

    def still(disk: FsStats | None) -> FsStats | None:
        return None if disk is None else replace(disk, fill_rate=None, inodes_fill_rate=None)

    return replace(
        node,
        memory=None if node.memory is None else replace(node.memory, fill_rate=None),
        fs=still(node.fs),
        image_fs=still(node.image_fs),
        container_fs=still(node.container_fs),
        rlimit=None if node.rlimit is None else replace(node.rlimit, fill_rate=None),
    )


def _grown_holdings(held: SupplyHoldings, grown: Mapping[str, int], at: int, passed: int) -> SupplyHoldings:
    """Return the holdings in which each pod, and what belongs to none, holds more, and grew as much within the last minute."""

    def moved(amounts: Mapping[str, int]) -> dict[str, int]:
        return {uid: amount + grown.get(uid, 0) for uid, amount in amounts.items()}

    return replace(
        held,
        at=at,
        used=moved(held.used),
        lowest=moved(held.lowest),
        lowest_before=moved(held.lowest_before),
        elsewhere=_grown_level(held.elsewhere, passed),
        unmeasured=_grown_level(held.unmeasured, passed),
    )


def _grown_level(level: MeasuredLevel | None, passed: int) -> MeasuredLevel | None:
    if level is None:
        return None
    more = level.rate * passed // SECOND
    return level._replace(used=level.used + more, lowest=level.lowest + more, lowest_before=level.lowest_before + more)


def _grown_stats(snapshot: Snapshot, signal: Signal, grown: Mapping[str, int]) -> dict[str, PodStats]:
    stats = dict(snapshot.observation.pod_stats)
    filesystem, dedicated = SIGNALS[signal].filesystem, snapshot.state.disks.dedicated_image_fs
    for uid, more in grown.items():
        if (found := stats.get(uid)) is None:
            continue
        if filesystem is not None:
            part = "logs" if filesystem is Filesystem.NODEFS and dedicated else "rootfs"
            stats[uid] = replace(found, containers=_with_more(found.containers, part, _unit(signal), more))
        elif signal is Signal.PID_AVAILABLE and found.process_count is not None:
            stats[uid] = replace(found, process_count=found.process_count + more)
        elif signal is Signal.MEMORY_AVAILABLE and found.memory is not None:
            used = found.memory.working_set_bytes
            memory = replace(found.memory, working_set_bytes=None if used is None else used + more)
            stats[uid] = replace(found, memory=memory)
    return stats


def _unit(signal: Signal) -> str:
    return "inodes_used" if SIGNALS[signal].resource is Resource.INODES else "used_bytes"


def _with_more(containers: tuple[ContainerStats, ...], part: str, unit: str, more: int) -> tuple[ContainerStats, ...]:
    """Return the containers of a pod of which the first one that has this part on the disk holds more in it."""
    for index, each in enumerate(containers):
        usage: DiskUsage | None = getattr(each, part)
        if usage is not None and (used := getattr(usage, unit)) is not None:
            more_used = usage._replace(**{unit: used + more})
            grown = each._replace(logs=more_used) if part == "logs" else each._replace(rootfs=more_used)
            return (*containers[:index], grown, *containers[index + 1 :])
    return containers


def _node_with(node: NodeStats, signal: Signal, left: int) -> NodeStats:
    """Return the node's statistics with `left` of a signal available."""
    match SIGNALS[signal].filesystem:
        case Filesystem.NODEFS:
            return replace(node, fs=_disk(node.fs, signal, left))
        case Filesystem.IMAGEFS:
            return replace(node, image_fs=_disk(node.image_fs, signal, left))
        case Filesystem.CONTAINERFS:
            return replace(node, container_fs=_disk(node.container_fs, signal, left))
    if signal is Signal.PID_AVAILABLE:
        return replace(node, rlimit=_processes(node.rlimit, left))
    return replace(node, memory=_memory(node.memory, left))


def _disk(disk: FsStats | None, signal: Signal, left: int) -> FsStats | None:
    if disk is None:
        return None
    if SIGNALS[signal].resource is Resource.INODES:
        return replace(disk, inodes_free=left)
    return replace(disk, available_bytes=left)


def _memory(memory: MemoryStats | None, left: int) -> MemoryStats | None:
    if memory is None or memory.available_bytes is None or memory.working_set_bytes is None:
        return memory
    used = memory.working_set_bytes + memory.available_bytes - left
    return replace(memory, available_bytes=left, working_set_bytes=used)


def _processes(rlimit: RlimitStats | None, left: int) -> RlimitStats | None:
    return rlimit if rlimit is None or rlimit.max_pid is None else replace(rlimit, current=rlimit.max_pid - left)
