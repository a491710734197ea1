"""Says in one sentence why this pod was evicted and not another, from the findings of the cycle that chose it.

The findings are those of the core, in the form in which the journal has them: the ranking with its keys, and which pods were
passed over. A pod is compared with the nearest one after it that may be evicted (`contender`); the first key in which the two
differ has decided. `why`, `history`, `status`, the page, the log and the pod's event show the same sentence.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from evictd.codec.decision import encode_decision, encode_finding
from evictd.core.frozen import frozen
from evictd.core.model.decision import Decision, EvictionReason, EvictPod
from evictd.core.model.finding import Finding, PodSkipped, RankedPod, Ranking, SkipReason
from evictd.core.model.signal import DISKS, Resource
from evictd.render.contender import HOST_PATHS_APART, Contender, against, contender, recorded_contender
from evictd.render.text import counted

Plain = Mapping[str, Any]

PASSED_OVER = {
    SkipReason.IN_FLIGHT: "it ends already",
    SkipReason.NOT_MEASURED: "its usage of what is short is not known",
    SkipReason.USES_NOTHING: "as far as it was measured it uses none of what is short",
    SkipReason.BUDGET: "a disruption budget refused its eviction",
    SkipReason.OWNER: "its owner recreates it here after each eviction",
    SkipReason.UNNECESSARY: "its end would free too little, or not for long",
    SkipReason.STALLS_LITTLE: "no pod stalls as much as the node does, pods at their own limit apart, so no end of one helps",
    SkipReason.EVICTIONS_PAUSED: "the last evictions did not help, and it holds too little to help now",
}
"""Why a pod that ranks before the victim was not chosen."""
_OF_MANY = {
    SkipReason.NOT_MEASURED: "their usage of what is short is not known",
    SkipReason.USES_NOTHING: "as far as they were measured they use none of what is short",
    SkipReason.BUDGET: "disruption budgets refused their evictions",
    SkipReason.OWNER: "their owners recreate them here after each eviction",
    SkipReason.EVICTIONS_PAUSED: "the last evictions did not help, and they hold too little to help now",
}
"""The same of several pods, where that differs."""
_THEN = {
    SkipReason.IN_FLIGHT: "it was ending already",
    SkipReason.NOT_MEASURED: "its usage of what was short was not known",
    SkipReason.USES_NOTHING: "as far as it was measured it used none of what was short",
    SkipReason.OWNER: "its owner had recreated it here after each eviction",
    SkipReason.UNNECESSARY: "its end would have freed too little, or not for long",
    SkipReason.STALLS_LITTLE: "no pod stalled as much as the node did, so no end of one would have helped",
    SkipReason.EVICTIONS_PAUSED: "the last evictions had not helped, and it held too little to help",
}
"""The same of one pod at an earlier time, where that differs."""
_NOT_COUNTED = {
    SkipReason.USES_NOTHING: HOST_PATHS_APART,
    SkipReason.UNNECESSARY: "; an image that it alone uses, which can be deleted after its end, does not count",
}
"""Of a disk, what the usage of a pod does not include."""


def passed_over_because(reason: SkipReason, resource: Resource | None, *, many: bool = False) -> str:
    """Return why a pod, or `many`, was passed over; of a disk with what does not count, which may be the cause."""
    because = _OF_MANY.get(reason) if many else None
    return (because or PASSED_OVER[reason]) + (_NOT_COUNTED.get(reason, "") if resource in DISKS else "")


def evicted_because(
    decision: Plain, findings: Iterable[Plain], *, dry_run: bool = False, for_tenant: bool = False
) -> str:
    """Return the sentence for an eviction and the findings of its cycle, as the journal has both.

    Empty for an eviction because of a pod's own limit, whose message says everything, and where the findings do not have the pod.
    """
    try:
        sentence = _sentence(decision, tuple(findings), namespace=decision["pod"]["namespace"] if for_tenant else "")
    except (KeyError, TypeError, ValueError, AttributeError):  # a damaged record is no error
        return ""
    return f"{_verb(dry_run=dry_run)} {sentence}." if sentence else ""


def _verb(*, dry_run: bool) -> str:
    return "Would evict" if dry_run else "Evicted"


def reasons_of(
    decisions: Iterable[Decision], findings: Iterable[Finding], *, dry_run: bool = False, for_tenant: bool = False
) -> dict[str, str]:
    """Return the sentence of each eviction of a cycle that has one, by the pod's uid; empty without an eviction.

    With `for_tenant` pods of other namespaces have no names: who may read the events of a namespace need not know of them. A
    budget that had refused the eviction is named: it is theirs.
    """
    evictions = [each for each in decisions if isinstance(each, EvictPod)]
    if not evictions:
        return {}
    found = [encode_finding(each) for each in findings if isinstance(each, Ranking | PodSkipped)]
    sentences = dict[str, str]()
    for each in evictions:
        plain = encode_decision(each)
        why = evicted_because(plain, found, dry_run=dry_run, for_tenant=for_tenant)
        before = refused_before(plain) if for_tenant else ""
        sentences[each.pod.uid] = " ".join(filter(None, (why, before)))
    return {uid: sentence for uid, sentence in sentences.items() if sentence}


def refused_before(decision: Plain) -> str:
    """Write that a disruption budget had refused an eviction; empty where none had."""
    return "A disruption budget had refused it before." if decision.get("refusedSince") is not None else ""


@frozen
class PlaceThen:
    """A pod's place in the order of eviction, counted from 1, when another pod was evicted."""

    victim: str
    """`namespace/name` of the evicted pod."""
    signal: str
    number: int
    """Counted without the pods that are never evicted; 0 for one of them."""
    pods: int
    """The number of pods without those; of a long order the pods that are not recorded count as well."""
    dry_run: bool
    why: str
    """Why it was not chosen."""
    first: tuple[str, ...] = ()
    """The pods that were before it, where the evicted one was."""


