"""`evictd capture`: records this node as a scenario file.

Reads the node once, or repeatedly for a while, and writes the readings in the form that `simulate` and `explain` take.
With `--from-journal` it makes a scenario of a daemon's journal instead. It changes nothing on the node.
"""

import argparse
import json
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

from evictd.clock import boot_clock
from evictd.codec.config.fields import fields_of
from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.codec.scenario import (
    BudgetAnswer,
    MeasurementAges,
    Scenario,
    ScenarioStep,
    Summary,
    decode_scenario,
    encode_scenario,
)
from evictd.commands.explain import node_of
from evictd.commands.inputs.journals import expanded, read_journals
from evictd.commands.inputs.no_file import require_writable
from evictd.commands.inputs.source import add_policy_argument, own_config
from evictd.config.file import dump_yaml, shown_path
from evictd.config.flags import add_arguments as add_config_flags
from evictd.config.settings import EvictdConfiguration, KubeletConfiguration
from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.decision import ReclaimNode, begun_evictions
from evictd.core.model.observation import EvictionAnswerKind, Filesystems, Observation
from evictd.core.model.pod import Pod
from evictd.core.model.signal import SIGNALS, STALLS, Signal
from evictd.core.model.state import State
from evictd.core.model.state_times import moved_in_time
from evictd.core.model.threshold import Origin, Threshold, ThresholdValue
from evictd.core.units.duration import MILLISECOND, SECOND, format_duration, parse_duration
from evictd.core.units.percentage import parse_percentage
from evictd.errors import ExitCode, InputError, InvalidValueError
from evictd.observe.live import LiveNode
from evictd.observe.reading.observer import RUNTIME
from evictd.render.history.pods_meant import pods_meant
from evictd.render.replay.replayed import recorded_victims
from evictd.render.text import clean, duration_text, first_of
from evictd.simulation import simulate

_ONE_FILESYSTEM = (
    "evictd: without the runtime it is unknown whether images are on a filesystem of their own, so the scenario has one for all: "
    "if they are, set its `filesystems.dedicatedImageFs`\n"
)


