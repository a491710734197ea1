"""Journal entries that were decided again, and whether the same pods are evicted."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from evictd.codec.decision import decode_decision, encode_decision
from evictd.codec.records.journal import JournalEntry
from evictd.codec.records.journal_record import name_of, recorded_evictions
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod, MemoryFormula, Policy
from evictd.core.model.decision import Wait
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.signal import NodeCondition
from evictd.core.model.state import Step
from evictd.core.model.threshold import Threshold
from evictd.errors import InputError
from evictd.render.replay.changed_conditions import ReportedConditions, conditions_after, may_change_pods
from evictd.render.replay.changed_values import fields_agree
from evictd.render.replay.higher_limit import has_higher_limit
from evictd.render.replay.met_earlier import met_earlier
from evictd.render.replay.refusals import RecordedRefusals, recorded_refusals
from evictd.render.replay.shown_evictions import shown_evictions
from evictd.render.sentences import decision_text
from evictd.render.text import clean, first_of

Plain = Mapping[str, Any]
_SHOWN_VICTIMS = 8


@frozen
class Replayed:
    """One entry, decided again."""

    entry: JournalEntry
    step: Step
    decided: tuple[Plain, ...] = field(init=False)
    """The decisions of `step` as a journal line has them."""
    same: bool = field(init=False)
    """Whether the same was recorded; an older evictd left out some fields."""
    formula: MemoryFormula | None = None
    """The formula by which `memory.available` is as recorded, where that of the other configuration is not known."""
    sooner: tuple[str, ...] = ()
    """The settings of the other configuration that may act sooner than the recorded ones (`sooner_settings`)."""
    added: tuple[Threshold, ...] = ()
    """Its thresholds on a signal, or of a kind, that no recorded one was on (`added_thresholds`)."""
    transition_period: int = 0
    """How long a condition stays by the other configuration, in nanoseconds."""
    pod_termination: EvictionMethod | None = None
    """How the other configuration ends pods; `None`: not known."""
    policy: Policy | None = None
    """By which the other configuration decides; `None`: there is none."""
    memory_held: SupplyHoldings | None = None
    """Who held memory after a recorded eviction was chosen; `None`: no pod was evicted, or it was not kept."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "decided", plain_decisions(self.step))
        object.__setattr__(self, "same", _decided_alike(self))

    @property
    def may_be_refused(self) -> bool:
        """Whether the API server may refuse an eviction now: it is asked for one, as far as is known.

        Policy Kubelet is for what a kubelet would have done, which ignores disruption budgets.
        """
        return self.policy is not Policy.KUBELET and self.pod_termination not in {
            EvictionMethod.DELETE,
            EvictionMethod.STATUS,
        }


@frozen
class ConditionEnd:
    """The earliest end of a condition that was recorded for longer."""

    condition: NodeCondition
    at: int
    """By the clock of the records, in nanoseconds."""
    wall: str


@frozen
class Unknown:
    """What could have acted between the records of a journal."""

    may_act: tuple[str, ...] = ()
    """Thresholds and settings that act sooner than the recorded ones, or for longer."""
    condition_end: ConditionEnd | None = None
    """If that is only a condition that ends sooner: from when on it could."""


NOTHING_UNKNOWN = Unknown()


def plain_decisions(step: Step) -> tuple[Plain, ...]:
    """Return the decisions as a journal line has them."""
    return tuple(json.loads(json.dumps([encode_decision(decision) for decision in step.decisions])))


def without_wait(decisions: Iterable[Plain]) -> list[Plain]:
    """Leave out the `Wait` at the end of every step: the time of the next cycle is no decision about the node."""
    return [decision for decision in decisions if decision.get("kind") != "Wait"]


def recorded_text(decision: Plain) -> str:
    """Write a recorded decision on one line; of a damaged one only its kind."""
    try:
        return decision_text(decode_decision(decision))
    except InputError:
        return clean(str(decision.get("kind")))


def decided_texts(step: Step) -> list[str]:
    """Return each decision as a sentence, without the time of the next cycle."""
    return [decision_text(decision) for decision in step.decisions if not isinstance(decision, Wait)]


def recorded_texts(entry: JournalEntry) -> list[str]:
    """Return each recorded decision as a sentence, without the time of the next cycle."""
    return [recorded_text(decision) for decision in without_wait(entry.decisions)]


