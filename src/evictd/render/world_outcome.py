"""Says what came of a world that was played: the pods that were lost, the relief, and the same world without evictd."""

from collections.abc import Iterator, Sequence

from evictd.config.kernel_share import kernel_share
from evictd.core.eviction.eviction_method import is_hard
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod, Policy, own_thresholds
from evictd.core.model.decision import begun_evictions
from evictd.core.model.signal import DISK_SIGNALS, MEMORY_SIGNALS, SIGNALS, STALLS, Filesystem, Resource, Signal
from evictd.core.units.approximate import bytes_text
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.render.clear_again import clear_again_text
from evictd.render.host_growth import host_growth_texts
from evictd.render.past_budget import past_budget_text
from evictd.render.text import clean, clock, counted, duration_text, signal_amount
from evictd.render.world_relief import needed_text, relief_texts, slot_names, thresholds_shown
from evictd.render.world_warnings import warnings_text
from evictd.world.account import OOM_KILLED, Account, Loss, Verdict, protected_pods
from evictd.world.behaviours import ANONYMOUS, Exits, Usage, most
from evictd.world.expectation import Expectation
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import Collected, EvictionRefused
from evictd.world.loop import Run
from evictd.world.model import World
from evictd.world.process import Process
from evictd.world.tested import cycles_with_thresholds

_SLOW = 1 * SECOND
"""If a pod is gone this time or more after the decision, the conclusion has both times."""


@frozen
class PlayedWorld:
    """A world that was played with one configuration, and its result."""

    name: str
    """Name of the configuration or policy."""
    run: Run
    account: Account
    unattended: Run | None = None
    """The same world without evictd, to say what would have happened on the node."""
    expectations: tuple[Expectation, ...] = ()
    """What the world file expects, and whether it came so."""
    before: tuple[str, ...] = ()
    """What the readings had from which it was played on, as sentences."""
    warnings: tuple[str, ...] = ()
    """What is said of the world file beside the warnings of every world."""


def played_text(played: PlayedWorld) -> list[str]:
    """Write what came of a world, after what the readings had from which it was played on."""
    return [*played.before, *outcome_text(played.run, played.account, played.unattended), *played.warnings]


def outcome_text(run: Run, account: Account, unattended: Run | None = None) -> list[str]:
    """Write what came of a run, one sentence each."""
    evicted = [loss for loss in account.losses if loss.cause != OOM_KILLED]
    sentences = [*_loss_texts(run, account, evicted)] or ["No pod was evicted."]
    sentences += [*_refusal_texts(run), *_kill_texts(run, account), *_ran_out_texts(run), *relief_texts(run, account)]
    sentences += [*_stayed_texts(run, account, evicted), *host_growth_texts(run)]
    if unattended is not None:
        sentences += [
            *_unattended_texts(run, unattended, evicted),
            *_cost_texts(run, account, unattended, evicted),
        ]
    return [*sentences, *warnings_text(run)]


