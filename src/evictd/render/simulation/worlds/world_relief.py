"""Says of a world that was played whether and since when no threshold is met, and the pods whose end would have sufficed."""

from collections.abc import Iterator, Sequence

from evictd.core.model.finding import NoAction, NoActionReason, ThresholdFinding
from evictd.core.model.threshold import Origin
from evictd.render.simulation.worlds.world_warnings import never_met
from evictd.render.stop_reason import no_action_text
from evictd.render.text import TENTH, clean, clock, counted, duration_text, first_of
from evictd.world.account import OOM_KILLED, Account, Verdict
from evictd.world.loop import Run
from evictd.world.model import World
from evictd.world.tested import cycles_with_thresholds

NEEDED_EARLIER = "needed only for earlier relief"
"""What is said of a needed pod whose shortage would have ended by itself."""
_MOST_NAMES = 4
"""Pods that one sentence names."""
_PROVEN = 2
"""The most pods of which it is known that no fewer suffice: each pod alone was tried (`world.oracle`)."""


def relief_texts(run: Run, account: Account) -> Iterator[str]:
    """Write whether a threshold is met at the end and why, and a set of pods that would have sufficed."""
    if account.relieved_at == 0:
        between = account.ideal.crossed_at
        if between is not None and any(never_met(run)) and any(abs(at - between) <= TENTH for at, _ in run.kills):
            between = None  # for an instant more was taken than there is
        if between is None or account.ideal.memory_ended:
            yield "No threshold was met." if run.config.thresholds else "There is no threshold."
        elif any(each.at <= between and each.cause != OOM_KILLED for each in account.losses):
            # The crossing is that of the node on which no pod is ended.
            yield f"No threshold was met at a reading; without the evictions one would have been met first at {clock(between)}."
        else:
            yield f"No threshold was met at a reading; between two readings one was, first at {clock(between)}."
        return
    if account.relieved_at is not None:
        yield _relieved_text(run, account, account.relieved_at)
    else:
        *_, (last, tested) = cycles_with_thresholds(run)
        met = dict.fromkeys(str(each.threshold) for each in thresholds_shown(tested))
        reason = next((each for each in last.step.findings if isinstance(each, NoAction)), None)
        why = "" if reason is None else f"; {no_action_text(reason)}"
        yield f"At the end {' and '.join(map(clean, met))} {'is' if len(met) == 1 else 'are'} still met{why}."
        if reason is not None and reason.why is NoActionReason.NOT_SHORT_OF_MEMORY:
            return
    yield from _least_pods_texts(run.world, account)


def _least_pods_texts(world: World, account: Account) -> Iterator[str]:
    lost = {loss.slot for loss in account.losses if loss.verdict is not Verdict.LEAVING}
    slots, last = sorted(account.ideal.slots), to_the_end(world)
    proven = 1 if account.ideal.spares else _PROVEN
    if not account.losses and account.relieved_at is not None:
        return  # a shortage that ended between the grace period and the next cycle needed no pod
    if not account.ideal.relieves:
        yield f"No set of evictable pods would have relieved the node {last}."
    elif lost == set(slots):
        yield from [f"No smaller set of pods would have sufficed {last}."] if len(slots) == _PROVEN == proven else []
    elif slots:
        owners = {each.pod.owner for each in world.pods if each.pod.full_name in slots}
        again = any(each.here > 0 and each.name in owners for each in world.owners)
        names = slot_names(slots) + (", without a successor here" if again else "")
        at = "" if account.ideal.crossed_at is None else f" at {clock(account.ideal.crossed_at)}"
        end = f"the end of {counted(len(slots), 'pod')}{at}"
        if len(slots) <= proven:
            yield f"The least that would have sufficed {last} is {end}: {names}."
        else:
            yield f"T{end[1:]} would have sufficed {last}: {names}."
    else:
        yield "No pod had to go."


def needed_text(run: Run, account: Account, *, by_itself: bool = False) -> str:
    """Write of the needed pods whether their end cleared the threshold, or was only a part of what would have.

    `by_itself`: the shortage would have ended without them.
    """
    # One that stands for a pod of the set is a part of it too, and one that only a later shortage needed.
    ended = {loss.stands_for or loss.slot for loss in account.losses if loss.verdict is not Verdict.LEAVING}
    ended &= account.ideal.slots
    if ended == account.ideal.slots and by_itself:
        return NEEDED_EARLIER
    if ended == account.ideal.slots:
        return f"needed to clear the threshold, which stays clear {to_the_end(run.world)}"
    at = "" if account.ideal.crossed_at is None else f" at {clock(account.ideal.crossed_at)}"
    part = f"{len(ended)} of the {len(account.ideal.slots)} pods whose end{at} would have cleared the threshold"
    # What another pod's end gave back, or a kill, can have ended it too.
    alone = account.relieved_at is not None and not account.innocents and not run.kills and not by_itself
    return f"needed, but too few: {part}{'; the shortage ended by itself' if alone else ''}"


def _relieved_text(run: Run, account: Account, at: int) -> str:
    if account.shortages <= 1:
        return f"No threshold is met from {clock(at)} to the end."
    end = clock(run.world.duration)
    return (
        f"A threshold was met {account.shortages} times, for {duration_text(account.short)} in all; none is met at the end, "
        f"{end}."
    )


def thresholds_shown(findings: Sequence[ThresholdFinding]) -> list[ThresholdFinding]:
    """Return the thresholds that are met: those of the configuration, or where none of them is the derived ones."""
    met = [each for each in findings if each.met]
    return [each for each in met if each.threshold.origin is not Origin.DERIVED] or met


def to_the_end(world: World) -> str:
    """Write the time for which a relief is known to last."""
    return f"for the rest of the {duration_text(world.played)} played"


def slot_names(slots: Sequence[str]) -> str:
    """Write the first few of some pods."""
    return first_of([clean(slot) for slot in slots], _MOST_NAMES)