def _decided_alike(one: Replayed) -> bool:
    """Whether the same was recorded: the words are equal, and so is each field that both have."""
    now, then = without_wait(one.decided), without_wait(one.entry.decisions)
    return now == then or (decided_texts(one.step) == recorded_texts(one.entry) and fields_agree(now, then))


def recorded_victims(decisions: Iterable[Plain]) -> list[str]:
    """Return the pods whose eviction begins with these decisions."""
    return [clean(name_of(each)) for each in recorded_evictions(decisions)]


def earlier_text(replayed: Iterable[Replayed]) -> str:
    """Return which thresholds would have been met before a recorded eviction; empty if none would."""
    found: dict[str, str] = {}
    for one in replayed:
        for each in met_earlier(one.entry, one.step.findings):
            found.setdefault(each.threshold, each.text(one.entry.wall))
    text = " and ".join(found.values())
    return f"{text}; the journal has no complete reading of that time, when another pod may have gone." if text else ""


def then_and_now(replayed: Iterable[Replayed], known: RecordedRefusals) -> list[tuple[list[Plain], list[Plain]]]:
    """Return the decisions of each cycle, then and now, without evictions of pods that may stay."""
    return [
        (
            list(known.ended(one.entry.wall, one.entry.decisions)),
            list(known.ended(one.entry.wall, one.decided) if one.may_be_refused else one.decided),
        )
        for one in replayed
    ]


def refusals_in(replayed: Iterable[Replayed]) -> RecordedRefusals:
    """Return the evictions that the API server refused, as far as they were recorded."""
    return recorded_refusals([one.entry for one in replayed])


def ignores_refusals(replayed: Iterable[Replayed], known: RecordedRefusals) -> bool:
    """Whether pods that the API server refused go now: by policy Kubelet, for a kubelet ignores disruption budgets."""
    return bool(known.refused) and any(one.policy is Policy.KUBELET for one in replayed)


def victim_pairs(cycles: Iterable[tuple[list[Plain], list[Plain]]]) -> list[tuple[list[str], list[str]]]:
    """Return the pods whose eviction begins in each cycle, then and now."""
    return [(recorded_victims(old), recorded_victims(new)) for old, new in cycles]


def victims_text(replayed: Sequence[Replayed], unknown: Unknown = NOTHING_UNKNOWN) -> str:
    """Return whether the same pods are chosen as were recorded, as far as the records show it."""
    sooner, known = bool(unknown.may_act), refusals_in(replayed)
    unrefused = ignores_refusals(replayed, known)
    cycles = then_and_now(replayed, known)
    pairs = victim_pairs(cycles)
    shown = [recorded_victims(each) for each in shown_evictions(cycles)]
    then = list(dict.fromkeys(pod for old, _ in pairs for pod in old))
    now = list(dict.fromkeys(pod for pods in shown for pod in pods))
    if not then and not now:
        if unrefused:
            return "No pod is evicted in the recorded readings now; then one was refused."
        where = " in the recorded cycles" if sooner else ""
        return f"No victim differs{where}: no pod is evicted{' there' if sooner else ''}, then or now."
    more = _possibly_more(replayed, pairs, [pod for _, pods in pairs for pod in pods if pod not in now])
    if all(old == new for old, new in pairs):
        return _same_victims_text(replayed, unknown, pairs, more, unrefused=unrefused)
    if then == now:
        by = "" if shows_first_victim(replayed, unknown) else ", by the recorded readings"
        return f"At other times{by}: {first_of(then, _SHOWN_VICTIMS)}{more}."
    recorded, decided = (first_of(pods, _SHOWN_VICTIMS) or "none" for pods in (then, now))
    end = first_kept(replayed, pairs)
    added = first_added(pairs)
    if end is None or (added is not None and added < end):
        which = "At other times" if added is not None and {*now} < {*then} else "Other victims"
        return f"{which}: then {recorded}; now {decided}{more}."
    certain = list(dict.fromkeys(pod for pods in shown[: end + 1] for pod in pods))
    if not certain:
        which = "whether any pod goes" if not now else "whether and which pods go"
        return f"Other victims: then {recorded}; {which} now, these readings cannot tell: they end at each."
    after = clean(replayed[end].entry.wall)
    return (
        f"Other victims: then {recorded}; now {first_of(certain, _SHOWN_VICTIMS)}; which go after {after}, these readings cannot "
        "tell: they end at an eviction that would not have been."
    )


