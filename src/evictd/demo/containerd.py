"""How a private containerd is started so that nothing of it can be left behind.

Private mode: containerd is process 1 of its own pid and mount namespace, over a /run of its own. Its end, however it
comes, ends every shim and container, and its mounts go with the namespace; and it ends when the thread that started
it does. Plain mode has none of that, so that containerd can be restarted under its running containers; `demo.sweep`
then cleans up.
"""

import os
import signal
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from evictd.clients.cri import CriClient
from evictd.demo.binaries import Binaries
from evictd.demo.images import PAUSE
from evictd.demo.tool import run_tool, wait_for
from evictd.errors import NodeError, RuntimeRefusedError, RuntimeUnavailableError

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
_STOP_SECONDS = 20

# A mount made later below a shared folder (a pod's memory-backed volume) must be seen by containerd: hence `slave`.
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
  stats_collect_period = 1
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
    """A containerd with everything of its own: images and layers in `root`, the rest in `folder`."""

    binaries: Binaries
    folder: Path
    root: Path
    private: bool = True
    _process: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _log: IO[bytes] | None = field(default=None, init=False)

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.folder / "cri.sock"

    @property
    def endpoint(self) -> str:
        """Where it listens, as `containerRuntimeEndpoint` has it."""
        return f"unix://{self.socket}"

    @property
    def state(self) -> Path:
        """Where the bundles of running containers are."""
        return self.folder / "state"

    @property
    def pid(self) -> int:
        """The pid, on the host, of containerd itself."""
        if self._process is None:
            raise NodeError("containerd was not started")
        if not self.private:
            return self._process.pid
        return _only_child(self._process.pid)

    def start(self) -> None:
        """Start it, or start it again; returns when it answers, raises `NodeError` with its last words when it does not."""
        for path in (self.root, self.state, self.folder / "cni/bin", self.folder / "cni/conf"):
            path.mkdir(parents=True, exist_ok=True)
        config = self.folder / "config.toml"
        config.write_text(
            _CONFIG.format(
                root=self.root, folder=self.folder, socket=self.socket, pause=PAUSE, runc=self.binaries.runc
            ),
            encoding="utf-8",
        )
        argv = [*(_PRIVATE if self.private else ()), str(self.binaries.containerd), "--config", str(config)]
        # The shim is looked for in PATH, and containerd's own folder has the one that fits.
        environment = {"PATH": f"{self.binaries.containerd.parent}:{SYSTEM_PATH}", "HOME": str(self.folder)}
        self._log = (self.folder / "containerd.log").open("ab")
        self._process = subprocess.Popen(  # noqa: S603 - an argument list of our own
            argv, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, env=environment, start_new_session=True
        )
        self._await_answer(self._process)

    def _await_answer(self, process: "subprocess.Popen[bytes]") -> None:
        with CriClient(self.endpoint, timeout_seconds=1) as client:
            ready = wait_for(lambda: process.poll() is not None or _answers(client))
        if not ready or process.poll() is not None:
            self.kill()
            raise NodeError(f"containerd does not answer; its last words: {self.last_words()}")

    def last_words(self) -> str:
        """Give the end of its log, in one line."""
        log = self.folder / "containerd.log"
        return " ".join(log.read_text(encoding="utf-8", errors="replace").split())[-600:] if log.exists() else ""

    def stop(self) -> None:
        """End it gracefully: in plain mode its containers live on, in private mode all is killed with it."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash would."""
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
        if self._log is not None:
            self._log.close()

    def import_images(self, archive: Path, references: Iterable[str]) -> None:
        """Import an archive; returns when CRI lists all these images of it."""
        wanted = set(references)
        self.ctr("images", "import", str(archive))
        if not wait_for(lambda: wanted <= self._references(), seconds=10):
            raise NodeError(f"imported, but not listed: {', '.join(sorted(wanted - self._references()))}")

    def ctr(self, *arguments: str) -> str:
        """Call containerd's own client in the namespace that CRI uses."""
        return run_tool(self.binaries.ctr, "-a", self.socket, "-n", "k8s.io", *arguments)

    def _references(self) -> set[str]:
        with CriClient(self.endpoint) as client:
            return {tag for image in client.list_images() for tag in image.repo_tags}


def _answers(client: CriClient) -> bool:
    try:
        client.version()
        client.list_images()
    except (RuntimeUnavailableError, RuntimeRefusedError):
        return False  # its services are registered, and made ready, one after the other
    return True


def _only_child(pid: int) -> int:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError as error:
        raise NodeError(f"process {pid}: {error}") from error
    if not children:
        raise NodeError(f"process {pid} has no child")
    return int(children[0])
