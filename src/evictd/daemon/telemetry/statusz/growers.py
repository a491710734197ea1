"""Makes the parts of `/statusz` that say who takes what is short, before a threshold is acted on and the attribution says it.

Theory of operation: two records say by how much a pod grew. The core's holdings reach about a minute back, which suffices to
choose a pod; `usage_history` has an hour, so growth can count from the time at which the present fall began (`Trend.fall_began`).
The longer one is preferred, since a slow leak is noise in a minute. The last minute counts where the history says less or begins
later, and where the pod that grew the most since the fall began grows no more while others do: then it is no single fall. It
also counts where the supply falls much faster now than since the fall began: the stated time is of that rate, so is the cause.

Two things look like growth and are none: a pod that the kernel killed takes again what it held, and at its first reading all that
a pod holds is new. So the former is left out, and the latter counts only where the history shows that the pod came since.

What belongs to no pod is what the supply lost less what pods took. It is said only where every pod was measured lately: else a
pod that was not read yet may have taken it.
"""

from collections.abc import Collection, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from evictd.core.eviction.next_up import NextUp
from evictd.core.model.attribution import Attribution
from evictd.core.model.finding import RankedPod
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.signal import SIGNALS, WITH_REQUEST, Signal
from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import NANO
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.trends import Trend
from evictd.daemon.telemetry.usage_history import UsageSample, most_held, sample_before
from evictd.render.status.times.depletion import FORESEEN_SECONDS
from evictd.render.text import protection

_SHOWN = 3
_FRESH_PART = 4
_MOST = 2
"""Most of what was taken belongs to no pod where it is more than this many times what all pods hold."""
_FASTER = 2
"""By how many times a supply falls faster now than since the fall began where only what grew lately is the cause."""


class _Growth(NamedTuple):
    """By how much each pod, and what belongs to no pod, grew since a time of the boot-time clock."""

    since: int
    pods: Mapping[str, int]
    """By uid."""
    elsewhere: int | None
    """`None` where it is not known."""
    known: Collection[str]
    """The uids of the pods that were there by then."""


def growing_document(
    answer: NextUp | None, thresholds: list[dict[str, Any]], snapshot: Snapshot
) -> dict[str, Any] | None:
    """Return what grew since the fall began, until the attribution says it; `None` where no threshold is near, or unknown.

    `elsewhere` is `null` where it may be of pods that were not measured; `filePages` is what the kernel can drop of a pod.
    """
    held = None if answer is None else answer.held
    holdings = None if held is None or not _is_near(thresholds, held) else snapshot.state.holdings.get(held.signal)
    if answer is None or held is None or holdings is None or holdings.at <= holdings.since:
        return None
    rows = {row.uid: row for row in answer.rows}
    growth = _growth(answer, held.signal, holdings, snapshot)
    pods = {pod.uid: pod for pod in snapshot.observation.pods}
    grew = [(each, pods[uid]) for uid, each in growth.pods.items() if uid in pods and each > 0]
    arrived = [each for each, pod in grew if pod.uid not in growth.known]
    all_measured = not (held.outdated or held.unmeasured.pods or holdings.arrived)
    whole = all_measured and _is_fresh(held.signal, growth.since, snapshot)
    most = sorted(grew, key=itemgetter(0), reverse=True)[:_SHOWN]
    measured = max((holdings.last_measured.get(pod.uid, holdings.at) for _, pod in most), default=holdings.at)
    return {
        "overSeconds": round((measured - growth.since) / SECOND, 1),
        "measuredSecondsBefore": round((holdings.at - measured) / SECOND, 1),
        "pods": [
            {
                "pod": pod.full_name,
                "grown": each,
                "filePages": None if pod.uid not in rows else rows[pod.uid].file_pages,
                "withinRequest": _within_request(rows.get(pod.uid), answer),
                "protected": protection(pod, snapshot.config),
            }
            for each, pod in most
        ],
        "ofPods": sum(each for each, _ in grew),
        "arrived": {"pods": len(arrived), "grown": sum(arrived)},
        "elsewhere": _at_most_held(growth.elsewhere, holdings) if whole else None,
    }


def taken_beyond_pods(answer: NextUp | None, stated: dict[str, Any], snapshot: Snapshot) -> dict[str, Any] | None:
    """Return what was taken in the time of the stated rate and what all pods hold, where most of it can be no pod's.

    For the time in which no growth of pods is known: what they hold of a disk is first measured when a threshold is near. `None`
    where pods may have taken it, or that is not known.
    """
    held, rate, over = None if answer is None else answer.held, stated.get("fillRate"), stated.get("overSeconds")
    if held is None or not rate or rate < 0 or not over or held.outdated or held.unmeasured.pods:
        return None
    of_pods = sum(share.held or 0 for share in (held.evictable, held.protected, held.leaving))
    taken = round(rate * over)
    if taken <= of_pods * _MOST or not _is_fresh(held.signal, snapshot.at - round(over * SECOND), snapshot):
        return None
    return {"overSeconds": over, "taken": taken, "ofPods": of_pods}


