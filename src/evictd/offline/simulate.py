"""`evictd simulate FILE`: what would evictd do in this story?

Plays a scenario file through the core and shows every step: what was seen, met, reclaimed, evicted, and why the order was as it
was. It asks nothing of this node.
"""

import argparse
import sys
from pathlib import Path

from evictd.errors import ExitCode
from evictd.offline.console import make_console
from evictd.offline.output import TABLE, add_output_argument, write_document
from evictd.offline.plot import add_plot_argument, check_plot, draw
from evictd.offline.rehearse import rehearse
from evictd.offline.source import add_config_arguments, read_scenario, scenario_config
from evictd.offline.story import TOP_ROWS, story_document
from evictd.offline.tables import View, print_story


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="a scenario, JSON or YAML (docs/scenarios.md)")
    add_config_arguments(parser)
    add_output_argument(parser)
    add_plot_argument(parser)
    parser.add_argument("--all", action="store_true", help="every row of every ranking, every threshold")


def run(args: argparse.Namespace) -> ExitCode:
    """Decide the whole story, then write it."""
    check_plot(args.plot)
    scenario = read_scenario(args.file)
    config = scenario_config(scenario, args.file, args)
    name = scenario.name or args.file.stem
    cycles = tuple(rehearse(scenario, config))
    if args.plot is not None:
        draw(name, cycles, args.plot, subtitle=f"decided by policy {config.policy.value}")
    if args.output == TABLE:
        print_story(name, cycles, View(config=config, everything=args.all), make_console(sys.stdout))
    else:
        document = story_document(name, cycles, config, rows=None if args.all else TOP_ROWS)
        write_document(document, args.output, sys.stdout)
    return ExitCode.DONE
