"""Follows the pods that end because another component deleted them: victims that evictd did not choose.

The old pod of a rolling update, or one that a user deleted, gives back what it holds within its grace period. A pod that is
evicted meanwhile would be lost for nothing. So what leaving pods hold is owed like a victim's until their own deadline, and a
hard threshold shortens them first, as many as give back what is missing (kubernetes#122297).

A pod that was deleted by force (`gracePeriodSeconds: 0`) is listed no more, nor does it run, when its kubelet begins to remove
its volumes. What these hold is not known, so a threshold of their disk waits for them as for a victim of an unknown amount.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from evictd.core.eviction.collecting import due_since
from evictd.core.eviction.ledger import (
    OWN_LIMITS_TIMEOUT,
    RELEASE_TIMEOUT,
    ending,
    measured_to_use,
    open_victims,
    shortened,
)
from evictd.core.eviction.reclaim import DEVICES, Layout, device_of
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.state import State, Victim
from evictd.core.model.threshold import Threshold


def follow_leaving(
    leaving: tuple[Victim, ...],
    in_flight: tuple[Victim, ...],
    observation: Observation,
    available: Mapping[Signal, int],
    *,
    layout: Layout,
    relevant: Collection[Signal],
    now: int,
) -> tuple[Victim, ...]:
    """Return the pods that are being deleted, as victims with their own deadline; `available` and `relevant` are by supply."""
    deleted = [pod for pod in observation.pods if pod.deletion_grace_period_seconds is not None]
    if not deleted and not leaving:
        return leaving
    chosen, known = {victim.uid for victim in in_flight}, {victim.uid: victim for victim in leaving}
    active = {pod.uid for pod in observation.pods}

    def followed(pod: Pod) -> Victim:
        grace = pod.deletion_grace_period_seconds or 0
        if (before := known.get(pod.uid)) is None:
            return ending(pod, grace, observation, available, layout=layout, now=now)
        owed = {**before.owed, **measured_to_use(pod, observation, layout)}
        victim = replace(before, owed=owed, available_before=available)
        return shortened(victim, grace, now) if victim.can_shorten(grace) else victim

    now_leaving = [followed(pod) for pod in deleted if pod.uid not in chosen]
    ended = [
        each if each.gone_at is not None else replace(each, gone_at=now)
        for each in leaving
        if each.uid not in active and each.uid not in chosen
    ]
    return open_victims((*ended, *now_leaving), available, active, relevant, now)


def worth_shortening(
    victims: Sequence[Victim], leaving: Sequence[Victim], supply: Signal, missing: int
) -> list[Victim]:
    """Return evictd's victims, and the largest of the pods that leave anyway until together they owe the missing amount."""
    uids = {victim.uid for victim in leaving}
    worth = [victim for victim in victims if victim.uid not in uids]
    others = [victim for victim in victims if victim.uid in uids]
    missing -= sum(victim.owed.get(supply, 0) for victim in worth)
    for victim in sorted(others, key=lambda each: (-each.owed.get(supply, 0), each.full_name)):
        if missing <= 0:
            break
        worth.append(victim)
        missing -= victim.owed.get(supply, 0)
    return worth


def waiting_for_volumes(
    threshold: Threshold, observation: Observation, state: State, layout: Layout, now: int
) -> NoAction | None:
    """Return that a threshold waits for the volumes of pods that are listed no more; `None` if it does not.

    Each is waited for as long as for the bytes of a victim that is gone: a kubelet may fail to remove a volume, and then keeps it
    for days. Pods that come and end one after another hold a threshold up no longer than those over limits of their own.
    """
    orphaned = observation.orphaned_volumes
    if not orphaned or device_of(threshold.signal, layout) is not DEVICES[layout][Filesystem.NODEFS]:
        return None
    latest, followed = due_since(threshold, state) + OWN_LIMITS_TIMEOUT, {victim.uid for victim in state.victims}
    uids = [
        uid for uid, seen in orphaned.items() if seen < latest and now - seen < RELEASE_TIMEOUT and uid not in followed
    ]
    if not uids:
        return None
    detail = f"the volumes of removed pods ({', '.join(sorted(uids))})"
    return NoAction(why=NoActionReason.WAITING_FOR_RELEASE, threshold=threshold, detail=detail)
