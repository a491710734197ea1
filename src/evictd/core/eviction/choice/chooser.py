"""Chooses a pod by policy Standard: which pods may not go now, and the laws about outcomes in their order.

`choose` has the theory. Each law is a module of its own (`need`, `blame`, `prudence`, `effect`); here they are asked in order,
and what each says becomes a finding.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from evictd.core.eviction.accounts.holdings import rest_of_cgroup
from evictd.core.eviction.choice.evict import evict_for_pressure
from evictd.core.eviction.laws.blame import Suspect, blamed, why_it_stays
from evictd.core.eviction.laws.effect import elsewhere_grows, freed_lately, may_go_paused, pause_of, why_in_vain
from evictd.core.eviction.laws.need import needed
from evictd.core.eviction.laws.prudence import never_clear, over_limit
from evictd.core.eviction.laws.shortage import Shortage
from evictd.core.eviction.laws.stalls import stall_is_elsewhere, stalls_instead, stalls_itself
from evictd.core.eviction.rank import in_order
from evictd.core.eviction.refusals.backoff import BUDGET_RETRY, patience_with_budget, refused_since, skipped_pods
from evictd.core.model.config import NO_PREFERENCES, EvictionConfig
from evictd.core.model.decision import EvictPod
from evictd.core.model.finding import (
    Finding,
    NoAction,
    NoActionReason,
    PodSkipped,
    PreferenceApplied,
    ProtectedPodSkipped,
    RankedPod,
    Ranking,
    SkipReason,
)
from evictd.core.model.holdings import Pause
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS
from evictd.core.model.state import State
from evictd.core.model.stats import PodStats

Skip = ProtectedPodSkipped | PodSkipped
"""The finding that says why a pod cannot be chosen now."""


class Choice(NamedTuple):
    """The chosen pod, if any, and the findings that explain the choice."""

    eviction: EvictPod | None
    findings: tuple[Finding, ...] = ()
    missing: int = 0
    """Policy Standard: what was missing of the supply when the pod was chosen."""
    elsewhere_grew: bool = False
    """Policy Standard: growth elsewhere was more than twice that of the pods."""


def in_rank_order(rows: Iterable[RankedPod], skips: Mapping[str, Skip]) -> tuple[Skip, ...]:
    """Return the findings of these rows that are skipped."""
    return tuple(skips[row.uid] for row in rows if row.uid in skips)


_NO_POD = {
    SkipReason.BUDGET: NoActionReason.HELD_BACK,
    SkipReason.OWNER: NoActionReason.HELD_BACK,
    SkipReason.NOT_MEASURED: NoActionReason.NO_POD_MEASURED,
    SkipReason.USES_NOTHING: NoActionReason.NOTHING_HELPS,
    SkipReason.STALLS_LITTLE: NoActionReason.NOTHING_HELPS,
    SkipReason.IN_FLIGHT: NoActionReason.NOTHING_EVICTABLE,
}
"""The reason for doing nothing when every pod is skipped: that of the first skip reason in this order which any pod has."""


def why_no_pod(skips: Iterable[Skip]) -> NoActionReason:
    """Return the reason for doing nothing when every pod is skipped."""
    found = {skip.reason for skip in skips if isinstance(skip, PodSkipped)}
    return next((why for reason, why in _NO_POD.items() if reason in found), NoActionReason.NOTHING_EVICTABLE)


class StandardChooser:
    """Chooses a pod for one shortage by policy Standard."""

    def __init__(
        self, shortage: Shortage, observation: Observation, state: State, config: EvictionConfig, now: int
    ) -> None:
        self._shortage = shortage
        self._observation = observation
        self._state = state
        self._config = config
        self._now = now
        self._in_flight = {victim.uid for victim in state.victims if victim.gone_at is None}

    def choose(self, ranking: Ranking) -> Choice:
        """Apply the laws in this order: Need, Blame, Prudence, Effect."""
        rows, threshold = ranking.rows, self._shortage.threshold
        skips = self._skips(rows)
        candidates = [row for row in rows if row.uid not in skips] if skips else rows
        if not candidates:
            why = NoAction(why=why_no_pod(skips.values()), threshold=threshold)
            return Choice(eviction=None, findings=(ranking, *skips.values(), why))
        victim, unneeded = self._needed(candidates)
        if (refused := self._asked_again(rows, skips, victim)) is not None:
            victim, unneeded = refused, ()
        passed = (*self._before(rows, skips, victim), *unneeded)
        blame = self._blamed(victim, candidates, rows, skips)
        stop = blame or never_clear(self._shortage, self._state, self._now)
        stop = stop or over_limit(self._shortage, self._state, self._config, self._now)
        if stop is not None:
            return Choice(eviction=None, findings=(ranking, *passed, stop))
        return self._unless_paused(ranking, victim, candidates, skips, passed)

    def _needed(self, candidates: Sequence[RankedPod]) -> tuple[RankedPod, tuple[PodSkipped, ...]]:
        return needed(candidates, self._shortage) if self._shortage.measurable else (candidates[0], ())

    def _unless_paused(
        self,
        ranking: Ranking,
        victim: RankedPod,
        candidates: Sequence[RankedPod],
        skips: Mapping[str, Skip],
        passed: tuple[Skip, ...],
    ) -> Choice:
        """Evict the pod unless evictions are paused (law Effect); then one that may go all the same, or none."""
        shortage, supply = self._shortage, self._shortage.supply
        pause = pause_of(self._state, supply, self._observation, self._now)
        if pause is None or self._now >= pause.until:
            return self._evict(ranking, victim, passed)
        chosen = may_go_paused(victim, candidates, pause, self._state.effects.get(supply, ()), shortage)
        if chosen is not None:
            if chosen is not victim:
                before = {row.uid: row for row in (victim, *candidates[: candidates.index(chosen)])}
                skipped = {skip.pod.uid: skip for skip in (*passed, *self._before(ranking.rows, skips, chosen))}
                paused = (self._paused(row, pause, chosen) for uid, row in before.items() if uid not in skipped)
                passed = (*skipped.values(), *paused)
            return self._evict(ranking, chosen, passed)
        amount = SIGNALS[shortage.threshold.signal].amount
        stop = NoAction(
            why=NoActionReason.EVICTIONS_DO_NOT_HELP,
            threshold=shortage.threshold,
            needed=amount(shortage.missing),
            reachable=amount(freed_lately(self._state, supply)),
            detail=why_in_vain(self._state, supply, pause),
            until=pause.until,
        )
        return Choice(eviction=None, findings=(ranking, *passed, stop))

    def _paused(self, row: RankedPod, pause: Pause, chosen: RankedPod) -> PodSkipped:
        """Return that a pod does not go during a pause, and which one goes all the same."""
        return PodSkipped(
            pod=row.pod,
            reason=SkipReason.EVICTIONS_PAUSED,
            until=pause.until,
            signal=self._shortage.threshold.signal,
            instead=chosen.pod,
        )

    def _evict(self, ranking: Ranking, row: RankedPod, passed: tuple[Finding, ...]) -> Choice:
        """Return the choice of this pod, with what is known of its usage and of the shortage beside the reason."""
        shortage, config = self._shortage, self._config
        stats = self._observation.pod_stats.get(row.uid)
        eviction = evict_for_pressure(row, shortage.threshold, shortage.seen, stats, config)
        because = eviction.because
        if because.file_pages is not None and (node := self._observation.node) is not None and node.memory is not None:
            because = replace(because, node_file_pages=node.memory.clean_file_bytes)
        if row.uid in shortage.held and (measured_at := shortage.holdings.last_measured.get(row.uid)) is not None:
            because = replace(because, usage_age=self._now - measured_at)
        refused = refused_since(self._state.backoff, row.uid)
        if refused is not None or because is not eviction.because:
            eviction = replace(eviction, because=because, refused_since=refused)
        findings: tuple[Finding, ...] = (ranking, *passed)
        if config.preferences != NO_PREFERENCES and any(each.preference for each in ranking.rows):
            findings += self._preferred(ranking.rows, row)
        return Choice(
            eviction=eviction,
            findings=findings,
            missing=shortage.missing,
            elsewhere_grew=shortage.measurable and elsewhere_grows(shortage),
        )

    def _preferred(self, rows: tuple[RankedPod, ...], chosen: RankedPod) -> tuple[Finding, ...]:
        """Return a finding with the pod that would go without `ranking`, if it is another one."""
        plain = in_order(each._replace(preference=0) for each in rows)
        skips = self._skips(plain)
        victim, _ = self._needed([row for row in plain if row.uid not in skips])
        return () if victim.uid == chosen.uid else (PreferenceApplied(pod=chosen.pod, instead_of=victim.pod),)

    # --- which pods may not go ----------------------------------------------------------------------------------------

    def _skips(self, rows: Sequence[RankedPod]) -> dict[str, Skip]:
        """Return the findings of all pods that may not go now, by uid, in rank order."""
        candidates, skips = self._candidates(rows), dict[str, Skip]()
        if len(candidates) < len(rows):
            may_go = {row.uid for row in candidates}
            skips = {row.uid: self._skip(row) for row in rows if row.uid not in may_go}
        stats = self._observation.pod_stats
        if stall_is_elsewhere(rows, self._shortage, stats):
            calm = [row for row in rows if not stalls_itself(row, self._shortage, stats.get(row.uid))]
            little = SkipReason.STALLS_LITTLE
            skips |= {row.uid: PodSkipped(pod=row.pod, reason=little) for row in calm if row.uid not in skips}
        backoff, signal = self._state.backoff, self._shortage.threshold.signal
        if backoff.budgets or backoff.owners:
            others = [row for row in rows if row.uid not in skips]
            hard = self._shortage.threshold.hard
            pods = (row.pod for row in others)
            backed_off = dict(skipped_pods(backoff, pods, self._config, self._now, hard=hard))
            skips |= self._never_smaller(others, backed_off)
        if not skips:
            return {}
        return {skip.pod.uid: replace(skip, signal=signal) for skip in in_rank_order(rows, skips)}

    def _never_smaller(self, rows: Sequence[RankedPod], backed_off: dict[str, PodSkipped]) -> Mapping[str, PodSkipped]:
        """Drop the back-off of each owner whose pod holds more than the pod that would go instead."""
        if not self._shortage.measurable:
            return backed_off
        held = self._shortage.held
        while left := [row for row in rows if row.uid not in backed_off]:
            instead, _ = self._needed(left)
            of_owners = [uid for uid, skip in backed_off.items() if skip.reason is SkipReason.OWNER]
            larger = {uid for uid in of_owners if held[uid] > held[instead.uid]}
            if not larger:
                break
            backed_off = {uid: skip for uid, skip in backed_off.items() if uid not in larger}
        return backed_off

    def _candidates(self, rows: Sequence[RankedPod]) -> list[RankedPod]:
        """Return the pods that are not protected, do not leave, and were measured to hold some of what is short."""
        # A runtime that lists nothing measures no pod; one that is chosen then could not be stopped.
        if not self._observation.pod_stats:
            return []
        barred = self._in_flight | self._config.protected_pods
        held = self._shortage.held if self._shortage.measurable else None
        return [
            row
            for row in rows
            if row.usage and not row.pod.critical and row.uid not in barred and (held is None or held.get(row.uid))
        ]

    def _skip(self, row: RankedPod) -> Skip:
        """Return why a pod is no candidate."""
        pod = row.pod
        if self._config.protects(pod):
            return ProtectedPodSkipped(pod=pod)
        if pod.uid in self._in_flight:
            return PodSkipped(pod=pod, reason=SkipReason.IN_FLIGHT)
        if row.usage is None or not self._observation.pod_stats:
            return PodSkipped(pod=pod, reason=SkipReason.NOT_MEASURED)
        return PodSkipped(pod=pod, reason=SkipReason.USES_NOTHING)

    def _before(self, rows: Sequence[RankedPod], skips: Mapping[str, Skip], victim: RankedPod) -> tuple[Skip, ...]:
        """Return why the pods that rank before the victim do not go, and name all that were not measured.

        One of those that rank behind it might have come first.
        """
        if not skips:
            return ()
        place = rows.index(victim)
        later = {row.uid for row in rows[place + 1 :] if row.usage is not None}
        return tuple(skip for uid, skip in skips.items() if uid not in later)

    # --- law Blame ----------------------------------------------------------------------------------------------------

    def _asked_again(self, rows: Sequence[RankedPod], skips: Mapping[str, Skip], victim: RankedPod) -> RankedPod | None:
        """Return a culprit that a budget guards whose server may be asked again now.

        Other pods go first for a while after a refusal, but none goes in the place of the culprit.
        """
        budgets = self._state.backoff.budgets
        for row in rows if budgets else ():
            budget, skip = budgets.get(row.uid), skips.get(row.uid)
            guarded = isinstance(skip, PodSkipped) and skip.reason is SkipReason.BUDGET
            if not guarded or budget is None or self._now < budget.until or row.usage is None:
                continue
            others = [each for each in rows if each.uid not in skips]
            if blamed(victim, others, [self._suspect(row)], self._shortage) is not None:
                return row
        return None

    def _blamed(
        self,
        victim: RankedPod,
        candidates: Sequence[RankedPod],
        rows: Sequence[RankedPod],
        skips: Mapping[str, Skip],
    ) -> NoAction | None:
        """Return why no pod goes in the place of a culprit that may not go; `None` where there is none, or it is the victim.

        Suspects are the pods that no eviction can end now, and all pods together that were not measured.
        """
        if victim.uid in skips:
            return None
        leaving = {each.uid for each in self._state.victims if each.is_leaving(self._now)}
        immovable = {uid for uid, skip in skips.items() if uid not in leaving and _is_immovable(skip)}
        fixed = [row for row in rows if row.uid in immovable] if immovable else []
        if not self._shortage.measurable:
            return self._blamed_for_stall(victim, fixed)
        suspects = [self._suspect(row) for row in fixed]
        unmeasured = self._unmeasured_suspect([row for row in rows if row.uid != victim.uid])
        if unmeasured is not None:
            suspects.append(unmeasured)
        return blamed(victim, candidates, suspects, self._shortage)

    def _blamed_for_stall(self, victim: RankedPod, fixed: Iterable[RankedPod]) -> NoAction | None:
        """Return why no pod goes in the place of one that stalls and may not go; of a stall no pod holds an amount."""
        culprit = stalls_instead(victim, fixed, self._shortage)
        if culprit is None:
            return None
        stays = why_it_stays(culprit.pod, self._state, self._config)
        return NoAction(
            why=NoActionReason.PROTECTED_CULPRIT,
            threshold=self._shortage.threshold,
            pod=culprit.pod,
            detail=f"stalls and {stays}",
        )

    def _unmeasured_suspect(self, others: Sequence[RankedPod]) -> Suspect | None:
        """Return all pods together that were not measured; `None` where they neither are known to hold something nor grow.

        `others` are the pods without the victim: what only the victim hides is its own.
        """
        unmeasured = self._shortage.holdings.unmeasured
        level = unmeasured or self._shortage.holdings.elsewhere
        if level is None or (unmeasured is None and level.grown <= 0):
            return None
        if not any(self._may_hold_more(row) for row in others):
            return None
        held = None if unmeasured is None else unmeasured.used
        grown = level.grown if unmeasured is not None else self._at_most_in_pods(level.grown)
        return Suspect(pod=None, held=held, grown=grown, rate=level.rate, is_new=True)

    def _at_most_in_pods(self, grown: int) -> int:
        """Return how much of this growth that belongs to no pod may be that of pods that were not read just now.

        They count with what they were measured to hold before, so all that they took since is what the pods' cgroup holds beyond
        that. Where it was read and holds no more, the growth is the host's.
        """
        holdings = self._shortage.holdings
        if holdings.at < self._now:
            return grown
        beyond = rest_of_cgroup(self._shortage.supply, self._observation, sum(holdings.used.values()))
        return grown if beyond is None else min(grown, beyond)

    def _suspect(self, row: RankedPod) -> Suspect:
        known = self._shortage.holdings.growing.get(row.uid)
        held = self._shortage.held.get(row.uid)
        grown, rate = (0, 0) if known is None else (known.grown, known.rate)
        return Suspect(
            pod=row.pod,
            held=held,
            grown=grown,
            rate=rate,
            taken=self._shortage.taken_by(row.uid),
            goes_soon=self._goes_soon(row.uid),
            why=why_it_stays(row.pod, self._state, self._config),
            is_new=self._shortage.is_new(row.uid),
        )

    def _goes_soon(self, uid: str) -> bool:
        """Whether a budget that refused this pod's eviction is asked again or passed over within its bound."""
        budget = self._state.backoff.budgets.get(uid)
        if budget is None:
            return False
        bound = patience_with_budget(self._config, hard=self._shortage.threshold.hard)
        return self._now < budget.first_at + bound + BUDGET_RETRY

    def _may_hold_more(self, row: RankedPod) -> bool:
        """Whether a pod was not measured in this reading, or of a disk not the whole of it.

        One measured within the last minute counts with that (law Memory of readings), but it may have grown since. One of which
        nothing runs yet fills a disk at most, with its image.
        """
        if self._is_stale(row.uid):
            return True
        if self._shortage.on_disk:
            return row.usage is None or not is_whole(row.pod, self._observation.pod_stats.get(row.uid))
        return row.usage is None and not self._observation.runs_nothing(row.pod)

    def _is_stale(self, uid: str) -> bool:
        holdings = self._shortage.holdings
        is_old = holdings.at < self._now or uid in holdings.last_measured
        return is_old and uid in holdings.used and uid not in self._in_flight


def is_whole(pod: Pod, stats: PodStats | None) -> bool:
    """Whether every emptyDir on disk of a pod was measured; hostPath volumes and the like never are."""
    wanted = pod.resource_totals.empty_dirs
    if not wanted or stats is None:
        return not wanted
    return wanted <= {name for name, used, _ in stats.volumes if used is not None}


def _is_immovable(skip: Skip) -> bool:
    immovable = {SkipReason.IN_FLIGHT, SkipReason.BUDGET}
    return isinstance(skip, ProtectedPodSkipped) or skip.reason in immovable
