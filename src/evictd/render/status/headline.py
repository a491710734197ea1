"""Says the state of a node in one sentence for the page, from the document of `/statusz`."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evictd.core.frozen import frozen
from evictd.core.model.amount_text import noun_of
from evictd.core.model.config import Policy
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.state import PhaseName
from evictd.render.status.kernel_killed import kernel_killed_text
from evictd.render.status.last_action import (
    avoided_text,
    last_eviction,
    last_eviction_text,
    last_reclaim,
    last_reclaim_text,
)
from evictd.render.status.leaving_pods import (
    awaited_measurement,
    awaited_pods,
    awaited_text,
    is_overdue,
    leaves_for,
    refused,
)
from evictd.render.status.next_pod import at_threshold_text, goes_if_it_grows, steps_before, while_growing
from evictd.render.status.own_faults import OwnFaultKind, tests_thresholds
from evictd.render.status.owners import nth_text, seconds_ago
from evictd.render.status.page_chart import eviction_marks
from evictd.render.status.proposed import asked_text, refused_lately
from evictd.render.status.remedy.file_pages import goes_despite_pages
from evictd.render.status.remedy.own_limits_text import own_limit_is_first, own_limits_text
from evictd.render.status.remedy_texts import PAGE_CACHE
from evictd.render.status.signal_entry import has_two_readings, is_due, is_pressed
from evictd.render.status.stopped import (
    asked_past_its_budget,
    brief_stop,
    goes_then,
    is_guarded_by_budget,
    past_its_budget,
    paused_until,
)
from evictd.render.status.times.depletion import FORESEEN_SECONDS, Depletion
from evictd.render.status.times.hard_cut import cut_at_hard, next_cut_at_hard
from evictd.render.status.times.timing import approaches, as_before, first_to_act, graces, slowed
from evictd.render.status.times.unread_since import unread_text, was_short
from evictd.render.status.unguarded import NO_THRESHOLDS, ends_soon, guards_memory, unguarded_text
from evictd.render.text import capital, first_of, seconds_text, signal_amount

Document = Mapping[str, Any]
_LATELY = 60
"""Seconds within which a kill by the kernel is what happens now."""
NO_RATE_YET = "how fast signals fall is known from the second reading on"
NO_FALLS: Mapping[str, Depletion] = {}
_Pairs = Sequence[tuple[Document, Document]]
"""Signals with one of their thresholds that is met."""


# --- faults of evictd -------------------------------------------------------------------------------------------------


class OwnFault(NamedTuple):
    """A fault of evictd's own; `detail` is the error as it was reported, `since` an RFC 3339 time, empty if it is not known."""

    kind: OwnFaultKind
    detail: str
    since: str = ""
    may_kill: bool | None = None
    """Without the runtime: whether evictd may kill the processes of pods itself; `None`: unknown."""

    def text(self, status: Document) -> str:
        """What is wrong, for how long and since when, as a sentence."""
        lasts = "" if (ago := seconds_ago(status, self.since)) is None else f"for {seconds_text(ago)}, "
        return f"{self.kind.wrong} ({lasts}since {self.since[11:19]} UTC)." if self.since else f"{self.kind.wrong}."


# --- the sentence -----------------------------------------------------------------------------------------------------


@frozen
class Headline:
    """One sentence and how grave it is: `calm`, `soft`, `hard` or `blind`."""

    text: str
    level: str


def headline(status: Document, faults: Sequence[OwnFault] = (), falls: Mapping[str, Depletion] = NO_FALLS) -> Headline:
    """Return the state of the node in one sentence: not seen, calm, approaching, or acting. A fault does not hide an eviction.

    `falls`: when nothing is left, by signal (`timing.ends`).
    """
    if not faults:
        return _with_own_limits(status, _of_node(status, falls))
    wrong = faults[0].text(status)
    if not tests_thresholds(each.kind for each in faults):
        return Headline(text=f"{wrong}{_last_read(status)}", level="blind")
    of_node = _of_node(status, falls)
    acting = f"{of_node.text} " if _is_acting(status, of_node) else ""
    calm = " No threshold is met." if of_node.level == "calm" else ""
    return Headline(text=f"{acting}{wrong}{calm}", level="blind")


