"""`evictd replay [JOURNAL ...]`: decides a journal again and compares.

A journal line holds all arguments of the core, so every entry is decided again and compared with what was decided then. Under
another configuration or policy it shows what would have been different; the state is then carried on from entry to entry,
because timers that started then would not have started now, and `memory.available` is by its `memory.formula`. What the node did
afterwards is as it was recorded.
"""

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from evictd.codec.records.journal import JournalEntry, decode_entry
from evictd.codec.records.journal_record import recorded_evictions
from evictd.codec.times import parse_time
from evictd.commands.inputs.journals import (
    add_journal_argument,
    add_journal_options,
    journals_of,
    read_journals,
)
from evictd.commands.inputs.source import (
    add_config_arguments,
    add_plot_argument,
    check_plot,
    in_cluster_of,
    load_to_play,
    report_plot,
)
from evictd.config.settings import Settings
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import (
    EvictionConfig,
    MemoryFormula,
    Policy,
    available_by,
    memory_formula,
    unallocatable_by,
)
from evictd.core.model.holdings import SupplyHoldings
from evictd.core.model.observation import Observation
from evictd.core.model.signal import MEMORY_SIGNALS, Signal
from evictd.core.model.sooner import added_thresholds, sooner_settings
from evictd.core.model.state import State
from evictd.core.model.stats import MemoryStats
from evictd.core.model.threshold import Threshold
from evictd.errors import ExitCode, InputError, InvalidValueError
from evictd.render.console import make_console
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.replay.printed import print_replayed, print_victims, replay_document
from evictd.render.replay.readings_end import WhatIf, ends_document, print_readings_end
from evictd.render.replay.replayed import NOTHING_UNKNOWN, Replayed
from evictd.render.replay.unmatched import unmatched_groups
from evictd.render.replay.unrecorded import met_at_first_document, print_unrecorded, unknown_between
from evictd.render.simulation.plot import draw
from evictd.render.text import clean, counted, first_of
from evictd.simulation import SimulatedCycle, Turn

