"""Warns of thresholds and pods of a world that cannot be as they are declared, or of a real node would not."""

from collections.abc import Iterator
from dataclasses import replace

from evictd.config.kernel_share import below_kernel_share, counts_kernel_share
from evictd.config.lint import without_unit
from evictd.core.model.config import EvictionConfig, Policy, memory_formula, own_thresholds
from evictd.core.model.decision import begun_evictions
from evictd.core.model.finding import ThresholdFinding
from evictd.core.model.signal import MEMORY_SIGNALS, SIGNALS
from evictd.core.model.threshold import Origin, Threshold
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import MILLISECOND, SECOND
from evictd.core.units.quantity import NANO, of_bytes
from evictd.render.text import clean, counted, duration_text, first_of, signal_quantity
from evictd.world.behaviours import Grow, Usage, most
from evictd.world.lifecycle import EndCause, PodEnd
from evictd.world.loop import Run
from evictd.world.model import World
from evictd.world.process import Process

_COUNTS = (Usage.PROCESSES, Usage.LAYER_INODES, Usage.VOLUME_INODES, Usage.HOST_PATH_INODES)
"""What is counted in numbers, not in bytes."""
_PROCESSES = (Usage.PROCESSES,)
_SLOW = 1024
"""Bytes a second: slower growth takes 12 days for 1Gi."""
_REACTION = 464 * MILLISECOND
"""The longest time from a crossing to the call that stops a pod which docs/benchmarks.md measured beside busy processes."""


def warnings_text(run: Run) -> Iterator[str]:
    """Write which thresholds have no unit, are forestalled or always met, and which pods hold or request too much."""
    for found in without_unit(run.config.thresholds):
        signal = "" if found.signal is None else f"{found.signal.value}: "
        yield f"Warning: {signal}{found.message}; {found.remedy}."
    yield from _kernel_texts(run)
    yield from _capacity_texts(run)
    yield from _too_large_texts(run)
    yield from _slow_texts(run)
    yield from _request_texts(run)
    yield from _ranking_texts(run)
    yield from _short_margin_texts(run)


def _kernel_texts(run: Run) -> Iterator[str]:
    node = run.world.node
    if node.unusable_memory:
        yield from _never_met_texts(run)
        return
    for threshold in own_thresholds(run.config):
        share = below_kernel_share(threshold, memory_formula(run.config), node.memory)
        if share is not None:
            yield (
                f"Warning: on a real node of {bytes_text(node.memory)} the OOM killer can act before {clean(str(threshold))} is "
                f"met, as {share.text} that no process can allocate count as available (docs/tuning.md); this world has "
                "none of it: set `node.unusableMemory`."
            )


def never_met(run: Run) -> Iterator[Threshold]:
    """Yield the thresholds that count what no process can allocate as available, and are not above it."""
    node, formula = run.world.node, memory_formula(run.config)
    for threshold in own_thresholds(run.config):
        limit = threshold.value.resolve(of_bytes(node.memory))
        if counts_kernel_share(threshold, formula) and limit <= of_bytes(node.unusable_memory):
            yield threshold


def _never_met_texts(run: Run) -> Iterator[str]:
    share, never = bytes_text(run.world.node.unusable_memory), [*never_met(run)]
    own = [each for each in own_thresholds(run.config) if each.origin is not Origin.DERIVED]
    others = any(each.signal in MEMORY_SIGNALS and each not in never for each in own)
    first = "" if others else ", so the OOM killer acts first"
    for threshold in never:
        yield (
            f"Warning: {clean(str(threshold))} can never be met here: {share} that no process can allocate "
            f"(`node.unusableMemory`) count as available{first}."
        )


