"""Plays a world for `evictd simulate`: the timeline and the result, under one configuration or two side by side.

A world is read from a file, or is the last reading of a scenario in which pods grow (`--grow`).
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evictd.clock import wall_clock
from evictd.codec.scenario import Scenario
from evictd.codec.world_fields import ExpectFields
from evictd.commands.inputs.source import (
    Documents,
    compared_config,
    configuration_name,
    own_config,
    report_plot,
    scenario_config,
    world_sides,
)
from evictd.commands.played.what_if import grown, parse_growth
from evictd.commands.played.world_journal import write_world_journal
from evictd.core.model.decision import EvictPod
from evictd.core.model.signal import MEMORY_SIGNALS
from evictd.core.units.duration import MINUTE
from evictd.errors import ExitCode
from evictd.render.console import make_console
from evictd.render.documents import TOP_ROWS, Document
from evictd.render.output import TABLE, write_document
from evictd.render.simulation.comparison import Side, comparison_document
from evictd.render.simulation.document import simulation_document
from evictd.render.simulation.plot import draw
from evictd.render.simulation.worlds.continued import continued_texts, unusable_texts
from evictd.render.simulation.worlds.outlook import (
    Outlook,
    freed_by_kill,
    outlook_documents,
    outlooks,
    played_on_document,
    print_outlooks,
    with_played_on,
)
from evictd.render.simulation.worlds.unplayed import unplayed_texts
from evictd.render.simulation.worlds.world_comparison import print_worlds, worlds_document
from evictd.render.simulation.worlds.world_head import head_texts
from evictd.render.simulation.worlds.world_outcome import PlayedWorld
from evictd.render.simulation.worlds.world_view import cycles_to_draw, print_world, world_document
from evictd.render.simulation.worlds.world_warnings import (
    dropped_texts,
    dry_run_texts,
    ownerless_texts,
    pids_limit_texts,
    policy_texts,
)
from evictd.render.text import clean
from evictd.simulation import SimulatedCycle
from evictd.world.account import account_of
from evictd.world.expectation import expectations
from evictd.world.file import WorldFile
from evictd.world.loop import Run, play
from evictd.world.next_eviction import PlayedOn, goes_on, play_on


def play_world(file: WorldFile, path: Path, args: argparse.Namespace) -> ExitCode:
    """Play a world under its configuration, and under that of `--compare`; status 1 if it is not as the world expects."""
    title = file.world.name or path.stem
    to_play = world_sides(file, path, args)
    sides = [_played(name, play(world, config), file.expect) for name, world, config, _ in to_play]
    own = own_config(file)
    sides = [
        replace(
            side,
            warnings=(
                *pids_limit_texts(file.world, side.run),
                *ownerless_texts(side.run),
                *dropped_texts(own, side.run),
                *unplayed,
                *policy_texts(own, side.run, side.name),
            ),
        )
        for side, unplayed in zip(sides, _unplayed([documents for *_, documents in to_play]), strict=True)
    ]
    given = args.config is not None or args.policy is not None
    sides[0] = replace(sides[0], by_another=given and bool(file.config or file.evictd))
    if args.config is None:
        *_, (_, own_evictd) = to_play[0]
        sides[0] = replace(sides[0], warnings=(*sides[0].warnings, *dry_run_texts(dry_run=own_evictd.dry_run)))
    # Before the output, which a reader such as `head` may close.
    written = None if args.journal is None else write_world_journal(sides[0].run, args.journal, end=wall_clock())
    _draw([(side.name, title, cycles_to_draw(side.run)) for side in sides], args.plot)
    if args.output == TABLE:
        _print(title, sides, args, head_texts(file.world, file.description))
    else:
        documents = [_document(title, side) for side in sides]
        document = documents[0] if len(sides) == 1 else worlds_document(title, documents)
        write_document(document, args.output, sys.stdout)
    if written is not None:
        sys.stderr.write(f"Journal written to {written}; read it by: evictd history {args.journal}\n")
    unmet = any(each.unmet for each in sides[0].expectations)
    return ExitCode.NO if unmet and not (file.expect is not None and file.expect.fails) else ExitCode.DONE


def _unplayed(sides: Sequence[Documents]) -> list[list[str]]:
    """Return what is written of the settings of each side that are not played; what both would say, the first one says."""
    texts = [[*unplayed_texts(documents)] for documents in sides]
    return [texts[0], *([] if each == texts[0] else each for each in texts[1:])]


def play_growth(scenario: Scenario, path: Path, args: argparse.Namespace) -> ExitCode:
    """Play on from a scenario's last reading while pods grow; raises `InputError`."""
    title, growths = scenario.name or path.stem, [parse_growth(text, scenario.pods) for text in args.grow]
    config = scenario_config(scenario, path, args)
    configs = {configuration_name(config, args): config}
    if args.compare is not None:
        name, other = compared_config(scenario, path, args)
        configs[name] = other
    summary = scenario.steps[-1].summary
    measured = None if summary is None else summary[0]
    unusable = () if measured is None else unusable_texts(measured)
    assumed = f"Assumed, not recorded, is the growth {clean(', '.join(args.grow))}."
    recorded, sides, cycles = own_config(scenario), [], []
    for name, each in configs.items():
        before, run = grown(scenario, each, growths)
        continued = (*continued_texts(before, run, recorded, measured), assumed, *unusable)
        sides.append(replace(_played(name, run), from_reading=True, before=continued))
        cycles.append((*before, *cycles_to_draw(run)))
    drawn = [(side.name, title, each) for side, each in zip(sides, cycles, strict=True)]
    _draw(drawn, args.plot, begin=scenario.begin)
    if args.output == TABLE:
        _print(title, sides, args)
    elif len(sides) == 1:
        document = simulation_document(title, cycles[0], config, rows=None if args.all else TOP_ROWS)
        write_document({**document, **_of_growth(title, sides[0])}, args.output, sys.stdout)
    else:
        compared = [Side(name=side.name, cycles=each) for side, each in zip(sides, cycles, strict=True)]
        document = comparison_document(title, compared)
        pairs = zip(document["configurations"], sides, strict=True)
        both = [{**each, **_of_growth(title, side)} for each, side in pairs]
        write_document({**document, "configurations": both}, args.output, sys.stdout)
    return ExitCode.DONE


