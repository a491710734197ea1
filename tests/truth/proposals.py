"""Reads the proposals of an incident, changes the world file as a user would, and says what did not come as it was promised."""

import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from evictd.core.units.duration import SECOND
from evictd.core.units.quantity import parse_quantity
from evictd.render.incident.record.incident import Incident
from evictd.render.incident.remedy.avoidance import avoidance
from tests.truth.played import Ended, Played, ended_of, run_of

_LASTS = 60 * SECOND
"""For how long after the eviction a proposal that avoids it has to keep the pod."""
_NO_POD = "no pod"
_GROWING = {"grow", "burst", "leakAndRelease", "takeRest"}
Document = dict[str, Any]
Verified = Callable[["Case", re.Match[str]], str | None]


class Case(NamedTuple):
    """One incident of a world."""

    world: Played
    decided: Ended
    found: Incident


class Claim(NamedTuple):
    """A sentence of an incident, its kind, and what is wrong with it: empty where it held."""

    kind: str
    text: str
    wrong: str


def claims_of(case: Case) -> list[Claim]:
    """Return the proposals of an incident that can be tried, and what became of each."""
    avoided, claims = avoidance(case.found), list[Claim]()
    if (first := case.found.first) is not None:
        began = next(each for each, found in case.world.incidents if found.event.uid == first.event.uid)
        case = case._replace(decided=began, found=first)
    for sign, texts in (("by", avoided.by), ("not by", avoided.not_by)):
        for told in texts:
            text = re.sub(r"^at the eviction of \S+ at \S+: ", "", told)
            for kind, (where, pattern, verify) in _KINDS.items():
                if where in {sign, ""} and (match := re.search(pattern, text)):
                    wrong = verify(case, match)
                    if wrong is not None:
                        claims.append(Claim(kind, text, wrong))
                    break
            else:
                claims.append(Claim(f"untried, {sign}", text, ""))
    return claims


# --- the world as a user changes it -----------------------------------------------------------------------------------


def entry_of(document: Document, pod: str) -> Document:
    """Return the entry of a world file of which a pod, `namespace/name`, is one or a successor of one."""
    name = pod.partition("/")[2]
    for each in sorted(document["pods"], key=lambda each: -len(each["name"])):
        if re.fullmatch(re.escape(each["name"]) + r"(-\d+)*", name):
            return each  # type: ignore[no-any-return]
    raise LookupError(pod)


def of_owner(document: Document, owner: str) -> list[Document]:
    return [each for each in document["pods"] if each.get("owner") == owner]


def bytes_of(text: str) -> int:
    return parse_quantity(text).value()


def limit(entry: Document, resource: str, most: str) -> None:
    """Set a limit; the API server sets a request of the same amount where there is none."""
    amount = f"{bytes_of(most)}"
    entry.setdefault("limits", {})[resource] = amount
    asked = entry.setdefault("requests", {}).get(resource)
    if asked is None or bytes_of(asked) > int(amount):
        entry["requests"][resource] = amount


def stop_growth(entry: Document) -> None:
    entry["behaviours"] = [each for each in entry["behaviours"] if not _GROWING & each.keys()]


# --- what is promised -------------------------------------------------------------------------------------------------


def _again(case: Case, change: Callable[[Document], object]) -> tuple[Ended, ...] | None:
    """Return the evictions of the world with a change; `None` where the changed file is no valid world."""
    document = deepcopy(case.world.document)
    until = (case.decided.at + _LASTS) // SECOND + 1
    document["duration"] = f"{min(until, case.world.run.world.duration // SECOND)}s"
    change(document)
    return ended_of(run_of(document))


def _slot(case: Case, pod: str) -> int:
    return id(entry_of(case.world.document, pod))


def _kept(case: Case, ended: Iterable[Ended]) -> str:
    """Return that the pod went all the same, with a predecessor or a successor; empty where it did not."""
    mine = case.decided
    for each in ended:
        if each.resource is mine.resource and each.at <= mine.at + _LASTS and _same(case, each.pod, mine.pod):
            when = (each.at - mine.at) / SECOND
            return f"{each.pod} went all the same, {when:+.0f} s" + ("" if each.pod == mine.pod else " (other)")
    return ""


def _same(case: Case, one: str, other: str) -> bool:
    return one == other or (
        _slot(case, one) == _slot(case, other) and entry_of(case.world.document, one).get("count", 1) == 1
    )


def _went(case: Case, ended: Iterable[Ended]) -> str:
    """Return the first pod that was evicted for the same supply within the second of the incident, or `_NO_POD`."""
    mine = case.decided
    first = next((each for each in ended if each.at >= mine.at and each.resource is mine.resource), None)
    return first.pod if first is not None and first.at <= mine.at + SECOND // 2 else _NO_POD


def _differs_before(case: Case, ended: Iterable[Ended]) -> bool:
    def before(found: Iterable[Ended]) -> list[tuple[int, str]]:
        return [(each.at, each.pod) for each in found if each.at < case.decided.at]

    return before(ended) != before(case.world.ended)