def ownerless_texts(run: Run) -> Iterator[str]:
    """Write which owners' pods have ended for good, because a world file does not say that the owner recreates them."""
    known = {each.name for each in run.world.owners}
    ends = (each.event for each in run.happened if isinstance(each.event, PodEnd))
    ended = {each.slot for each in ends if each.cause is not EndCause.DELETED}
    owned = {each.pod.owner for each in run.world.pods if each.pod.full_name in ended} - known - {""}
    for owner in sorted(owned):
        yield f"Warning: {clean(owner)} starts no pod again, as it is not in the world's `owners`."


def pids_limit_texts(of_file: World, run: Run) -> Iterator[str]:
    """Write which pods of the file take fewer processes here, because `podPidsLimit` bounds them."""
    played = {each.pod.uid: each.behaviours for each in run.world.pods}
    bounded = [
        clean(each.pod.full_name)
        for each in of_file.pods
        if most(played[each.pod.uid], _PROCESSES) != most(each.behaviours, _PROCESSES)
    ]
    if bounded:
        yield f"`podPidsLimit` is played: beyond it forks fail in {first_of(bounded)}."


def dropped_texts(of_world: EvictionConfig, run: Run) -> Iterator[str]:
    """Write which thresholds of the world file were not played: a configuration replaces all, also those it does not name.

    One without `evictionHard` replaces the world's by the kubelet's defaults.
    """
    played = own_thresholds(run.config)
    kept = {*map(str, own_thresholds(of_world))}
    defaults = [each for each in played if each.origin in {Origin.DEFAULT, Origin.MERGED} and str(each) not in kept]
    given = {(each.signal, each.hard) for each in played if each not in defaults}
    dropped = [
        clean(str(each)) + ("" if each.hard else f" for {duration_text(each.grace_period)}")
        for each in own_thresholds(replace(of_world, policy=run.config.policy))
        if each.origin is Origin.SET and (each.signal, each.hard) not in given
    ]
    if dropped:
        verb, them = ("is", "it") if len(dropped) == 1 else ("are", "them")
        by = f"; by default it has {first_of([clean(str(each)) for each in defaults])}" if defaults else ""
        yield (
            f"Warning: the world's {first_of(dropped)} {verb} not played: a configuration replaces all thresholds{by}. Write "
            f"{them} into the configuration to keep {them}."
        )


def policy_texts(of_world: EvictionConfig, run: Run, name: str) -> Iterator[str]:
    """Write that a file plays another policy than the world's; nothing where `name`, what decides, says the policy."""
    policy = run.config.policy
    if policy is not of_world.policy and not name.endswith(f"policy {policy.value}"):
        yield (
            f"Warning: the world's `decisionPolicy: {of_world.policy.value}` is not played: with this configuration policy "
            f"{policy.value} decides."
        )


def dry_run_texts(*, dry_run: bool) -> Iterator[str]:
    """Write of a world file whose configuration asks for a dry run that it is played without."""
    if dry_run:
        yield (
            "Warning: `evictd.dryRun` is not played: here evictions end pods, and the journal of `--journal` is that of a daemon "
            "that evicts; in a dry run all pods stay, as without evictd."
        )


def _too_large_texts(run: Run) -> Iterator[str]:
    """Write which pods hold from their start on what no process of the node can have."""
    node = run.world.node
    usable = node.memory - node.unusable_memory + node.swap
    for each in run.world.pods:
        held = Process(each.behaviours, each.start).held(each.start)
        amount = held.get(Usage.MEMORY, 0) + held.get(Usage.MEMORY_VOLUME, 0)
        if amount > usable:
            yield (
                f"Warning: {clean(each.pod.full_name)} holds {bytes_text(amount)} of memory from its start on, more than the "
                f"{bytes_text(usable)} that processes can have on this node, so the kernel kills."
            )


