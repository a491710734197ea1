"""Law Blame: no pod within its request goes in the place of a culprit that may not go (policy Standard).

A pod that may not go now is protected or static, guarded by a disruption budget, not measured, or a victim that does not end. If
it holds or grows more of what is short than all candidates together, it is the culprit, and evicting others only delays it. Its
growth is that of the last minute, or all since the supply became short: a slow leak that goes on for minutes is as much a cause.
Of a pod that was first measured after the crossing the growth is not known; the part of the present rate that no other growth
explains counts as its own. (At a crossing volumes are walked for the first time. A neighbour went for a static pod that wrote
200 MiB/s, because the neighbours had just grown by some MiB.)

The others go all the same where they hold what is missing together with the culprit's growth until they are gone: then the node
is relieved. One that exceeds its request goes in the place of a culprit once, if it holds half of what the culprit does, makes
half of all growth, or relieves the node for the time of an eviction at the present rate; for a soft threshold in any case. What
its owner has created anew would go again and again, for seconds each time, and beside a fast leak all pods slightly over their
requests would go within seconds. They wait for a culprit that a budget guards until evictd may pass over the budget
(`cluster.evictionTimeout`).

A soft threshold is also met while the hard one of its signal is. Where that one evicts no pod because of a culprit, the soft one
evicts none either (`is_refused_at_hard`): the same pod would go in vain some seconds later, when the grace period ends.

For PIDs, inodes and swap, which no pod requests, a candidate is skipped that holds less than half of what the culprit does.

For stalls, of which no pod holds an amount, `stalls_instead` says which pod is the culprit.

What pods hold that were not measured is known for memory: the pods' cgroup less the measured ones. Where it is not known, growth
that belongs to no pod stands for it.
"""

from collections.abc import Iterable, Sequence

from evictd.core.eviction.accounts.ledger import supply_of
from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.eviction.reclaim import Layout
from evictd.core.eviction.time_left import target_of
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import Finding, NoAction, NoActionReason, RankedPod
from evictd.core.model.observation import SignalObservation
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import SIGNALS, STALLS
from evictd.core.model.state import State
from evictd.core.model.threshold import Threshold
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO

HOLDS_MORE, GREW_MORE = "holds more than all of them", "grew more than all of them"
IS_STATIC, GUARDED_BY_BUDGET = "is a static pod", "is guarded by a disruption budget"
LIKE_THE_CULPRIT = 2
"""A candidate with half of what the culprit holds is a cause as well, if it exceeds its request or where pods request nothing
(with 1 or 4 no incident ends differently)."""


@frozen
class Suspect:
    """A pod that may not go now, or all pods together that were not measured."""

    pod: Pod | None
    """`None` for those that were not measured."""
    held: int | None
    """`None` where it is not known."""
    grown: int
    rate: int = 0
    """Units per second by which it grows."""
    taken: int = 0
    """By how much it grew since about a minute before the supply became short."""
    goes_soon: bool = False
    """A disruption budget guards it, and is asked again or passed over within a bound."""
    why: str = ""
    """Why it may not go (`why_it_stays`)."""
    is_new: bool = False
    """It was first measured too lately to know its growth (`Shortage.is_new`)."""


def blamed(
    victim: RankedPod, candidates: Sequence[RankedPod], suspects: Sequence[Suspect], shortage: Shortage
) -> NoAction | None:
    """Return the finding that this pod would go in the place of a culprit; `None` where the pod may go."""
    if not suspects:
        return None
    held, grown = shortage.held_by(candidates), sum(shortage.grown_of(row.uid) for row in candidates)
    taken = sum(shortage.taken_by(row.uid) for row in candidates)
    for suspect in suspects:
        covered = held >= _with_growth_of(suspect, candidates, shortage) and not suspect.goes_soon
        if covered or not _is_culprit(suspect, shortage, held=held, grown=grown, taken=taken):
            continue
        if _may_go(victim, suspect, shortage):
            continue
        does = HOLDS_MORE if suspect.held is not None and suspect.held > held else GREW_MORE
        amount = SIGNALS[shortage.threshold.signal].amount
        reason = NoActionReason.UNMEASURED_CULPRIT if suspect.pod is None else NoActionReason.PROTECTED_CULPRIT
        return NoAction(
            why=reason,
            threshold=shortage.threshold,
            pod=suspect.pod,
            needed=amount(_with_growth_of(suspect, candidates, shortage)),
            reachable=amount(held),
            missing=amount(shortage.missing),
            detail="" if suspect.pod is None else f"{does} and {suspect.why}",
        )
    return None