def _with_own_limits(status: Document, of_node: Headline) -> Headline:
    """Return the state of the node and the pods that nearly exceed a limit of their own: such a node is not calm."""
    if not (near := own_limits_text(status)):
        return of_node
    texts = (of_node.text.replace("This node is calm: no", "No"), f"{capital(near)}.")
    level = "soft" if of_node.level == "calm" else of_node.level
    return Headline(text=" ".join(texts[:: -1 if own_limit_is_first(status) else 1]), level=level)


def _last_read(status: Document) -> str:
    """Write after a blank what was below a hard threshold, and which pods were leaving, when it was last known."""
    leaving = [row["pod"] for row in status["leaving"] if not row["gone"]]
    were = "was" if len(leaving) == 1 else "were"
    going = f"{first_of(leaving, 3)} {were} being evicted" if leaving else ""
    hard = [pair for pair in _met(status) if pair[1]["kind"] == "hard" and pair[0]["observed"]]
    short = _below(hard, past=True) if hard else ""
    known = " and ".join(filter(None, (short, going)))
    return f" At the last reading {known}." if known else ""


def _is_acting(status: Document, of_node: Headline) -> bool:
    """Whether a pod is being evicted, or a hard threshold is met: no fault hides that."""
    return of_node.level == "hard" or any(not row["gone"] for row in status["leaving"])


def beside_faults(status: Document, faults: Sequence[OwnFault]) -> list[str]:
    """Return what evictd still does with a fault, and what the headline would say of the node but for it, unless it does."""
    if not faults:
        return []
    lines = [faults[0].kind.still]
    if tests_thresholds(each.kind for each in faults):
        of_node = _of_node(status)
        lines.append(of_node.text if of_node.level == "soft" and not _is_acting(status, of_node) else "")
        lines.append(f"{capital(near)}." if (near := own_limits_text(status)) else "")
    if faults[0].kind is OwnFaultKind.LISTED_PODS and not status["dryRun"]:
        kills = _ONLY_RUNTIME_STOPS if status["policy"] == Policy.KUBELET.value else _KILLS[faults[0].may_kill]
        lines.append(f"To evict a pod, evictd asks the runtime again and again to stop it. {kills}")
    return list(filter(None, lines))


_ONLY_RUNTIME_STOPS = "Only the runtime stops it (policy Kubelet)."
_KILLS = {
    True: "At the end of the grace period evictd kills the pod's processes itself.",
    False: "evictd may not kill its processes here: the pods' cgroups are read-only (the component cgroup-kill mounts them).",
    None: "At the end of the grace period evictd kills the pod's processes itself, if it may.",
}
"""What happens then, by whether evictd may kill the processes of pods."""


def after_eviction(status: Document) -> tuple[str, ...]:
    """Return why the pod was chosen whose eviction the headline of a calm node says, and who had filled what was short."""
    last, of_node = last_eviction(status), _of_node(status)
    if last is None or of_node.level == "hard" or last_eviction_text(status, last) not in of_node.text:
        return ()
    return tuple(filter(None, (last["why"], last["filled"])))


def look_back(status: Document) -> str:
    """Return what to do about the pod that a calm node's headline names and that filled the supply, and how to learn from that.

    Empty without an eviction, and without an incident.
    """
    last = last_eviction(status) if after_eviction(status) else None
    return "" if last is None else avoided_text(status, last)


