"""Policy Standard: what comes next, by one rule over all thresholds that are due.

**Theory of operation.** The kubelet's loop does one thing at a time, and a phase describes it. Standard does several: victims
leave, collectors work, thresholds on different devices are due at once, numbers are missing for a cycle. So it keeps a ledger
(`State`):

    in_flight     victim -> since, grace, deadline, cause, gone at, and what it owes of each supply; what is not known is not 0
    collections   device -> begun, deadline, outcome: one collection of a device for each time that it is short
    last_seen     signal -> the last observation that was really read
    backoff       owners and budgets whose pods are skipped for a while

A cycle brings the ledger up to date (`settle_answers`, `follow_victims`, `follow_collections`), and then goes through the
thresholds that are due, memory first, then in configuration order. For each one the rules of `RULES` are tried in order. The
first that applies settles the threshold for this cycle, with a decision or with a finding that says what it waits for:

    read-only            the filesystem cannot be written            -> finding; neither collecting nor evicting frees anything
    victim in flight     a victim was chosen for this supply, or     -> a hard threshold shortens its grace; else wait for it,
                         owes an unknown amount of it                   until its deadline
    collect              the device was not collected yet            -> ReclaimNode
    collection at work   its collectors are within their deadline    -> wait for them, unless a disk is full before
    owed                 bytes of a victim, of a collection or of    -> wait for them, within a bound
                         a removed pod's volumes are due
    drop page cache      pods hold clean file pages (`page_cache`)   -> ReclaimNode, once in a while; wait for it
    page cache           only clean file pages hold a soft memory    -> wait while the kernel has memory (`page_cache`)
                         threshold met
    measurement          pods were measured before the crossing      -> wait for them, within a bound (`freshness`)
    evict                otherwise                                   -> EvictPod, the first by rank that may go, or why none may

After an eviction no further threshold is looked at: at most one pod goes for pressure in a cycle.

Why this order. A victim in flight comes before a collection because what it leaves behind is collected once it is gone: its end
removes every collection from the ledger, so there are never more rounds than victims and one. What is owed comes after the
collection because the layers of a victim's dead containers come back with it, not before. Each wait has a deadline of its own
that nothing renews, so a threshold that stays due comes to `evict` within RECLAIM_TIMEOUT + COLLECTION_TIMEOUT +
POD_CLEANUP_TIMEOUT + MEASUREMENT_TIMEOUT after the last victim, whatever the other thresholds do (law Progress). Only an absence
of evictd itself moves deadlines (`absence`). A victim over a limit of its own and a removed pod delay that only within
OWN_LIMITS_TIMEOUT of the time at which the threshold became due.

A victim's amount is a lower bound: it may have grown since it was measured. So while it is leaving, no second pod goes for its
supply, whatever the amounts say. For other supplies the amount counts: one that does not suffice holds up nothing.
"""

from collections.abc import Callable
from dataclasses import replace

