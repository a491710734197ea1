"""`evictd check FILE`: is this configuration right, and what does it come to on this node.

Validates as the daemon does at start, shows the effective thresholds with absolute amounts and where each came from, and
lints them. Nothing here needs a running daemon, a runtime or a cluster; what of the node cannot be read is left open.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from evictd.config.file import load
from evictd.config.flags import add_arguments as add_config_flags
from evictd.config.flags import from_args
from evictd.config.lint import Surroundings, lint
from evictd.config.settings import Settings
from evictd.core.containerfs import add_container_fs_thresholds
from evictd.core.observation import Filesystems
from evictd.core.quantity import Quantity, parse_quantity
from evictd.core.signal import Filesystem, Signal
from evictd.core.threshold import Operator, Threshold
from evictd.errors import ExitCode, InputError, InvalidValueError, NodeError
from evictd.offline.check_report import Report, write_report
from evictd.offline.node_capacity import (
    below,
    container_fs_capacities,
    dedicated_image_fs,
    read_capacities,
    read_low_watermark,
)
from evictd.offline.output import add_output_argument

_KUBELET_CONFIG = Path("/var/lib/kubelet/config.yaml")
_OVERRIDES: Mapping[str, tuple[Signal, ...]] = {
    "memory-capacity": (Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE),
    "nodefs-capacity": (Signal.NODEFS_AVAILABLE,),
    "nodefs-inodes": (Signal.NODEFS_INODES_FREE,),
    "imagefs-capacity": (Signal.IMAGEFS_AVAILABLE,),
    "imagefs-inodes": (Signal.IMAGEFS_INODES_FREE,),
    "pid-capacity": (Signal.PID_AVAILABLE,),
}
_LAYOUTS: Mapping[str, Filesystems] = {
    "single": Filesystems(),
    "dedicated": Filesystems(dedicated_image_fs=True),
    "split": Filesystems(dedicated_image_fs=True, split_container_fs=True),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.usage = "%(prog)s [options] FILE"
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the configuration (or --config)")
    add_output_argument(parser)
    parser.add_argument("--kubelet-config", type=Path, metavar="PATH", help="the kubelet's own file, or its configz")
    parser.add_argument("--root", type=Path, default=Path("/"), metavar="PATH", help="where the node's / is mounted")
    parser.add_argument("--layout", choices=list(_LAYOUTS), help="how images and layers lie; default: as on this node")
    for name in _OVERRIDES:
        parser.add_argument(f"--{name}", metavar="N", help=f"assume this {name.replace('-', ' ')}")
    add_config_flags(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Check, print, and say whether there was nothing to find."""
    overrides = _overrides(args)
    if not args.root.is_dir():
        raise NodeError(f"--root {args.root}: is no directory; give the one that the node's / is mounted on")
    settings = load(args.file or (Path(args.config) if args.config else None), from_args(args))
    report = check(settings, args.root, overrides, layout=args.layout, kubelet_config=args.kubelet_config)
    write_report(report, args.output)
    return ExitCode.NO if report.findings else ExitCode.DONE


def check(
    settings: Settings,
    root: Path = Path("/"),
    overrides: Mapping[Signal, Quantity] | None = None,
    *,
    layout: str | None = None,
    kubelet_config: Path | None = None,
) -> Report:
    """Put thresholds, amounts and findings together for the node below `root`."""
    filesystems = _LAYOUTS[layout] if layout else Filesystems(dedicated_image_fs=dedicated_image_fs(settings, root))
    capacities = {**read_capacities(settings, root), **(overrides or {})}
    thresholds = _effective(settings.eviction.thresholds, filesystems)
    capacities |= container_fs_capacities(capacities, filesystems)
    surroundings = Surroundings(
        capacities=capacities,
        filesystems=[Filesystem.NODEFS, *([Filesystem.IMAGEFS] if filesystems.dedicated_image_fs else [])],
        low_watermark_bytes=read_low_watermark(root),
        kubelet=_kubelet_thresholds(settings, root, kubelet_config),
    )
    return Report(
        source=settings.source,
        thresholds=thresholds,
        capacities=capacities,
        warnings=settings.warnings,
        findings=lint(thresholds, surroundings),
    )


def _effective(thresholds: tuple[Threshold, ...], filesystems: Filesystems) -> tuple[Threshold, ...]:
    """Add what is derived for containerfs; an entry without a source is inert and not shown."""
    derived = add_container_fs_thresholds(thresholds, filesystems)
    return tuple(threshold for threshold in derived if threshold.operator is Operator.LESS_THAN)


def _kubelet_thresholds(settings: Settings, root: Path, given: Path | None) -> Sequence[Threshold] | None:
    """Give the thresholds of the kubelet on this node, unless its file is the very one that is checked."""
    path = given or below(root, _KUBELET_CONFIG)
    if given is None and (not path.is_file() or (settings.source and path.samefile(settings.source))):
        return None
    return load(path).eviction.thresholds


def _overrides(args: argparse.Namespace) -> dict[Signal, Quantity]:
    found, problems = {}, []
    for name, signals in _OVERRIDES.items():
        text = getattr(args, name.replace("-", "_"))
        if text is None:
            continue
        try:
            found.update(dict.fromkeys(signals, parse_quantity(text)))
        except InvalidValueError as error:
            problems.append(f"--{name}: {text}: {error}; give an amount such as 16Gi")
    if problems:
        raise InputError(tuple(problems))
    return found
