"""Counts the losses and the effects of a run.

**Culprit.** A pod that the world marks as one (`WorldPod.culprit`), or, where nothing is marked, one that takes without bound:
a `Grow` without `bound`, or `TakeRest`. A successor of a culprit is one. Where the host is the cause, no pod is. One that was
evicted for a supply of which it held nothing, or where none is marked for one of which it takes no more and more, is not the
cause of that shortage: it is judged like any other pod.

**Innocent.** A pod that was lost and whose end was not needed: it is no culprit, and the observer who knows every byte
(`oracle.ideal_ends`) would have left it running. The pods need not be the same: a loss is needed as well if it can replace a pod
of the observer's set that was never lost, because the set with the one for the other relieves the node to the world's end too.
It replaces that one, and one only, so the size of the set is the number of pods that are excused. It does not replace a pod of
lower priority that the policy passed over as unnecessary because of it: that one was enough. A culprit that takes without
bound is not replaced: to end another pod in its place helps only until the culprit has taken that too. A kill replaces none,
because the container is started again, and a protected pod none, because the observer may not end it. A successor that is lost
again is one more loss.

A loss is judged by the supplies that were short when the pod went: the one that it was evicted for, and those of which a
threshold was met from the decision to its end. Where the lost pods of the set relieve these without it to the world's end, its
end was not needed: that a shortage of something else, which comes later, needs it does not excuse the eviction. Nor does one
that no set relieves make it needless: then each loss is judged by the observer's set for what was short when that pod went.

Pods that were evicted and pods whose container the kernel has killed are counted apart; a pod whose container is started and
killed again is one loss. A container that exceeds the memory limit of its own pod is no loss: the node had no part in it. Nor is
the end of a pod that was being deleted anyway.

**Regret.** Innocents beyond those of the observer, who by definition has none: evicted and killed ones.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from enum import Enum
from itertools import pairwise

from evictd.core.frozen import frozen
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import PodSkipped
from evictd.core.model.signal import SIGNALS, Resource, Signal, signal_named
from evictd.core.units.duration import format_duration
from evictd.world.behaviours import Usage, takes_without_bound
from evictd.world.kernel import OomKill
from evictd.world.lifecycle import CutShort, EndCause, EvictionRefused, PodEnd
from evictd.world.loop import Run
from evictd.world.model import World, WorldPod
from evictd.world.oracle import OF_RESOURCE, IdealEnds, ideal_ends, protected_pods, relief, signals_of_supply
from evictd.world.tested import cycles_with_thresholds

OOM_KILLED = "OOMKilled"


class Verdict(Enum):
    """Whether a loss was needed."""

    CULPRIT = "culprit"
    NEEDED = "needed"
    INNOCENT = "innocent"
    LEAVING = "leaving"
    """It was being deleted anyway, and ended earlier."""


@frozen
class Loss:
    """A pod that was evicted, or whose container the kernel has killed."""

    at: int
    """When the pod was gone, or its container killed."""
    decided_at: int
    """When the eviction was decided that the API server did not refuse; of a kill `at`."""
    uid: str
    name: str
    slot: str
    """The full name of the pod in the world that it was, or a successor of."""
    cause: str
    """The label of the eviction (a signal, or the limit that the pod exceeded), or `OOMKilled`."""
    held: int
    """Amount of the short resource that it held, in bytes, inodes or processes."""
    verdict: Verdict
    why: str = ""
    """Why the end of an innocent was not needed."""
    stands_for: str = ""
    """Of a needed one the full name of the pod that the observer would have ended in its place; empty if it is that one."""
    enough: str = ""
    """Of an innocent the full name of the pod of lower priority whose end was enough; empty if none was."""
    needed_for: str = ""
    """Of an innocent the signal for which alone its end was needed, which was not short when it went; empty if there is none."""
    cut_short: CutShort | None = None
    """Of an evicted one that was killed before the end that it needed."""
    held_nothing: bool = False
    """Whether it held nothing of what it was evicted for, neither charged to it nor on the host."""


@frozen
class Account:
    """The account of one run."""

    losses: tuple[Loss, ...]
    ideal: IdealEnds
    culprits: frozenset[str]
    """Full names of the pods that are culprits."""
    culprit_gone_at: Mapping[str, int]
    """Time of each culprit's first eviction; an OOM kill ends no pod."""
    evictions_by_cause: Mapping[str, int]
    oom_kills: int
    """All of them, also those at a limit of the pod's own."""
    short_for: Mapping[str, int] = field(default_factory=dict)
    """Nanoseconds that each threshold was met, by its text; only those that ever were."""
    short: int = 0
    """Nanoseconds that any threshold was met."""
    came_back: Mapping[Resource, int] = field(default_factory=dict)
    """Amount of the short resource that the evicted pods held."""
    shortages: int = 0
    """How often a threshold began to be met while none was."""
    relieved_at: int | None = None
    """Since when no threshold is met; 0 if none ever was, `None` if one is at the end."""

    @property
    def innocents(self) -> int:
        """Number of innocent pods evicted."""
        return sum(each.verdict is Verdict.INNOCENT and each.cause != OOM_KILLED for each in self.losses)

    @property
    def innocents_killed(self) -> int:
        """Number of times the kernel killed an innocent pod's container."""
        return sum(each.verdict is Verdict.INNOCENT and each.cause == OOM_KILLED for each in self.losses)

    @property
    def regret(self) -> int:
        """Innocents lost beyond those of the observer who knows every byte."""
        return self.innocents + self.innocents_killed


