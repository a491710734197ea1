"""`evictd explain [FILE]`: shows which pod would be evicted next for each signal, and why.

Without a file it reads this machine, with the running daemon's configuration unless one is given: each signal with its source,
value, threshold and distance, and the pods in the order of eviction. With a scenario file it does so for its last step, or the
one at `--at`. It changes nothing.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from evictd.codec.config.eviction_config import decode_eviction_config
from evictd.commands.inputs.no_file import is_there
from evictd.commands.inputs.source import (
    add_policy_argument,
    default_settings,
    load_to_play,
    read_scenario,
    scenario_config,
)
from evictd.commands.status import DEFAULT_ADDRESS, fetch
from evictd.config.file import load
from evictd.config.flags import NO_FLAGS, as_arguments, from_args
from evictd.config.flags import add_arguments as add_config_flags
from evictd.config.settings import Settings
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.state import State
from evictd.core.units.duration import parse_duration
from evictd.errors import ExitCode, InputError, InvalidValueError, NodeError
from evictd.observe.live import LiveNode
from evictd.observe.reading.roots import Roots, existing, missing_root_dir
from evictd.render.console import make_console
from evictd.render.documents import TOP_ROWS
from evictd.render.node_view import NodeView, explanation_document, node_view
from evictd.render.output import TABLE, add_output_argument, write_document
from evictd.render.simulation.tables import TableView, print_explanation
from evictd.render.text import duration_text
from evictd.simulation import simulate

_HERE = Roots()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="a scenario, - for standard input; without one, this node",
    )
    parser.add_argument(
        "--at", metavar="DURATION", help="the step of the scenario at this time (default: the last one)"
    )
    parser.add_argument("--all", action="store_true", help="every pod, not only the first ones")
    add_policy_argument(parser)
    add_output_argument(parser)
    add_config_flags(parser)
    parser.add_argument(
        "--address",
        dest="flag_listen_address",
        action="append",
        metavar="ADDRESS",
        help="where the daemon listens (its listenAddress)",
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Read once, rank for every signal, and show it."""
    explained = this_machine(*node_of(args)) if args.file is None else _scenario(args)
    if args.output == TABLE:
        print_explanation(explained, TableView(config=explained.config, everything=args.all), make_console(sys.stdout))
    else:
        document = explanation_document(explained, rows=None if args.all else TOP_ROWS)
        write_document(document, args.output, sys.stdout)
    return ExitCode.DONE


def node_of(args: argparse.Namespace) -> tuple[Settings, Roots]:
    """Read the configuration, and return where the machine is that it is for.

    Without a configuration both are those of the running daemon, else the kubelet's default thresholds and this machine. Flags
    that do not concern decisions, such as where the runtime is, leave the daemon's configuration in effect.
    """
    flags = from_args(args)
    settings = load_to_play(_path(args), flags)
    own = args.config or flags.config_dir is not None or settings.eviction != load(None, NO_FLAGS).eviction
    address = settings.evictd.listen_address or DEFAULT_ADDRESS
    daemons, machine = (None, _HERE) if own else _of_daemon(address, settings, args)
    if daemons is None and not settings.eviction.thresholds and not args.config:
        sys.stderr.write(f"evictd: no evictd answers at {address}; thresholds: the kubelet's defaults\n")
        settings = default_settings(flags)
    found = daemons or settings
    if args.policy is not None:
        found = replace(found, eviction=replace(found.eviction, policy=Policy(args.policy)))
    return found, machine


def _path(args: argparse.Namespace) -> Path | None:
    return Path(args.config) if args.config else None


def _of_daemon(address: str, here: Settings, args: argparse.Namespace) -> tuple[Settings | None, Roots]:
    """Ask the daemon for the settings in effect and the machine that it reads; no settings if no evictd answers there.

    Where the runtime, the directories and the API server are is read from the daemon's files with its flags, overridden by
    those in `args`; it is as `here` if the files cannot be read, as without root.
    """
    try:
        document = fetch(address, "/configz")
        eviction = decode_eviction_config(document.get("evictionconfig"))
    except (NodeError, InputError):
        return None, _HERE
    parser = argparse.ArgumentParser()
    add_config_flags(parser)
    for flag in ("--proc", "--cgroup", "--node-cgroup"):
        parser.add_argument(flag)
    unread, machine = "", _HERE
    try:
        both, _ = parser.parse_known_args([*map(str, document.get("arguments", ())), *as_arguments(args)])
        machine = _machine_of(both)
        settings = load(_path(both), from_args(both))
    except InputError as error:
        settings, unread = here, f" but for its files ({error})"
    anew = "read anew, without what that one remembers (`evictd status` shows what it would do)"
    sys.stderr.write(
        f"evictd: {anew}; with the configuration of the evictd at {address}{unread}; --config takes another one\n"
    )
    return replace(settings, eviction=eviction), machine


def _machine_of(args: argparse.Namespace) -> Roots:
    """Return where the daemon reads the machine, as far as that is there: its mounts are not those of the host."""
    if not all(each and Path(each).is_dir() for each in (args.proc, args.cgroup)):
        return _HERE
    node_cgroup = args.node_cgroup or _HERE.node_cgroup
    return Roots(proc=Path(args.proc), cgroup=Path(args.cgroup), node_cgroup=node_cgroup)


def this_machine(settings: Settings, machine: Roots = _HERE) -> NodeView:
    """Explain one reading of this machine, or of the one that these directories stand for."""
    with LiveNode(settings, machine) as node:
        reading = node.read()
    seen = reading.observation
    if seen.filesystems.dedicated_image_fs is None:  # no amount of a disk is shown: not of which directory it would be
        root_dir = settings.evictd.root_dir
        missing = missing_root_dir(root_dir, existing(root_dir))
        seen = replace(seen, problems=tuple(each for each in seen.problems if each.detail != missing))
    step = synchronize(State(), seen, settings.eviction, reading.now)
    state = replace(step.state, in_flight=())  # one reading performs nothing, so no pod is being evicted
    where = "this machine" if machine.proc == _HERE.proc else f"the machine of {machine.proc} and {machine.cgroup}"
    title = f"{where}{f' ({settings.evictd.cluster.node_name})' if settings.evictd.cluster.node_name else ''}"
    return node_view(
        title,
        settings.eviction,
        seen,
        state,
        step.findings,
        now=reading.now,
        sources=reading.sources,
        oom_scores=reading.oom_scores,
        memory_qos=reading.memory_qos,
    )


def _scenario(args: argparse.Namespace) -> NodeView:
    if not args.file.suffix and len(args.file.parts) == 2 and not is_there(args.file):
        raise InputError(f"{args.file}: there is no such file; of a pod, `evictd why {args.file}` tells the place")
    scenario = read_scenario(args.file)
    config = scenario_config(scenario, args.file, args)
    cycles = tuple(simulate(scenario, config))
    cycle = cycles[-1]
    if args.at is not None:
        try:
            at = parse_duration(args.at)
        except InvalidValueError as error:
            raise InputError(f"--at: {args.at}: {error}; a duration looks like 90s or 1m30s") from error
        cycle = next((one for one in reversed(cycles) if one.at <= at), cycles[0])
        if at > cycles[-1].at:
            sys.stderr.write(
                f"evictd: --at {args.at} is after the last step; that is shown, {duration_text(cycle.at)}\n"
            )
    turn = cycle.turns[-1]
    title = f"{scenario.name or args.file.stem} at {duration_text(cycle.at)}"
    return node_view(title, config, turn.observation, cycle.state, turn.step.findings, now=cycle.at)
