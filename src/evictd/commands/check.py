"""`evictd check FILE`: validates a configuration and shows its thresholds on this node.

Validates as the daemon does at start, shows the effective thresholds with amounts, with what is available now and with their
origin, and lints them. It needs no running daemon, runtime or cluster; what cannot be read of the node is left out or noted.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from evictd.commands.inputs.no_file import refuse_directory, with_examples
from evictd.commands.inputs.source import default_settings
from evictd.config.file import drop_ins, load
from evictd.config.flags import NO_FLAGS, Flags, from_args
from evictd.config.flags import add_arguments as add_config_flags
from evictd.config.kernel_share import below_kernel_share, kernel_share
from evictd.config.lint import lint, misspelt, without_effect
from evictd.config.lint_model import LintFinding, Severity, Surroundings
from evictd.config.reserved import reserved_beyond
from evictd.config.settings import Settings
from evictd.core.eviction.reclaim import Layout, add_container_fs_thresholds, layout_of
from evictd.core.model.config import MemoryFormula
from evictd.core.model.observation import Filesystems
from evictd.core.model.problem import printable
from evictd.core.model.signal import Filesystem, Signal
from evictd.core.model.threshold import Operator, Origin, Threshold
from evictd.core.model.threshold_config import NODE_ALLOCATABLE_ENFORCEMENT_KEY
from evictd.core.units.approximate import bytes_text
from evictd.core.units.quantity import ZERO, Quantity, parse_quantity
from evictd.errors import ExitCode, InputError, InvalidValueError, NodeError
from evictd.observe.named_files import unreadable_files
from evictd.observe.node_capacity import (
    NodeAmounts,
    container_fs_capacities,
    read_amounts,
    read_low_watermark,
    read_unusable_pids,
)
from evictd.observe.running_kubelet import RunningKubelet, running_kubelet
from evictd.observe.runtime_socket import runtime_findings
from evictd.render.check_report import CheckReport, write_problems, write_report
from evictd.render.output import add_output_argument
from evictd.render.text import clean, first_of

_WITHOUT_FILE = (
    "no FILE was given: the thresholds are the kubelet's defaults; `evictd run` without --config has none "
    "and evicts no pod"
)
_WITHOUT_KUBELET = (
    "not compared with a kubelet, as the sizes or the layout are another node's; if one runs there give its configuration "
    "with --kubelet-config (docs/tuning.md has the command that reads it)"
)
_EXAMPLES = "the package has /etc/evictd/config.yaml, a clone config/evictd.yaml; without FILE the kubelet's defaults are checked"
_NO_DROP_INS = {".yaml", ".yml", ".json"}
_OVERRIDES: Mapping[str, tuple[Signal, ...]] = {
    "memory-capacity": (Signal.MEMORY_AVAILABLE, Signal.ALLOCATABLE_MEMORY_AVAILABLE),
    "nodefs-capacity": (Signal.NODEFS_AVAILABLE,),
    "nodefs-inodes": (Signal.NODEFS_INODES_FREE,),
    "imagefs-capacity": (Signal.IMAGEFS_AVAILABLE,),
    "imagefs-inodes": (Signal.IMAGEFS_INODES_FREE,),
    "pid-capacity": (Signal.PID_AVAILABLE,),
}
_SAME_FILESYSTEM: Mapping[Signal, Signal] = {
    Signal.NODEFS_AVAILABLE: Signal.IMAGEFS_AVAILABLE,
    Signal.NODEFS_INODES_FREE: Signal.IMAGEFS_INODES_FREE,
}
"""What is nodefs as well where there is one filesystem."""
_DEDICATED = Filesystems(dedicated_image_fs=True)
_LAYOUTS: Mapping[str, Filesystems] = {
    "single": Filesystems(),
    "dedicated": _DEDICATED,
    "split": Filesystems(dedicated_image_fs=True, split_container_fs=True),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.usage = "%(prog)s [options] [FILE]"
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="the configuration (or --config); - is standard input; none: the kubelet's defaults",
    )
    add_output_argument(parser)
    parser.add_argument(
        "--syntax",
        action="store_true",
        help="only check whether the daemon accepts the file: exit status 0, or 2 with each fault",
    )
    parser.add_argument("--kubelet-config", type=Path, metavar="PATH", help="the kubelet's own file, or its configz")
    parser.add_argument("--root", type=Path, default=Path("/"), metavar="PATH", help="where the node's / is mounted")
    parser.add_argument(
        "--layout",
        choices=list(_LAYOUTS),
        help="layout of images and writable layers; default: dedicated where the sizes differ, else this node's",
    )
    for name in _OVERRIDES:
        parser.add_argument(f"--{name}", metavar="N", help=f"assume this {name.replace('-', ' ')}")
    add_config_flags(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Check and print; exit with `NO` for a finding that is an error, not for warnings."""
    try:
        return _run(args)
    except InputError as error:
        if not args.syntax:
            write_problems(error.problems, args.output)
        raise