def _of_node(status: Document, falls: Mapping[str, Depletion] = NO_FALLS) -> Headline:
    met = _met(status)
    hard = [pair for pair in met if pair[1]["kind"] == "hard"]
    leaving = [row for row in status["leaving"] if not row["gone"]]
    prefix, no = ("Dry run: ", "no") if status["dryRun"] else ("", "No")
    if leaving:
        return _while_leaving(status, leaving, hard or met, falls)
    if asked := status["asked"]:
        short = f"{_below(hard or met, falls)}; " if met else ""
        past = f". {capital(text)}" if (text := asked_past_its_budget(status)) else ""
        return Headline(text=f"{short}{asked_text(asked)}{past}.", level="hard" if hard else "soft")
    if hard:
        return Headline(text=f"{prefix}{_below(hard, falls)}{_now(status, hard[0][0])}", level="hard")
    if met:
        first = next(iter(graces(status)), None)
        text = _below_soft(status, met, falls) if first is None else first.text
        return Headline(
            text=f"{prefix}{text}.{_would_go(status, met[0][0] if first is None else first.entry)}", level="soft"
        )
    if near := approaches(status):
        acts = first_to_act(status, near[0])
        goes = _would_go(status, acts.entry, acts.acts) if acts.acts else ""
        return Headline(text=f"{prefix}{acts.text}{acts.caveat}{acts.waits}.{goes}", level="soft")
    if not status["signals"]:
        return Headline(text=f"{prefix}{capital(NO_THRESHOLDS)}.", level="soft")
    if ends_soon(status) and not kernel_killed_text(status):
        return Headline(text=f"{prefix}{unguarded_text(status)}.", level="hard")
    return _without_shortage(status, prefix, no)


def _below_soft(status: Document, met: _Pairs, falls: Mapping[str, Depletion]) -> str:
    """Write which signals are below their soft thresholds, and when a hard one is met."""
    hard = (each for each in approaches(status) if each.threshold["kind"] == "hard" and not slowed(each.entry))
    return "; ".join((_below(met, falls), *(each.text for each in tuple(hard)[:1])))


def _met(status: Document) -> list[tuple[Document, Document]]:
    return [(entry, threshold) for entry in status["signals"] for threshold in entry["thresholds"] if threshold["met"]]


def _while_leaving(
    status: Document, leaving: Sequence[Document], met: _Pairs, falls: Mapping[str, Depletion]
) -> Headline:
    """Return the state of a node with pods that are being evicted: as grave as the threshold that is met, as its card is."""
    hard = any(
        is_pressed(each) and each["kind"] == "hard" for entry in status["signals"] for each in entry["thresholds"]
    )
    near = () if hard else tuple(each for each in approaches(status) if each.threshold["kind"] == "hard")
    short = f"{near[0].text}; " if near else f"{_below(met, falls)}; " if met else ""
    pods = first_of([row["pod"] for row in leaving], 3)
    verb = "is" if len(leaving) == 1 else "are"
    going = f"{pods} {verb} being evicted{_begun(status, len(leaving))}"
    going += nth_text(status, leaving[0]["pod"]) if len(leaving) == 1 else ""
    going += _cut(leaving, near[0].entry, status) if near else ""
    going += _not_ended(status, leaving)
    if falls and " reaches 0 " in short:  # what is done about it comes first
        short, going = f"{going}; ", short.removesuffix("; ")
    text = f"{'Dry run: ' if status['dryRun'] else ''}{short}{going}."
    return Headline(text=text, level="hard" if hard else "soft")


def _cut(leaving: Sequence[Document], entry: Document, status: Document) -> str:
    """Write that a hard threshold that will be met cuts the grace period of the pods that leave for the same signal."""
    for row in leaving:
        if leaves_for(row, entry) and (cut := cut_at_hard(row, status)):
            return f" with a grace period of {row['gracePeriodSeconds']}s, {cut}"
    return ""


def _begun(status: Document, leaving: int) -> str:
    """Write when the first of the evictions that have not ended began; empty where no decision among the last ones says it."""
    begun = [mark.ago for found in eviction_marks(status).values() for mark in found if mark.ends]
    return f" ({'began' if leaving == 1 else 'the first began'} {seconds_text(max(begun))} ago)" if begun else ""


def _not_ended(status: Document, leaving: Sequence[Document]) -> str:
    """Write which pods that are being evicted did not end in time, and why no other one goes; empty while evictd waits."""
    late = [row["pod"] for row in leaving if is_overdue(row)]
    if not late:
        return ""
    who = "" if len(late) == len(leaving) else f"{first_of(late, 3)} "
    entry = next(filter(brief_stop, refused(status)), None)
    alone = (
        len({each["signal"] for each in status["signals"] if is_due(each)}) == 1
    )  # of several the page lists the reasons
    why = "" if entry is None else f". No other pod is evicted{_stopped(status, entry) if alone else ''}"
    return f"{'; ' if who else ' and '}{who}did not end in time{why}"


