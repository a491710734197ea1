"""`evictd simulate FILE`: shows what evictd would do in a scenario, and how a world would end.

Plays a scenario file through the core and shows every step: the reading, the thresholds met, what was reclaimed, the pods evicted
and the reason for their order. Instead of a scenario it takes the files of a cluster: `--pods` and `--summary`. `--grow` lets a
pod grow after the last reading, `--compare` decides by a second configuration or policy as well. It reads nothing of this
node. A world file (`kind: World`) is played in a closed loop (`commands.played.play_world`).
"""

import argparse
import sys
from pathlib import Path

from evictd.codec.scenario import Scenario
from evictd.commands.inputs.raw_files import prometheus_scenario, raw_scenario
from evictd.commands.inputs.source import (
    add_config_arguments,
    add_plot_argument,
    check_plot,
    compared_config,
    configuration_name,
    own_config,
    read_story,
    report_plot,
    scenario_config,
)
from evictd.commands.played.play_world import draw_sides, play_growth, play_world
from evictd.commands.played.what_if import simulate_relieved
from evictd.errors import ExitCode, InputError
from evictd.render.console import make_console
from evictd.render.documents import TOP_ROWS
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.simulation.comparison import Side, comparison_document, print_comparison
from evictd.render.simulation.document import simulation_document
from evictd.render.simulation.plot import draw
from evictd.render.simulation.tables import TableView, print_simulation
from evictd.render.simulation.worlds.outlook import outlook_documents, outlooks, print_outlooks
from evictd.render.text import clean
from evictd.simulation import simulate
from evictd.world.file import WorldFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a scenario or a world, JSON or YAML; - is standard input"
    )
    parser.add_argument("--pods", type=Path, metavar="FILE", help="instead: the output of kubectl get pods -o json")
    parser.add_argument(
        "--summary",
        nargs="+",
        action="extend",
        type=Path,
        metavar="FILE",
        help="with --pods: answers of the kubelet's /stats/summary, one or several in time",
    )
    parser.add_argument(
        "--prometheus",
        nargs="+",
        action="extend",
        type=Path,
        metavar="FILE",
        help="with --pods, instead of --summary: answers of Prometheus' /api/v1/query_range",
    )
    parser.add_argument(
        "--grow",
        action="append",
        metavar="GROWTH",
        help="let a pod's memory grow after the last reading: NAMESPACE/POD+2Gi/5m by 2Gi within 5m, and no more after that; "
        "may be given for several pods",
    )
    parser.add_argument(
        "--compare", type=Path, metavar="FILE", help="decide by this configuration or policy too, side by side"
    )
    add_config_arguments(parser)
    add_output_argument(parser)
    add_plot_argument(parser)
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="DIRECTORY",
        help="write the journal that evictd would have written in a world: try history, why and incident on it",
    )
    parser.add_argument("--all", action="store_true", help="show every step, threshold and row of the rankings")


def run(args: argparse.Namespace) -> ExitCode:
    """Decide the whole scenario, then write it."""
    check_plot(args.plot)
    story, path = _story(args)
    if isinstance(story, WorldFile):
        return play_world(story, path, args)
    if args.journal is not None:
        raise InputError("--journal: only a world file (kind: World) has a journal; `config/worlds` has an example")
    if args.grow is not None:
        return play_growth(story, path, args)
    return _run_scenario(story, path, args)


def _run_scenario(scenario: Scenario, path: Path, args: argparse.Namespace) -> ExitCode:
    config = scenario_config(scenario, path, args)
    recorded = own_config(scenario)
    name = scenario.name or path.stem
    play = simulate if args.pods is None else simulate_relieved
    cycles = tuple(play(scenario, config))
    if args.compare is not None:
        compared, by = compared_config(scenario, path, args)
        other = tuple(play(scenario, by))
        by_default = args.pods is not None and args.config is None and args.policy is None
        own = "the kubelet's defaults" if by_default else configuration_name(config, args)
        sides = (
            Side(name=own, cycles=cycles, recorded=recorded),
            Side(name=compared, cycles=other, recorded=recorded),
        )
        draw_sides(name, sides, args.plot, begin=scenario.begin)
        if args.output == TABLE:
            print_comparison(name, sides, make_console(sys.stdout))
        else:
            write_document(comparison_document(name, sides), args.output, sys.stdout)
        return ExitCode.DONE
    if args.plot is not None:
        draw(name, cycles, args.plot, subtitle=f"decided by {configuration_name(config, args)}", begin=scenario.begin)
        report_plot(args.plot)
    calm = outlooks(cycles, config)
    if args.output == TABLE:
        console = make_console(sys.stdout)
        view = TableView(
            config=config, everything=args.all, decided_by=configuration_name(config, args), recorded=recorded
        )
        print_simulation(name, cycles, view, console)
        print_outlooks(calm, console)
    else:
        document = simulation_document(name, cycles, config, rows=None if args.all else TOP_ROWS, recorded=recorded)
        write_document({**document, "outlook": outlook_documents(calm)}, args.output, sys.stdout)
    return ExitCode.DONE


def _growth_in_world(file: WorldFile, path: Path) -> str:
    """Write by an example how a pod of a world grows."""
    pod = clean(file.world.pods[0].pod.full_name) if file.world.pods else "a pod"
    return f"in {path} add `- grow: {{of: memory, rate: 10Mi}}` to the `behaviours` of {pod}, for 10Mi a second"


def _story(args: argparse.Namespace) -> tuple[Scenario | WorldFile, Path]:
    """Read the scenario or world, or make a scenario of pods and summaries; raises `InputError`. The path is for messages."""
    readings = sum(each is not None for each in (args.summary, args.prometheus))
    if (args.file is None) == (args.pods is None) or readings != (args.pods is not None):
        raise InputError(
            "simulate: give either a scenario FILE, or --pods FILE with --summary FILE or --prometheus FILE"
        )
    if args.pods is None:
        story, path = read_story(args.file), args.file
    elif args.prometheus is not None:
        story, path = prometheus_scenario(args.pods, args.prometheus), args.pods
    else:
        story, path = raw_scenario(args.pods, args.summary), args.pods
    if args.grow is not None and isinstance(story, WorldFile):
        raise InputError(f"--grow: a world says itself what grows; {_growth_in_world(story, path)}")
    return story, path