def _run(args: argparse.Namespace) -> ExitCode:
    overrides = _overrides(args)
    if not args.root.is_dir():
        raise NodeError(f"--root {args.root}: is no directory; give the one that the node's / is mounted on")
    flags = from_args(args)
    settings = _load(_file(args), flags)
    if args.syntax:
        return ExitCode.DONE
    if settings.source is None and flags.config_dir is None and not settings.eviction.thresholds:
        settings = default_settings(flags)
        settings = replace(settings, surprises=(_WITHOUT_FILE, *settings.surprises))
    if flags.config_dir is not None:
        settings = replace(settings, surprises=(*_no_drop_ins(flags.config_dir), *settings.surprises))
    report = check(settings, args.root, overrides, layout=args.layout, kubelet_config=args.kubelet_config)
    if flags.config_dir is not None:
        report = replace(report, drop_ins=tuple(drop_ins(flags.config_dir)))
    write_report(report, args.output)
    return ExitCode.NO if any(one.severity is Severity.ERROR for one in report.findings) else ExitCode.DONE


def _file(args: argparse.Namespace) -> Path | None:
    """Return the file that is given, in either of the two ways; raises `InputError` where these are two files."""
    given: Path | None = args.file
    if args.config is None:
        return given
    if given is not None and given != Path(args.config):
        raise InputError(f"--config {args.config}: FILE {given} was given too; give one of them")
    return Path(args.config) if args.config else given


def _no_drop_ins(directory: Path) -> Iterator[str]:
    """Yield which configurations of the directory are no drop-ins by their names."""
    names = sorted(clean(each.name) for each in directory.iterdir() if each.suffix in _NO_DROP_INS and each.is_file())
    if names:
        verb, them = ("is", "it for a drop-in") if len(names) == 1 else ("are", "them for drop-ins")
        yield f"{clean(str(directory))}: {first_of(names)} {verb} not read, only *.conf files are; rename {them}"


def _load(path: Path | None, flags: Flags) -> Settings:
    """Load the configuration; a directory is answered with its files, and a file that is not there with an example."""
    if path is not None:
        refuse_directory(path, lambda _: True, _EXAMPLES)
    try:
        return load(path, flags)
    except InputError as error:
        raise (error if path is None else with_examples(error, path, _EXAMPLES)) from error


