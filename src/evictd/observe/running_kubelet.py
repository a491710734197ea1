"""Finds the configuration of the kubelet that runs on this node, by its command line, for `check`.

A kubelet merges the drop-ins of its `--config-dir` over its file, and its flags over both; so the file alone may differ from
what it uses. A kubelet inside another program (k3s, MicroK8s) has no command line of its own and is not found.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from evictd.config.flags import NO_FLAGS, Flags, add_arguments, explicit_booleans, from_args
from evictd.core.frozen import frozen
from evictd.observe.node_capacity import below

_DEFAULT_FILE = Path("/var/lib/kubelet/config.yaml")


@frozen
class RunningKubelet:
    """The configuration of the kubelet on this node; without one that runs, the usual file."""

    file: Path
    pid: int | None = None
    """Its process; `None` without one that runs."""
    flags: Flags = NO_FLAGS
    """Its drop-ins and its flags on eviction."""
    missing_directory: Path | None = None
    """Its `--config-dir`, if that is no directory here."""


def running_kubelet(root: Path) -> RunningKubelet:
    """Return what the first kubelet below `root` was started with."""
    for pid, arguments in _kubelets(root):
        found = _started_with(arguments, root)
        if found is not None and not _has_other_file(pid, found.file, root):
            return replace(found, pid=pid)
    return RunningKubelet(file=below(root, _DEFAULT_FILE))


def _kubelets(root: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield PID and arguments of each kubelet, in the order of their PIDs; a container's paths are not the node's."""
    proc = below(root, Path("/proc"))
    for process in sorted(int(each.name) for each in proc.glob("[1-9]*") if each.name.isdigit()):
        try:
            text = (proc / str(process) / "cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # it ended, or is another user's
        program, *arguments = text.removesuffix("\0").split("\0")
        if program.rpartition("/")[2] == "kubelet" and not _in_a_container(proc / str(process), root):
            yield process, arguments


def _in_a_container(process: Path, root: Path) -> bool:
    """Whether a process certainly has another root directory; without root's rights that is not known."""
    try:
        return not (process / "root").samefile(root)
    except OSError:
        return False


def _has_other_file(pid: int, file: Path, root: Path) -> bool:
    """Whether a kubelet certainly has another file at this path: it is in a mount namespace where that directory differs.

    The namespaces alone do not say so: `PrivateTmp=yes` gives a kubelet its own, with the node's files.
    """
    there = root / "proc" / str(pid) / "root" / file.relative_to(root)
    try:
        return there.exists() and not (file.exists() and there.samefile(file))
    except OSError:
        return False


def _started_with(arguments: Sequence[str], root: Path) -> RunningKubelet | None:
    """Return what these arguments say; `None` if no kubelet starts with them: any user can run a process of that name."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_arguments(parser)
    try:
        args, _ = parser.parse_known_args(explicit_booleans(arguments))
    except argparse.ArgumentError:
        return None
    flags = from_args(args)
    if flags.problems:
        return None
    named = flags.config_dir
    directory = None if named is None or named == Path() else below(root, named)
    here = directory is not None and directory.is_dir()
    return RunningKubelet(
        file=below(root, Path(args.config or _DEFAULT_FILE)),
        flags=replace(flags, evictd={}, cluster={}, config_dir=directory if here else None),
        missing_directory=None if here else directory,
    )
