"""Plays worlds under changed configurations, to compare `evictd replay` of the first journal with what happens then."""

import json
import re
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.commands.inputs.source import own_config, world_sides
from evictd.commands.played.world_journal import journal_lines
from evictd.commands.replay import replay_under
from evictd.core.frozen import frozen
from evictd.core.model.config import MemoryFormula
from evictd.core.model.decision import begun_evictions
from evictd.core.units.duration import SECOND
from evictd.render.replay.met_earlier import met_earlier
from evictd.render.replay.readings_end import gone_earlier, readings_ends
from evictd.render.replay.replayed import Replayed, victims_text
from evictd.render.replay.unrecorded import met_at_first, unknown_between
from evictd.world.file import decode_world
from evictd.world.loop import Run, play
from tests.truth.played import END, granted_of

_WITHIN = 2 * SECOND
"""How far the times of an eviction may be apart that is said to be the same: a cycle more or less."""
Document = dict[str, Any]


def _hard(values: Mapping[str, str | None]) -> Callable[[Document], None]:
    def change(config: Document) -> None:
        hard = {**config["evictionHard"], **values}
        config["evictionHard"] = {name: value for name, value in hard.items() if value is not None}

    return change


def _soft(signal: str, value: str, grace: str) -> Callable[[Document], None]:
    def change(config: Document) -> None:
        config.setdefault("evictionSoft", {})[signal] = value
        config.setdefault("evictionSoftGracePeriod", {})[signal] = grace

    return change


def _without_soft(config: Document) -> None:
    config.pop("evictionSoft", None)
    config.pop("evictionSoftGracePeriod", None)


def _grace(grace: str) -> Callable[[Document], None]:
    def change(config: Document) -> None:
        config["evictionSoftGracePeriod"] = dict.fromkeys(config.get("evictionSoft", {}), grace)

    return change


def _set(name: str, value: object) -> Callable[[Document], None]:
    return lambda config: config.update({name: value})


CHANGES: Mapping[str, Callable[[Document], None]] = {
    "memory lowered": _hard({"memory.available": "50Mi"}),
    "memory raised": _hard({"memory.available": "800Mi"}),
    "memory percentage": _hard({"memory.available": "8%"}),
    "memory removed": _hard({"memory.available": None}),
    "disk raised": _hard({"nodefs.available": "20%"}),
    "disk lowered": _hard({"nodefs.available": "3%"}),
    "PIDs raised": _hard({"pid.available": "25%"}),
    "PIDs removed": _hard({"pid.available": None}),
    "inodes added": _hard({"nodefs.inodesFree": "5%"}),
    "soft memory added": _soft("memory.available", "1200Mi", "20s"),
    "soft disk added": _soft("nodefs.available", "30%", "1m"),
    "soft removed": _without_soft,
    "grace shorter": _grace("5s"),
    "grace longer": _grace("3m"),
    "minimum reclaim": _set("evictionMinimumReclaim", {"memory.available": "500Mi"}),
    "transition period": _set("evictionPressureTransitionPeriod", "30s"),
    "longer transition": _set("evictionPressureTransitionPeriod", "20m"),
    "pod grace": _set("evictionMaxPodGracePeriod", 5),
}
"""What a user tries with `evictd replay --config`, each of the configuration of a world."""
RAISED: Mapping[str, Callable[[Document], None]] = {
    "hard 900Mi": _hard({"memory.available": "900Mi"}),
    "hard 1600Mi": _hard({"memory.available": "1600Mi"}),
    "soft 1500Mi": _soft("memory.available", "1500Mi", "1m30s"),
    "soft 2Gi": _soft("memory.available", "2Gi", "20s"),
}
"""Raised thresholds, for `raised_world`."""
POLICY = "other policy"
FORMULAS = {f"memory.formula {each.value}": each.value for each in MemoryFormula}


def changed(document: Document, change: str) -> Document:
    """Return the world with another configuration."""
    other = deepcopy(document)
    if change == POLICY:
        before = other["evictd"].get("decisionPolicy", "Standard")
        other["evictd"]["decisionPolicy"] = "Standard" if before == "Kubelet" else "Kubelet"
        if before != "Kubelet":  # `evictd replay` says what a kubelet would have done, which asks no budget
            other.pop("apiServer", None)
    elif change in FORMULAS:
        other["evictd"]["memory"] = {"formula": FORMULAS[change]}
    else:
        ({**CHANGES, **RAISED})[change](other["config"])
    return other


def written(document: Document, path: Path) -> Path:
    """Write the configuration of a world as a file of `--config`."""
    kubelet = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", **document["config"]}
    evictd = {"apiVersion": "evictd.io/v1alpha1", "kind": "EvictdConfiguration", **document["evictd"]}
    path.write_text(f"{json.dumps(kubelet)}\n---\n{json.dumps(evictd)}\n")
    return path


def recorded(document: Document) -> tuple[Run, list[JournalEntry], list[bytes]]:
    """Play a world, and return its run and its journal."""
    file = decode_world(document)
    run = play(file.world, own_config(file))
    lines = journal_lines(run, end=END)
    return run, [decode_entry(each) for each in lines], lines