def _without_shortage(status: Document, prefix: str, no: str) -> Headline:
    pressed = [entry for entry in status["conditions"] if entry["status"] == "True"]
    last = None if status["dryRun"] else last_eviction(status)
    reclaimed = "" if last else last_reclaim_text(status)
    acted = last or (last_reclaim(status) if reclaimed else None)
    unknown = "" if acted is None else _unknown_rate(status, acted["signal"])
    killed = kernel_killed_text(status)
    done = killed or (reclaimed if last is None else last_eviction_text(status, last))
    signals = unread_text(status)
    returns = acted is not None and any(
        each.entry["signal"] == acted["signal"] and not slowed(each.entry)
        for each in approaches(status, FORESEEN_SECONDS)
    )
    again_and_again = last is not None and bool(nth_text(status, last["pod"]))
    begins = "" if killed or unknown or signals or again_and_again or returns else "Calm again: "
    again = f"{begins}{capital(done) if killed else done}; " if done else ""
    no = "no" if again else no
    met = f"{no} threshold {'that can be tested ' if signals else ''}is met"
    blind = f"; {signals}" if signals else ""
    if pressed:
        more = f" for at least {seconds_text(pressed[0]['staysSeconds'])} more" if pressed[0]["staysSeconds"] else ""
        verb = "would be" if status["dryRun"] else "is"
        return Headline(
            text=f"{prefix}{again}{met}{blind or unknown}; {pressed[0]['type']} {verb} reported{more}.",
            level="soft",
        )
    if signals:
        return Headline(text=f"{prefix}{again}{met}{blind}.", level="hard" if was_short(status) else "soft")
    if killed and not guards_memory(status):
        level = "hard" if status["kernelKills"][-1]["agoSeconds"] < _LATELY else "soft"
        return Headline(text=f"{prefix}{capital(killed)}.", level=level)
    if again:
        return Headline(text=f"{again}no threshold is met{unknown}.", level="soft" if unknown or killed else "calm")
    if not has_two_readings(status):
        return Headline(text=f"{prefix}{no} threshold is met; {NO_RATE_YET}.", level="soft")
    calm = "This node is calm: no threshold is met and no pod is being evicted."
    return Headline(text="Dry run: no threshold is met, and no pod would be evicted." if prefix else calm, level="calm")


def _unknown_rate(status: Document, signal: str) -> str:
    """Write that the rate of a signal is not known since its last jump, as that of an eviction's end; empty where it is."""
    entry = next((each for each in status["signals"] if each["signal"] == signal and each["observed"]), None)
    if entry is None or entry["fillRate"] is not None:
        return ""
    falls = next((each for each in as_before(status) if each.entry["signal"] == signal), None)
    if falls is None:
        return f", but how fast {signal} falls now is not known yet"
    lasts, stop = entry["stopLastsSeconds"], brief_stop(entry) if entry["next"] is None else ""
    then = (
        f", and evictions pause for {seconds_text(lasts)} then" if lasts and stop else f"; then: {stop}" if stop else ""
    )
    return f", but {falls.as_before}{then}"


def _would_go(status: Document, entry: Document, when: str = "first") -> str:
    if is_due(entry) and awaited_pods(status, entry):
        return f" {capital(awaited_text(status, entry))}."
    if text := at_threshold_text(entry, when):
        return text
    if entry["next"] is not None:
        pod, time, refused = entry["next"]["pod"], next_cut_at_hard(entry, status), refused_lately(entry["next"])
        if then := goes_if_it_grows(entry, when=""):
            time = f" by the order of now{time}"
        if before := steps_before(status, entry):
            comma = "," if ", " in when else ""
            return (
                f" {capital(when)}{comma} evictd would {before}, and evict {pod} if that is too little{refused}{then}."
            )
        if when != "first" and (grows := entry["nextIfItGrows"]):  # the time assumes the growth as well
            return f" {grows['pod']} would be evicted {when} if {while_growing(grows)}; {pod}{time}{refused}."
        return f" {pod} would be evicted {when}{time}{refused}{then}."
    if at_hard := goes_despite_pages(entry):
        return f" {at_hard}."
    then = "is evicted at present" if is_guarded_by_budget(entry) and not status["dryRun"] else "would be evicted"
    return f" No pod {then}{_stopped(status, entry)}." if brief_stop(entry) else ""


