"""Follows the pods that end because another component deleted them: victims that evictd did not choose.

The old pod of a rolling update, or one that a user deleted, gives back what it holds within its grace period. A pod that is
evicted meanwhile would be lost for nothing. So what leaving pods hold is owed like a victim's until their own deadline, and a
hard threshold shortens them first (`shorten`).

A pod that was deleted by force (`gracePeriodSeconds: 0`) is listed no more, although its containers run for two seconds more (the
kubelet's `minimumGracePeriodInSeconds`) and its volumes and layers are removed after that, or once a restarted kubelet is back.
What it holds is not known, so it is waited for as a victim of an unknown amount is. The last of it is a layer, which no listing
shows any more: containerd gives back its bytes 100 to 200 ms after the kubelet has removed the container.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from evictd.core.eviction.accounts.collecting import UNMEASURED_TIMEOUT, due_since
from evictd.core.eviction.accounts.ledger import OWN_LIMITS_TIMEOUT, ending, measured_to_use, open_victims, shortened
from evictd.core.eviction.accounts.release import POD_CLEANUP_TIMEOUT, RELEASE_TIMEOUT, with_volumes
from evictd.core.eviction.reclaim import DEVICES, Layout, device_of
from evictd.core.eviction.time_left import is_pressing
from evictd.core.model.finding import NoAction, NoActionReason
from evictd.core.model.observation import Observation, RemovedPod, SignalObservation
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
        with_volumes(each if each.gone_at is not None else replace(each, gone_at=now), observation, now)
        for each in leaving
        if each.uid not in active and each.uid not in chosen
    ]
    return open_victims((*ended, *now_leaving), available, active, relevant, now)


def waiting_for_removed_pods(
    threshold: Threshold, seen: SignalObservation, observation: Observation, state: State, *, layout: Layout, now: int
) -> NoAction | None:
    """Return that a threshold waits for what pods that are listed no more hold; `None` if it does not. `seen` is its signal.

    Each is waited for as long as the kubelet waits for the volumes of a pod that it evicted: it may fail to remove one, and then
    keeps it for days. Pods that come and end one after another hold a threshold up no longer than those over limits of their own.
    Memory that runs out is not waited for, a layer not where the disk will be full within the second that it may take, and a disk
    that will be full before another eviction can finish no longer than for the bytes of a victim.
    """
    if not observation.removed_pods:
        return None
    latest = due_since(threshold, state) + OWN_LIMITS_TIMEOUT
    followed = {victim.uid for victim in state.victims} | observation.outcomes.cleaned_up
    pressing = is_pressing(threshold, seen)
    new = {uid: pod for uid, pod in observation.removed_pods.items() if uid not in followed and pod.first_seen < latest}
    uids = [uid for uid, pod in new.items() if _may_release(pod, threshold.signal, layout, now=now, pressing=pressing)]
    if not uids:
        return None
    detail = f"removed pods ({', '.join(sorted(uids))})"
    return NoAction(why=NoActionReason.WAITING_FOR_RELEASE, threshold=threshold, detail=detail)


def _may_release(pod: RemovedPod, signal: Signal, layout: Layout, *, now: int, pressing: bool) -> bool:
    """Whether a removed pod may give back something for this signal within the time that it is given."""
    device, nodefs = device_of(signal, layout), DEVICES[layout][Filesystem.NODEFS]
    if device not in {None, nodefs, DEVICES[layout][Filesystem.CONTAINERFS]}:
        return False  # images alone
    if pod.gone_at is not None:
        return device is not None and now - pod.gone_at < UNMEASURED_TIMEOUT and not pressing
    holds = (pod.runs and not (pressing and device is None)) or (pod.has_volumes and device is nodefs)
    return holds and now - pod.first_seen < (RELEASE_TIMEOUT if pressing else POD_CLEANUP_TIMEOUT)
