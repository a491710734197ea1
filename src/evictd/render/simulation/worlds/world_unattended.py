"""Says what would have come of a world without evictd, and what evictd cost beside that."""

from collections.abc import Iterator, Sequence

from evictd.config.kernel_share import kernel_share
from evictd.core.model.config import Policy, own_thresholds
from evictd.core.model.signal import (
    MEMORY_SIGNALS,
    SIGNALS,
    STALLS,
    Resource,
    Signal,
    signal_named,
)
from evictd.core.units.approximate import bytes_text
from evictd.core.units.quantity import NANO
from evictd.render.simulation.worlds.clear_again import clear_again_text
from evictd.render.simulation.worlds.world_relief import slot_names, thresholds_shown
from evictd.render.text import clean, clock, counted, duration_text, signal_amount
from evictd.world.account import Account, Loss, Verdict
from evictd.world.behaviours import ANONYMOUS, Exits, Usage, most
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import Collected
from evictd.world.loop import Run
from evictd.world.model import World
from evictd.world.oracle import on_its_disk, protected_pods
from evictd.world.process import Process
from evictd.world.tested import cycles_with_thresholds, met_at_end


def within_played(world: World) -> str:
    """Write the time in which something is known not to happen."""
    return f"within the {duration_text(world.played)} played"


