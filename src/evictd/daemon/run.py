"""Runs the daemon: `evictd run`.

Reads the configuration, assembles the parts, runs the loop until SIGTERM or SIGINT, and closes everything. Errors of the
configuration end it with exit status 2 before anything is changed.
"""

import argparse
import ctypes
import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from evictd import __version__
from evictd.clock import boot_clock, wall_clock
from evictd.config import flags
from evictd.config.file import load
from evictd.config.lint_model import Surroundings
from evictd.config.little_left import little_left
from evictd.config.settings import Settings
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Threshold
from evictd.core.units.quantity import of_bytes
from evictd.daemon.assemble import Assembly
from evictd.daemon.configuration import Configuration
from evictd.daemon.host.liveness import Liveness, SdNotifier
from evictd.daemon.housekeeping import Housekeeping, Reloader
from evictd.daemon.store.lock import lock_directory, runtime_directory
from evictd.daemon.telemetry import log
from evictd.daemon.telemetry.http import StatusServer
from evictd.daemon.telemetry.metrics import Metrics
from evictd.daemon.telemetry.pages import Pages
from evictd.daemon.telemetry.snapshot import LatestSnapshot
from evictd.daemon.telemetry.telemetry import Telemetry
from evictd.daemon.waiter import SIGNALS, Waiter
from evictd.errors import ExitCode, NodeError
from evictd.observe.cgroups.cgroup import may_kill_pods
from evictd.observe.cgroups.memory import parse_meminfo
from evictd.observe.reading.roots import Roots
from evictd.render.start import start_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's flags and the daemon's own."""
    flags.add_arguments(parser)
    group = parser.add_argument_group("daemon")
    group.add_argument("--log-level", choices=log.LEVELS, default="info", help="the lowest level that is logged")
    group.add_argument("--log-format", choices=log.FORMATS, default="auto", help="auto: text for a terminal, else JSON")
    group.add_argument("--lock-memory", action="store_true", help="lock evictd's pages in memory (mlockall)")
    group.add_argument(
        "--health-address",
        default="",
        metavar="ADDRESS",
        help="serve /startz, /healthz and /readyz, and nothing else, here too, for probes: unix:PATH or HOST:PORT",
    )
    machine = parser.add_argument_group("machine", "where the node is; for a container with host mounts, and for tests")
    machine.add_argument("--proc", type=Path, default=Path("/proc"), metavar="PATH", help="the host's /proc")
    machine.add_argument(
        "--cgroup", type=Path, default=Path("/sys/fs/cgroup"), metavar="PATH", help="the host's cgroup file system"
    )
    machine.add_argument(
        "--node-cgroup", default="/", metavar="CGROUP", help="a cgroup with a memory limit that stands for the node"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run the daemon until SIGTERM or SIGINT; raises `EvictdError` if it cannot start."""
    freeze_gc()
    use_one_arena()
    keep_standard_descriptors()
    path = Path(args.config) if args.config is not None else None
    options = flags.from_args(args)
    machine = [
        f"--proc={args.proc.absolute()}",
        f"--cgroup={args.cgroup.absolute()}",
        f"--node-cgroup={args.node_cgroup}",
    ]
    arguments = [*flags.as_arguments(args), *machine]
    configuration = Configuration(load(path, options), lambda: load(path, options), arguments)
    roots = replace(roots_of(configuration.settings), proc=args.proc, cgroup=args.cgroup, node_cgroup=args.node_cgroup)
    with ExitStack() as stack:
        logger, writer = log.start(level=args.log_level, form=args.log_format)
        stack.callback(writer.close)
        daemon = Daemon(configuration, roots, stack, logger)
        daemon.metrics.count_dropped_lines(writer)
        daemon.serve_health(args.health_address)
        if args.lock_memory:
            daemon.lock_memory()
        freeze_gc()
        daemon.run()
    return ExitCode.DONE


def roots_of(settings: Settings) -> Roots:
    """Return the directories that the settings name, on this machine."""
    return Roots(kubelet_dir=settings.evictd.root_dir, pod_logs_dir=settings.kubelet.logs_dir)


def low_memory_thresholds(thresholds: Sequence[Threshold], roots: Roots) -> Iterator[str]:
    """Yield what `evictd check` notes about thresholds that leave little time on this node; nothing for a cgroup as the node."""
    try:
        meminfo = parse_meminfo((roots.proc / "meminfo").read_bytes())
    except OSError:  # the first reading reports it
        return
    if roots.node_cgroup != "/" or (total := meminfo.get("MemTotal")) is None:
        return
    around = Surroundings(capacities={Signal.MEMORY_AVAILABLE: of_bytes(total)})
    for each in little_left(thresholds, around):
        yield f"memory.available: {each.message}; {each.remedy} ({each.lint.value})"