def _with_limit(case: Case, match: re.Match[str]) -> str | None:
    most, resource = match["most"], match["resource"]
    pod = (match.groupdict().get("pod") or case.decided.pod) if "pod" in match.groupdict() else case.decided.pod
    return _kept(case, _again(case, lambda d: limit(entry_of(d, pod), resource, most)) or ())


def _grower_limit(case: Case, match: re.Match[str]) -> str | None:
    grower = case.found.grower
    pod = "" if grower is None else grower.pod
    return _kept(case, _again(case, lambda d: limit(entry_of(d, pod), match["resource"], match["most"])) or ())


def _limits(case: Case, match: re.Match[str]) -> str | None:
    def change(document: Document) -> None:
        for most, of, name in re.findall(r"(\S+) of (each pod of )?(\S+?)(?:,|$)", match["all"]):
            for each in of_owner(document, name) if of else [entry_of(document, name)]:
                limit(each, match["resource"], most)

    return _kept(case, _again(case, change) or ())


def _with_request(case: Case, match: re.Match[str]) -> tuple[Ended, ...] | None:
    def change(document: Document) -> None:
        entry_of(document, case.decided.pod).setdefault("requests", {})[match["resource"]] = str(
            bytes_of(match["asked"])
        )

    entry = entry_of(case.world.document, case.decided.pod)
    if match["resource"] in entry.get("limits", {}):
        return None
    ended = _again(case, change)
    return None if ended is None or _differs_before(case, ended) else ended


def _instead(case: Case, match: re.Match[str]) -> str | None:
    if " of the same owner " in match[0]:  # a world file has one request for all pods of an owner
        return None
    if case.found.first_asked is not None or (ended := _with_request(case, match)) is None:
        return None
    went = _went(case, ended)
    return "" if went == match["other"] else f"{went} went, not {match['other']}"


def _the_same(case: Case, match: re.Match[str]) -> str | None:
    if (ended := _with_request(case, match)) is None:
        return None
    went = _went(case, ended)
    return "" if went == case.decided.pod else f"{went} went"


def _no_pod(case: Case, match: re.Match[str]) -> str | None:
    if (ended := _with_request(case, match)) is None:
        return None
    went = _went(case, ended)
    return "" if went == _NO_POD else f"{went} went"


def _past_request(case: Case, match: re.Match[str]) -> str | None:
    if (ended := _with_request(case, match)) is None:
        return None
    mine = case.decided
    soon = (each for each in ended if mine.at <= each.at <= mine.at + 3 * SECOND and each.pod == mine.pod)
    return "" if next(soon, None) else "it did not go within 3 s"


def _priority(case: Case, match: re.Match[str]) -> str | None:
    def change(document: Document) -> None:
        entry_of(document, case.decided.pod)["priority"] = int(match["above"]) + 1

    ended = _again(case, change)
    if ended is None or _differs_before(case, ended):
        return None
    went = _went(case, ended)
    return "" if went == match["other"] else f"{went} went, not {match['other']}"


def _soft(case: Case, match: re.Match[str]) -> str | None:
    ended = _with_soft(case, match["amount"], match["grace"])
    mine, earlier = case.decided, int(match["earlier"]) * SECOND
    if any(each.at < mine.at for each in case.world.ended):
        return None  # they would have been others
    went = [(mine.at - each.at) / SECOND for each in ended if each.resource is mine.resource]
    near = any(abs(each - earlier / SECOND) <= 12 for each in went)
    return "" if near else f"they went {', '.join(f'{each:.0f}' for each in went)} s earlier"


def _with_soft(case: Case, amount: str, grace: str) -> tuple[Ended, ...]:
    signal = case.found.signal

    def change(document: Document) -> None:
        if signal is not None:
            document["config"].setdefault("evictionSoft", {})[signal.value] = str(bytes_of(amount))
            document["config"].setdefault("evictionSoftGracePeriod", {})[signal.value] = grace
            document["config"].setdefault("evictionMaxPodGracePeriod", 30)

    return _again(case, change) or ()


def _smaller_soft(case: Case, match: re.Match[str]) -> str | None:
    signal = case.found.signal
    if signal is None:
        return None
    return _kept(
        case, _with_soft(case, match["amount"], case.world.document["config"]["evictionSoftGracePeriod"][signal.value])
    )


def _smaller_reclaim(case: Case, match: re.Match[str]) -> str | None:
    ended = _again(case, lambda d: d["config"].pop("evictionMinimumReclaim")) or ()
    until = case.decided.at + _LASTS
    fewer = sum(each.at <= until for each in ended) < sum(each.at <= until for each in case.world.ended)
    return "" if fewer else "no fewer pods went"


def _less_growth(case: Case, match: re.Match[str]) -> str | None:
    names = re.findall(r"default/[\w-]+", match["names"])

    def change(document: Document) -> None:
        for name in names:
            stop_growth(entry_of(document, name))
        for each in document.get("host", ()) if "belongs to no pod" in match["names"] else ():
            stop_growth(each)

    return _kept(case, _again(case, change) or ()) if names else None


