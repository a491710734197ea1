"""How does a pod go in a cluster, and who is left alone for now?

Three ways with different promises, chosen by how urgent it is and whether a kubelet looks after the pod; what a refusal by a
disruption budget means; and the back-off that keeps a controller that recreates the same victim here from going round in
circles. Plain values; times are `now` in nanoseconds. The kubelet has none of this: it evicts by its own status alone.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from evictd.core.decision import EvictPod
from evictd.core.duration import MINUTE, SECOND
from evictd.core.pod import Pod
from evictd.core.state import CleaningUp, State, Watching

HARD_BYPASS = 10 * SECOND
"""How long a hard threshold lets a budget say no, once."""
BUDGET_RETRY = 10 * SECOND
"""When to ask a budget again that named no time (the API server's own figure)."""
FIRST_OWNER_BACKOFF = 10 * SECOND
LAST_OWNER_BACKOFF = 5 * MINUTE
RECREATED_WITHIN = 60 * SECOND
"""A pod of the same owner chosen so soon after the last one counts as the same victim again."""
HARD_OWNER_BACKOFF = 10 * SECOND
"""Under a hard threshold nobody is left alone for longer: the recreated pod may be the culprit again."""


class Way(Enum):
    """How a pod is ended."""

    EVICTION_API = "EvictionAPI"
    """Ask; budgets are honoured."""
    DELETE = "Delete"
    """DisruptionTarget, then delete the object; the kubelet does the rest."""
    STATUS = "Status"
    """Stop it, then write what became of it: what the kubelet itself does."""


class AfterRefusal(Enum):
    """What a budget's refusal leads to."""

    NEXT_CANDIDATE = "NextCandidate"
    """Let this pod be and take another."""
    ASK_AGAIN = "AskAgain"
    BYPASS = "Bypass"
    """Delete it: waited long enough."""


def is_hard(decision: EvictPod) -> bool:
    """Whether nothing may be waited for: a hard threshold, or a pod beyond its own local-storage limit."""
    threshold = decision.because.threshold
    return threshold is None or threshold.grace_period == 0


def choose_way(asked: Way | None, *, hard: bool, kubelet: bool) -> Way:
    """Choose how; `asked` is `None` for `Auto`."""
    if asked is not None:
        return asked
    if not kubelet:
        return Way.STATUS
    return Way.DELETE if hard else Way.EVICTION_API


def after_refusal(asked: Way | None, *, hard: bool, waited: int, eviction_timeout: int) -> AfterRefusal:
    """Say what a 429 leads to, `waited` nanoseconds after this pod's first one.

    Hard: a bounded wait, then past the budget. Soft: another pod; past the budget only under `Auto`, after
    `eviction_timeout`, and never where the administrator asked for the Eviction API by name.
    """
    if hard:
        return AfterRefusal.BYPASS if waited >= HARD_BYPASS else AfterRefusal.ASK_AGAIN
    if asked is None and waited >= eviction_timeout:
        return AfterRefusal.BYPASS
    return AfterRefusal.NEXT_CANDIDATE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Owner:
    level: int
    evicted_at: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budget:
    first_at: int
    last_at: int
    until: int
    """When its server may be asked again."""
    held_until: int
    """Until when others go first (soft thresholds)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leniency:
    """Who is left alone for now: pods that a budget protects, and owners that recreate their pod here at once."""

    budgets: Mapping[str, _Budget] = field(default_factory=dict)
    """By pod uid."""
    owners: Mapping[str, _Owner] = field(default_factory=dict)
    """By `namespace/Kind/name`."""

    def evicted(self, owner: str, now: int) -> "Leniency":
        """Note an eviction; the same owner again within a minute doubles its back-off, ten quiet minutes forget it."""
        kept = {name: old for name, old in self.owners.items() if now - old.evicted_at < 2 * LAST_OWNER_BACKOFF}
        if owner:
            last = kept.get(owner)
            again = last is not None and now - max(last.evicted_at, last.until) < RECREATED_WITHIN
            level = last.level + 1 if last is not None and again else 0
            wait = min(FIRST_OWNER_BACKOFF << max(level - 1, 0), LAST_OWNER_BACKOFF) if level else 0
            kept[owner] = _Owner(level=level, evicted_at=now, until=now + wait)
        return replace(self, owners=kept)

    def refused(self, uid: str, now: int, retry_after: int | None, *, hold: int) -> "Leniency":
        """Note that a budget protects this pod: not to be asked before its server said so, and others first for `hold`.

        The hold counts from the first refusal, so that it ends when `after_refusal` would go past the budget.
        """
        kept = {pod: old for pod, old in self.budgets.items() if now - old.held_until < LAST_OWNER_BACKOFF}
        known = kept.get(uid)
        first = now if known is None else known.first_at
        held = known.held_until if known is not None and now < known.held_until else now + hold
        until = now + (BUDGET_RETRY if retry_after is None else retry_after)
        kept[uid] = _Budget(first_at=first, last_at=now, until=until, held_until=held)
        return replace(self, budgets=kept)

    def waited(self, uid: str, now: int) -> int:
        """How long ago a budget first protected this pod; zero if none ever did."""
        return now - self.budgets[uid].first_at if uid in self.budgets else 0

    def spares(self, uid: str, owner: str, now: int, *, hard: bool) -> bool:
        """Whether this pod is left alone now; under a hard threshold only for moments."""
        budget, recreated = self.budgets.get(uid), self.owners.get(owner)
        if budget is not None and now < (min(budget.until, budget.first_at + HARD_BYPASS) if hard else budget.until):
            return True
        if recreated is None:
            return False
        until = min(recreated.until, recreated.evicted_at + HARD_OWNER_BACKOFF) if hard else recreated.until
        return now < until

    def spared(self, pods: Iterable[Pod], now: int, *, hard: bool, never: Collection[str] = ()) -> frozenset[str]:
        """Pick the uids of those left alone now; `never` are the pods that nobody would choose anyway.

        A server that says "again in a second" must not keep a soft threshold asking for one pod for ever: whom a budget
        protects comes after all others. Where there is no other, the one refused longest ago has its turn again.
        """
        known = tuple(pods)
        firm = {pod.uid for pod in known if self.spares(pod.uid, owner_of(pod), now, hard=hard)}
        if hard:
            return frozenset(firm)
        held = {pod.uid for pod in known if pod.uid in self.budgets and now < self.budgets[pod.uid].held_until} - firm
        others = any(pod.uid not in firm | held and not pod.critical and pod.uid not in never for pod in known)
        if held and not others:
            held.remove(min(held, key=lambda uid: (self.budgets[uid].last_at, uid)))
        return frozenset(firm | held)


def owner_of(pod: Pod) -> str:
    """Name the controller that a pod belongs to, as `namespace/Kind/name`; empty for a bare pod."""
    return f"{pod.namespace}/{pod.owner}" if pod.owner else ""


def without(state: State, uids: frozenset[str]) -> State:
    """Give the state as if these pods had never been chosen: nothing of them is waited for."""
    if not uids or not any(release.uid in uids for release in state.releases):
        return state
    left = tuple(release for release in state.releases if release.uid not in uids)
    leaving = any(release.gone_at is None for release in left)
    phase = Watching() if isinstance(state.phase, CleaningUp) and not leaving else state.phase
    return replace(state, releases=left, phase=phase)
