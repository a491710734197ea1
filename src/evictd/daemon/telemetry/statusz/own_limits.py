"""Makes the part of `/statusz` that lists the pods that nearly exceed a limit of their own on local storage."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from evictd.core.eviction.local_storage import nearly_over
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import EvictionReason
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.state import State
from evictd.daemon.telemetry.snapshot import Snapshot
from evictd.daemon.telemetry.trends import RATE_WINDOW, Point, Trend

_OF = {
    EvictionReason.EMPTY_DIR_LIMIT: "emptyDir {}",
    EvictionReason.CONTAINER_LIMIT: "container {}",
    EvictionReason.POD_LIMIT: "all its containers",
}


class _OwnLimit(NamedTuple):
    """A limit on local storage of a pod's own, and what the pod uses of it."""

    pod: Pod
    of: str
    """What has the limit: a volume, a container, or all of them."""
    usage: int
    limit: int

    @property
    def key(self) -> str:
        """The key of its trend."""
        return f"{self.pod.uid} {self.of}"


def limits_recorded(
    limits: Mapping[str, Trend], state: State, observation: Observation, config: EvictionConfig
) -> dict[str, Trend]:
    """Return what is left of each limit of which a pod uses half or more, with this reading; of others nothing is kept.

    What a first walk has counted so far grows with the walk and not with the pod: it has no time, and is not recorded.
    """
    found: dict[str, Trend] = {}
    half = tuple(_near(state, observation, config, tenths=5))
    # Of a pod each has one limit, and of most nodes there is none.
    near = _near(state, observation, config) if half else ()
    for each in chain(half, near):
        known, stats = limits.get(each.key, Trend()), observation.pod_stats[each.pod.uid]
        measured = stats.layers_time if stats.disk_time is None and not stats.disk_at_least else stats.disk_time
        if measured is not None and (not known.recent or measured > known.recent[-1].at):
            known = known.added(Point(measured, each.limit - each.usage), each.limit)
        found[each.key] = known
    return found


def own_limits(snapshot: Snapshot, now: int) -> list[dict[str, Any]]:
    """Return each pod that uses nine tenths or more of its own limit and is not being evicted, and when it reaches that.

    The first to reach its limit stands at the front; `secondsToLimit` is `null` where it does not grow, or that is not known.
    """
    goes = {each.uid for each in snapshot.state.victims}
    rows = [
        {
            "pod": each.pod.full_name,
            "of": each.of,
            "usage": each.usage,
            "limit": each.limit,
            "secondsToLimit": _seconds_left(snapshot.trends.limits.get(each.key, Trend()), now),
        }
        for each in _near(snapshot.state, snapshot.observation, snapshot.config)
        if each.pod.uid not in goes
    ]
    return sorted(rows, key=lambda each: float("inf") if each["secondsToLimit"] is None else each["secondsToLimit"])


def _near(state: State, observation: Observation, config: EvictionConfig, *, tenths: int = 9) -> Iterator[_OwnLimit]:
    """Yield each pod that uses `tenths` of its own limit or more."""
    dedicated = bool(state.disks.dedicated_image_fs)
    for pod, near in nearly_over(observation, config, dedicated_image_fs=dedicated, tenths=tenths):
        if near.usage is not None and near.limit is not None:
            of = _OF[near.reason].format(near.subject)
            yield _OwnLimit(pod, of, near.usage.value(), near.limit.value())


def _seconds_left(trend: Trend, now: int) -> float | None:
    rate = trend.present_rate
    if rate is None or rate <= 0 or trend.has_ended or now - trend.recent[-1].at > RATE_WINDOW:
        return None
    return trend.seconds_at(rate, 0, now)
