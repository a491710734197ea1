"""Starts a private containerd in such a way that it leaves nothing behind.

In private mode containerd is process 1 of its own pid and mount namespace, with its own /run. When it ends for any reason, the
kernel kills every shim and container, and removes its mounts with the namespace; and it is killed when the thread that started
it ends. Plain mode has none of that, so that containerd can be restarted under running containers; `evictd_testnode.sweep` then
cleans up.
"""

import os
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evictd.clients.cri.client import CriClient
from evictd.errors import NodeError, RuntimeRefusedError, RuntimeUnavailableError
from evictd_testnode.binaries import SYSTEM_PATH, Binaries
from evictd_testnode.images import PAUSE
from evictd_testnode.tool import run_tool, wait_for

_STOP_SECONDS = 20

# Propagation `slave`: containerd must see mounts made later below a shared directory (a pod's memory-backed volume).
_PRIVATE = (
    *("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--propagation", "slave", "--pid", "--fork"),
    *("--kill-child=SIGKILL", "--mount-proc", "--", "sh", "-c"),
    *('mount -t tmpfs -o size=16m,mode=755 evictd-node /run && exec "$@"', "sh"),
)

_CONFIG = """version = 2
root = "{root}"
state = "{folder}/state"
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.internal.v1.opt",
  "io.containerd.internal.v1.restart", "io.containerd.internal.v1.tracing",
  "io.containerd.tracing.processor.v1.otlp", "io.containerd.nri.v1.nri",
]
[grpc]
  address = "{socket}"
[plugins."io.containerd.gc.v1.scheduler"]
  startup_delay = "10ms"
  deletion_threshold = 1
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  stats_collect_period = {stats_seconds}
  disable_tcp_service = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{folder}/cni/bin"
    conf_dir = "{folder}/cni/conf"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "{runc}"
        Root = "{folder}/runc"
        SystemdCgroup = false
"""


@dataclass(slots=True, kw_only=True)
class PrivateContainerd:
    """A containerd with its images and layers in `root`, and its configuration, state and log in `folder`."""

    binaries: Binaries
    folder: Path
    root: Path
    private: bool = True
    stats_collect_period_seconds: int = 1
    """The interval at which it measures writable layers; its default is 10."""
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)

    @property
    def socket(self) -> Path:
        """The path of its socket."""
        return self.folder / "cri.sock"

    @property
    def endpoint(self) -> str:
        """The value of `containerRuntimeEndpoint`."""
        return f"unix://{self.socket}"

    @property
    def state(self) -> Path:
        """The directory with the bundles of running containers."""
        return self.folder / "state"

    @property
    def pid(self) -> int:
        """The pid of containerd itself in the host's pid namespace."""
        if self._process is None:
            raise NodeError("containerd was not started")
        if not self.private:
            return self._process.pid
        return _only_child(self._process.pid)

    def start(self) -> None:
        """Start or restart it; returns when it responds, raises `NodeError` with the end of its log if it does not."""
        argv, environment = self._command()
        with (self.folder / "containerd.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a fixed argument list, no shell
                [*(_PRIVATE if self.private else ()), *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        self._wait_until_ready(self._process)

    def _command(self) -> tuple[list[str], dict[str, str]]:
        """Write the configuration; return the arguments and the environment of the program."""
        for path in (self.root, self.state, self.folder / "cni/bin", self.folder / "cni/conf"):
            path.mkdir(parents=True, exist_ok=True)
        config = self.folder / "config.toml"
        config.write_text(
            _CONFIG.format(
                stats_seconds=self.stats_collect_period_seconds,
                root=self.root,
                folder=self.folder,
                socket=self.socket,
                pause=PAUSE,
                runc=self.binaries.runc,
            ),
            encoding="utf-8",
        )
        # containerd searches its shim in PATH; the matching one is in containerd's directory.
        environment = {"PATH": f"{self.binaries.containerd.parent}:{SYSTEM_PATH}", "HOME": str(self.folder)}
        return [str(self.binaries.containerd), "--config", str(config)], environment

    def _wait_until_ready(self, process: "subprocess.Popen[bytes]") -> None:
        with CriClient(self.endpoint, timeout_seconds=1) as client:
            ready = wait_for(lambda: process.poll() is not None or _is_ready(client))
        if not ready or process.poll() is not None:
            self.kill()
            raise NodeError(f"containerd does not respond; the end of its log: {self.log_tail()}")

    def log_tail(self) -> str:
        """Return the end of its log, in one line."""
        log = self.folder / "containerd.log"
        return " ".join(log.read_text(encoding="utf-8", errors="replace").split())[-600:] if log.exists() else ""

    def stop(self) -> None:
        """End it by SIGTERM: in plain mode its containers continue to run, in private mode they are killed."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it by SIGKILL, like a crash."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        try:
            if process.poll() is None:
                os.kill(self.pid, number)
            process.wait(_STOP_SECONDS)
        except (NodeError, ProcessLookupError, subprocess.TimeoutExpired):
            process.kill()
            process.wait(_STOP_SECONDS)
        self._process = None

    def import_images(self, archive: Path, references: Iterable[str]) -> None:
        """Import an archive; returns when CRI lists all the `references`."""
        wanted = set(references)
        self.ctr("images", "import", str(archive))
        if not wait_for(lambda: wanted <= self._references(), seconds=10):
            raise NodeError(f"imported, but not listed: {', '.join(sorted(wanted - self._references()))}")

    def ctr(self, *arguments: str) -> str:
        """Run `ctr` in the containerd namespace of CRI; returns its output."""
        return run_tool(self.binaries.ctr, "-a", self.socket, "-n", "k8s.io", *arguments)

    def _references(self) -> set[str]:
        with CriClient(self.endpoint) as client:
            return {tag for image in client.list_images() for tag in image.repo_tags}


def _is_ready(client: CriClient) -> bool:
    try:
        client.version()
        client.list_images()
    except (RuntimeUnavailableError, RuntimeRefusedError):
        return False  # its services become ready one after the other
    return True


def _only_child(pid: int) -> int:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError as error:
        raise NodeError(f"process {pid}: {error}") from error
    if not children:
        raise NodeError(f"process {pid} has no child")
    return int(children[0])