@frozen
class Evicted:
    """A pod that is evicted: its name, and when."""

    pod: str
    at: int


def evictions(run: Run) -> list[Evicted]:
    """Return the evictions of a run that the API server did not refuse at once."""
    return [Evicted(pod=each.pod.full_name, at=at) for at, each in granted_of(run)]


@frozen
class Said:
    """What `evictd replay --config` says of a journal."""

    replayed: tuple[Replayed, ...]
    evictions: tuple[Evicted, ...]
    """Those that are decided now, up to where the readings end."""
    victims: str
    open_before: bool
    """Whether it says that a pod may have gone before the first of them, or between the records."""
    ends_at: int | None
    """When the readings end, at an eviction that would not have been."""
    until: int | None
    """Up to when this holds: until a condition could have ended sooner."""
    earlier: tuple[tuple[str, int], ...]
    """Pods that are said to be evicted earlier, at the latest at a time; empty where it is not said which."""


def said(entries: list[JournalEntry], config: Path) -> Said:
    """Decide a journal again by a configuration, and return what is said of it."""
    replayed = tuple(replay_under(entries, Namespace(config=config, policy=None)))
    unknown = unknown_between(replayed)
    victims = victims_text(replayed, unknown)
    at = {one.entry.wall: one.entry.now for one in reversed(replayed)}
    ends = list(readings_ends(replayed))
    end = min((at[each.wall] for each in ends if not each.earlier), default=None)
    earlier = tuple(
        (each.recorded.evicted.pod.full_name if each.named else "", at[each.recorded.earlier])
        for each in gone_earlier(replayed, unknown)
    )
    decided = [
        Evicted(pod=each.pod.full_name, at=one.entry.now)
        for one in replayed
        for each in begun_evictions(one.step.decisions)
    ]
    open_before = (
        bool((unknown.may_act and not unknown.condition_end) or any(met_at_first(replayed)))
        or "recorded readings" in victims
        or "may have gone" in victims
        or any(one.formula for one in replayed)
        or any(met_earlier(one.entry, one.step.findings) for one in replayed)
    )
    return Said(
        replayed=replayed,
        evictions=tuple(decided),
        victims=victims,
        open_before=open_before,
        ends_at=end,
        until=None if unknown.condition_end is None else unknown.condition_end.at - _WITHIN,
        earlier=earlier,
    )


def played(document: Document, config: Path) -> Run:
    """Play a world as `evictd simulate WORLD --config FILE` does."""
    arguments = Namespace(config=config, policy=None, compare=None)
    ((_, world, decided_by, _),) = world_sides(decode_world(document), config, arguments)
    return play(world, decided_by)


def false_claims(said: Said, run: Run) -> list[str]:
    """Return what is said without a caveat and is not so in the play; empty where all of it is true."""
    found, real = list[str](), list(_until(said, evictions(run)))
    first = next(_until(said, said.evictions), None)
    actual = real[0] if real else None
    if not said.open_before:
        if first is None or (said.ends_at is not None and first.at > said.ends_at):
            if actual is not None and (said.ends_at is None or actual.at < said.ends_at - _WITHIN):
                found.append("none, but one is evicted")
        elif actual is None:
            found.append("one, but none is evicted")
        elif abs(actual.at - first.at) > _WITHIN:
            found.append("first at another time")
        elif actual.pod != first.pod:
            found.append("first is another pod")
    same = said.victims.startswith(("No victim differs: the same pods at the same times", "No victim differs up to"))
    names = list(dict.fromkeys(each.pod for each in real))  # one whose grace period is shortened is granted twice
    if same and list(dict.fromkeys(each.pod for each in _until(said, said.evictions))) != names:
        found.append("same pods, but others are evicted")
    if (listed := _listed(said.victims)) is not None and not said.open_before:
        pods, whole = listed
        if pods != names if whole else pods[:1] != names[:1] or not {*pods} <= {*names}:
            found.append(f"{'all' if whole else 'first'} victims are others")
    if said.victims.startswith("No victim differs: no pod is evicted") and real:
        found.append("no pod is evicted, but one is")
    for pod, at in said.earlier:
        if not any(pod in {"", each.pod} and each.at <= at + _WITHIN for each in real):
            found.append("said to be evicted earlier, is not")
    return found


def _until(said: Said, evictions: Iterable[Evicted]) -> Iterator[Evicted]:
    yield from (each for each in evictions if said.until is None or each.at < said.until)


def _listed(victims: str) -> tuple[list[str], bool] | None:
    """Return the pods that are said to go, and whether these are all; `None` where no list is given."""
    for begin in ("; now ", "At other times: ", "At other times, by the recorded readings: "):
        _, found, rest = victims.partition(begin)
        if found:
            listed, *after = re.split(r", and possibly more|; |\.$", rest, maxsplit=1)
            pods = [] if listed == "none" else listed.split(", ")
            return None if " and " in listed else (pods, after == [""])
    return None
