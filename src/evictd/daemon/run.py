"""`evictd run`: the daemon.

Reads the configuration, puts the parts together, goes round until it is told to stop, and gives everything back.
Faults of the configuration end it with exit status 2 before anything is touched.
"""

import argparse
import os
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from evictd import __version__
from evictd.act.perform import Performer
from evictd.codec.eviction_config import encode_eviction_config
from evictd.config import flags
from evictd.config.file import load
from evictd.config.settings import Settings
from evictd.core.config import EvictionConfig
from evictd.daemon import log
from evictd.daemon.assemble import Machine, Site, build_node, build_watching, lock_directory
from evictd.daemon.housekeeping import SIGNALS, Housekeeping, Parts, boot_clock, wall_clock
from evictd.daemon.http import HttpServer, Pages
from evictd.daemon.metrics import Metrics
from evictd.daemon.notify import Notifier
from evictd.daemon.pages import Health, pages
from evictd.daemon.reload import differences, live_settings
from evictd.daemon.remembered import remember
from evictd.daemon.self_protection import lock_memory, spare_the_collector
from evictd.daemon.snapshot import Board
from evictd.daemon.state_file import StateFile, boot_id
from evictd.daemon.teller import Teller
from evictd.daemon.wakeup import WakeUp
from evictd.errors import EvictdError, ExitCode, NodeError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the configuration's flags and the daemon's own."""
    flags.add_arguments(parser)
    group = parser.add_argument_group("daemon")
    group.add_argument("--log-level", choices=log.LEVELS, default="info", help="the least that is told")
    group.add_argument("--log-format", choices=log.FORMATS, default="auto", help="auto: text for a terminal, else JSON")
    group.add_argument("--lock-memory", action="store_true", help="keep its own pages in memory (mlockall)")
    machine = parser.add_argument_group("machine", "where the node is; for a container with host mounts, and for tests")
    machine.add_argument("--proc", type=Path, default=Path("/proc"), metavar="PATH", help="the host's /proc")
    machine.add_argument(
        "--cgroup", type=Path, default=Path("/sys/fs/cgroup"), metavar="PATH", help="the host's cgroup file system"
    )
    machine.add_argument(
        "--node-cgroup", default="/", metavar="CGROUP", help="a cgroup with a memory limit that stands for the node"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Run the daemon until it is told to stop; raises `EvictdError` if it cannot even begin."""
    log.set_up(level=args.log_level, form=args.log_format)
    path = Path(args.config) if args.config is not None else None
    options = flags.from_args(args)
    settings = load(path, options)
    machine = Machine(proc=args.proc, cgroup=args.cgroup, node_cgroup=args.node_cgroup)
    with ExitStack() as stack:
        daemon = Daemon(settings, machine, read_settings=lambda: load(path, options), stack=stack)
        if args.lock_memory:
            daemon.lock_memory()
        spare_the_collector()
        daemon.run()
    return ExitCode.DONE


class Daemon:
    """One daemon, put together; `run` goes round."""

    def __init__(
        self, settings: Settings, machine: Machine, *, read_settings: Callable[[], Settings], stack: ExitStack
    ) -> None:
        self._settings = settings
        self._read_settings = read_settings
        self._stack = stack
        self._log: Any = log.logger()
        self._board = Board()
        self._metrics = Metrics(self._board)
        self._teller = Teller(self._log, self._metrics, wall_clock)
        self._teller.dry_run = settings.dry_run
        lock_directory(settings.state_directory, stack)
        self._listen()  # a taken port is found out before anything else is begun
        self._wake = stack.enter_context(WakeUp())
        self._wake.listen(SIGNALS)
        self._notifier = Notifier.from_environment(os.environ)
        stack.callback(self._notifier.close)
        self._loop = self._assemble(machine)

    def lock_memory(self) -> None:
        """Keep the daemon's pages in memory, or say why that cannot be."""
        try:
            lock_memory()
        except NodeError as error:
            self._teller.complain("lock memory", str(error))

    def run(self) -> None:
        """Go round."""
        thresholds = len(self._settings.eviction.thresholds)
        self._log.info(
            "evictd begins",
            version=__version__,
            thresholds=thresholds,
            policy=self._settings.eviction.policy.value,
            dry_run=self._settings.dry_run,
        )
        for warning in self._settings.warnings:
            self._log.warning(warning, source="configuration")
        self._loop.run()
        self._log.info("evictd ends")

    def _assemble(self, machine: Machine) -> Housekeeping:
        settings = self._settings
        site = Site(
            settings=settings,
            machine=machine,
            node_name=settings.cluster.node_name or socket.gethostname().lower(),
            clock=boot_clock,
            wall=wall_clock,
            teller=self._teller,
            stack=self._stack,
        )
        state_file = StateFile(settings.state_directory / "state.json", boot_id())
        remembered = remember(state_file, self._teller.complain, boot_clock())
        self._node = build_node(site, state_file, remembered, self._wake.wake)
        self._performer = Performer(self._node.hands, dry_run=settings.dry_run, tell=self._teller.decision)
        parts = Parts(
            look=self._node.eyes.look,
            hands=self._node.hands,
            oom_scores=self._node.oom_scores,
            performer=self._performer,
            recorder=self._node.recorder,
            watching=build_watching(site, self._node.observer),
            wake=self._wake,
            notifier=self._notifier,
            board=self._board,
            teller=self._teller,
            reload=self._reload,
            heartbeat_period=settings.node_status_update_frequency,
        )
        return Housekeeping(parts, settings.eviction, remembered.state)

    def _listen(self) -> None:
        address = self._settings.listen_address
        if address:
            server = HttpServer(address, self._pages(), self._teller.complain)
            self._stack.callback(server.close)

    def _pages(self) -> Pages:
        health = Health(board=self._board, clock=boot_clock, interval=lambda: self._settings.housekeeping_interval)
        return pages(
            board=self._board,
            metrics=self._metrics,
            health=health,
            clock=boot_clock,
            configuration=lambda: encode_eviction_config(self._settings.eviction),
        )

    def _reload(self) -> EvictionConfig | None:
        """Read the configuration again; a fault changes nothing."""
        try:
            fresh = self._read_settings()
        except EvictdError as error:
            self._teller.complain("reload", f"nothing is changed: {error}")
            return None
        found = differences(self._settings, fresh)
        for difference in found:
            when = "now" if difference.live else "at the next start"
            self._log.info(
                "configuration changes", field=difference.field, old=difference.old, new=difference.new, when=when
            )
        if not found:
            self._log.info("configuration read again: nothing changes")
            return None
        self._settings = live_settings(self._settings, fresh)
        self._performer.dry_run = self._teller.dry_run = self._settings.dry_run
        self._node.collector.reconfigure(self._settings.eviction)
        return self._settings.eviction