def unattended_texts(run: Run, unattended: Run, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write what would have happened without evictd: the OOM killer, and how little of what was short would have been left."""
    signals = {
        each.threshold.signal for _, tested in cycles_with_thresholds(run) for each in thresholds_shown(tested)
    } - STALLS.keys()
    # What ran out between two readings was met at none.
    signals |= {
        each.signal for each in own_thresholds(run.config) if on_its_disk(each.signal, run.world) in run.ran_out
    }
    if killed := unattended.kills:
        at, kill = killed[0]
        came = f"Without evictd the OOM killer would have come at {_beside(at, Signal.MEMORY_AVAILABLE, run.world, evicted)}"
        yield f"{came}, and killed {clean(kill.name)} first."
    elif signals & MEMORY_SIGNALS:
        again = _unless_share(unattended) or clear_again_text(run, unattended) or _memory_taken_on(run.world)
        yield f"Without evictd the OOM killer would not have come {within_played(run.world)}{again}."
    # The kernel kills only once the swap is full; the readings are from before.
    known = MEMORY_SIGNALS | ({Signal.SWAP_AVAILABLE} if killed else set())
    for signal in sorted(signals - known, key=lambda each: each.value):
        yield from _least_texts(signal, run, unattended, evicted)


def _memory_taken_on(world: World) -> str:
    """Write that a longer world can bring it, where a pod or the host would hold more memory after the end than at it."""
    holders = [*((each.behaviours, each.start) for each in world.pods), *((each.behaviours, 0) for each in world.host)]
    stay = [Process(*each) for each in holders if not any(isinstance(one, Exits) for one in each[0])]
    if not any(grows_on(each, world, ANONYMOUS) for each in stay) or _has_room(world):
        return ""
    return "; more memory is taken after that, so a longer `duration` can bring it"


def grows_on(process: Process, world: World, kinds: Sequence[Usage]) -> bool:
    """Whether a process would hold more of one of these after the world's end than at it."""
    now, later = process.held(world.duration), process.held(world.duration + world.played)
    takes_rest = process.rest is not None
    return takes_rest or any(later.get(usage, 0) > now.get(usage, 0) for usage in kinds)


def _has_room(world: World) -> bool:
    """Whether memory and swap suffice for the most that all pods and the host ever hold together."""
    holders = [*(each.behaviours for each in world.pods), *(each.behaviours for each in world.host)]
    peaks = [most(each, ANONYMOUS) for each in holders]
    known = [each for each in peaks if each is not None]
    node = world.node
    return len(known) == len(peaks) and sum(known) <= node.memory - node.unusable_memory + node.swap


def _unless_share(unattended: Run) -> str:
    """Write that it may come on a real node, where the world has none of the memory that no process can allocate."""
    node, least = unattended.world.node, unattended.least.get(Signal.MEMORY_AVAILABLE)
    share = None if node.unusable_memory else kernel_share(node.memory)
    if share is None or least is None or least >= share.busy:
        return ""
    left = bytes_text(least)
    return f", with {left} left; on a real node it can, as {share.text} that no process can allocate count as available"


def _least_texts(signal: Signal, run: Run, unattended: Run, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write when nothing would have been left of a signal without evictd, or the least that would have been."""
    on_disk = on_its_disk(signal, run.world)
    at, without = run.ran_out.get(on_disk), unattended.ran_out.get(on_disk)
    if without is None:
        if (least := unattended.least.get(signal)) is not None:
            below = f"would not have come below {signal_amount(least, signal)} {within_played(run.world)}"
            yield f"{_without_text(signal, run)} {signal.value} {below}{_met_at_end(signal, run, unattended)}."
    elif at is None:
        left = f"nothing would have been left of {signal.value} at {_beside(without, signal, run.world, evicted)}"
        yield f"{_without_text(signal, run)} {left}."
    elif clock(at) == clock(without):
        yield f"Nothing was left of {signal.value} at {clock(at)}, as without evictd."
    else:
        yield f"Nothing was left of {signal.value} at {clock(at)}, without evictd at {clock(without)}."


def _met_at_end(signal: Signal, run: Run, unattended: Run) -> str:
    """Write which threshold of a signal would have been met at the last reading without evictd; empty if none."""
    own = [each for each in own_thresholds(run.config) if each.signal is signal]
    met = next(met_at_end(unattended, own), None)
    return "" if met is None else f", and {clean(str(met))} would be met at the end"


def _without_text(signal: Signal, run: Run) -> str:
    """Write what the comparison leaves out: of a disk also what a reclaim removed, not only the evictions."""
    reclaimed = any(isinstance(each.event, Collected) and each.event.removed for each in run.happened)
    both = reclaimed and SIGNALS[signal].filesystem is not None
    return "Without evictd (neither its reclaim nor its evictions)" if both else "Without evictd"


def cost_texts(run: Run, account: Account, unattended: Run, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write what the evictions for memory cost beside what the kernel would have killed.

    Silent where they ended nothing but the cause, or where the kernel would have killed other pods as well as the cause of them.
    """
    others = [each for each in evicted if each.verdict not in {Verdict.CULPRIT, Verdict.LEAVING}]
    if not others or not {each.cause for each in evicted} <= {signal.value for signal in MEMORY_SIGNALS}:
        return
    killed = [*dict.fromkeys(_place(kill) for _, kill in unattended.kills)]
    only_causes = account.culprits >= set(killed)
    ended_cause = any(each.verdict is Verdict.CULPRIT for each in evicted)
    if (ended_cause and not only_causes) or not (account.culprits or killed):
        return
    yield (
        f"{_cost_text(others, account, ended_cause)}{_killed_too(run)}; without evictd the kernel would have killed "
        f"{_killed_text(unattended, account)} {within_played(unattended.world)}."
    )
    if run.config.policy is not Policy.STANDARD or ended_cause or not account.culprits:
        return
    if account.culprits <= protected_pods(run.world, run.config) and _within_requests(run, evicted):
        yield (
            "A protected pod is the cause; the others went because together they held what was missing, and its growth for 40 s "
            "for each eviction (docs/laws.md, Blame)."
        )


def _cost_text(others: Sequence[Loss], account: Account, ended_cause: bool) -> str:
    cost = f"evictd cost {counted(len(others), 'pod')}"
    if ended_cause:
        return f"{cost} beside the cause"
    return f"{cost}, and none of them was the cause" if account.culprits else cost


def _killed_too(run: Run) -> str:
    """Write how many pods and host processes the kernel killed beside the evictions; empty if none."""
    return f"; the kernel killed {_count_text(run)} as well" if run.kills else ""


def _killed_text(run: Run, account: Account) -> str:
    """Write which pods and processes of the host the kernel killed in a run, and how often if some more than once."""
    killed = [*dict.fromkeys(_place(kill) for _, kill in run.kills)]
    if not killed:
        return "no pod"
    # A container that is killed is started again.
    times = f" {counted(len(run.kills), 'time')}" if len(run.kills) > len(killed) else ""
    times += " in all" if times and len(killed) > 1 else ""
    if account.culprits >= set(killed):
        return f"only {slot_names(killed)}, the cause,{times}"
    return f"{_count_text(run)}: {slot_names(killed)},{times}"


def _count_text(run: Run) -> str:
    """Count the pods, with their successors one each, and the processes of the host that the kernel killed."""
    pods = {_place(kill) for _, kill in run.kills if kill.uid}
    host = {_place(kill) for _, kill in run.kills if not kill.uid}
    parts = [counted(len(pods), "pod")] if pods else []
    processes = "1 process of the host" if len(host) == 1 else f"{len(host)} processes of the host"
    return " and ".join([*parts, processes] if host else parts)


def _place(kill: OomKill) -> str:
    """Return the pod of the world that was killed, for a successor too, or the process of the host."""
    return kill.slot or kill.name


def _within_requests(run: Run, evicted: Sequence[Loss]) -> bool:
    """Whether no pod held more memory than it requested: one that does goes in the place of a protected one for other reasons."""
    requests = {each.pod.full_name: each.pod.resource_totals.memory_request // NANO for each in run.world.pods}
    return all(loss.slot in requests and loss.held <= requests[loss.slot] for loss in evicted)


def _beside(at: int, signal: Signal, world: World, evicted: Sequence[Loss]) -> str:
    """Write a time, and how far it is from the decision of the first eviction for what a signal measures.

    Its signal is named where there were evictions for something else as well.
    """
    same = [each for each in evicted if _is_for(each, signal, world)]
    if not same:
        return clock(at)
    first = min(same, key=lambda each: each.decided_at)
    side = "before" if at < first.decided_at else "after"
    of = "" if len(same) == len(evicted) else f" for {first.cause}"
    return f"{clock(at)}, {duration_text(abs(at - first.decided_at))} {side} the first eviction{of}"


def _is_for(loss: Loss, signal: Signal, world: World) -> bool:
    """Whether a pod was evicted for the same device or resource: the OOM killer comes for memory and swap alike."""
    cause = signal_named(loss.cause)
    if cause is None:
        return False
    if signal in MEMORY_SIGNALS:
        return SIGNALS[cause].resource in {Resource.MEMORY, Resource.SWAP}
    return on_its_disk(cause, world) is on_its_disk(signal, world)