def _slow_texts(run: Run) -> Iterator[str]:
    """Write which pods grow by so few bytes a second that a unit was forgotten: `rate: 10` was meant as 10Mi."""
    slow = [
        (clean(each.pod.full_name), grow)
        for each in run.world.pods
        for grow in each.behaviours
        if isinstance(grow, Grow) and grow.of not in _COUNTS and 0 < grow.rate < _SLOW
    ]
    if slow:
        (_, first), names = slow[0], first_of(list(dict.fromkeys(name for name, _ in slow)))
        verb = "grows" if len(slow) == 1 else "grow"
        yield (
            f"Warning: {names} {verb} by {counted(first.rate, 'byte')} of {first.of.value} a second; write a unit, such as "
            f"`rate: {first.rate}Mi`."
        )


def _request_texts(run: Run) -> Iterator[str]:
    """Write which pods request more memory than there is for pods: no real node of this size would have them."""
    for_pods = run.world.node.memory_of_pods
    requests = ((each.pod.full_name, each.pod.resource_totals.memory_request // NANO) for each in run.world.pods)
    found = [f"{clean(name)} ({bytes_text(amount)})" for name, amount in requests if amount > for_pods]
    if found:
        verb = "requests" if len(found) == 1 else "request"
        yield (
            f"Warning: {first_of(found)} {verb} more memory than the {bytes_text(for_pods)} that pods can have on this node; the "
            "scheduler places no such pod on it."
        )


def _ranking_texts(run: Run) -> Iterator[str]:
    """Write which groups of `ranking` have no pod here: with labels of no pod both sides of a comparison are the same."""
    if run.config.policy is not Policy.STANDARD:
        return
    found = run.config.preferences
    for name, groups in (("prefer", found.prefer), ("avoid", found.avoid)):
        for group in groups:
            if not any(group.has(each.pod) for each in run.world.pods):
                namespaces = [f"of the namespaces {', '.join(sorted(group.namespaces))}"] if group.namespaces else []
                pairs = ", ".join(f"{key}={value}" for key, value in sorted(group.labels.items()))
                about = clean(" ".join([*namespaces, *([f"with the labels {pairs}"] if pairs else [])]))
                yield f"Warning: `ranking.{name}` {about} matches no pod of this world, so it changes nothing here."


def _capacity_texts(run: Run) -> Iterator[str]:
    seen = set[str]()
    for finding in (each for cycle in run.cycles for each in cycle.step.findings):
        if not isinstance(finding, ThresholdFinding) or finding.threshold.origin is Origin.DERIVED:
            continue
        name = clean(str(finding.threshold))
        if SIGNALS[finding.threshold.signal].own or name in seen:
            continue
        seen.add(name)
        if finding.limit >= finding.capacity:
            whole = signal_quantity(finding.capacity, finding.threshold.signal)
            yield f"Warning: {name} is not below the node's {whole}, so it is always met."


def _short_margin_texts(run: Run) -> Iterator[str]:
    """Write of the eviction that came closest to the end of memory that a real evictd, which needs time to react, can be late."""
    if run.kills:
        return  # it was late even so
    gone = {each.event.uid: each.at for each in run.happened if isinstance(each.event, PodEnd)}
    margins: list[tuple[int, str]] = []
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            because = each.because
            if because.threshold is None or because.available is None or not because.fill_rate:
                continue
            signal = because.threshold.signal
            if signal in MEMORY_SIGNALS and each.pod.uid in gone:
                ending = run.while_ending.get(signal, ())
                meanwhile = (left for at, left in ending if cycle.at <= at < gone[each.pod.uid])
                left = min([because.available.value(), *meanwhile])
                if counts_kernel_share(because.threshold, memory_formula(run.config)):
                    left -= run.world.node.unusable_memory
                margins.append((max(left, 0) * SECOND // because.fill_rate, each.pod.full_name))
    margin, name = min(margins, default=(_REACTION, ""))
    if margin < _REACTION:
        yield (
            f"Warning: {clean(name)} was ended only {duration_text(margin)} before nothing would have been left. evictd takes "
            "9 to 464 ms to react (docs/benchmarks.md), and here none: on a real node the OOM killer can act first."
        )
