"""Says in one sentence why this pod was evicted and not another, from the findings of the cycle that chose it.

The findings are those of the core, in the form in which the journal has them: the ranking with its keys, and which pods were
passed over. A pod is compared with the nearest one after it that may be evicted; the first key in which the two differ has
decided. Nothing is ranked here. `why`, `history`, `status`, the page, the log and the pod's event show the same sentence.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from evictd.codec.decision import encode_decision, encode_finding
from evictd.core.frozen import frozen
from evictd.core.model.decision import Decision, EvictionReason, EvictPod
from evictd.core.model.finding import Finding, PodSkipped, RankedPod, Ranking, RankPlace, SkipReason, Standing
from evictd.core.model.signal import DISKS, WITH_REQUEST, Resource
from evictd.core.units.approximate import share_text
from evictd.core.units.quantity import NANO
from evictd.render.text import amount_text, clean, counted, duration_text, usage_text

Plain = Mapping[str, Any]

PASSED_OVER = {
    SkipReason.IN_FLIGHT: "it ends already",
    SkipReason.NOT_MEASURED: "its usage of what is short is not known",
    SkipReason.USES_NOTHING: "as far as it was measured it uses none of what is short",
    SkipReason.BUDGET: "a disruption budget refused its eviction",
    SkipReason.OWNER: "its owner recreates it here after each eviction",
    SkipReason.UNNECESSARY: "its end would free too little",
    SkipReason.STALLS_LITTLE: "no pod stalls as much as the node does, pods at their own limit apart, so no end of one helps",
    SkipReason.EVICTIONS_PAUSED: "the last evictions did not help, and it holds too little to help now",
}
"""Why a pod that ranks before the victim was not chosen."""
_NOT_COUNTED = {
    SkipReason.USES_NOTHING: " (hostPath volumes are not measured)",
    SkipReason.UNNECESSARY: "; an image that it alone uses, which can be deleted after its end, does not count",
}
"""Of a disk, what the usage of a pod does not include."""


def passed_over_because(reason: SkipReason, resource: Resource | None) -> str:
    """Return why a pod was passed over; of a disk with what does not count, which may be the cause."""
    return PASSED_OVER[reason] + (_NOT_COUNTED.get(reason, "") if resource in DISKS else "")


@frozen
class Contender:
    """One row of a ranking: a pod with the keys that put it where it is. `usage` is `None` where it was not measured."""

    name: str
    uid: str
    usage: int | None
    request: int
    exceeds: bool
    preference: int
    priority: int
    stall: int | None
    stalls_little: bool
    protected: bool

    def amount(self, resource: Resource) -> str:
        """Write what it uses: `249Mi`, `20 processes`."""
        if self.usage is None:
            return "not measured"
        return usage_text(self.usage, resource)

    def named(self, resource: Resource, age: int | None = None) -> str:
        """Write its name with what it uses, or used `age` nanoseconds before."""
        before = "" if age is None or self.usage is None else f" {duration_text(age)} before"
        return f"{self.name} ({self.amount(resource)}{before})"


def contender(row: RankedPod) -> Contender:
    """Convert a row of the core."""
    return Contender(
        name=clean(row.pod.full_name),
        uid=row.uid,
        usage=row.usage,
        request=row.request // NANO,
        exceeds=row.standing is Standing.EXCEEDS,
        preference=row.preference,
        priority=row.priority,
        stall=row.stall,
        stalls_little=row.place is RankPlace.LAST and row.usage is not None,
        protected=row.pod.critical,
    )


def _recorded(row: Plain, namespace: str) -> Contender:
    """Read a row; with a namespace, pods of others have no name."""
    known = namespace in {"", row["namespace"]}
    return Contender(
        name=clean(f"{row['namespace']}/{row['name']}") if known else "a pod of another namespace",
        uid=row["uid"],
        usage=row["usage"],
        request=row["request"],
        exceeds=bool(row["exceedsRequest"]),
        preference=row.get("preference", 0),
        priority=row["priority"],
        stall=row.get("stall"),
        stalls_little=row.get("stallsLittle", False),
        protected=row["protected"],
    )


# --- one key ----------------------------------------------------------------------------------------------------------


def deciding_key(pod: Contender, rival: Contender, resource: Resource) -> str:
    """Return the first ranking key in which a pod differs from a later one, with both numbers."""
    return _key(pod, rival, resource, theirs=f" of {rival.name}")


def _key(pod: Contender, rival: Contender, resource: Resource, *, theirs: str) -> str:
    if pod.exceeds != rival.exceeds or (pod.usage is None and rival.usage is not None):
        return _standing(pod, rival, resource)
    if pod.preference != rival.preference:
        return (
            "the configuration prefers to evict it" if pod.preference < 0 else f"the configuration avoids {rival.name}"
        )
    if pod.priority != rival.priority:
        return f"its priority {pod.priority} is below {rival.priority}{theirs}"
    if rival.usage is None and pod.usage is not None:
        return f"{rival.name} is not measured"
    if pod.stalls_little != rival.stalls_little:
        return f"it stalls {share_text(pod.stall or 0)} of the time, {rival.name} {share_text(rival.stall or 0)}"
    return _usage(pod, rival, resource)


def _standing(pod: Contender, rival: Contender, resource: Resource) -> str:
    if pod.usage is None:
        return f"it is not measured, {rival.name} is"
    if rival.usage is None:
        return f"{rival.name} is not measured"
    if resource not in WITH_REQUEST:
        return f"it uses {pod.amount(resource)}, {rival.name} none"
    if not rival.request:
        unmeasured = _NOT_COUNTED[SkipReason.USES_NOTHING] if resource in DISKS else ""
        return f"it {_excess(pod, resource)}, while {rival.name} uses none{unmeasured}"
    return f"it {_excess(pod, resource)}, while {rival.name} does not exceed its {'own' if pod.request else 'request'}"


def _usage(pod: Contender, rival: Contender, resource: Resource) -> str:
    if pod.usage is None or rival.usage is None:
        return f"neither it nor {rival.name} is measured, so the name decides"
    if pod.usage - pod.request == rival.usage - rival.request:
        return f"it is equal to {rival.name}, so the name decides"
    if resource not in WITH_REQUEST:
        return f"it uses {pod.amount(resource)}, {rival.name} {rival.amount(resource)}"
    if pod.exceeds:
        return _greater_excess(pod, rival, resource)
    if pod.usage == pod.request:
        same = "uses what it requests" if pod.request else "uses and requests none"
        return f"it {same}, {rival.name} is {_distance(rival, resource)} within its request"
    return f"it is {_distance(pod, resource)} within its request, {rival.name} {_distance(rival, resource)}"


def _greater_excess(pod: Contender, rival: Contender, resource: Resource) -> str:
    if not pod.request and not rival.request:
        return f"it uses {pod.amount(resource)}, {rival.name} only {rival.amount(resource)}; both request none"
    if pod.request and rival.request:
        return f"it {_excess(pod, resource)}, {rival.name} by only {_distance(rival, resource)}"
    return f"it {_excess(pod, resource)}, while {rival.name} {_excess(rival, resource, only='only ')}"


def _excess(pod: Contender, resource: Resource, only: str = "") -> str:
    if not pod.request:
        return f"requests none and uses {only}{pod.amount(resource)}"
    return f"exceeds its request by {only}{_distance(pod, resource)}"


def _distance(pod: Contender, resource: Resource) -> str:
    return amount_text(abs((pod.usage or 0) - pod.request), resource)


# --- the sentence -----------------------------------------------------------------------------------------------------


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


_EVICTED = "Evicted"


def _verb(*, dry_run: bool) -> str:
    return "Would evict" if dry_run else _EVICTED


def chosen_because(why: str) -> str:
    """Return the sentence of an eviction for a pod that is still there: it is chosen, and not evicted yet."""
    return f"Chosen{why.removeprefix(_EVICTED)}" if why.startswith(f"{_EVICTED} ") else why


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
        )
    except (KeyError, TypeError, ValueError, AttributeError):  # a damaged record is no error
        return None


def _not_chosen(ranked: "_Ranked", index: int, skipped: Mapping[str, SkipReason], *, dry_run: bool) -> str:
    """Return why a pod of the order was not the victim."""
    row, victim = ranked.rows[index], ranked.rows[ranked.index]
    if row.protected:
        return "it is never evicted"
    if reason := skipped.get(row.uid):
        return f"passed over: {passed_over_because(reason, ranked.resource)}"
    nearest = row is _rival(ranked.rows, ranked.index, skipped)
    why = _against(victim, row, ranked.resource, nearest=nearest)
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
        rows = [_recorded(row, namespace) for row in finding["rows"]]
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
    return _against(rows[index], rival, resource)


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


def is_tie(row: RankedPod, rival: RankedPod) -> bool:
    """Whether two pods are equal in every key of a ranking but their names."""
    pod, other = contender(row), contender(rival)
    if pod.exceeds != other.exceeds or not _same_but_usage(pod, other):
        return False
    if pod.usage is None or other.usage is None:
        return pod.usage is other.usage
    return pod.usage - pod.request == other.usage - other.request


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
        return f"the end of {names}, which {ranks} before it, would free too little"
    passed = f"{'are' if others else 'is'} passed over: {passed_over_because(reason, resource)}"
    return f"{names}, which {ranks} before it, {passed}"


def _against(pod: Contender, rival: Contender, resource: Resource, *, nearest: bool = True) -> str:
    """Compare with a rival, if not said otherwise the nearest; common keys come first, so that the deciding key stands out."""
    named = rival.named(resource)
    if resource not in WITH_REQUEST or pod.exceeds != rival.exceeds or pod.usage is None or rival.usage is None:
        return _key(pod, rival, resource, theirs=f" of {named}")
    common = f"both it and {named} {'exceed' if pod.exceeds else 'are within'} their request"
    if _same_but_usage(pod, rival) and pod.usage - pod.request != rival.usage - rival.request:
        both = f"both have priority {pod.priority}, so the {_deciding_amount(pod, rival)} decides"
        name = f"{rival.name}, the next," if nearest else rival.name
        return f"it {_place(pod, resource)}; {name} {_place(rival, resource)}; {both}"
    return f"{common}, and {_key(pod, rival, resource, theirs='')}"


def _place(pod: Contender, resource: Resource) -> str:
    """Write how a pod stands to its request."""
    if not pod.request:
        return f"requests none and uses {pod.amount(resource)}"
    request = f"request of {amount_text(pod.request, resource)}"
    distance = _distance(pod, resource)
    return f"exceeds its {request} by {distance}" if pod.exceeds else f"is {distance} within its {request}"


def _deciding_amount(pod: Contender, rival: Contender) -> str:
    """Return which of the two amounts that `_place` writes makes a pod rank first."""
    if not pod.exceeds:
        return "smaller distance"
    return "larger excess" if pod.request or rival.request else "larger use"


def _same_but_usage(pod: Contender, rival: Contender) -> bool:
    keys = (pod.preference, pod.priority, pod.stalls_little)
    return keys == (rival.preference, rival.priority, rival.stalls_little)