def check(
    settings: Settings,
    root: Path = Path("/"),
    overrides: Mapping[Signal, Quantity] | None = None,
    *,
    layout: str | None = None,
    kubelet_config: Path | None = None,
) -> CheckReport:
    """Return the report on the thresholds, amounts and findings for the node below `root`."""
    amounts = read_amounts(settings, root)
    filesystems = _LAYOUTS[layout] if layout else _layout(overrides or {}, amounts.filesystems)
    given = _given(overrides or {}, filesystems)
    thresholds = _effective(settings.eviction.thresholds, filesystems)
    # this machine's say nothing about another node
    capacities, available = (given, {}) if given else (dict(amounts.capacities), dict(amounts.available))
    capacities |= container_fs_capacities(capacities, filesystems)
    available |= container_fs_capacities(available, filesystems)
    running = running_kubelet(root)
    elsewhere = bool(overrides or layout)  # another node's kubelet, runtime and kernel are not here
    kubelet = _kubelet(settings, running, kubelet_config) if kubelet_config or not elsewhere else None
    surroundings = Surroundings(
        capacities=capacities,
        available=available,
        filesystems=[Filesystem.NODEFS, *([Filesystem.IMAGEFS] if filesystems.dedicated_image_fs else [])],
        low_watermark_bytes=None if Signal.MEMORY_AVAILABLE in (overrides or {}) else read_low_watermark(root),
        unallocatable_bytes=None if Signal.MEMORY_AVAILABLE in (overrides or {}) else amounts.unallocatable_bytes,
        formula=amounts.formula,
        unusable_pids=None if Signal.PID_AVAILABLE in (overrides or {}) else read_unusable_pids(root),
        oomd=amounts.oomd,
    )
    surroundings = surroundings if kubelet is None else _beside(kubelet, surroundings)
    return CheckReport(
        source=settings.source,
        thresholds=thresholds,
        set_by=_set_by(thresholds, settings),
        capacities=capacities,
        available=available,
        warnings=(
            *(str(each) for each in settings.unknown_fields if not each.misspelt),
            *settings.surprises,
            *without_effect(settings.without_effect),
            *(() if overrides else _unread(amounts)),
            *_unread_drop_ins(settings, running),
            *((_WITHOUT_KUBELET,) if elsewhere and kubelet is None else ()),
            *reserved_beyond(thresholds, sum(settings.kubelet.reserved_memory, ZERO), surroundings),
            *_untested(thresholds, amounts.formula, overrides or {}),
            *(_uncompared((*thresholds, *(surroundings.kubelet or ())), given) if given else ()),
        ),
        findings=_findings(settings, root, thresholds, surroundings, this_node=not elsewhere),
        dry_run=settings.evictd.dry_run,
        given=frozenset(given),
        compared_with=None if kubelet is None else _compared_with(kubelet, running),
    )


def _findings(
    settings: Settings, root: Path, thresholds: Sequence[Threshold], surroundings: Surroundings, *, this_node: bool
) -> tuple[LintFinding, ...]:
    return (
        *misspelt(settings.unknown_fields),
        *unreadable_files(settings, root),
        *lint(thresholds, surroundings),
        *(runtime_findings(settings, root) if this_node else ()),
    )


def _beside(kubelet: Settings, around: Surroundings) -> Surroundings:
    """Return what lints know of the node with what they know of its kubelet."""
    of = kubelet.kubelet
    return replace(
        around,
        kubelet=kubelet.eviction.thresholds,
        kubelet_reserved=sum(of.reserved_memory, ZERO),
        kubelet_reserved_disk=sum(of.reserved_disk, ZERO),
        kubelet_limits_pods=NODE_ALLOCATABLE_ENFORCEMENT_KEY in of.enforce_node_allocatable,
    )


def _set_by(thresholds: Sequence[Threshold], settings: Settings) -> dict[Threshold, str]:
    """Return the file or flag of each threshold that is set."""
    main = "" if settings.source is None else str(settings.source)
    found = {each: settings.written.set_by(each) or main for each in thresholds if each.origin is Origin.SET}
    return {each: name for each, name in found.items() if name}


def _given(overrides: Mapping[Signal, Quantity], filesystems: Filesystems) -> dict[Signal, Quantity]:
    """Return the amounts that are assumed, also of the other filesystems that are the same one in this layout."""
    single = layout_of(filesystems) is Layout.SINGLE
    same = {to: overrides[of] for of, to in _SAME_FILESYSTEM.items() if of in overrides} if single else {}
    given = {**same, **overrides}
    return given | container_fs_capacities(given, filesystems)


def _layout(overrides: Mapping[Signal, Quantity], here: Filesystems) -> Filesystems:
    """Return the layout of another node: one whose nodefs and imagefs differ in size has two filesystems."""
    pairs = ((overrides.get(nodefs), overrides.get(imagefs)) for nodefs, imagefs in _SAME_FILESYSTEM.items())
    differ = any(one is not None and other is not None and one != other for one, other in pairs)
    return _DEDICATED if differ and layout_of(here) is Layout.SINGLE else here


