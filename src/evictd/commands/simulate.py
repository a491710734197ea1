"""`evictd simulate FILE`: shows what evictd would do in a scenario.

Plays a scenario file through the core and shows every step: the reading, the thresholds met, what was reclaimed, the pods evicted
and the reason for their order. Instead of a scenario it takes what people have: `--pods` and `--summary`. `--grow` lets a pod
grow after the last reading, `--compare` decides by a second configuration as well. It reads nothing of this node.
"""

import argparse
import sys
from pathlib import Path

from evictd.codec.scenario import Scenario
from evictd.commands.raw_files import prometheus_scenario, raw_scenario
from evictd.commands.source import (
    add_config_arguments,
    add_plot_argument,
    check_plot,
    read_scenario,
    scenario_config,
)
from evictd.commands.what_if import grown, parse_growth, simulate_relieved
from evictd.config.file import load
from evictd.errors import ExitCode, InputError
from evictd.render.comparison import Side, comparison_document, print_comparison
from evictd.render.console import make_console
from evictd.render.documents import TOP_ROWS, simulation_document
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.plot import draw
from evictd.render.tables import TableView, print_simulation
from evictd.simulation import simulate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="a scenario, JSON or YAML; - is standard input"
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
        "--grow", metavar="GROWTH", help="let a pod's memory grow after the last reading: NAMESPACE/POD+2Gi/5m"
    )
    parser.add_argument("--compare", type=Path, metavar="FILE", help="decide by this configuration too, side by side")
    add_config_arguments(parser)
    add_output_argument(parser)
    add_plot_argument(parser)
    parser.add_argument("--all", action="store_true", help="every row of every ranking, every threshold")


def run(args: argparse.Namespace) -> ExitCode:
    """Decide the whole scenario, then write it."""
    check_plot(args.plot)
    scenario, path = _scenario(args)
    config = scenario_config(scenario, path, args)
    name = scenario.name or path.stem
    play = simulate if args.pods is None and args.grow is None else simulate_relieved
    cycles = tuple(play(scenario, config))
    if args.compare is not None:
        other = tuple(play(scenario, load(args.compare).eviction))
        own = path if args.pods is None else "the kubelet's defaults"
        sides = (Side(name=str(args.config or own), cycles=cycles), Side(name=str(args.compare), cycles=other))
        if args.output == TABLE:
            print_comparison(name, sides, make_console(sys.stdout))
        else:
            write_document(comparison_document(name, sides), args.output, sys.stdout)
        return ExitCode.DONE
    if args.plot is not None:
        draw(name, cycles, args.plot, subtitle=f"decided by policy {config.policy.value}", begin=scenario.begin)
    if args.output == TABLE:
        print_simulation(name, cycles, TableView(config=config, everything=args.all), make_console(sys.stdout))
    else:
        document = simulation_document(name, cycles, config, rows=None if args.all else TOP_ROWS)
        write_document(document, args.output, sys.stdout)
    return ExitCode.DONE


def _scenario(args: argparse.Namespace) -> tuple[Scenario, Path]:
    """Read the scenario, or make it of pods and summaries; raises `InputError`. The path names it in messages."""
    readings = sum(each is not None for each in (args.summary, args.prometheus))
    if (args.file is None) == (args.pods is None) or readings != (args.pods is not None):
        raise InputError(
            "simulate: give either a scenario FILE, or --pods FILE with --summary FILE or --prometheus FILE"
        )
    if args.pods is None:
        scenario, path = read_scenario(args.file), args.file
    elif args.prometheus is not None:
        scenario, path = prometheus_scenario(args.pods, args.prometheus), args.pods
    else:
        scenario, path = raw_scenario(args.pods, args.summary), args.pods
    return (scenario if args.grow is None else grown(scenario, parse_growth(args.grow))), path