from evictd.core.eviction.accounts.absence import CHOSEN_LONG_AGO, is_long, without_old_victims
from evictd.core.eviction.accounts.attribution import with_holdings
from evictd.core.eviction.accounts.collecting import (
    RECLAIM_TIMEOUT,
    is_late,
    is_lost,
    kept_collections,
    may_collect_again,
    outruns_collectors,
    still_frees,
    unused_reclaim,
    without_tried,
)
from evictd.core.eviction.accounts.freshness import waiting_for_measurement
from evictd.core.eviction.accounts.holdings import follow_holdings, summed_on_disk
from evictd.core.eviction.accounts.leaving import follow_leaving, waiting_for_removed_pods
from evictd.core.eviction.accounts.ledger import (
    amounts_owed,
    available_supplies,
    bytes_of,
    concerns,
    follow_victims,
    released_now,
    supplies_of,
    supply_of,
    victim_of,
    withdraw_proposals,
)
from evictd.core.eviction.accounts.release import is_awaited, supply_released_at
from evictd.core.eviction.assess import Assessment, NothingKnown, assess
from evictd.core.eviction.choice.choose import choose_victim
from evictd.core.eviction.choice.shorten import shorten_victims
from evictd.core.eviction.draft import Draft
from evictd.core.eviction.laws.blame import is_refused_at_hard
from evictd.core.eviction.laws.effect import follow_clear, follow_effects, pause_of, with_pause
from evictd.core.eviction.laws.prudence import with_eviction
from evictd.core.eviction.local_storage import local_storage_evictions
from evictd.core.eviction.page_cache import dropping_pages, follow_page_cache, not_short_of_memory, unused_page_cache
from evictd.core.eviction.reclaim import device_of, is_read_only, layout_of, reclaim_node
from evictd.core.eviction.refusals.backoff import skipped_pods
from evictd.core.eviction.refusals.keep_away import kept_away
from evictd.core.eviction.time_left import is_pressing, missing_to_target
from evictd.core.model.decision import EvictPod, WithdrawEviction
from evictd.core.model.finding import Finding, NoActionReason, SkipReason, ThresholdFinding
from evictd.core.model.observation import Observation, SignalObservation
from evictd.core.model.signal import SIGNALS, STALLS
from evictd.core.model.state import Collection, State, Step, Victim, Watching, with_fields
from evictd.core.model.threshold import Threshold


def standard_step(draft: Draft, before: State, observation: Observation) -> Step:
    """Decide by the ledger."""
    # Another phase is what is left of policy Kubelet, before a reload.
    state = before if isinstance(before.phase, Watching) else replace(before, phase=Watching())
    assessment = assess(state, observation, draft.config, draft.now)
    draft.findings.extend(assessment.findings)
    if isinstance(assessment, NothingKnown):
        return draft.close(assessment.state)
    state = draft.report_conditions(before, assessment.state)
    draft.findings.extend(kept_away(state, draft.config, draft.now))
    if state.in_flight and is_long(before, draft.now):
        read, layout = assessment.observations, layout_of(assessment.state.disks)
        state, stay = without_old_victims(state, observation, read, layout)
        draft.decisions.extend(WithdrawEviction(pod=pod, reason=CHOSEN_LONG_AGO) for pod in stay)
    cycle = _Cycle(draft, observation, assessment, state)
    cycle.follow()
    there = tuple(each for each in assessment.thresholds if each.signal not in observation.absent)
    cycle.state, withdrawn = withdraw_proposals(cycle.state, observation, supplies_of(there, cycle.layout))
    draft.decisions.extend(withdrawn)
    if draft.config.local_storage_capacity_isolation:
        cycle.evict_over_limits()
    for threshold in assessment.due:
        next(rule for rule in RULES if rule(cycle, threshold))
        if cycle.evicted:
            break
    for finding in assessment.findings:
        if isinstance(finding, ThresholdFinding) and finding.threshold.signal in STALLS and finding.grace_left:
            draft.look_within(finding.grace_left)  # a stalled node does nothing useful meanwhile
    ended = before.collecting - cycle.state.collecting
    if ended and not assessment.due and observation.outcomes.reclaimed is not None:
        draft.no_action(NoActionReason.RECLAIM_SUFFICED)
    return draft.close(cycle.state)


def followed(draft: Draft, observation: Observation, assessment: Assessment, state: State) -> State:
    """Return the state with its victims and collections updated from this reading; decides nothing."""
    cycle = _Cycle(draft, observation, assessment, state)
    cycle.follow()
    return cycle.state