def account_of(run: Run, ideal: IdealEnds | None = None) -> Account:
    """Draw up the account of a run; `ideal` is the observer's set, if it is known: it does not depend on the run."""
    ideal = ideal_ends(run.world, run.config) if ideal is None else ideal
    culprits = frozenset(each.pod.full_name for each in run.world.pods if each.is_culprit)
    found = _losses(run)
    short = _short_signals(run, found)
    losses = (
        _judged(run, found, culprits, ideal, short) if ideal.relieves else _judged_apart(run, found, culprits, short)
    )
    spans = tuple(_spans(run))
    evicted = [loss for loss in losses if loss.cause != OOM_KILLED]
    gone: dict[str, int] = {}
    back: Counter[Resource] = Counter()
    for loss in evicted:
        back[_resource_of(loss.cause)] += loss.held
        if loss.slot in culprits:
            gone.setdefault(loss.slot, loss.at)
    return Account(
        losses=losses,
        ideal=ideal,
        culprits=culprits,
        culprit_gone_at=gone,
        evictions_by_cause=Counter(loss.cause for loss in evicted),
        oom_kills=sum(isinstance(each.event, OomKill) for each in run.happened),
        short_for=_short_for(spans),
        short=sum(then - at for at, then, found in spans if found),
        came_back=back,
        shortages=sum(
            bool(now) and not before for before, now in pairwise([set[str](), *(each for _, _, each in spans)])
        ),
        relieved_at=_relieved_at(spans),
    )


def _losses(run: Run) -> list[Loss]:
    """Return the losses, each without a judgement."""
    labels, decided, used = dict[str, str](), dict[str, int](), set[str]()
    refused = {(each.at, each.event.uid) for each in run.happened if isinstance(each.event, EvictionRefused)}
    for cycle in run.cycles:
        for decision in cycle.step.decisions:
            if isinstance(decision, EvictPod):
                labels.setdefault(decision.pod.uid, decision.because.signal_label)
                if decision.because.usage is not None and decision.because.usage.value():
                    used.add(decision.pod.uid)
                if decision.shortens:
                    decided.setdefault(decision.pod.uid, cycle.at)
                elif (cycle.at, decision.pod.uid) not in refused:
                    decided[decision.pod.uid] = cycle.at
    found, killed = list[Loss](), set[str]()
    for each in run.happened:
        match each.event:
            case PodEnd(cause=EndCause.EVICTED) as end:
                cause = labels.get(end.uid, "")
                then = decided.get(end.uid, each.at)
                loss = _loss(each.at, then, end, cause, _of(cause, end.held))
                found.append(replace(loss, held_nothing=end.uid not in used and _nothing_of(cause, end.held)))
            case OomKill(own_limit=False) as kill if kill.uid and kill.uid not in killed:
                killed.add(kill.uid)
                found.append(_loss(each.at, each.at, kill, OOM_KILLED, kill.held))
            case _:
                pass
    return found


def _loss(at: int, decided_at: int, of: PodEnd | OomKill, cause: str, held: int) -> Loss:
    return Loss(
        at=at,
        decided_at=decided_at,
        uid=of.uid,
        name=of.name,
        slot=of.slot,
        cause=cause,
        held=held,
        verdict=Verdict.INNOCENT,
        cut_short=of.cut_short if isinstance(of, PodEnd) else None,
    )


_Short = Mapping[Loss, frozenset[Signal]]
"""Of each loss the signals of what was short when the pod went."""


