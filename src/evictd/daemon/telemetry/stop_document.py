"""Makes the part of `/statusz` that says which pod would go for a signal, or why none would, and for how long."""

from collections.abc import Mapping
from typing import Any

from evictd.core.eviction.backoff import patience_with_budget
from evictd.core.eviction.effect import FIRST_PAUSE, LONGEST_PAUSE, has_begun
from evictd.core.eviction.next_up import NextUp
from evictd.core.model.config import EvictionMethod
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.pod import Pod, PodSource
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.daemon.telemetry.after_stop import goes_after
from evictd.daemon.telemetry.past_budget import goes_instead
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.render.status.hard_cut import fitting_grace
from evictd.render.status.stopped import BUDGET_GUARD
from evictd.render.stop_reason import stop_reason
from evictd.render.text import protection

_NO_STOP: Mapping[str, Any] = {
    "stop": "",
    "stopBrief": "",
    "stopReason": "",
    "stopEndsInSeconds": None,
    "stopLastsSeconds": None,
    "stopDoubled": False,
    "stopPod": "",
    "stopPodGuard": "",
    "stopInstead": None,
    "stopThen": None,
}


def next_document(
    answer: NextUp | None, why: str, snapshot: Snapshot, now: int, entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the pod that would go first and its numbers, or why no pod would; `usage` is `null` where it was not measured.

    The grace period at a hard threshold alone that is not met yet is that which what is left then allows for.
    """
    if answer is None or answer.victim is None:
        return {"next": None, **stop_document(None if answer is None else answer.stop, snapshot, now)}
    row = answer.victim
    usage = row.usage if answer.measured else None
    refusal, grace = snapshot.state.backoff.budgets.get(row.uid), answer.grace_period_seconds
    if all(each["kind"] == "hard" and not each["met"] for each in entry["thresholds"]):
        grace = min(grace, fitting_grace(entry))
    candidate = {
        "pod": row.pod.full_name,
        "why": why,
        "priority": row.priority,
        "usage": usage,
        "request": row.request // NANO,
        "gracePeriodSeconds": grace,
        "budgetMayRefuse": refusal is None and _may_be_refused(row.pod, snapshot),
        "refusedSecondsAgo": None if refusal is None else round((now - refusal.last_at) / SECOND, 1),
    }
    return {"next": candidate, **stop_document(None, snapshot, now)}


def _may_be_refused(pod: Pod, snapshot: Snapshot) -> bool:
    """Whether the Eviction API may be asked to evict a pod, so that a disruption budget counts: evictd reads none."""
    in_cluster = pod.source is PodSource.API and not snapshot.observation.api_pods_standalone
    return in_cluster and (snapshot.config.pod_termination or EvictionMethod.AUTO) in {
        EvictionMethod.AUTO,
        EvictionMethod.EVICTION_API,
    }


def stop_document(stop: NoAction | None, snapshot: Snapshot, now: int) -> dict[str, Any]:
    """Return why no pod would go, and for how long; `None`: one would.

    `stop` is the whole sentence, `stopBrief` its first part. `stopPod` is the pod for which no other one goes, `stopPodGuard`
    what guards it; of a disruption budget the time ends when evictd may pass over it, and `stopInstead` is the pod that may go
    then if it may not. A pause that begins when the threshold acts has a length and no end yet; `stopDoubled`: it is twice as
    long as the one before, because the eviction between them did not help. `stopThen` is the pod that would
    go when a stop ends by itself.
    """
    if stop is None:
        return {**_NO_STOP}
    culprit = stop.pod if stop.why is NoActionReason.PROTECTED_CULPRIT else None
    guard, until, instead = "" if culprit is None else protection(culprit, snapshot.config), stop.until, None
    budget = None if culprit is None else snapshot.state.backoff.budgets.get(culprit.uid)
    if budget is not None and not guard:
        hard = stop.threshold is not None and stop.threshold.hard
        guard, until = BUDGET_GUARD, budget.first_at + patience_with_budget(snapshot.config, hard=hard)
        instead = goes_instead(stop, snapshot, now)
    waits = [each.wait for each in snapshot.state.pauses.values() if each.until == stop.until]
    begun, reason = has_begun(stop, snapshot.state), stop_reason(stop)
    return {
        "stop": str(reason),
        "stopBrief": reason.first,
        "stopReason": stop.why.value,
        "stopEndsInSeconds": None if until is None or not begun else round((until - now) / SECOND, 1),
        "stopLastsSeconds": None if until is None or begun else round((until - snapshot.at) / SECOND, 1),
        "stopDoubled": begun and any(FIRST_PAUSE < each < LONGEST_PAUSE for each in waits),
        "stopPod": "" if culprit is None else culprit.full_name,
        "stopPodGuard": guard,
        "stopInstead": instead,
        "stopThen": None if guard == BUDGET_GUARD else goes_after(stop, snapshot, now),
    }
