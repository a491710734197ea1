"""Follows the pods that end because another component deleted them: victims that evictd did not choose.

The old pod of a rolling update, or one that a user deleted, gives back what it holds within its grace period. A pod that is
evicted meanwhile would be lost for nothing. So what leaving pods hold is owed like a victim's until their own deadline, and a
hard threshold shortens them first, as many as give back what is missing (kubernetes#122297).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from evictd.core.eviction.ledger import ending, measured_to_use, open_victims, shortened
from evictd.core.eviction.reclaim import Layout
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import Signal
from evictd.core.model.state import Victim


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