def _is_near(thresholds: list[dict[str, Any]], held: Attribution) -> bool:
    """Whether a threshold will be met soon, or is met and the attribution does not yet say who filled the supply."""
    if any(each["met"] for each in thresholds):
        return not held.filled
    times = [each[kind] for each in thresholds for kind in ("secondsToThreshold", "secondsAsBefore")]
    return any(each is not None and each <= FORESEEN_SECONDS for each in times)


def _growth(answer: NextUp, supply: Signal, holdings: SupplyHoldings, snapshot: Snapshot) -> _Growth:
    """Return the growth since the fall began, or that of about the last minute where it says more (see above)."""
    rest = holdings.elsewhere
    before = _sample_at_begin(supply, holdings, snapshot)
    lately = {uid: each.grown for uid, each in holdings.growing.items()}
    grown = {} if before is None else before.grown(holdings.used)
    most, grows = max(grown, key=grown.__getitem__, default=""), bool(lately) or (rest is not None and rest.grown > 0)
    stopped = grown.get(most, 0) > 0 and most not in lately and grows
    short = before is None or before.at >= holdings.since or sum(grown.values()) < sum(lately.values())
    if before is None or short or stopped or _has_another_cause(before, supply, holdings, snapshot):
        pods, elsewhere = _without_returned(lately, answer, supply, snapshot), None if rest is None else rest.grown
        # What a pod held at its first reading is no growth here, so none of them has arrived.
        return _Growth(holdings.since, pods, elsewhere, known=holdings.used)
    pods = _without_returned(grown, answer, supply, snapshot)
    if rest is None or before.elsewhere is None or before.unmeasured:
        return _Growth(before.at, pods, elsewhere=None, known=before.used)
    return _Growth(before.at, pods, rest.used - before.elsewhere, known=before.used)


def _has_another_cause(before: UsageSample, supply: Signal, holdings: SupplyHoldings, snapshot: Snapshot) -> bool:
    """Whether a supply falls much faster now than since a sample, and one pod, or what belongs to none, took most of it lately.

    The scatter of many pods is no cause, and what a pod took that was not read since is not known.
    """
    trend, rest = snapshot.trends.signals.get(supply, Trend()), holdings.elsewhere
    rate, time = trend.present_rate, trend.present_time
    if (last := trend.last_fall) is not None:  # the stated time is of that rate
        rate, time = last.rate, last.time
    if rate is None or rest is None or before.held is None or holdings.arrived or before.unmeasured:
        return False
    mean = (sum(holdings.used.values()) + rest.used - before.held) * SECOND / (holdings.at - before.at)
    most = max((rest.grown, *(each.grown for each in holdings.growing.values())))
    took_most = most * 2 > rate * time / SECOND
    return rate > mean * _FASTER and took_most and _is_fresh(supply, holdings.since, snapshot)


def _sample_at_begin(supply: Signal, holdings: SupplyHoldings, snapshot: Snapshot) -> UsageSample | None:
    """Return what pods held when the present fall began; `None` where nothing fell, or nothing was recorded."""
    began = snapshot.trends.signals.get(supply, Trend()).fall_began
    held = None if holdings.elsewhere is None else sum(holdings.used.values()) + holdings.elsewhere.used
    return None if began is None else sample_before(snapshot.trends.usage.get(supply, ()), began, held)


def _at_most_held(grown: int | None, holdings: SupplyHoldings) -> int | None:
    """Return the growth of what belongs to no pod, which is no more than that holds.

    While a disk shows freed bytes before the pod's usage is read again, less than nothing seems to belong to no pod.
    """
    rest = holdings.elsewhere
    return grown if grown is None or rest is None or rest.used < 0 else min(grown, rest.used)


def _within_request(row: RankedPod | None, answer: NextUp) -> bool | None:
    """Whether a pod uses no more than it requests; `None` where that is not known, or no pod can request it."""
    if row is None or row.usage is None or answer.resource not in WITH_REQUEST:
        return None
    return row.usage * NANO <= row.request


def _without_returned(grown: dict[str, int], answer: NextUp, supply: Signal, snapshot: Snapshot) -> dict[str, int]:
    """Return the growth of pods without what those only took again that the kernel killed lately.

    A pod that exceeds its request may leak again: it counts as such a pod only if it held a steady amount before.
    """
    within = {row.uid for row in answer.rows if _within_request(row, answer)}
    used, samples = snapshot.state.holdings[supply].used, snapshot.trends.usage.get(supply, ())
    killed = {uid: most_held(samples, uid) for uid in {each.uid for each in snapshot.killed} & grown.keys()}
    returned = {uid: most for uid, (most, steady) in killed.items() if steady or uid in within}
    return {**grown, **{uid: min(grown[uid], max(used.get(uid, 0) - most, 0)) for uid, most in returned.items()}}


def _is_fresh(supply: Signal, since: int, snapshot: Snapshot) -> bool:
    """Whether all that pods hold of a supply was read in the last quarter of the time since then: the rest is no pod's.

    What pods hold of a disk is read in turns: what a pod took after its turn seems to belong to no pod.
    """
    if SIGNALS[supply].filesystem is None:
        return True
    latest = snapshot.at - (snapshot.at - since) // _FRESH_PART
    read = [snapshot.observation.pod_stats.get(pod.uid) for pod in snapshot.observation.pods]
    return all(
        each is not None and not each.disk_at_least and min(each.disk_time or 0, each.layers_time or 0) >= latest
        for each in read
    )