def _stayed_texts(run: Run, account: Account, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write which causes were not evicted: those that the kernel killed apart."""
    if account.ideal.crossed_at is None:
        return
    deleted = {each.pod.full_name for each in run.world.pods if each.deleted_at is not None}
    stayed = account.culprits - account.culprit_gone_at.keys() - deleted
    killed = stayed & {each.event.slot for each in run.happened if isinstance(each.event, OomKill)}
    of_use = [each for each in evicted if not of_no_use(each, run, account)]
    for names, was_killed in ((sorted(stayed - killed), False), (sorted(killed), True)):
        if names:
            was, containers = ("was", "its container") if len(names) == 1 else ("were", "their containers")
            what = f"evicted: the kernel killed {containers}, which {was} started again" if was_killed else "ended"
            yield f"{slot_names(names)}, the cause, {was} not {what}{_later(run.world, names, of_use)}."


def _within(world: World) -> str:
    """Write the time in which something is known not to happen."""
    return f"within the {duration_text(world.played)} played"


def _later(world: World, stayed: Sequence[str], evicted: Sequence[Loss]) -> str:
    """Write that causes that still grow can make other pods the needed ones; empty where no other pod was called needed."""
    if not any(each.verdict is Verdict.NEEDED for each in evicted):
        return ""
    processes = [Process(each.behaviours, each.start) for each in world.pods if each.pod.full_name in stayed]
    if not any(_grows_on(each, world, tuple(Usage)) for each in processes):
        return ""
    return "; it goes on, so a longer `duration` can change what was needed"


def _grows_on(process: Process, world: World, kinds: Sequence[Usage]) -> bool:
    """Whether a process would hold more of one of these after the world's end than at it."""
    now, later = process.held(world.duration), process.held(world.duration + world.played)
    takes_rest = process.rest is not None
    return takes_rest or any(later.get(usage, 0) > now.get(usage, 0) for usage in kinds)


def _verdict_text(verdict: Verdict, run: Run, account: Account) -> str:
    if verdict is Verdict.CULPRIT:
        return "the cause"
    if verdict is Verdict.LEAVING:
        return "being deleted already, it only ended earlier"
    return needed_text(run, account) if verdict is Verdict.NEEDED else f"not needed {_within(run.world)}"


def expectation_texts(expectations: Sequence[Expectation]) -> list[str]:
    """Write which expectations of a world file are met, in one sentence, and why each other one is not."""
    met = [each.text for each in expectations if not each.unmet]
    unmet = [each for each in expectations if each.unmet]
    texts = [f"As the world expects, {clean('; '.join(met))}."] if met else []
    return [*texts, *(f"expect.{each.field}: not met: {clean('; '.join(each.unmet))}" for each in unmet)]


# --- what was lost ----------------------------------------------------------------------------------------------------


def of_no_use(loss: Loss, run: Run, account: Account) -> bool:
    """Whether what a pod was evicted for ran out all the same and is short at the end: then its end was not needed for relief."""
    full = {signal.value for signal in Signal if _on_its_disk(signal, run.world) in run.ran_out}
    of_pods = loss.verdict in {Verdict.NEEDED, Verdict.INNOCENT}
    return of_pods and loss.cause in full and account.relieved_at is None


def _loss_texts(run: Run, account: Account, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write a sentence for the causes, the needed and the innocent, the first one evicted first.

    A pod that stands for another one has its own.
    """
    groups: dict[str, list[Loss]] = {}
    for loss in sorted(evicted, key=lambda each: each.decided_at):
        if of_no_use(loss, run, account):
            what = f"of no use, because {loss.cause} ran out all the same"
        else:
            instead = f", in place of {clean(loss.instead_of)}" if loss.instead_of else ""
            kept = _kept_text(loss, run) if loss.verdict is Verdict.INNOCENT else ""
            what = f"{_verdict_text(loss.verdict, run, account)}{instead}{kept}"
        groups.setdefault(what, []).append(loss)
    for what, losses in groups.items():
        yield f"{_evicted_text(losses)}: {what}."


def _kept_text(loss: Loss, run: Run) -> str:
    """Write that only the minimum reclaim of its threshold kept evictions going; empty where the threshold was met."""
    decisions = (each for cycle in run.cycles for each in begun_evictions(cycle.step.decisions))
    because = next((each.because for each in decisions if each.pod.uid == loss.uid), None)
    if because is None or because.limit is None or because.available is None or because.available < because.limit:
        return ""
    return ", and only for the minimum reclaim: the threshold itself was clear"


def _evicted_text(losses: Sequence[Loss]) -> str:
    """Write which pods were evicted, how often if successors were too, when and for which signals."""
    slots = list(dict.fromkeys(loss.slot for loss in losses))
    verb, again = "was" if len(slots) == 1 else "were", ""
    if len(losses) > len(slots):
        again = f" {len(losses)} times, with {'its' if len(slots) == 1 else 'their'} successors,"
    first, last = clock(losses[0].decided_at), clock(losses[-1].decided_at)
    when = f"at {first}" if first == last else f"from {first} to {last}"
    causes = ", ".join(dict.fromkeys(loss.cause for loss in losses))
    slow = len(losses) == 1 and losses[0].at - losses[0].decided_at >= _SLOW
    gone = f" and gone at {clock(losses[0].at)}" if slow else ""
    return f"{slot_names(slots)} {verb} evicted{again} {when} for {causes}{gone}"


def _refusal_texts(run: Run) -> Iterator[str]:
    names = [clean(each.event.name) for each in run.happened if isinstance(each.event, EvictionRefused)]
    if names:
        yield f"The API server refused evictions {counted(len(names), 'time')}: {slot_names(list(dict.fromkeys(names)))}."
    yield from _past_budget_texts(run)


def _past_budget_texts(run: Run) -> Iterator[str]:
    """Write of the first pod that evictd deleted past a disruption budget why, and how many more there were."""
    api = run.world.api_server
    if not api.budgets or api.termination is not EvictionMethod.AUTO:
        return
    refused = {(each.at, each.event.uid) for each in run.happened if isinstance(each.event, EvictionRefused)}
    timeout, found = run.config.eviction_timeout, list[tuple[str, int]]()
    for cycle in run.cycles:
        for each in begun_evictions(cycle.step.decisions):
            since = each.refused_since
            past = since is not None and not is_hard(each) and cycle.at - since >= timeout
            if since is not None and past and (cycle.at, each.pod.uid) not in refused:
                found.append((clean(each.pod.full_name), cycle.at - since))
    if found:
        (name, waited), more = found[0], len(found) - 1
        yield past_budget_text(name, waited, timeout)
        if more:
            yield f"evictd deleted {counted(more, 'more pod')} past a disruption budget."


def _kill_texts(run: Run, account: Account) -> Iterator[str]:
    own = [
        (each.at, each.event.name) for each in run.happened if isinstance(each.event, OomKill) and each.event.own_limit
    ]
    if own:
        names = list(dict.fromkeys(name for _, name in own))
        at_limit = f"at {'its' if len(names) == 1 else 'their'} own memory limit"
        yield f"The kernel killed {slot_names(names)} {at_limit} {counted(len(own), 'time')}, first at {clock(own[0][0])}."
    if not (killed := run.kills):
        return
    names = list(dict.fromkeys(clean(kill.name) for _, kill in killed))
    innocent = f", {counted(account.innocents_killed, 'innocent')} among them" if account.innocents_killed else ""
    yield (
        f"The kernel killed for want of memory {counted(len(killed), 'time')}, first at {clock(killed[0][0])}: "
        f"{slot_names(names)}{innocent}."
    )
    if not any(each.signal in MEMORY_SIGNALS for each in run.config.thresholds):
        yield "The configuration has no threshold for memory, so evictd does not act on it."


def _ran_out_texts(run: Run) -> Iterator[str]:
    """Write which resource without a threshold ran out, and when."""
    known = {_on_its_disk(each.signal, run.world) for each in own_thresholds(run.config)}
    for signal, at in run.ran_out.items():
        if signal not in known:
            yield (
                f"Nothing was left of {signal.value} at {clock(at)}; the configuration has no threshold for it, so evictd does "
                "not act on it."
            )


def _on_its_disk(signal: Signal, world: World) -> Signal:
    """Return the signal of the same amount on the disk that the filesystem lies on; another signal as it is."""
    spec, node = SIGNALS[signal], world.node
    if spec.filesystem is None:
        return signal
    images = spec.filesystem is Filesystem.IMAGEFS or (
        spec.filesystem is Filesystem.CONTAINERFS and not node.split_layout
    )
    disk = Filesystem.IMAGEFS if images and node.imagefs is not None else Filesystem.NODEFS
    return DISK_SIGNALS[disk][spec.resource is Resource.INODES]


# --- without evictd ---------------------------------------------------------------------------------------------------


def _unattended_texts(run: Run, unattended: Run, evicted: Sequence[Loss]) -> Iterator[str]:
    """Write what would have happened without evictd: the OOM killer, and how little of what was short would have been left."""
    signals = {
        each.threshold.signal for _, tested in cycles_with_thresholds(run) for each in thresholds_shown(tested)
    } - STALLS.keys()
    # What ran out between two readings was met at none.
    signals |= {
        each.signal for each in own_thresholds(run.config) if _on_its_disk(each.signal, run.world) in run.ran_out
    }
    if killed := unattended.kills:
        at, kill = killed[0]
        came = f"Without evictd the OOM killer would have come at {_beside(at, evicted)}"
        yield f"{came}, and killed {clean(kill.name)} first."
    elif signals & MEMORY_SIGNALS:
        again = _unless_share(unattended) or clear_again_text(run, unattended) or _memory_taken_on(run.world)
        yield f"Without evictd the OOM killer would not have come {_within(run.world)}{again}."
    # The kernel kills only once the swap is full; the readings are from before.
    known = MEMORY_SIGNALS | ({Signal.SWAP_AVAILABLE} if killed else set())
    for signal in sorted(signals - known, key=lambda each: each.value):
        yield from _least_texts(signal, run, unattended, evicted)


def _memory_taken_on(world: World) -> str:
    """Write that a longer world can bring it, where a pod or the host would hold more memory after the end than at it."""
    holders = [*((each.behaviours, each.start) for each in world.pods), *((each.behaviours, 0) for each in world.host)]
    stay = [Process(*each) for each in holders if not any(isinstance(one, Exits) for one in each[0])]
    if not any(_grows_on(each, world, ANONYMOUS) for each in stay) or _has_room(world):
        return ""
    return "; more memory is taken after that, so a longer `duration` can bring it"


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
    on_disk = _on_its_disk(signal, run.world)
    at, without = run.ran_out.get(on_disk), unattended.ran_out.get(on_disk)
    if without is None:
        if (least := unattended.least.get(signal)) is not None:
            below = f"would not have come below {signal_amount(least, signal)}"
            yield f"{_without_text(signal, run)} {signal.value} {below} {_within(run.world)}."
    elif at is None:
        left = f"nothing would have been left of {signal.value} at {_beside(without, evicted)}"
        yield f"{_without_text(signal, run)} {left}."
    elif clock(at) == clock(without):
        yield f"Nothing was left of {signal.value} at {clock(at)}, as without evictd."
    else:
        yield f"Nothing was left of {signal.value} at {clock(at)}, without evictd at {clock(without)}."


def _without_text(signal: Signal, run: Run) -> str:
    """Write what the comparison leaves out: of a disk also what a reclaim removed, not only the evictions."""
    reclaimed = any(isinstance(each.event, Collected) and each.event.removed for each in run.happened)
    both = reclaimed and SIGNALS[signal].filesystem is not None
    return "Without evictd (neither its reclaim nor its evictions)" if both else "Without evictd"


def _cost_texts(run: Run, account: Account, unattended: Run, evicted: Sequence[Loss]) -> Iterator[str]:
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
        f"{_killed_text(unattended, account)} {_within(unattended.world)}."
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


def _beside(at: int, evicted: Sequence[Loss]) -> str:
    """Write a time, and how far it is from the first eviction's decision."""
    if not evicted:
        return clock(at)
    first = min(each.decided_at for each in evicted)
    return f"{clock(at)}, {duration_text(abs(at - first))} {'before' if at < first else 'after'} the first eviction"