def place_then(decision: Plain, findings: Iterable[Plain], pod: str, *, dry_run: bool) -> PlaceThen | None:
    """Return the place of a pod, `namespace/name`, at the eviction of another one; `None` where the record does not tell it."""
    found = tuple(findings)
    try:
        ranked = _ranked(decision, found, "")
        index = next((number for number, row in enumerate(ranked.rows) if row.name == pod), None) if ranked else None
        if ranked is None or index is None or index == ranked.index:
            return None
        return PlaceThen(
            victim=ranked.rows[ranked.index].name,
            signal=decision["because"]["signal"],
            number=0 if ranked.rows[index].protected else sum(not row.protected for row in ranked.rows[: index + 1]),
            pods=ranked.pods - sum(row.protected for row in ranked.rows),
            dry_run=dry_run,
            why=_not_chosen(ranked, index, _skipped(found), dry_run=dry_run),
            first=tuple(row.name for row in ranked.rows[: index if index > ranked.index else 0] if not row.protected),
        )
    except (KeyError, TypeError, ValueError, AttributeError):  # a damaged record is no error
        return None


def _not_chosen(ranked: "_Ranked", index: int, skipped: Mapping[str, SkipReason], *, dry_run: bool) -> str:
    """Return why a pod of the order was not the victim."""
    row, victim = ranked.rows[index], ranked.rows[ranked.index]
    if row.protected:
        return "it is never evicted"
    if reason := skipped.get(row.uid):
        not_counted = _NOT_COUNTED.get(reason, "") if ranked.resource in DISKS else ""
        return f"passed over: {_THEN.get(reason, PASSED_OVER[reason])}{not_counted}"
    nearest = row is _rival(ranked.rows, ranked.index, skipped)
    why = against(victim, row, ranked.resource, nearest=nearest)
    return f"{_verb(dry_run=dry_run)} {victim.named(ranked.resource, ranked.age)}: {why}."