def _uncompared(thresholds: Sequence[Threshold], given: Mapping[Signal, Quantity]) -> Iterator[str]:
    """Yield which amounts, evictd's or the kubelet's, were compared with no percentage and no capacity, for want of a size."""
    amounts = {one.signal for one in thresholds if one.value.quantity is not None} - given.keys()
    missing = {name: signals[0] for name, signals in _OVERRIDES.items() if signals[0] in amounts}
    if missing:
        names, flags = ", ".join(one.value for one in missing.values()), ", ".join(f"--{name}" for name in missing)
        yield f"not compared with percentages and capacities: {names}; give {flags} for that"


def _unread(amounts: NodeAmounts) -> Iterator[str]:
    if amounts.problem:
        yield f"this node's amounts are unknown: {amounts.problem}"
    if amounts.without_root_dir:
        yield amounts.without_root_dir


def _untested(
    thresholds: Sequence[Threshold], formula: MemoryFormula, overrides: Mapping[Signal, Quantity]
) -> Iterator[str]:
    """Yield what is not known of another node: PIDs that the kernel never assigns, and its share of memory, unless estimated."""
    if Signal.PID_AVAILABLE in overrides and any(each.signal is Signal.PID_AVAILABLE for each in thresholds):
        yield (
            "not tested for another node's PIDs, as how many of them always count as available is unknown: "
            "PidThresholdNeverMet; run `evictd check` on that node"
        )
    if Signal.MEMORY_AVAILABLE not in overrides:
        return
    memory = overrides[Signal.MEMORY_AVAILABLE]
    if kernel_share(memory.value()) is None:
        yield (
            "not tested for another node's memory, as its kernel's share is unknown: MemoryThresholdNeverMet, SoftAfterHard, "
            "BelowLowWatermark; run `evictd check` on that node"
        )
    for threshold in thresholds:
        share = below_kernel_share(threshold, formula, memory.value())
        if share is not None:
            yield (
                f"{threshold} may never be met on a node of {bytes_text(memory.value())}, where {share.text} that no process can "
                "allocate count as available (measured machines, docs/tuning.md): MemoryThresholdNeverMet"
            )


def _effective(thresholds: tuple[Threshold, ...], filesystems: Filesystems) -> tuple[Threshold, ...]:
    """Add what is derived for containerfs; an entry without a source is inert and not shown."""
    derived = add_container_fs_thresholds(thresholds, filesystems)
    return tuple(threshold for threshold in derived if threshold.operator is Operator.LESS_THAN)


def _kubelet(settings: Settings, running: RunningKubelet, given: Path | None) -> Settings | None:
    """Return the configuration of the kubelet on this node, unless its file is the very one that is checked.

    A given file has the drop-ins and flags in it (configz), or is another node's, unless it is the running kubelet's own.
    """
    if given is not None:
        return load(given, running.flags if _same(given, running.file) else NO_FLAGS)
    if not running.file.is_file() or _same(settings.source, running.file):
        return None
    return load(running.file, running.flags)


def _compared_with(kubelet: Settings, running: RunningKubelet) -> str:
    if running.pid is not None and _same(kubelet.source, running.file):
        return f"the kubelet of PID {running.pid} ({printable(str(running.file))})"
    return f"the kubelet's file {kubelet.source}"


def _unread_drop_ins(settings: Settings, running: RunningKubelet) -> Iterator[str]:
    """Yield what the kubelet on this node reads beside its file and the check does not."""
    if running.missing_directory is not None:
        yield f"the kubelet's --config-dir {running.missing_directory} is no directory here: its drop-ins are not compared with"
    directory = running.flags.config_dir
    if directory is None or not _same(settings.source, running.file):
        return
    if {str(one.resolve()) for one in drop_ins(directory)} - {
        str(Path(one).resolve()) for one in settings.written.texts
    }:
        yield f"the kubelet merges drop-ins over this file, which were not checked; add --config-dir={directory}"


def _same(one: Path | None, other: Path) -> bool:
    return one is not None and one.exists() and other.exists() and one.samefile(other)


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
