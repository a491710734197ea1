"""`evictd explain [FILE]`: who would go next for each signal, and why?

Without a file it looks at this machine: each signal with its source, value, threshold and distance, and the pods in the order
in which they would go. With a scenario file it does so for its last step, or the one at `--at`. It never does anything.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from evictd.codec.decision import encode_finding, encode_row
from evictd.codec.kubelet_config import eviction_config
from evictd.config.file import load
from evictd.config.flags import add_arguments as add_config_flags
from evictd.config.flags import from_args
from evictd.config.settings import Settings
from evictd.core.config import Policy
from evictd.core.decision import RankedPod
from evictd.core.duration import parse_duration
from evictd.core.oom import OomScoreDifference
from evictd.core.signal import Resource
from evictd.core.state import State
from evictd.core.synchronize import synchronize
from evictd.errors import ExitCode, InputError, InvalidValueError
from evictd.offline.console import make_console
from evictd.offline.live import LiveNode
from evictd.offline.next_up import Explanation, Queue, explanation
from evictd.offline.output import TABLE, add_output_argument, write_document
from evictd.offline.rehearse import rehearse
from evictd.offline.source import add_policy_argument, read_scenario, scenario_config
from evictd.offline.story import API_VERSION, TOP_ROWS, Document
from evictd.offline.tables import View, print_explanation
from evictd.offline.words import goes_before, period, place_words, protection, say_finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a scenario; without one, this machine")
    parser.add_argument(
        "--at", metavar="DURATION", help="the step of the scenario at this time (default: the last one)"
    )
    parser.add_argument("--all", action="store_true", help="every pod, not only the first ones")
    add_policy_argument(parser)
    add_output_argument(parser)
    add_config_flags(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Look once, rank for every signal, and say it."""
    explained = this_machine(live_settings(args)) if args.file is None else _scenario(args)
    if args.output == TABLE:
        print_explanation(explained, View(config=explained.config, everything=args.all), make_console(sys.stdout))
    else:
        document = explanation_document(explained, rows=None if args.all else TOP_ROWS)
        write_document(document, args.output, sys.stdout)
    return ExitCode.DONE


def live_settings(args: argparse.Namespace) -> Settings:
    """Read the configuration; with none at all, take the thresholds that the kubelet has by default."""
    settings = load(Path(args.config) if args.config else None, from_args(args))
    eviction = settings.eviction
    if not eviction.thresholds and not args.config:
        default = eviction_config({}, policy=eviction.policy, default_hard=True)
        eviction = replace(eviction, thresholds=default.thresholds)
    if args.policy is not None:
        eviction = replace(eviction, policy=Policy(args.policy))
    return replace(settings, eviction=eviction)


def this_machine(settings: Settings) -> Explanation:
    """Look at this machine once."""
    with LiveNode(settings) as node:
        look = node.look()
    step = synchronize(State(), look.observation, settings.eviction, look.now)
    state = replace(step.state, releases=())  # a fresh look has decided nothing; nobody is on the way
    title = f"this machine{f' ({settings.cluster.node_name})' if settings.cluster.node_name else ''}"
    return explanation(
        title,
        settings.eviction,
        look.observation,
        state,
        step.findings,
        sources=look.sources,
        oom_scores=look.oom_scores,
    )


def _scenario(args: argparse.Namespace) -> Explanation:
    scenario = read_scenario(args.file)
    config = scenario_config(scenario, args.file, args)
    cycles = tuple(rehearse(scenario, config))
    cycle = cycles[-1]
    if args.at is not None:
        try:
            at = parse_duration(args.at)
        except InvalidValueError as error:
            raise InputError(f"--at: {args.at}: {error}; a duration looks like 90s or 1m30s") from error
        cycle = next((one for one in reversed(cycles) if one.at <= at), cycles[0])
    turn = cycle.turns[-1]
    title = f"{scenario.name or args.file.stem} at {period(cycle.at)}"
    return explanation(title, config, turn.observation, cycle.state, turn.step.findings)


# --- as plain values --------------------------------------------------------------------------------------------------


def explanation_document(explained: Explanation, *, rows: int | None = TOP_ROWS) -> Document:
    """Write an explanation as plain values; `rows` of `None` keeps every pod."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Explanation",
        "title": explained.title,
        "policy": explained.config.policy.value,
        "conditions": [condition.value for condition in explained.state.node_conditions],
        "thresholds": [
            {**encode_finding(finding), "source": explained.sources.get(finding.threshold.signal)}
            for finding in explained.thresholds
        ],
        "unobserved": [signal.value for signal in explained.unobserved],
        "queues": [_queue(queue, explained, rows) for queue in explained.queues],
        "notes": [say_finding(note, explained.config) for note in explained.notes],
        "oomScoreDifferences": [_oom_score(difference) for difference in explained.oom_scores],
        "problems": [{"source": p.source, "detail": p.detail} for p in explained.observation.problems],
    }


def _queue(queue: Queue, explained: Explanation, rows: int | None) -> Document:
    shown = queue.rows if rows is None else queue.rows[:rows]
    following = (*queue.rows[1:], None)
    candidate = queue.next_row(explained.config)
    return {
        "signals": [signal.value for signal in queue.signals],
        "resource": queue.resource.value,
        "next": None if candidate is None else candidate.pod.full_name,
        "stop": None if queue.stop is None else say_finding(queue.stop, explained.config),
        "pods": len(queue.rows),
        "rows": [
            {
                **encode_row(row),
                "protected": protection(row.pod, explained.config),
                "why": why(row, after, queue.resource),
            }
            for row, after in zip(shown, following, strict=False)
        ],
    }


def why(row: RankedPod, following: RankedPod | None, resource: Resource) -> str:
    """Say what puts a pod where it is: what sets it apart from the next one, or what its place is made of."""
    return place_words(row, resource) if following is None else goes_before(row, following, resource)


def _oom_score(difference: OomScoreDifference) -> Document:
    return {
        "pod": difference.pod.full_name,
        "container": difference.container,
        "expected": difference.expected,
        "found": difference.found,
        "cgroup": difference.cgroup,
    }