@frozen
class _Ranked:
    """The recorded order behind a victim, its `index`, and the `age` of its usage; `pods` counts those left out too."""

    rows: Sequence[Contender]
    index: int
    pods: int
    resource: Resource
    age: int | None


def _ranked(decision: Plain, findings: Sequence[Plain], namespace: str) -> _Ranked | None:
    """Return the order behind an eviction for pressure; `None` for others, and where the findings do not have the pod."""
    because, uid = decision["because"], decision["pod"]["uid"]
    if because["reason"] != EvictionReason.PRESSURE.value or decision["shortens"]:
        return None
    for finding in findings:
        if finding["kind"] != "Ranking" or finding["signal"] != because["signal"]:
            continue
        rows = [recorded_contender(row, namespace) for row in finding["rows"]]
        index = next((number for number, row in enumerate(rows) if row.uid == uid), None)
        if index is not None:
            pods, age = finding.get("pods", len(rows)), because.get("usageAgeNanoseconds")
            return _Ranked(rows=rows, index=index, pods=pods, resource=Resource(finding["resource"]), age=age)
    return None


def _sentence(decision: Plain, findings: Sequence[Plain], *, namespace: str) -> str:
    if (ranked := _ranked(decision, findings, namespace)) is None:
        return ""
    why = _why(ranked.rows, ranked.index, ranked.resource, _skipped(findings), complete=ranked.pods <= len(ranked.rows))
    return f"{ranked.rows[ranked.index].named(ranked.resource, ranked.age)}: {why}" if why else ""


def _skipped(findings: Iterable[Plain]) -> dict[str, SkipReason]:
    """Return why each pod was passed over, by its uid."""
    return {each["pod"]["uid"]: SkipReason(each["reason"]) for each in findings if each["kind"] == "PodSkipped"}


def _why(
    rows: Sequence[Contender], index: int, resource: Resource, skipped: Mapping[str, SkipReason], *, complete: bool
) -> str:
    """Return a sentence: which pods before the victim were passed over, else which key puts it before its nearest rival."""
    before = [row for row in rows[:index] if skipped.get(row.uid, SkipReason.IN_FLIGHT) is not SkipReason.IN_FLIGHT]
    if before:
        return _instead(before, resource, skipped)
    if (rival := _rival(rows, index, skipped)) is None:
        return "no other pod of this node may be evicted for it" if complete else ""
    return against(rows[index], rival, resource)


def instead_of_others(
    rows: Iterable[RankedPod], victim: RankedPod, skipped: Mapping[str, SkipReason], resource: Resource
) -> str:
    """Return why the pods that rank before a victim are passed over, by their uids; empty where none is."""
    before = [row for row in takewhile(lambda row: row.uid != victim.uid, rows) if row.uid in skipped]
    if not before:
        return ""
    holds = f"it holds {contender(victim).amount(resource)}; "
    unnecessary = skipped[before[-1].uid] is SkipReason.UNNECESSARY
    return f"{holds if unnecessary else ''}{_instead([contender(row) for row in before], resource, skipped)}"


def _rival(rows: Sequence[Contender], index: int, skipped: Mapping[str, SkipReason]) -> Contender | None:
    """Return the nearest pod after the victim that could have been evicted instead."""
    return next((row for row in rows[index + 1 :] if not row.protected and row.uid not in skipped), None)


def _instead(before: Sequence[Contender], resource: Resource, skipped: Mapping[str, SkipReason]) -> str:
    nearest = before[-1]
    reason = skipped[nearest.uid]
    others = sum(skipped[row.uid] is reason for row in before) - 1
    names = nearest.named(resource) + (f" and {counted(others, 'other pod')}" if others else "")
    ranks = "rank" if others else "ranks"
    if reason is SkipReason.UNNECESSARY:
        return f"the end of {names}, which {ranks} before it, would free too little, or not for long"
    passed = f"{'are' if others else 'is'} passed over: {passed_over_because(reason, resource, many=bool(others))}"
    return f"{names}, which {ranks} before it, {passed}"