def _same_victims_text(
    replayed: Sequence[Replayed],
    unknown: Unknown,
    pairs: Sequence[tuple[list[str], list[str]]],
    more: str,
    *,
    unrefused: bool,
) -> str:
    """Return that the same pods are chosen in the same cycles, and what may have been between these."""
    pods = first_of(list(dict.fromkeys(pod for old, _ in pairs for pod in old)), _SHOWN_VICTIMS)
    if unrefused:
        return f"In the recorded readings the same pods are evicted: {pods}{more}; no budget would have kept a refused one."
    if earlier_text(replayed):
        return f"No victim differs in the recorded readings: {pods}{more}."
    if any(map(_has_higher_limit, replayed)):
        higher = "a higher threshold is met earlier, when another pod may have gone"
        return f"No victim differs in the recorded readings: {pods}{more}; {higher}."
    if (over := unknown.condition_end) is not None:
        before = [pods for one, (pods, _) in zip(replayed, pairs, strict=True) if one.entry.now < over.at]
        named = first_of(list(dict.fromkeys(pod for pods in before for pod in pods)), _SHOWN_VICTIMS)
        return (
            f"No victim differs up to {clean(over.wall)}: {named or 'no pod is evicted'}; from then on "
            f"{over.condition.value} could have ended, and a pod that came back could have gone."
        )
    if unknown.may_act:
        return f"No victim differs in the recorded cycles: {pods}; between them one could have gone, or gone sooner."
    if may_change_pods(list(map(_reported, replayed))):
        return f"No victim differs in the recorded readings: {pods}{more}; a condition keeps new pods away."
    return f"No victim differs: the same pods at the same times: {pods}."


def shows_first_victim(replayed: Sequence[Replayed], unknown: Unknown) -> bool:
    """Whether the records show which pod goes first: no threshold or setting could act before, when another one may be first."""
    sooner = unknown.may_act or earlier_text(replayed) or any(map(_has_higher_limit, replayed))
    return not sooner


def conditions_then(one: Replayed) -> frozenset[str]:
    """Return the node conditions that were reported after an entry."""
    return conditions_after(one.entry.decisions, frozenset(each.value for each in one.entry.state.node_conditions))


def _reported(one: Replayed) -> ReportedConditions:
    return ReportedConditions(
        then=conditions_then(one),
        now=frozenset(each.value for each in one.step.state.node_conditions),
        pods=frozenset(pod.uid for pod in one.entry.observation.pods),
        evicts=any(recorded_victims(each) for each in (one.entry.decisions, one.decided)),
    )


def _possibly_more(
    replayed: Sequence[Replayed], pairs: Sequence[tuple[list[str], list[str]]], chosen: Iterable[str]
) -> str:
    """Return that the list may have no end: after an eviction that is not a recorded one the readings are those without it.

    By these readings the pods in `chosen` are evicted, which may go or not.
    """
    pods = list(dict.fromkeys(chosen))
    unknown = f": whether {first_of(pods)} {'goes' if len(pods) == 1 else 'go'} is not known" if pods else ""
    for number, (one, (old, new)) in enumerate(zip(replayed, pairs, strict=True), 1):
        after, added, last = clean(one.entry.wall), {*new} - {*old}, number == len(replayed)
        if added and last:
            return f", and possibly more: the journal has no reading after {after}"
        if not last and (added or earlier_text([one]) or _has_higher_limit(one)):
            return f", and possibly more: the readings after {after} are those of the recorded course{unknown}"
    return ""


def first_kept(replayed: Sequence[Replayed], pairs: Sequence[tuple[list[str], list[str]]]) -> int | None:
    """Return the first entry with an eviction of a pod that is not evicted now; a dry run ended none.

    The readings after its end are those without that pod, so a pod that is chosen by them need not go.
    """
    gone = set[str]()
    for number, (one, (old, new)) in enumerate(zip(replayed, pairs, strict=True)):
        gone |= {*new}
        if not (one.entry.extra or {}).get("dryRun") and not gone >= {*old}:
            return number
    return None


def first_added(pairs: Sequence[tuple[list[str], list[str]]]) -> int | None:
    """Return the first entry in which a pod is evicted now that is not then; the readings after it are those with that pod."""
    return next((number for number, (old, new) in enumerate(pairs) if {*new} - {*old}), None)


def _has_higher_limit(one: Replayed) -> bool:
    """Whether a pod is evicted now for a higher limit than then, so that it would have gone before this reading."""
    return has_higher_limit(one.entry.decisions, one.decided)