def why_it_stays(pod: Pod, state: State, config: EvictionConfig) -> str:
    """Return why a pod may not go now, to be read after its name."""
    if pod.source is not PodSource.API:
        return IS_STATIC
    if pod.critical:
        return "has a critical priority"
    if config.protects(pod):
        return "belongs to evictd"
    return "has not ended" if pod.uid in {each.uid for each in state.victims} else GUARDED_BY_BUDGET


def is_refused_at_hard(threshold: Threshold, findings: Iterable[Finding]) -> bool:
    """Whether these findings say that the hard threshold of a soft one's signal evicts no pod because of a culprit."""
    return not threshold.hard and any(
        isinstance(each, NoAction)
        and each.why in {NoActionReason.PROTECTED_CULPRIT, NoActionReason.UNMEASURED_CULPRIT}
        and each.threshold is not None
        and each.threshold.hard
        and each.threshold.signal is threshold.signal
        for each in findings
    )


def _is_culprit(suspect: Suspect, shortage: Shortage, *, held: int, grown: int, taken: int) -> bool:
    """Whether the pod holds or grows more than all candidates; growth that is small beside the missing amount is noise."""
    if suspect.held is not None and suspect.held > held:
        return True
    growths = ((suspect.grown, grown), (suspect.taken, taken))
    return any(own > others and not shortage.is_noise(own) for own, others in growths)


def _with_growth_of(suspect: Suspect, candidates: Sequence[RankedPod], shortage: Shortage) -> int:
    """Return what is missing, and by how much the suspect grows at its present rate until all candidates are gone."""
    rate = suspect.rate
    if suspect.grown * 2 > shortage.growth:
        rate = max(rate, shortage.rate)  # it is what makes the supply fall
    elif suspect.is_new:
        rate += shortage.unexplained_rate  # it may be
    return shortage.missing + rate * shortage.eviction_time * len(candidates) // SECOND


def _may_go(victim: RankedPod, suspect: Suspect, shortage: Shortage) -> bool:
    held = shortage.held[victim.uid]
    is_like_culprit = held * LIKE_THE_CULPRIT >= (suspect.grown if suspect.held is None else suspect.held)
    if not shortage.has_requests:
        return is_like_culprit
    is_cause = is_like_culprit or shortage.mostly_grows(victim.uid)
    lasts = not shortage.threshold.hard or held >= shortage.growth_in(shortage.eviction_time)
    return shortage.exceeds(victim) and victim.uid not in shortage.recreated and (is_cause or lasts)


def protected_culprit(
    rows: tuple[RankedPod, ...],
    threshold: Threshold,
    seen: SignalObservation,
    state: State,
    config: EvictionConfig,
    *,
    layout: Layout,
    now: int,
) -> NoAction | None:
    """Return why evicting is in vain, or `None`: the largest user cannot be evicted, and all others together use too little.

    A victim that does not die in its time cannot be evicted either; one that is leaving gives what it owes. Where the usage of
    a pod that may go is unknown nothing is concluded (kubernetes/kubernetes#39124, #53659); nor for a stall, because how much
    has to be freed to end it is not known.
    """
    if threshold.signal in STALLS:
        return None
    victims = state.victims
    stuck = {victim.uid for victim in victims if victim.is_overdue(now)}
    leaving = {victim.uid: victim for victim in victims if victim.is_leaving(now)}
    supply = supply_of(threshold.signal, layout)
    reachable, culprit, most = 0, None, 0
    needed = target_of(threshold, seen, config, with_min_reclaim=False) - seen.available
    if needed.sign <= 0 and threshold in state.thresholds_met:  # kept by its minimum reclaim
        needed = target_of(threshold, seen, config, with_min_reclaim=True) - seen.available
    for row in rows:
        immovable = config.protects(row.pod) or row.uid in stuck
        usage = leaving[row.uid].owed.get(supply, row.usage) if row.uid in leaving else row.usage
        if usage is None:
            if not immovable:
                return None
            continue
        if not immovable:
            reachable += usage
        if usage > most:
            most, culprit = usage, row.pod if immovable else None
        if reachable * NANO >= needed.nano:
            return None
    if culprit is None:
        return None
    return NoAction(
        why=NoActionReason.PROTECTED_CULPRIT,
        threshold=threshold,
        pod=culprit,
        needed=needed,
        reachable=SIGNALS[threshold.signal].amount(reachable),
        missing=needed,
        detail=f"holds the most of all pods and {why_it_stays(culprit, state, config)}",
    )