def _pids(case: Case, match: re.Match[str]) -> str | None:
    return _kept(case, _again(case, lambda d: d["config"].update(podPidsLimit=int(match["most"]))) or ())


def _mended(case: Case, match: re.Match[str]) -> str | None:
    def change(document: Document) -> None:
        for each in of_owner(document, match["owner"]):
            stop_growth(each)

    return _kept(case, _again(case, change) or ())


def _outside(case: Case, match: re.Match[str]) -> str | None:
    def change(document: Document) -> None:
        for each in document.get("host", ()):
            stop_growth(each)
        for each in document["pods"]:
            each["behaviours"] = [one for one in each["behaviours"] if next(iter(one.values())).get("of") != "hostPath"]

    return _kept(case, _again(case, change) or ())


def _alone(case: Case, match: re.Match[str]) -> str | None:
    """Check that with the limit of one pod alone the node is short all the same, where the world shows it in its time."""
    pod = case.decided.pod if match["pod"] == "this pod" else match["pod"]
    if any(each.pod and each.pod != pod and _slot(case, each.pod) == _slot(case, pod) for each in case.found.growers):
        return None  # a world file has one limit for all pods of an owner

    def change(document: Document) -> None:
        limit(entry_of(document, pod), match["resource"], match["most"])
        document["duration"] = f"{2 * case.world.run.world.duration // SECOND}s"

    ended = _again(case, change) or ()
    return "" if any(each.resource is case.decided.resource for each in ended) else "the node was not short again"


def _overcommit(case: Case, match: re.Match[str]) -> str | None:
    def change(document: Document) -> None:
        for each in of_owner(document, match["owner"]):
            each["count"] = int(match["fit"])

    if len(of_owner(case.world.document, match["owner"])) != 1:
        return None
    return _kept(case, _again(case, change) or ())


def _budget(case: Case, match: re.Match[str]) -> str | None:
    ended = _again(case, lambda d: d.pop("apiServer")) or ()
    went = [each.pod for each in ended if each.at <= case.decided.at]
    return "" if match["other"] in went else f"{went} went"


_R = r"(?P<resource>memory|ephemeral-storage)"
_REQUEST = rf"^a request of (?P<asked>\S+) of {_R} \(it had \S+\): "
_KINDS: dict[str, tuple[str, str, Verified]] = {
    "limit of one alone": (
        "not by",
        rf"limit of at most (?P<most>\S+) of {_R} for (?P<pod>\S+|this pod) alone",
        _alone,
    ),
    "limit of another": (
        "by",
        rf"a limit of at most (?P<most>\S+) of {_R} for it would have been enough",
        _grower_limit,
    ),
    "limit of a protected pod": (
        "by",
        rf"^a limit of at most (?P<most>\S+) of {_R} for (?P<pod>\S+), which exceeds",
        _with_limit,
    ),
    "limit": ("by", rf"^a (request and a )?limit of at most (?P<most>\S+) of {_R}:", _with_limit),
    "limits": ("by", rf"limits of {_R} of at most (?P<all>.*?): (the kernel|each)", _limits),
    "request, another goes": (
        "",
        rf"{_REQUEST}(?P<other>default/[\w-]+)(?: \([^)]*\)| of the same owner)? would have gone (in its place|first)",
        _instead,
    ),
    "request, the same": ("not by", rf"{_REQUEST}it would have gone all the same, because", _the_same),
    "request, passed soon": ("not by", rf"{_REQUEST}it would have gone all the same, within a second", _past_request),
    "request, no pod": ("not by", rf"{_REQUEST}evictd would have ended no pod at that moment", _no_pod),
    "priority": ("", r"a priority above (?P<above>-?\d+): (?P<other>default/[\w-]+)", _priority),
    "soft threshold, smaller": ("by", r"a soft threshold of at most (?P<amount>\S+) \(", _smaller_soft),
    "soft threshold, earlier": (
        "not by",
        r"a soft threshold of (?P<amount>\S+).* grace period of (?P<grace>\S+): .* the same, (?P<earlier>\d+) s earlier",
        _soft,
    ),
    "minimum reclaim": ("by", r"^a smaller minimum reclaim: fewer", _smaller_reclaim),
    "less growth": (
        "by",
        r"^less growth of (?:all that grew: )?(?P<names>.*?)(: | together|, or less|$)",
        _less_growth,
    ),
    "podPidsLimit": ("by", r"podPidsLimit of the kubelet of at most (?P<most>\d+)", _pids),
    "owner mended": ("by", r"^(?P<owner>\w+/[\w-]+) mended or kept off", _mended),
    "outside pods": ("by", r"^less use outside pods", _outside),
    "overcommitted": (
        "by",
        r"in all pods of (?P<owner>[^\s:,]+)(?: \(.*?\))?: .* no more than (?P<fit>\d+) of them here",
        _overcommit,
    ),
    "budget": ("by", r"a disruption budget that lets (?P<other>\S+) go", _budget),
}
