"""Journal entries that were decided again, as text and as a document."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING, Any

from evictd.codec.decision import decode_decision, encode_decision
from evictd.codec.records.journal import JournalEntry
from evictd.codec.records.journal_record import name_of, recorded_evictions
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionMethod, MemoryFormula
from evictd.core.model.decision import Wait
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.state import Step
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import parse_quantity
from evictd.errors import InputError, InvalidValueError
from evictd.render.console import print_line
from evictd.render.documents import API_VERSION, Document
from evictd.render.replay.changed_kind import changed_kinds
from evictd.render.replay.changed_values import changed_values, changed_words, fields_agree, measured_text
from evictd.render.replay.met_earlier import met_earlier
from evictd.render.replay.refusals import RecordedRefusals, recorded_refusals
from evictd.render.replay.shown_evictions import shown_evictions
from evictd.render.sentences import decision_text
from evictd.render.text import clean, counted, duration_text, first_of

if TYPE_CHECKING:
    from rich.console import Console

Plain = Mapping[str, Any]
_SHOWN_VICTIMS = 8
_SHOWN_BEYOND = 3


@frozen
class Replayed:
    """One entry, decided again."""

    entry: JournalEntry
    step: Step
    same: bool
    formula: MemoryFormula | None = None
    """The formula by which `memory.available` is as recorded, where that of the other configuration is not known."""
    sooner: tuple[str, ...] = ()
    """The settings of the other configuration that may act sooner than the recorded ones (`sooner_settings`)."""
    added: tuple[Threshold, ...] = ()
    """Its thresholds on a signal, or of a kind, that no recorded one was on (`added_thresholds`)."""
    pod_termination: EvictionMethod | None = None
    """How the other configuration ends pods; `None`: not known."""
    memory_held: SupplyHoldings | None = None
    """Who held memory after a recorded eviction was chosen; `None`: no pod was evicted, or it was not kept."""

    @property
    def may_be_refused(self) -> bool:
        """Whether the API server may refuse an eviction now: it is asked for one, as far as is known."""
        return self.pod_termination not in {EvictionMethod.DELETE, EvictionMethod.STATUS}


def plain_decisions(step: Step) -> list[Plain]:
    """Return the decisions as a journal line has them."""
    plain: list[Plain] = json.loads(json.dumps([encode_decision(decision) for decision in step.decisions]))
    return plain


def without_wait(decisions: Iterable[Plain]) -> list[Plain]:
    """Leave out the `Wait` at the end of every step: the time of the next cycle is no decision about the node."""
    return [decision for decision in decisions if decision.get("kind") != "Wait"]


def recorded_text(decision: Plain) -> str:
    """Write a recorded decision on one line; of a damaged one only its kind."""
    try:
        return decision_text(decode_decision(decision))
    except InputError:
        return clean(str(decision.get("kind")))


def _decided_texts(step: Step) -> list[str]:
    return [decision_text(decision) for decision in step.decisions if not isinstance(decision, Wait)]


def _recorded_texts(entry: JournalEntry) -> list[str]:
    return [recorded_text(decision) for decision in without_wait(entry.decisions)]


def decided_alike(entry: JournalEntry, step: Step) -> bool:
    """Whether the same was recorded: the words are equal, and so is each field that both have. An older evictd left out some."""
    now, then = without_wait(plain_decisions(step)), without_wait(entry.decisions)
    return now == then or (_decided_texts(step) == _recorded_texts(entry) and fields_agree(now, then))


_FIELDS = {
    "actions": "what is removed",
    "because": "the numbers behind the eviction",
    "condition": "the condition that the pod gets",
    "device": "the disk",
    "freeze": "whether its containers are frozen",
    "gracePeriodSeconds": "its grace period in seconds",
    "pod": "what is recorded of the pod",
    "refusedSince": "since when a budget refuses it",
    "wantedBytes": "how many bytes are enough",
}
"""What the fields of decisions hold that no sentence names; others are named as in the journal."""
_THRESHOLD = "threshold"
_REPORTS = "ReportConditions"
_MEASURED = "measured"
"""The field with what the configuration does not let evictd remove: it only measures how much that would free."""
_REASONS = frozenset({_MEASURED, _THRESHOLD, "because", "condition", "annotations", "message"})
"""The fields that do not change what happens on the node: why it is done, and what is written about it."""


def _changed_fields(one: Replayed) -> Iterator[str]:
    """Return what differs where the sentences are equal, because a sentence rounds it or leaves it out."""
    for now, then in zip(without_wait(plain_decisions(one.step)), without_wait(one.entry.decisions), strict=True):
        for name in sorted(now.keys() & then.keys()):
            if fields_agree(now[name], then[name]):
                continue
            if name == _MEASURED:
                yield f"{recorded_text(then)}: {measured_text(then[name], now[name])}"
            else:
                values = ", ".join(changed_values(then[name], now[name]))
                named = "" if name == _THRESHOLD else f"{_FIELDS.get(name, name)}: "  # each part of it says whose it is
                yield f"{recorded_text(then)}: {named}{values}"


def _only_measures_otherwise(one: Replayed) -> bool:
    """Whether the decisions are the same but for what is only measured: nothing else would happen on the node."""
    return not one.same and _decided_texts(one.step) == _recorded_texts(one.entry) and _agree_without(one, {_MEASURED})


def _only_for_other_numbers(one: Replayed) -> bool:
    """Whether the decisions are the same but for the thresholds and amounts that are their reason."""
    same = not one.same and not _only_measures_otherwise(one) and _agree_without(one, _REASONS)
    return same and not any(_changed_kinds(one))


def _only_reports_otherwise(one: Replayed) -> bool:
    """Whether the decisions are the same but for the node conditions that are reported."""
    sides = (plain_decisions(one.step), one.entry.decisions)
    now, then = ([each for each in without_wait(side) if each.get("kind") != _REPORTS] for side in sides)
    return not one.same and _reports_otherwise(one) and fields_agree(now, then)


def _changed_kinds(one: Replayed) -> Iterator[str]:
    return changed_kinds(one.entry.decisions, plain_decisions(one.step))


def _agree_without(one: Replayed, left_out: Collection[str]) -> bool:
    now, then = (
        [{name: each[name] for name in each if name not in left_out} for each in side]
        for side in (without_wait(plain_decisions(one.step)), without_wait(one.entry.decisions))
    )
    return fields_agree(now, then)


def recorded_victims(decisions: Iterable[Plain]) -> list[str]:
    """Return the pods whose eviction begins with these decisions."""
    return [clean(name_of(each)) for each in recorded_evictions(decisions)]


def _earlier_text(replayed: Iterable[Replayed]) -> str:
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
            list(known.ended(one.entry.wall, plain_decisions(one.step)))
            if one.may_be_refused
            else plain_decisions(one.step),
        )
        for one in replayed
    ]


def _refusals(replayed: Iterable[Replayed]) -> RecordedRefusals:
    return recorded_refusals([one.entry for one in replayed])


def _victims(cycles: Iterable[tuple[list[Plain], list[Plain]]]) -> list[tuple[list[str], list[str]]]:
    return [(recorded_victims(old), recorded_victims(new)) for old, new in cycles]


def victims_text(replayed: Sequence[Replayed], *, sooner: bool = False) -> str:
    """Return whether the same pods are chosen as were recorded; `sooner` if a pod could have gone between the recorded cycles."""
    cycles = then_and_now(replayed, _refusals(replayed))
    pairs = _victims(cycles)
    shown = [recorded_victims(each) for each in shown_evictions(cycles)]
    then = list(dict.fromkeys(pod for old, _ in pairs for pod in old))
    now = list(dict.fromkeys(pod for pods in shown for pod in pods))
    if not then and not now:
        where = " in the recorded cycles" if sooner else ""
        return f"No victim differs{where}: no pod is evicted{' there' if sooner else ''}, then or now."
    more = _possibly_more(replayed, pairs)
    if all(old == new for old, new in pairs):
        pods = first_of(then, _SHOWN_VICTIMS)
        if _earlier_text(replayed):
            return f"No victim differs in the recorded readings: {pods}{more}."
        if any(map(_has_higher_limit, replayed)):
            higher = "a higher threshold is met earlier, when another pod may have gone"
            return f"No victim differs in the recorded readings: {pods}{more}; {higher}."
        if sooner:
            return (
                f"No victim differs in the recorded cycles: {pods}; between them one could have gone, or gone sooner."
            )
        if any(map(_reports_otherwise, replayed)):
            return f"No victim differs in the recorded readings: {pods}{more}; a condition keeps new pods away."
        return f"No victim differs: the same pods at the same times: {pods}."
    if then == now:
        return f"The same victims, at other times: {first_of(then, _SHOWN_VICTIMS)}{more}."
    recorded, decided = (first_of(pods, _SHOWN_VICTIMS) or "none" for pods in (then, now))
    end = _first_kept(replayed, pairs)
    added = next((number for number, (old, new) in enumerate(pairs) if {*new} - {*old}), None)
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


def _reports_otherwise(one: Replayed) -> bool:
    """Whether another set of node conditions is reported, which pods that are started again may wait for."""
    now, then = (
        [each for each in side if each.get("kind") == _REPORTS]
        for side in (plain_decisions(one.step), one.entry.decisions)
    )
    return not fields_agree(now, then)


def _possibly_more(replayed: Sequence[Replayed], pairs: Sequence[tuple[list[str], list[str]]]) -> str:
    """Return that the list may have no end: after an eviction that is not a recorded one the readings are those without it."""
    for number, (one, (old, new)) in enumerate(zip(replayed, pairs, strict=True), 1):
        after, added, last = clean(one.entry.wall), {*new} - {*old}, number == len(replayed)
        if added and last:
            return f", and possibly more: the journal has no reading after {after}"
        if not last and (added or _earlier_text([one]) or _has_higher_limit(one)):
            return f", and possibly more: the readings after {after} are those of the recorded course"
    return ""


def _first_kept(replayed: Sequence[Replayed], pairs: Sequence[tuple[list[str], list[str]]]) -> int | None:
    """Return the first entry with an eviction of a pod that is not evicted now; a dry run ended none.

    The readings after its end are those without that pod, so a pod that is chosen by them need not go.
    """
    gone = set[str]()
    for number, (one, (old, new)) in enumerate(zip(replayed, pairs, strict=True)):
        gone |= {*new}
        if not (one.entry.extra or {}).get("dryRun") and not gone >= {*old}:
            return number
    return None


def _has_higher_limit(one: Replayed) -> bool:
    """Whether a pod is evicted now for a higher limit than then, so that it would have gone before this reading."""
    then, now = (_limits(decisions) for decisions in (one.entry.decisions, plain_decisions(one.step)))
    return any(now[pod] > then[pod] for pod in now.keys() & then.keys())


def _limits(decisions: Iterable[Plain]) -> dict[str, int]:
    """Return the limits below which pods are evicted, by uid; of a damaged decision none."""
    found: dict[str, int] = {}
    for each in decisions:
        with suppress(KeyError, TypeError, InvalidValueError):
            if each["kind"] == "EvictPod":
                found[each["pod"]["uid"]] = parse_quantity(each["because"]["limit"]).value()
    return found


def _print_difference(one: Replayed, to: "Console") -> None:
    """Print the decisions that are not on both sides, and in which words those of a pair differ."""
    then, now = _recorded_texts(one.entry), _decided_texts(one.step)
    only_then, only_now = [each for each in then if each not in now], [each for each in now if each not in then]
    if then == now:
        print_line(to, "  differs: ", ", ".join(_changed_fields(one)))
        return
    if not only_then and not only_now:
        only_then, only_now = then, now  # another order
    for text in only_then or ["nothing" if not then else "nothing else"]:
        print_line(to, "  - then: ", text)
    for text in only_now or ["nothing" if not now else "nothing else"]:
        print_line(to, "  + now:  ", text, "bold")
    if len(only_then) == len(only_now) == 1 and (words := changed_words(only_then[0], only_now[0])):
        print_line(to, "  differs: ", words)
    for text in _changed_kinds(one):
        print_line(to, "  differs: ", text)


def print_replayed(replayed: Sequence[Replayed], to: "Console", *, other: bool) -> None:
    """Print the entries that came out differently, and how many; `print_victims` says what that means."""
    different = [one for one in replayed if not one.same]
    first: dict[str, int] = {}
    """The clock of the first cycle of each recorded time, which is a whole second."""
    for one in replayed:
        first.setdefault(one.entry.wall, one.entry.now)
    end = _first_kept(replayed, _victims(then_and_now(replayed, _refusals(replayed)))) if other and different else None
    # With another configuration those with the same decisions for other amounts are in the count alone.
    shown = [not one.same and not (other and _only_for_other_numbers(one)) for one in replayed]
    beyond = [] if end is None else list(compress(replayed[end + 1 :], shown[end + 1 :]))
    for one in compress(replayed, shown):
        if beyond and one is beyond[0]:
            if len(beyond) > _SHOWN_BEYOND and not any(recorded_victims(plain_decisions(each.step)) for each in beyond):
                less = f"{len(beyond)} more entries differ, by readings after an eviction that would not have been"
                print_line(to, "", f"{less}; --output json has them.", "bold yellow")
                break
            mark = "From here on the readings are those after an eviction that would not have been:"
            print_line(to, "", mark, "bold yellow")
        after = one.entry.now - first[one.entry.wall]
        later = f" ({duration_text(after)} after the first cycle of that second)" if after > 0 else ""
        to.print(f"at {clean(one.entry.wall)}{later}", style="bold cyan")
        _print_difference(one, to)
    would = "would have been" if other else "is" if len(different) == 1 else "are"
    entries = "1 entry" if len(replayed) == 1 else f"{len(replayed)} entries"
    measured = sum(map(_only_measures_otherwise, different))
    reasons = sum(map(_only_for_other_numbers, different))
    reports = sum(map(_only_reports_otherwise, different))
    only = [
        (measured, "what is measured"),
        (reasons, "the threshold and the amounts that are the reason"),
        (reports, "the node conditions that are reported"),
    ]
    parts = [f"{'that' if count == 1 == len(different) else count} only in {what}" for count, what in only if count]
    alone = f" ({', '.join(parts)})" if parts else ""
    earlier = ", but a threshold would have been met earlier" if _earlier_text(replayed) else ""
    verdict = f"{entries}, {len(different)} {would} decided differently{alone}{earlier}"
    to.print(verdict, style="bold yellow" if different or earlier else "bold green")
    if kept := [one.formula.value for one in replayed if one.formula is not None]:
        text = f"memory.available of {counted(len(kept), 'record')} is as recorded, by memory.formula {kept[0]}: "
        print_line(to, "", f"{text}the journal has no reading by the other formula.", "bold yellow")


def print_victims(replayed: Sequence[Replayed], to: "Console", *, other: bool, sooner: bool) -> None:
    """Print whether other pods are chosen, and of what the readings say nothing."""
    different = any(not one.same for one in replayed)
    if different:
        print_line(to, "", victims_text(replayed, sooner=sooner), "bold")
    if earlier := _earlier_text(replayed):
        print_line(to, "", earlier, "bold yellow")
    termination = replayed[-1].pod_termination if replayed else None
    if other and (refused := _refusals(replayed).text(termination)):
        print_line(to, "", refused, "bold yellow")
    if not different:
        return
    as_recorded = (
        "The readings after the first of them are as recorded: what another decision leads to is not in a journal."
    )
    changed = (
        "Another version or policy wrote this journal, or it was changed: with the same rules each entry is equal."
    )
    print_line(to, "", as_recorded if other else changed)


def replay_document(replayed: Sequence[Replayed], unrecorded: Sequence[str]) -> Document:
    """Make the document of a replay: what was recorded and what is decided now, for every entry.

    `unrecorded` are the thresholds and settings that could have acted between the recorded cycles.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "Replay",
        "different": sum(not one.same for one in replayed),
        "unrecorded": list(unrecorded),
        "victims": victims_text(replayed, sooner=bool(unrecorded)),
        "refused": [{"wall": wall, "pod": pod} for (wall, _), pod in _refusals(replayed).refused.items()],
        "entries": [
            {
                "wall": one.entry.wall,
                "same": one.same,
                "recorded": list(one.entry.decisions),
                "decided": plain_decisions(one.step),
                "metEarlier": [
                    {"threshold": each.threshold, "seconds": round(each.seconds, 1)}
                    for each in met_earlier(one.entry, one.step.findings)
                ],
            }
            for one in replayed
        ],
    }