def _judged_apart(run: Run, losses: list[Loss], culprits: frozenset[str], short: _Short) -> tuple[Loss, ...]:
    """Return the losses, those of each shortage judged by the observer's set for that alone: no set relieves all of them."""
    found = dict[Loss, Loss]()
    for signals in dict.fromkeys(short.values()):
        of_these = [loss for loss in losses if short[loss] == signals]
        ideal = ideal_ends(run.world, run.config, signals)
        judged = _judged(run, of_these, culprits, ideal, dict.fromkeys(of_these, signals))
        found |= dict(zip(of_these, judged, strict=True))
    return tuple(found[loss] for loss in losses)


def _judged(
    run: Run, losses: list[Loss], culprits: frozenset[str], ideal: IdealEnds, short: _Short
) -> tuple[Loss, ...]:
    specs = {each.pod.full_name: each for each in run.world.pods}
    protected = protected_pods(run.world, run.config)
    endless = {slot for slot in culprits if takes_without_bound(specs[slot].behaviours)}
    relieves = None if ideal.crossed_at is None else relief(run.world, run.config, ideal.crossed_at)
    only_for = _only_for(run, ideal, short)
    causes = {
        loss
        for loss in losses
        if loss.slot in culprits and not loss.held_nothing and _takes(specs[loss.slot], short[loss])
    }
    others = {loss: only_for(loss, ideal.slots) for loss in losses if loss.slot in ideal.slots and loss not in causes}
    lost = {loss.slot for loss in losses if not others.get(loss)}
    chosen = ideal.slots
    """A smallest set: the observer's, with lost pods in place of pods that were not lost."""

    def replaced_by(loss: Loss) -> str | None:
        """Return the pod of the set that this one can replace."""
        if loss.cause == OOM_KILLED or relieves is None or loss.slot not in specs or loss.slot in protected:
            return None
        open_slots = sorted(chosen - lost - endless, key=lambda slot: ((loss.uid, slot) in passed_over, slot))
        sets = ((slot, chosen - {slot} | {loss.slot}) for slot in open_slots)
        return next((slot for slot, other in sets if relieves(other) and not only_for(loss, other)), None)

    passed_over = frozenset(_passed_over(run))
    tried = set[str]()
    """Pods that a replacement was sought for: a successor of one is one more loss."""

    def judged(loss: Loss) -> Loss:
        nonlocal chosen
        if loss in causes:
            return replace(loss, verdict=Verdict.CULPRIT)
        deleted_at = None if loss.slot not in specs else specs[loss.slot].deleted_at
        if deleted_at is not None and loss.at >= deleted_at:
            return replace(loss, verdict=Verdict.LEAVING)
        if loss.slot in ideal.slots:
            if other := others[loss]:
                return replace(loss, why=f"needed only for {other}, which was not short then", needed_for=other)
            return replace(loss, verdict=Verdict.NEEDED)
        if loss.slot not in tried:
            tried.add(loss.slot)
            slot = replaced_by(loss)
            if slot is not None and (loss.uid, slot) in passed_over:
                return replace(loss, why=f"{slot} of lower priority was enough", enough=slot)
            if slot is not None:
                chosen = chosen - {slot} | {loss.slot}
                return replace(loss, verdict=Verdict.NEEDED, stands_for=slot)
        return replace(loss, why=why_not_needed)

    why_not_needed = _why_not_needed(run.world, ideal)
    return tuple(judged(loss) for loss in losses)


def _short_signals(run: Run, losses: Iterable[Loss]) -> dict[Loss, frozenset[Signal]]:
    """Return the signals of what was short when each pod went: what it was lost for, and what a threshold was met on meanwhile.

    All of them where it went for stalls of I/O or for a limit of its own: what relieves that is not asked.
    """
    met = [
        (cycle.at, {each.threshold.signal for each in tested if each.met})
        for cycle, tested in cycles_with_thresholds(run)
    ]
    found = dict[Loss, frozenset[Signal]]()
    for loss in losses:
        cause = Signal.MEMORY_AVAILABLE if loss.cause == OOM_KILLED else signal_named(loss.cause)
        if cause is None or not OF_RESOURCE[SIGNALS[cause].resource]:
            found[loss] = frozenset(Signal)
            continue
        short = {cause}.union(*(signals for at, signals in met if loss.decided_at <= at <= loss.at))
        found[loss] = frozenset[Signal]().union(*(signals_of_supply(each, run.world) for each in short))
    return found