def _of_growth(title: str, side: PlayedWorld) -> Document:
    document = _document(title, side)
    return {name: document[name] for name in _OF_GROWTH}


_FARTHEST, _AFTER = 2 * 60 * MINUTE, 10 * MINUTE
"""How far the crossing of a threshold may be, and how long a world is played on after it: for grace periods and reclaims."""
_LONGEST_PAUSE = 30 * MINUTE
"""How far a world is played on in which pods were evicted and nothing grows: evictions that do not help pause for less."""
_OF_GROWTH = (
    "timeline",
    "losses",
    "innocents",
    "regret",
    "oomKills",
    "relievedAt",
    "conclusion",
    "outlook",
    "playedOn",
)
"""The keys of the document for `--grow` beside the steps."""


def draw_sides(title: str, sides: Sequence[Side], path: Path | None, *, begin: int | None) -> None:
    """Draw a picture of each configuration; the second one has a number in its name."""
    _draw([(side.name, title, side.cycles) for side in sides], path, begin=begin)


def _draw(
    sides: Sequence[tuple[str, str, Sequence[SimulatedCycle]]], path: Path | None, *, begin: int | None = None
) -> None:
    if path is None:
        return
    for number, (name, title, cycles) in enumerate(sides, 1):
        to = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        draw(title, cycles, to, subtitle=f"decided by {name}", begin=begin)
        report_plot(to)


def _print(title: str, sides: Sequence[PlayedWorld], args: argparse.Namespace, head: Sequence[str] = ()) -> None:
    if len(sides) == 1:
        console = make_console(sys.stdout)
        print_world(title, sides[0], console, everything=args.all, head=head)
        calm, after = _ahead(sides[0])
        print_outlooks(calm, console, after, lead="")
    else:
        played_on = [_ahead(side)[1] for side in sides]
        print_worlds(title, sides, make_console(sys.stdout), everything=args.all, played_on=played_on, head=head)


def _document(title: str, side: PlayedWorld) -> Document:
    """Return the document of one configuration, with the outlook of a world in which no pod went."""
    calm, after = _ahead(side)
    return {
        **world_document(title, side),
        "outlook": outlook_documents(calm),
        "playedOn": played_on_document(after),
    }


def _ahead(side: PlayedWorld) -> tuple[tuple[Outlook, ...], PlayedOn | None]:
    """Return the outlooks of a world in which no pod went, and what comes when it is played on."""
    calm = _outlooks(side)
    after = _after_evictions(side) if _evicted(side.run) else _played_on(side, calm)
    return (calm if after is None else with_played_on(calm, after, side.run.cycles[-1].at)), after


def _evicted(run: Run) -> bool:
    return any(isinstance(each, EvictPod) for cycle in run.cycles for each in cycle.step.decisions)


def _after_evictions(side: PlayedWorld) -> PlayedOn | None:
    """Play a world on in which pods were evicted; `None` if nothing comes, or it began with a state."""
    world, short = side.run.world, side.account.relieved_at is None
    if world.begin or not (short or goes_on(world)):
        return None
    after = play_on(world, side.run.config, world.duration + (_FARTHEST if goes_on(world) else _LONGEST_PAUSE))
    return after if short or not after.calm else None


def _outlooks(side: PlayedWorld) -> tuple[Outlook, ...]:
    """Return the report of a world in which no pod went: the ranking, and the time at which a threshold is reached."""
    cycles, config = cycles_to_draw(side.run), side.run.config
    found = outlooks(cycles, config)
    if not side.run.kills:
        return found
    return tuple(freed_by_kill(each, cycles, config) if _can_be_freed(each) else each for each in found)


def _can_be_freed(outlook: Outlook) -> bool:
    """Whether a kill for want of memory can be why the threshold does not come nearer."""
    return outlook.time_left is None and outlook.finding.threshold.signal in MEMORY_SIGNALS


def _played_on(side: PlayedWorld, calm: Sequence[Outlook]) -> PlayedOn | None:
    """Play a calm world on until a threshold that comes nearer has acted; `None` if none comes nearer, or it began with a state.

    Without a threshold the kernel kills what takes more and more; no pod lost until the end looked like the better side.

    Where something takes more and more, a rate of the last readings does not say when: beside it others can take and give back.
    """
    world = side.run.world
    if world.begin or not (calm or (goes_on(world) and not side.run.kills)):
        return None
    soonest = min((each.time_left for each in calm if each.time_left is not None), default=None)
    if goes_on(world) and not any(each.killed for each in calm):
        far = _FARTHEST
    elif soonest is None:
        return None
    else:
        far = min(soonest * 5 // 4, _FARTHEST)
    return play_on(world, side.run.config, world.duration + far + _AFTER)


def _played(name: str, run: Run, expect: ExpectFields | None = None) -> PlayedWorld:
    # With the run's policy: its levels are compared with the run's limits, and policy Kubelet reads memory by another formula.
    unattended = play(run.world, replace(run.config, thresholds=()))
    account = account_of(run)
    return PlayedWorld(
        name=name,
        run=run,
        account=account,
        unattended=unattended,
        expectations=() if expect is None else expectations(expect, run, account),
    )