def _stopped(status: Document, entry: Document) -> str:
    """Write until when no pod goes for a signal, why, and which one goes then."""
    budget = past_its_budget(status, entry)
    then = f". {capital(goes)}" if (goes := goes_then(entry)) else ""
    until = " until tasks stall" if entry["stopReason"] == PAGE_CACHE else paused_until(status, entry)
    return f"{until}: {brief_stop(entry)}{f'; {budget}' if budget else ''}{then}"


def _now(status: Document, entry: Document) -> str:
    """Write what evictd does first below a hard threshold, after its name, or why it evicts no pod."""
    if awaited_pods(status, entry):
        return f"; {awaited_text(status, entry)}."
    if status["phase"]["name"] != PhaseName.RECLAIMING.value:
        if entry["next"] is not None:
            write = _would_be if status["dryRun"] else _after_last
            return f"; {write(status, entry['next']['pod'])}{awaited_measurement(entry)}."
        if entry["measuresForSeconds"]:
            return f"; evictd decides{awaited_measurement(entry).removeprefix(',')}."
        verb = "would evict" if status["dryRun"] else "evicts"
        return f". evictd {verb} no pod{_stopped(status, entry)}." if brief_stop(entry) else "."
    now, then = ("would remove", "would be") if status["dryRun"] else ("removes", "is")
    goes = "" if entry["next"] is None else f"; {entry['next']['pod']} {then} evicted if that is not enough"
    return f". evictd {now} what no pod needs{goes}."


def _after_last(status: Document, pod: str) -> str:
    """Write which pod was evicted last, and which one would be next."""
    last = last_eviction(status)
    order = "first" if last is None else "next"
    evicted = "" if last is None else f"{last_eviction_text(status, last)}; "
    return f"{evicted}{pod} would be evicted {order}"


def _would_be(status: Document, pod: str) -> str:
    """Write that a dry run would evict a pod, and since when it would have."""
    last = last_eviction(status)
    return f"{pod} would be evicted" if last is None or last["pod"] != pod else last_eviction_text(status, last)


def _below(met: _Pairs, falls: Mapping[str, Depletion] = NO_FALLS, *, past: bool = False) -> str:
    """Write when nothing is left and which signals are short, of one with the amounts; a derived threshold repeats its source.

    With `past` it is what was known last.
    """
    one, several = ("was", "were") if past else ("is", "are")
    own = [pair for pair in met if pair[1]["origin"] != "derived"] or list(met)
    names = tuple(dict.fromkeys(str(entry["signal"]) for entry, _ in own))
    kind = own[0][1]["kind"]
    known = {name: falls[name] for name in names if name in falls and falls[name].seconds is not None}
    soonest = min(known, key=lambda name: known[name].seconds or 0, default="")
    reaches = known[soonest].reaches(soonest) if soonest else ""
    if len(names) > 1:
        others = [name for name in names if name != soonest] if reaches else names
        below = f"{several} below their {kind} thresholds" if len(others) > 1 else f"{one} below its {kind} threshold"
        return f"{reaches}; {', '.join(others)} {below} as well" if reaches else f"{', '.join(others)} {below}"
    entry, threshold = own[0]
    signal = Signal(entry["signal"])
    noun = noun_of(entry["available"], SIGNALS[signal].resource)
    left = f"{signal_amount(entry['available'], signal)}{noun} {'stalled' if signal in STALLS else 'left'}"
    limit = signal_amount(threshold["limit"], signal)
    if reaches:
        return f"{reaches} ({f'{left}, ' if entry['available'] > 0 else ''}{kind} threshold {limit})"
    return f"{names[0]} {one} below its {kind} threshold ({left}, limit {limit})"