def _only_for(run: Run, ideal: IdealEnds, short: _Short) -> Callable[[Loss, frozenset[str]], str]:
    """Return what names the signal for which alone a set has a lost pod, because without it the set relieves what was short."""

    def only_for(loss: Loss, slots: frozenset[str]) -> str:
        if ideal.crossed_at is None:
            return ""
        relieves, without = relief(run.world, run.config, ideal.crossed_at, short[loss]), slots - {loss.slot}
        if not relieves(without):
            return ""
        went, kept = list(dict.fromkeys(each.slot for each in short if short[each] & short[loss])), slots
        # Those that went are kept before those that did not, and the first of them before the last.
        for slot in (*sorted(slots - set(went)), *(slot for slot in reversed(went) if slot in slots)):
            kept = kept - {slot} if relieves(kept - {slot}) else kept
        if loss.slot in kept:
            return ""
        others = (each for each in Signal if each not in short[loss])
        relief_of = {each: relief(run.world, run.config, ideal.crossed_at, {each}) for each in others}
        return next((each.value for each, relieved in relief_of.items() if not relieved(without)), "")

    return only_for


def _takes(culprit: WorldPod, signals: Iterable[Signal]) -> bool:
    """Whether a culprit is one of what these signals measure: it is marked, or takes that without bound."""
    kinds = {kind for each in signals for kind in _kinds(SIGNALS[each].resource)}
    return culprit.culprit is True or takes_without_bound(culprit.behaviours, kinds)


def _passed_over(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the uid of each pod that went instead of one of lower priority, and the full name of that one."""
    for cycle in run.cycles:
        for each in cycle.step.findings:
            if isinstance(each, PodSkipped) and each.instead is not None and each.pod.priority < each.instead.priority:
                yield each.instead.uid, each.pod.full_name


def _why_not_needed(world: World, ideal: IdealEnds) -> str:
    """Return why the end of an innocent pod was not needed: what the observer who knows every byte does instead."""
    if ideal.crossed_at is None:
        return "its threshold is not met once unused images and dead containers are deleted"
    if not ideal.relieves:
        return f"no set of evictable pods would have relieved the node for the rest of the {format_duration(world.played)} played"
    ends = ", ".join(sorted(ideal.slots))
    return f"the end of {ends} would have relieved what was short for the rest of the {format_duration(world.played)} played"


def _of(cause: str, held: Mapping[Usage, int]) -> int:
    return sum(held.get(each, 0) for each in OF_RESOURCE[_resource_of(cause)])


def _nothing_of(cause: str, held: Mapping[Usage, int]) -> bool:
    """Whether a pod held nothing of the supply that it was evicted for; of a stall or a limit of its own that is not asked."""
    resource = _RESOURCES.get(cause)
    kinds = () if resource is None else _kinds(resource)
    return bool(kinds) and not any(held.get(each) for each in kinds)


def _kinds(resource: Resource) -> tuple[Usage, ...]:
    return (*OF_RESOURCE[resource], *_UNCHARGED.get(resource, ()))


_Span = tuple[int, int, set[str]]
"""Begin and end of a time, and the thresholds that were met in it."""
_UNCHARGED = {Resource.EPHEMERAL_STORAGE: (Usage.HOST_PATH,), Resource.INODES: (Usage.HOST_PATH_INODES,)}
"""What a pod takes of a supply without being charged for it."""
_RESOURCES = {signal.value: spec.resource for signal, spec in SIGNALS.items()}


def _resource_of(cause: str) -> Resource:
    return Resource.MEMORY if cause == OOM_KILLED else _RESOURCES.get(cause, Resource.EPHEMERAL_STORAGE)


def _spans(run: Run) -> Iterator[_Span]:
    """Yield the thresholds that were met from each cycle to the next, and from the last one to the world's end."""
    ends = (*(cycle.at for cycle in run.cycles[1:]), run.world.duration)
    for (cycle, tested), end in zip(cycles_with_thresholds(run), ends, strict=True):
        yield cycle.at, end, {str(each.threshold) for each in tested if each.met}


def _short_for(spans: Iterable[_Span]) -> dict[str, int]:
    short = Counter[str]()
    for at, then, found in spans:
        for each in found:
            short[each] += then - at
    return dict(short)


def _relieved_at(spans: Iterable[_Span]) -> int | None:
    since: int | None = 0
    for at, _, found in spans:
        if found:
            since = None
        elif since is None:
            since = at
    return since