@frozen
class CapturedReading:
    """One reading for a scenario; `after` is the reading that followed a node-level reclaim."""

    now: int
    observation: Observation
    after: Observation | None = None
    state: State | None = None
    """The state before it, where it was recorded; of a later reading only if cycles before it were not."""
    ending: frozenset[str] = frozenset()
    """Uids of victims that have not ended yet."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="where to write it: .json or .yaml; default: stdout"
    )
    parser.add_argument(
        "--for", dest="length", metavar="DURATION", default="0s", help="how long to record (default: one reading)"
    )
    parser.add_argument("--every", metavar="DURATION", default="10s", help="time between two readings (default: 10s)")
    parser.add_argument(
        "--from-journal", nargs="+", type=Path, metavar="JOURNAL", help="make the scenario from a daemon's journal"
    )
    parser.add_argument(
        "--until",
        metavar="NAMESPACE/POD[@TIME]",
        help="with --from-journal: end with the reading in which this pod was evicted, the last time or at this TIME",
    )
    add_policy_argument(parser)
    add_config_flags(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Capture, and write the scenario."""
    if args.until is not None and not args.from_journal:
        raise InputError("--until: needs a journal that has the eviction; give --from-journal JOURNAL too")
    if args.out is not None:
        require_writable(args.out, "--out")
    if args.from_journal:
        entries = entries_of(args.from_journal, args.until)
        scenario = scenario_of_entries(args.from_journal[-1].stem, entries)
        difference = first_difference(entries, scenario)
        scenario = _in_milliseconds(entries, scenario, difference)
        if difference:
            sys.stderr.write(f"evictd: the scenario decides differently than the journal: {difference}\n")
    else:
        length, every = _duration("--for", args.length), _duration("--every", args.every)
        settings, machine = node_of(args)
        with LiveNode(settings, machine) as node:
            readings = _readings_of(node, length, max(every, SECOND // 10))
        name = settings.evictd.cluster.node_name or "captured"
        scenario = scenario_of(name, settings.eviction, readings)
        if (last := readings[-1].observation).pods_unknown:
            why = "; ".join(each.detail for each in last.problems if each.source == RUNTIME)
            sys.stderr.write(f"evictd: the pods are unknown, so the scenario has none: {clean(why)}\n")
        if all(each.observation.filesystems.dedicated_image_fs is None for each in readings):
            sys.stderr.write(_ONE_FILESYSTEM)
    _write(encode_scenario(scenario), args.out)
    return ExitCode.DONE


def _duration(flag: str, text: str) -> int:
    try:
        value = parse_duration(text)
    except InvalidValueError as error:
        raise InputError(f"{flag}: {text}: {error}; a duration looks like 10s or 1m30s") from error
    if value < 0:
        raise InputError(f"{flag}: {text}: is negative; give 0s or more")
    return value


def _readings_of(node: LiveNode, length: int, every: int) -> tuple[CapturedReading, ...]:
    """Read the node until the time is over; Ctrl-C ends it early and keeps the readings so far."""
    start, pause, readings = boot_clock(), threading.Event(), list[CapturedReading]()
    try:
        while True:
            reading = node.read()
            readings.append(CapturedReading(now=reading.now, observation=reading.observation))
            if start + length <= reading.now:
                break
            pause.wait(max(min(reading.now + every, start + length) - boot_clock(), 0) / SECOND)
    except KeyboardInterrupt:
        if not readings:
            raise
    return tuple(readings)


# --- making the scenario ----------------------------------------------------------------------------------------------


def scenario_of(name: str, config: EvictionConfig, readings: Sequence[CapturedReading]) -> Scenario:
    """Make a scenario: times from the first reading on, every pod once, and in each step the pods that were absent."""
    pods: dict[str, Pod] = {}
    changes: list[tuple[Pod, ...]] = []
    latest: dict[str, Pod] = {}
    for reading in readings:
        # A victim on its way out was a candidate before.
        seen = {p.uid: p for p in reading.observation.pods if p.uid not in latest or not p.terminal}
        changes.append(tuple(pod for uid, pod in seen.items() if latest.get(uid, pod) != pod))
        latest |= seen
        pods |= {uid: pod for uid, pod in seen.items() if uid not in pods}
    kubelet, evictd = config_fields(config)
    layouts = [reading.observation.filesystems for reading in readings]
    known = next((layout for layout in reversed(layouts) if layout.dedicated_image_fs is not None), Filesystems())
    return Scenario(
        name=name,
        config=kubelet,
        evictd=evictd,
        filesystems=known,
        pods=tuple(pods.values()),
        steps=tuple(
            ScenarioStep(
                at=reading.now - readings[0].now,
                summary=_summary(reading.observation),
                summary_after_reclaim=None if reading.after is None else _summary(reading.after),
                absent=frozenset(pods.keys() - {pod.uid for pod in reading.observation.pods}),
                ages=_ages(reading),
                refusals=_refusals(reading.observation),
                pods=changed,
                ending=reading.ending,
                problems=reading.observation.problems,
                state=None if reading.state is None else moved_in_time(reading.state, -readings[0].now),
            )
            for reading, changed in zip(readings, changes, strict=True)
        ),
    )


def _summary(observation: Observation) -> Summary | None:
    return None if observation.node is None else (observation.node, observation.pod_stats)


def _ages(reading: CapturedReading) -> dict[str, MeasurementAges]:
    """Return the ages of the pods' statistics; pods that were measured at the time of the reading are left out.

    Of a step with a reclaim those after it count: what was measured while the reclaim went on decides which pod goes.
    """

    def age(measured_at: int | None) -> int | None:
        return None if measured_at is None else max(0, reading.now - measured_at)

    found = {
        uid: MeasurementAges(stats=age(stats.time), walk=age(stats.disk_time), layers=age(stats.layers_time))
        for uid, stats in (reading.after or reading.observation).pod_stats.items()
    }
    return {uid: ages for uid, ages in found.items() if ages != MeasurementAges()}


def _refusals(observation: Observation) -> tuple[BudgetAnswer, ...]:
    refused = (each for each in observation.outcomes.answers if each.kind is EvictionAnswerKind.REFUSED)
    return tuple(BudgetAnswer(uid=each.uid, retry_after=each.retry_after, message=each.detail) for each in refused)


def first_difference(entries: Sequence[JournalEntry], scenario: Scenario) -> str:
    """Return the first eviction in which the written scenario differs from the journal; empty if it decides the same."""
    read = decode_scenario(encode_scenario(scenario))
    then = [(entry.now - entries[0].now, pod) for entry in entries for pod in recorded_victims(entry.decisions)]
    now = [
        (cycle.at, clean(each.pod.full_name))
        for cycle in simulate(read, own_config(read))
        for each in begun_evictions(cycle.decisions)
    ]
    for recorded, simulated in zip_longest(then, now):
        if recorded is None or simulated is None or recorded[1] != simulated[1]:
            return f"journal: {_eviction_text(recorded)}; scenario: {_eviction_text(simulated)}"
    return ""


def _in_milliseconds(entries: Sequence[JournalEntry], scenario: Scenario, difference: str) -> Scenario:
    """Return the scenario with times in whole milliseconds, which are easy to read, if it decides the same with them."""
    # Rounded up: no recorded state is of a later time than its step.
    steps = tuple(replace(step, at=-(-step.at // MILLISECOND) * MILLISECOND) for step in scenario.steps)
    if all(each.at == step.at for each, step in zip(steps, scenario.steps, strict=True)):
        return scenario
    rounded = replace(scenario, steps=steps)
    apart = all(before.at < after.at for before, after in pairwise(steps))
    return rounded if apart and first_difference(entries, rounded) == difference else scenario


def _eviction_text(eviction: tuple[int, str] | None) -> str:
    return "no more evictions" if eviction is None else f"evicts {eviction[1]} at {duration_text(eviction[0])}"


def entries_of(paths: Sequence[Path], until: str | None) -> list[JournalEntry]:
    """Return the entries of the last boot, with a pod `until` those up to its last eviction; raises `InputError`."""
    entries = read_journals(expanded(paths), decode_entry)
    if not entries:
        raise InputError(f"{paths[0]}: there is no journal entry in it")
    if until is not None:
        entries = _until(entries, until, paths[0])
    boot = max((i for i in range(1, len(entries)) if entries[i].now < entries[i - 1].now), default=0)
    return list(entries[boot:])


def scenario_of_entries(name: str, entries: Sequence[JournalEntry]) -> Scenario:
    """Make a scenario of the entries of one boot."""
    readings: list[CapturedReading] = []
    asked = False
    before: JournalEntry | None = None
    for entry in entries:
        # The outcome of a reclaim stays in the observations after it: it ends a step only if that step asked for it.
        if asked and entry.observation.outcomes.reclaimed is not None:
            readings[-1] = replace(readings[-1], after=entry.observation)
            asked = False
        else:
            readings.append(_recorded(entry, before))
            asked = any(each.get("kind") == ReclaimNode.__name__ for each in entry.decisions)
        before = entry
    scenario = scenario_of(name, entries[-1].config, readings)
    # The active pods are recorded, whatever was decided: a dry run evicts none.
    return replace(scenario, evicted_pods_stay_active=True)


_MEASURED = (
    "effects",
    "holdings",
    "in_flight",
    "once_clear",
    "thresholds_first_observed_at",
    "thresholds_met",
    "announced",
    "noticed",
)
"""The parts of a recorded state that a later step takes from it."""


def _recorded(entry: JournalEntry, before: JournalEntry | None) -> CapturedReading:
    """Return the reading of an entry, with what the scenario needs of the state."""
    state: State | None = None
    if before is None:
        state = entry.state
    elif entry.state.last_cycle_at != before.now:  # cycles without a decision are not in the journal
        state = State(**{name: getattr(entry.state, name) for name in _MEASURED})
    cleaned_up = entry.observation.outcomes.cleaned_up
    ending = frozenset(each.uid for each in entry.state.in_flight if each.gone_at is None) - cleaned_up
    return CapturedReading(now=entry.now, observation=entry.observation, state=state, ending=ending)


def _until(entries: Sequence[JournalEntry], pod: str, path: Path) -> list[JournalEntry]:
    victims = [(entry.wall, recorded_victims(entry.decisions)) for entry in entries]
    evicted = [{*pods, *(f"{each}@{wall}" for each in pods)} for wall, pods in victims]
    if not (found := [index for index, names in enumerate(evicted) if pod in names]):
        known = sorted(each for each in set().union(*evicted) if ("@" in each) == ("@" in pod))
        remedy = pods_meant(pod, known) or (f"it has {first_of(known)}" if known else "it has no eviction")
        raise InputError(f"--until: {pod}: was not evicted in {shown_path(path)}; {remedy}")
    return list(entries[: found[-1] + 1])


# --- the configuration, written back ----------------------------------------------------------------------------------


def config_fields(config: EvictionConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write what the core obeys as fields of KubeletConfiguration and EvictdConfiguration."""
    stalls = [threshold for threshold in config.thresholds if threshold.signal in STALLS]
    own = [each for each in config.thresholds if each.origin is not Origin.DERIVED and not SIGNALS[each.signal].own]
    hard, soft = _maps(own)
    copied = any(t.signal is Signal.ALLOCATABLE_MEMORY_AVAILABLE for t in config.thresholds if t not in own)
    kubelet = {
        "evictionHard": _values(hard),
        "evictionSoft": _values(soft),
        "evictionSoftGracePeriod": {t.signal.value: format_duration(t.grace_period) for t in soft},
        "evictionMinimumReclaim": {
            t.signal.value: exact_value_text(t.min_reclaim) for t in own if t.min_reclaim is not None
        },
        "enforceNodeAllocatable": ["pods"] if copied else ["none"],
        **fields_of(config, KubeletConfiguration),
    }
    evictd = {
        "pressure": [_pressure_fields(threshold) for threshold in stalls],
        "swap": [_swap_fields(each) for each in config.thresholds if each.signal is Signal.SWAP_AVAILABLE],
        **fields_of(config, EvictdConfiguration),
    }
    return kubelet, evictd


def _pressure_fields(threshold: Threshold) -> dict[str, Any]:
    stall = STALLS[threshold.signal]
    return {
        "resource": stall.resource.value,
        "type": stall.type.value,
        "average": f"{stall.average}s",
        "above": threshold.bound[1:],
        **_duration_fields(threshold),
        "scope": stall.scope.value,
    }


def _swap_fields(threshold: Threshold) -> dict[str, Any]:
    return {"available": exact_value_text(threshold.value), **_duration_fields(threshold)}


def _duration_fields(threshold: Threshold) -> dict[str, Any]:
    return {"for": format_duration(threshold.grace_period), "hard": threshold.hard_after_grace}


def _maps(thresholds: Iterable[Threshold]) -> tuple[list[Threshold], list[Threshold]]:
    """Part the thresholds into the map of the hard and the map of the soft ones, in which order they were made.

    A soft threshold with a grace period of zero acts as a hard one; it is recognised by its place in the order.
    """
    hard: dict[Signal, Threshold] = {}
    soft: list[Threshold] = []
    for threshold in thresholds:
        if soft or not threshold.hard or threshold.signal in hard:
            soft.append(threshold)
        else:
            hard[threshold.signal] = threshold
    return list(hard.values()), soft


def _values(thresholds: Iterable[Threshold]) -> dict[str, str]:
    return {threshold.signal.value: exact_value_text(threshold.value) for threshold in thresholds}


def exact_value_text(value: ThresholdValue) -> str:
    """Write a value so that it is read back to the last bit: percentages are held in single precision."""
    if value.quantity is not None:
        return str(value.quantity)
    texts = (f"{Decimal(f'{value.fraction * 100:.{digits}g}'):f}%" for digits in range(1, 18))
    return next((text for text in texts if parse_percentage(text) == value.fraction), f"{value.fraction * 100!r}%")


def _write(document: Mapping[str, Any], out: Path | None) -> None:
    text = (
        dump_yaml(document) if out is not None and out.suffix in {".yaml", ".yml"} else json.dumps(document, indent=1)
    )
    try:
        if out is None:
            sys.stdout.write(text.rstrip("\n") + "\n")
        else:
            out.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out: {out}: {error.strerror or error}") from error