_T = TypeVar("_T")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_journal_argument(parser)
    add_journal_options(parser)
    add_config_arguments(parser)
    add_output_argument(parser)
    add_plot_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Decide every entry again, and show which came out differently."""
    check_plot(args.plot)
    paths = journals_of(args)
    entries = read_journals(paths, decode_entry)
    if not entries:
        raise InputError(f"{paths[0]}: there is no journal entry in it")
    _report_nodes(paths, entries)
    other = args.config is not None or args.policy is not None
    replayed = tuple(replay_under(entries, args) if other else replay(entries))
    unknown = unknown_between(replayed) if other else NOTHING_UNKNOWN
    if args.plot is not None:
        draw(paths[-1].name, cycles_of(replayed), args.plot, subtitle="replayed", begin=_begin(entries))
        report_plot(args.plot)
    if args.output == TABLE:
        console, what_if = make_console(sys.stdout), _what_if(args, paths)
        print_replayed(replayed, console, other=other)
        if other:  # what is not known comes before what is the same
            print_unrecorded(unknown, replayed, what_if, console)
        print_victims(replayed, unknown, console, other=other)
        if other:
            print_readings_end(replayed, unknown, what_if, console)
    else:
        ends = {
            "metAtFirst": met_at_first_document(replayed) if other else [],
            "readingsEnd": ends_document(replayed) if other else [],
        }
        write_document({**replay_document(replayed, unknown, other=other), **ends}, args.output, sys.stdout)
    return ExitCode.DONE if other or all(one.same for one in replayed) else ExitCode.NO


def _report_nodes(paths: Iterable[Path], entries: Iterable[JournalEntry]) -> None:
    """Write on standard error that the journals are of several nodes, whose cycles do not follow one another."""
    nodes = {each.observation.node.name for each in entries if each.observation.node is not None}
    folders = {str(path.parent) for path in paths}
    for kind, names in (("node", nodes), ("folder", folders)):
        if len(names) > 1:
            shown = first_of([clean(name) for name in sorted(names)])
            sys.stderr.write(
                f"evictd: the journals of {counted(len(names), kind)} ({shown}) count as one; replay each node alone\n"
            )
            return


def _what_if(args: argparse.Namespace, paths: Sequence[Path]) -> WhatIf:
    """Return the command line, for the commands that answer further."""
    named = [*args.files, *args.journal] or ([] if args.directory is None else [args.directory]) or [paths[-1].parent]
    options = [("--config", args.config), ("--policy", args.policy)]
    given = [text for name, value in options if value is not None for text in (name, str(value))]
    return WhatIf(journals=shlex.join(map(str, named)), options=shlex.join(given))


def _begin(entries: Sequence[JournalEntry]) -> int | None:
    """Return the wall clock of the first entry, in nanoseconds; `None` where it cannot be read."""
    try:
        return parse_time(entries[0].wall) if entries else None
    except InvalidValueError:
        return None


# --- deciding ---------------------------------------------------------------------------------------------------------


def replay(entries: Iterable[JournalEntry]) -> Iterator[Replayed]:
    """Decide each entry from the state and configuration that were recorded with it."""
    for entry in entries:
        step = synchronize(entry.state, entry.observation, entry.config, entry.now)
        yield Replayed(entry=entry, step=step)


def replay_under(entries: Sequence[JournalEntry], args: argparse.Namespace) -> Iterator[Replayed]:
    """Decide each entry by the configuration that was asked for, starting from the state recorded first."""
    given = None if args.config is None else load_to_play(args.config)
    policy = None if args.policy is None else Policy(args.policy)
    if given is not None:
        _report_without_effect(given, entries)
    state: State | None = None
    last = 0
    for entry in entries:
        config = _other(entry.config, given, policy)
        if state is None or entry.now < last:  # the first entry, or the first one after a boot
            state = entry.state
        seen = _measured_until(state, entry, config)
        observation = _by_formula_of(config, entry)
        step = synchronize(seen, observation or entry.observation, config, entry.now)
        state, last = step.state, entry.now
        formula = memory_formula(entry.config) if observation is None else None
        yield Replayed(
            entry=_comparable(entry, config),
            step=step,
            formula=formula,
            sooner=tuple(sooner_settings(entry.config, config)),
            added=tuple(added_thresholds(entry.config, config)),
            transition_period=config.pressure_transition_period,
            pod_termination=config.pod_termination,
            policy=config.policy,
            memory_held=_memory_held(entry),
        )


def _report_without_effect(given: Settings, entries: Iterable[JournalEntry]) -> None:
    """Write on standard error which settings change no decision because of what a journal has."""
    if "podPidsLimit" in given.written.kubelet:
        sys.stderr.write(
            "evictd: podPidsLimit is not replayed: a journal has the processes that there were; `evictd simulate` plays it\n"
        )
    for group in unmatched_groups(given.eviction.preferences, [each.observation for each in entries]):
        sys.stderr.write(f"evictd: {group} matches no recorded pod; compare its namespaces and labels with the pods'\n")


def _memory_held(entry: JournalEntry) -> SupplyHoldings | None:
    """Return who held memory after a recorded eviction was chosen; `None`: no pod was evicted, or it was not kept.

    The state that is carried on has no reading of the cycles that are no entry, and with policy Kubelet none at all.
    """
    if not any(recorded_evictions(entry.decisions)):
        return None
    step = synchronize(entry.state, entry.observation, entry.config, entry.now)
    return step.state.holdings.get(Signal.MEMORY_AVAILABLE)


def _measured_until(state: State, entry: JournalEntry, config: EvictionConfig) -> State:
    """Return the state with what was measured in the cycles before an entry, most of which are no entry.

    That is when evictd was absent, and who holds what of each supply, also since a crossing; of memory only by the same formula.
    """
    recorded = entry.state
    seen = replace(
        state,
        last_cycle_at=recorded.last_cycle_at,
        started_at=recorded.started_at,
        thresholds_first_observed_at=_met_since(state, entry, config),
    )
    return replace(
        seen,
        holdings=_recorded_too(state.holdings, recorded.holdings, entry, config),
        crossings=_recorded_too(state.crossings, recorded.crossings, entry, config),
        last_seen=_recorded_too(state.last_seen, recorded.last_seen, entry, config),
    )


def _recorded_too(
    own: Mapping[Signal, _T], recorded: Mapping[Signal, _T], entry: JournalEntry, config: EvictionConfig
) -> dict[Signal, _T]:
    """Return what was recorded of each signal that is measured alike, and else the own."""
    return {**own, **{signal: each for signal, each in recorded.items() if _measured_alike(signal, entry, config)}}


def _measured_alike(signal: Signal, entry: JournalEntry, config: EvictionConfig) -> bool:
    """Whether a signal does not depend on the memory formula, or that is the recorded one."""
    return signal not in MEMORY_SIGNALS or memory_formula(config) is memory_formula(entry.config)


def _met_since(state: State, entry: JournalEntry, config: EvictionConfig) -> Mapping[Threshold, int]:
    """Return since when each threshold is met: of one that was recorded too the recorded time, for most cycles are no entry."""
    alike = {each for each in config.thresholds if _measured_alike(each.signal, entry, config)}
    both = alike & {*entry.config.thresholds}
    own = {each: at for each, at in state.thresholds_first_observed_at.items() if each not in both}
    return own | {each: at for each, at in entry.state.thresholds_first_observed_at.items() if each in both}


def _by_formula_of(config: EvictionConfig, entry: JournalEntry) -> Observation | None:
    """Return the observation with `memory.available` by the formula of another configuration; `None` where that is not known."""
    seen, formula = entry.observation, memory_formula(config)
    memory = None if seen.node is None else seen.node.memory
    if seen.node is None or memory is None or formula is memory_formula(entry.config):
        return seen
    documented, kernels = _documented(memory, memory_formula(entry.config)), memory.mem_available_bytes
    if kernels is None or (documented is None and formula is not MemoryFormula.MEM_AVAILABLE):
        return None
    found, before, used = available_by(formula, documented, kernels), memory.available_bytes, memory.working_set_bytes
    if found is None or before is None or used is None:
        return None
    changed = replace(
        memory,
        available_bytes=found,
        working_set_bytes=before + used - found,
        unallocatable_bytes=unallocatable_by(formula, documented, found),
    )
    return replace(seen, node=replace(seen.node, memory=changed))


_READ_ALIKE = {
    MemoryFormula.AUTO: {MemoryFormula.WORKING_SET, MemoryFormula.LOWEST},
    MemoryFormula.WORKING_SET: {MemoryFormula.AUTO},
}
"""The formulas whose readings before an eviction follow from those by the first; they are recorded by that one only."""


def _comparable(entry: JournalEntry, config: EvictionConfig) -> JournalEntry:
    """Return the entry without the readings of memory before it where they do not tell those by the other formula."""
    formula, other = memory_formula(entry.config), memory_formula(config)
    trend = (entry.extra or {}).get("trend")
    if formula is other or other in _READ_ALIKE.get(formula, ()) or not isinstance(trend, Mapping):
        return entry
    kept = {name: points for name, points in trend.items() if name != Signal.MEMORY_AVAILABLE.value}
    return replace(entry, extra={**(entry.extra or {}), "trend": kept})


def _documented(memory: MemoryStats, recorded: MemoryFormula) -> int | None:
    """Return capacity minus working set of a reading by the recorded formula; `None` where that does not tell."""
    available, kernels = memory.available_bytes, memory.mem_available_bytes
    if available is None or recorded is MemoryFormula.MEM_AVAILABLE:
        return None
    if recorded is MemoryFormula.LOWEST and available == kernels:
        return None
    return available + (memory.unallocatable_bytes or 0)


def _other(recorded: EvictionConfig, given: Settings | None, policy: Policy | None) -> EvictionConfig:
    config = recorded
    if given is not None:
        config = replace(in_cluster_of(given, recorded), protected_pods=recorded.protected_pods)
    return config if policy is None else replace(config, policy=policy)


def cycles_of(replayed: Sequence[Replayed]) -> tuple[SimulatedCycle, ...]:
    """Make cycles of replayed entries, its times counted from the first one."""
    start = replayed[0].entry.now if replayed else 0
    return tuple(
        SimulatedCycle(at=one.entry.now - start, turns=(Turn(observation=one.entry.observation, step=one.step),))
        for one in replayed
    )