class _Cycle:
    """One cycle over an assessed reading; its methods are the rules, and say whether they settled a threshold."""

    def __init__(self, draft: Draft, observation: Observation, assessment: Assessment, state: State) -> None:
        self.draft = draft
        self.observation = observation
        self.assessment = assessment
        self.state = state
        self.evicted = False
        self.layout = layout_of(assessment.state.disks)
        self.available = available_supplies(assessment.observations, self.layout)

    def follow(self) -> None:
        """Bring victims and collections up to date with this reading."""
        state, outcomes, now = self.state, self.observation.outcomes, self.draft.now
        seen, layout, thresholds = self.assessment.observations, self.layout, self.assessment.thresholds
        relevant = supplies_of(thresholds, layout)
        short_of = {SIGNALS[threshold.signal].resource for threshold in state.thresholds_met}
        announced = tuple(resource for resource in state.announced if resource in short_of)
        in_flight = state.in_flight
        gone = [v for v in in_flight if v.gone_at is None and v.uid in outcomes.cleaned_up]
        if in_flight:
            in_flight = follow_victims(in_flight, self.observation, self.available, relevant, now)
        leaving = follow_leaving(
            state.leaving, in_flight, self.observation, self.available, layout=layout, relevant=relevant, now=now
        )
        collections = kept_collections(state, gone, outcomes, seen, layout=layout, now=now)
        state = with_fields(state, announced=announced, in_flight=in_flight, leaving=leaving, collections=collections)
        state = follow_page_cache(state, outcomes, now)
        if self.observation.pods_read:  # else what the node holds now is not to be compared with what the pods held
            holdings = follow_holdings(state, self.observation, seen, thresholds, layout=layout, now=now)
            state = with_holdings(state, holdings, self.observation, layout)
        state = follow_clear(state, thresholds, seen, layout, now)
        self.state = follow_effects(state, released_now(self.state.in_flight, outcomes, now), self.available, now)

    def evict_over_limits(self) -> None:
        """Evict every pod over a local-storage limit of its own, but those that leave already.

        Pods that one owner recreates and that exceed their limit again go after a back-off, as a crash loop does.
        """
        leaving = {victim.uid for victim in self.state.victims if victim.gone_at is None}
        dedicated = bool(self.assessment.state.disks.dedicated_image_fs)
        config, now = self.draft.config, self.draft.now
        summed = summed_on_disk(self.state, self.layout, now)
        for eviction in local_storage_evictions(self.observation, config, dedicated_image_fs=dedicated, on_disk=summed):
            if eviction.pod.uid in leaving:
                continue
            skipped = skipped_pods(self.state.backoff, [eviction.pod], config, now, hard=False)
            if (skip := skipped.get(eviction.pod.uid)) is not None and skip.reason is SkipReason.OWNER:
                self.draft.findings.append(skip)  # else its owner recreates it and evictd evicts it without end
            else:
                self._add_victim(eviction)

    # --- the rules, in the order of `RULES` ---------------------------------------------------------------------------

    def read_only(self, threshold: Threshold) -> bool:
        """Do nothing for a filesystem that cannot be written (docs/faults.md, 30)."""
        if not is_read_only(self.observation.node, threshold.signal, self.layout):
            return False
        self.draft.no_action(NoActionReason.FILESYSTEM_READ_ONLY, threshold)
        return True

    def victim_in_flight(self, threshold: Threshold) -> bool:
        """Wait for a victim that may relieve this threshold; a hard one shortens its grace first (kubernetes/kubernetes#123872).

        Also an overdue victim's: a hog with an hour of grace whose kubelet hangs is shortened before another pod is chosen.
        """
        supply = supply_of(threshold.signal, self.layout)
        concerned = [v for v in self.state.victims if supply_released_at(v, supply) is None and concerns(v, supply)]
        shortened_any = bool(concerned) and threshold.hard and self._shorten(threshold, concerned)
        waiting = [v for v in concerned if v.is_leaving(self.draft.now) and self._holds_up(v, threshold)]
        if not waiting and not shortened_any:
            return False
        named = waiting or concerned
        pod = next((pod for pod in self.observation.pods if pod.uid == named[0].uid), None)
        names = ", ".join(victim.full_name for victim in named)
        self.draft.no_action(NoActionReason.WAITING_FOR_VICTIM, threshold, pod=pod, detail=names)
        return True

    def collect(self, threshold: Threshold) -> bool:
        """Begin node-level reclaim, once for each time that a device is short (docs/faults.md, 2 and 22).

        A collection that no collector knows of is begun again within its deadline (fault 23).
        """
        decision = reclaim_node(threshold, self._seen(threshold), self.layout, self.draft.config)
        if decision is None or (device := decision.device) is None:
            return False
        now, known = self.draft.now, self.state.collections.get(device)
        supply = supply_of(threshold.signal, self.layout)
        lost = known is not None and known.is_under_way(now) and is_lost(device, known, self.observation.outcomes, now)
        removing = self.observation.removes_pods
        if known is not None and not lost and not may_collect_again(known, supply, now, removing=removing):
            return False
        self.state = self.draft.announced(threshold, self.state)
        self.draft.decisions.append(decision)
        collection = Collection(
            begun=now,
            until=known.until if known is not None and lost else now + RECLAIM_TIMEOUT,
            available_before=self.available.get(bytes_of(device)),
            tried=frozenset({supply}) if known is None else known.tried | {supply},
        )
        self.state = with_fields(self.state, collections={**self.state.collections, device: collection})
        return True

    def collection_at_work(self, threshold: Threshold) -> bool:
        """Wait for the collectors of this device, within their deadline; unless a pod's end outruns them."""
        collection, now = self._collection(threshold), self.draft.now
        if collection is None or not collection.is_under_way(now):
            return False
        if self._cannot_wait(threshold) and outruns_collectors(
            threshold, self.state, self.observation, self.layout, missing=self._missing(threshold), now=now
        ):
            return False
        self.draft.no_action(NoActionReason.WAITING_FOR_RELEASE, threshold, detail="the collectors")
        return True

    def owed(self, threshold: Threshold) -> bool:
        """Wait for owed bytes: all of a victim for this supply or a collection, and of other victims as much as suffices."""
        if self._awaits_removed_pods(threshold):
            return True
        debtors = self._debtors(threshold)
        if debtors:
            self.draft.no_action(NoActionReason.WAITING_FOR_RELEASE, threshold, detail=", ".join(debtors))
        return bool(debtors)

    def _awaits_removed_pods(self, threshold: Threshold) -> bool:
        """Note that removed pods still hold something; a collection that found nothing because of them is made again after."""
        seen, layout, now = self._seen(threshold), self.layout, self.draft.now
        if not self._noted(
            waiting_for_removed_pods(threshold, seen, self.observation, self.state, layout=layout, now=now)
        ):
            return False
        device = device_of(threshold.signal, layout)
        if device is not None and self.observation.removes_pods:
            self.state = with_fields(self.state, collections=without_tried(self.state.collections, device))
        return True

    def _debtors(self, threshold: Threshold) -> list[str]:
        """Return the names of what owes bytes that this threshold waits for; empty where it waits for none."""
        collection, now = self._collection(threshold), self.draft.now
        if collection is None and not self.state.victims:
            return []
        supply = supply_of(threshold.signal, self.layout)
        available = self.available.get(supply)
        presses = self._cannot_wait(threshold)
        frees = still_frees(collection, threshold.signal, available, presses=presses, now=now)
        pressing = is_pressing(threshold, self._seen(threshold))
        in_time = (v for v in self.state.victims if concerns(v, supply) and not is_late(v, threshold, self.state))
        awaited = [v for v in in_time if is_awaited(v, supply, now, pressing=pressing)]
        owed = amounts_owed(awaited, supply, available, now)
        debtors = ["node-level reclaim"] if frees else []
        debtors += [v.full_name for v in awaited if owed[v.uid] != 0 and self._holds_up(v, threshold)]
        if debtors:
            return debtors
        suffices = self._missing(threshold) <= sum(owed[v.uid] or 0 for v in awaited)
        return [v.full_name for v in awaited if owed[v.uid]] if suffices else []

    def drop_page_cache(self, threshold: Threshold) -> bool:
        """Have clean file pages of pods dropped before one of them goes, and wait for it."""
        state = dropping_pages(self.draft, self.state, threshold, self.observation, self._seen(threshold))
        self.state = state or self.state
        return state is not None

    def page_cache(self, threshold: Threshold) -> bool:
        """Wait while only page cache holds a soft memory threshold met."""
        found = not_short_of_memory(threshold, self.observation, self._seen(threshold), self.draft.config)
        if found is not None:
            self.state = self.draft.with_notices(self.state, (found,), supply_of(threshold.signal, self.layout))
        return self._noted(found)

    def measurement(self, threshold: Threshold) -> bool:
        """Hold the decision until every pod was measured since the crossing."""
        return self._noted(
            waiting_for_measurement(threshold, self.state, self.observation, self.layout, self.draft.now)
        )

    def evict(self, threshold: Threshold) -> bool:
        """Evict the first pod by rank that may go; where none may, a finding says why."""
        if is_refused_at_hard(threshold, self.draft.findings):
            return True
        self.state = self.draft.announced(threshold, self.state)
        due = (threshold, *(each for each in self.assessment.due if each is not threshold))
        supply, now = supply_of(threshold.signal, self.layout), self.draft.now
        pause = pause_of(self.state, supply, self.observation, now)
        seen, config = self._seen(threshold), self.draft.config
        choice = choose_victim(due, self.observation, self.state, config, now, seen=seen)
        self.draft.findings.extend(choice.findings)
        self.state = self.draft.with_notices(self.state, choice.findings, supply)
        if choice.eviction is not None:
            self._add_victim(choice.eviction, missing=choice.missing, elsewhere_grew=choice.elsewhere_grew)
            self.state = with_eviction(self.state, config, now)
            self.evicted = True
            unused = unused_reclaim(threshold, self.observation.outcomes, choice.missing, self.layout)
            pages = unused_page_cache(threshold, seen, self.observation, config, missing=choice.missing)
            self.draft.findings.extend((*unused, *pages))
        if pause is not None:
            self.state = with_pause(self.state, supply, pause, now, evicted=self.evicted)
        return True

    # --- what they share ----------------------------------------------------------------------------------------------

    def _seen(self, threshold: Threshold) -> SignalObservation:
        return self.assessment.observations[threshold.signal]

    def _noted(self, finding: Finding | None) -> bool:
        """Note what a threshold waits for; return whether it waits."""
        if finding is not None:
            self.draft.findings.append(finding)
        return finding is not None

    def _collection(self, threshold: Threshold) -> Collection | None:
        device = device_of(threshold.signal, self.layout)
        return None if device is None else self.state.collections.get(device)

    def _cannot_wait(self, threshold: Threshold) -> bool:
        supply = supply_of(threshold.signal, self.layout)
        return is_pressing(threshold, self._seen(threshold)) and not any(
            concerns(victim, supply) for victim in self.state.victims
        )

    def _missing(self, threshold: Threshold) -> int:
        return missing_to_target(threshold, self._seen(threshold), self.draft.config)

    def _holds_up(self, victim: Victim, threshold: Threshold) -> bool:
        """Whether a victim is waited for whatever its amount: it was chosen for this supply, or its amount is not known."""
        supply = supply_of(threshold.signal, self.layout)
        return victim.cause is supply or (supply not in victim.owed and not is_late(victim, threshold, self.state))

    def _add_victim(self, eviction: EvictPod, *, missing: int = 0, elsewhere_grew: bool = False) -> None:
        now = self.draft.now
        victim = victim_of(
            eviction,
            self.observation,
            self.available,
            self.layout,
            now,
            holdings=self.state.holdings,
            missing=missing,
            elsewhere_grew=elsewhere_grew,
        )
        self.draft.decisions.append(eviction)
        self.state = with_fields(self.state, in_flight=(*self.state.in_flight, victim))

    def _shorten(self, threshold: Threshold, victims: list[Victim]) -> bool:
        seen = self._seen(threshold)
        state = shorten_victims(
            self.draft, self.state, threshold, victims, self.observation, seen=seen, layout=self.layout
        )
        self.state = state or self.state
        return state is not None


RULES: tuple[Callable[[_Cycle, Threshold], bool], ...] = (
    _Cycle.read_only,
    _Cycle.victim_in_flight,
    _Cycle.collect,
    _Cycle.collection_at_work,
    _Cycle.owed,
    _Cycle.drop_page_cache,
    _Cycle.page_cache,
    _Cycle.measurement,
    _Cycle.evict,
)
"""Each returns whether it settled the threshold; the last one always does."""