def keep_standard_descriptors() -> None:
    """Open /dev/null for each standard descriptor that is closed.

    A file or socket of the daemon would take the free number, and a library's message on standard error would be written into it.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, so this one


class Daemon:
    """One daemon; everything that it opens is closed by `stack`. Raises `EvictdError` if it cannot start."""

    def __init__(self, configuration: Configuration, roots: Roots, stack: ExitStack, logger: log.Logger) -> None:
        settings = configuration.settings
        self._settings = settings
        self._roots = roots
        self._log = logger
        published = LatestSnapshot()
        self.metrics = Metrics(published)
        self.telemetry = Telemetry(self._log, self.metrics, published, wall_clock)
        lock_directory(settings.evictd.state_directory, runtime_directory(os.environ), stack, self.telemetry)
        self._stack = stack
        may_kill = partial(may_kill_pods, roots.cgroup, settings.kubelet.parent_cgroup)
        self._pages = Pages(published, self.metrics, configuration, boot_clock, may_kill=may_kill)
        server = StatusServer(settings.evictd.listen_address, self._pages.by_path(), self.telemetry)
        stack.callback(server.close)
        server.listen()
        self._served_at = server.served_at
        notifier = SdNotifier.from_environment(os.environ)
        stack.callback(notifier.close)
        liveness = Liveness(notifier, published)
        parts = Assembly(settings, roots, self.telemetry, stack, liveness)
        parts.wake.listen(SIGNALS)
        reloader = Reloader(configuration, parts.node, server, self.telemetry)
        waiter = Waiter(parts.watch, parts.wake, liveness, self.telemetry)
        self.loop = Housekeeping(
            parts.node, parts.recorder, self.telemetry, waiter, reloader, state=parts.checkpoint.state
        )

    def serve_health(self, address: str) -> None:
        """Serve the health pages at one more address; empty for none, and an address that is taken is reported."""
        server = StatusServer(address, self._pages.health(), self.telemetry)
        self._stack.callback(server.close)
        server.listen()

    def lock_memory(self) -> None:
        """Lock the daemon's pages into memory; an error is reported."""
        try:
            lock_memory()
        except NodeError as error:
            self.telemetry.report_error("lock memory", str(error))

    def run(self) -> None:
        """Run the loop until SIGTERM or SIGINT."""
        eviction = self._settings.eviction
        self._log.info(
            "starting",
            version=__version__,
            thresholds=len(eviction.thresholds),
            policy=eviction.policy.value,
            dry_run=self._settings.evictd.dry_run,
        )
        if os.isatty(log.STANDARD_ERROR):
            dry_run = self._settings.evictd.dry_run
            self._log.info(start_text(self._served_at, dry_run=dry_run, thresholds=bool(eviction.thresholds)))
        for warning in self._settings.warnings:
            self._log.warning(warning, source="configuration")
        for note in low_memory_thresholds(eviction.thresholds, self._roots):
            self._log.info(note, source="configuration")
        self.loop.run()
        self._log.info("stopped")


_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4


def lock_memory() -> None:
    """Keep every page in memory from the moment it is first used; raises `NodeError` if that is not permitted.

    On fault, not at once: otherwise each thread's stack of 8 MiB would be allocated in full.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) != 0:
        raise NodeError(f"mlockall: {os.strerror(ctypes.get_errno())}")


def freeze_gc() -> None:
    """Exclude the objects that exist now from garbage collection: called after the imports, and when the daemon is assembled.

    Modules and classes are never freed, and traversing all of them took some 50 ms in each full collection. The garbage of the
    start, some hundred objects, is not worth one.
    """
    gc.freeze()


_M_ARENA_MAX = -8


def use_one_arena() -> None:
    """Let all threads allocate from one arena of malloc; called before any thread is started. Without glibc, do nothing.

    By default each thread has an arena of its own, up to eight for a processor. What a thread frees stays in its arena, where no
    other thread uses it: after some minutes of churn 13 MiB of a daemon's 108 MiB. The threads wait for the interpreter's lock
    anyway, so they do not wait for one another in malloc.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_ARENA_MAX, 1)
