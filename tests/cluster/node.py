"""A real node beside the control plane: controller manager, scheduler, containerd and kubelet. Needs root.

    with processes.folder() as folder, ControlPlane(folder, programs) as plane, RealNode(plane, programs, binaries) as node:
        node.run("ctr", ...)

Everything of the node is in a mount and pid namespace whose first process ends with the thread that started it, and takes every
container, mount and the loop disk with it; the cgroups, named as the folder, are left to `processes.remove`. The node's folders
lie at their usual places there, on a loop disk, over tmpfs, so that nothing is made on the host. Pods use the host's network.
"""

import json
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evictd.errors import NodeError
from evictd_testnode import cgroups
from evictd_testnode.binaries import Binaries
from evictd_testnode.images import ImageRecipe, write_archive
from evictd_testnode.tool import run_tool
from tests.cluster.binaries import Programs
from tests.cluster.control_plane import BRING_UP_SECONDS, ControlPlane
from tests.cluster.processes import Process
from tests.kube.waiting import eventually
from tests.ports import free_ports

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
NAME = "n1"
SOCKET = "/run/containerd/containerd.sock"
DISK_BYTES = 4 << 30
IMAGE_DISK_BYTES = 2 << 30
_PLACES = "/var/lib/kubelet /var/lib/containerd /var/log/pods"
_INIT = f"""set -e
mount --make-rshared /
mkdir -p "$1/disk"
mount -o loop "$1/disk.img" "$1/disk"
if [ -e "$1/images.img" ]; then
  mkdir -p "$1/disk/var/lib/containerd"
  mount -o loop "$1/images.img" "$1/disk/var/lib/containerd"
fi
mount -t tmpfs -o size=64m,mode=755 evictd-cluster /var/lib
mount -t tmpfs -o size=64m,mode=755 evictd-cluster /var/log
mount -t tmpfs -o size=64m,mode=755 evictd-cluster /run
for place in {_PLACES}; do
  mkdir -p "$place" "$1/disk$place"
  mount --rbind "$1/disk$place" "$place"
done
mkdir -p /run/containerd /run/lock /var/log/containers "$1/static"
touch "$1/namespace.ready"
exec sleep infinity
"""
_CONTAINERD = """version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
oom_score = 0
[grpc]
  address = "{socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  stats_collect_period = 10
  disable_tcp_service = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{folder}/cni/bin"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "{runc}"
      Root = "/run/containerd/runc"
"""


class RealNode:
    """The node and the controllers. `kubelet_config` overrides fields of the kubelet's configuration.

    With `image_disk` containerd has a disk of its own.
    """

    def __init__(
        self,
        plane: ControlPlane,
        programs: Programs,
        binaries: Binaries,
        *,
        images: tuple[ImageRecipe, ...] = (),
        kubelet_config: dict[str, Any] | None = None,
        image_disk: bool = False,
    ) -> None:
        self.plane = plane
        self.folder = plane.folder
        self._binaries = binaries
        self._images = images
        self._config = kubelet_config or {}
        self._disks = {"disk.img": DISK_BYTES, **({"images.img": IMAGE_DISK_BYTES} if image_disk else {})}
        self._namespace = Process("namespace", self.folder, _namespace(self.folder))
        self.controllers = plane.controller_manager(programs["kube-controller-manager"], "*")
        scheduler = {"kubeconfig": plane.kubeconfig("scheduler"), "leader-elect": "false", "secure-port": "0"}
        self.scheduler = Process("kube-scheduler", self.folder, _flags(programs["kube-scheduler"], scheduler))
        self._kubelet = programs["kubelet"]
        self.containerd: Process | None = None
        self.kubelet: Process | None = None

    def __enter__(self) -> Self:
        try:
            self._up()
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._down()

    def _up(self) -> None:
        for name, size in self._disks.items():
            disk = self.folder / name
            with disk.open("wb") as made:
                made.truncate(size)
            run_tool("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", disk)
        self._namespace.start()
        self.controllers.start()
        self.scheduler.start()
        self._make_cgroups()
        self._write_files()
        self._wait((self.folder / "namespace.ready").exists, self._namespace)
        containerd = self._binaries.containerd
        self.containerd = self.process("containerd", [str(containerd), f"--config={self.folder}/containerd.toml"])
        self.containerd.start()
        self._wait(lambda: self._answers("version"), self.containerd)
        archive = self.folder / "images.tar"
        write_archive(archive, self._images, busybox=self._binaries.busybox)
        self.ctr("images", "import", str(archive))
        flags = {
            "config": self.folder / "kubelet.json",
            "config-dir": self.folder / "kubelet.conf.d",
            "kubeconfig": self.plane.kubeconfig("node"),
            "hostname-override": NAME,
            "root-dir": "/var/lib/kubelet",
            "cert-dir": self.folder / "kubelet-certs",
        }
        self.kubelet = self.process("kubelet", _flags(self._kubelet, flags))
        self.kubelet.start()
        self._wait(self.ready, self.kubelet)

    def _down(self) -> None:
        """End everything of the node: the namespace's first process takes the rest with it."""
        for process in (self.kubelet, self.scheduler, self.controllers, self.containerd):
            if process is not None:
                process.stop()
        self._namespace.stop(signal.SIGKILL)
        cgroups.kill(cgroups.pids_of(self.cgroup))
        cgroups.remove_group(self.cgroup)

    @property
    def cgroup(self) -> str:
        """The kubelet's `cgroupRoot`."""
        return f"/{self.folder.name}"

    def path(self, inside: str) -> Path:
        """Return a way to one of the node's own files from outside its namespace."""
        return Path(f"/proc/{self._first_process()}/root{inside}")

    def ready(self) -> bool:
        """Whether the node's Ready condition is True."""
        answer = self.plane.admin.request("GET", f"/api/v1/nodes/{NAME}")
        found = answer.body.get("status", {}).get("conditions", []) if answer.status == 200 else []
        return any(each["type"] == "Ready" and each["status"] == "True" for each in found)

    def process(self, name: str, arguments: list[str]) -> Process:
        """Describe a process inside the node's namespaces; it is the caller's to start."""
        path = f"{self._binaries.containerd.parent}:{self._binaries.runc.parent}:/usr/sbin:/usr/bin:/sbin:/bin"
        command = [*self._enter(), "setpriv", "--pdeathsig", "KILL", "--", *arguments]
        return Process(name, self.folder, command, {"PATH": path}, wrapped=True)

    def ctr(self, *arguments: str) -> str:
        """Call containerd's own client in the namespace that the kubelet uses."""
        return run_tool(*self.ctr_command(), "-n", "k8s.io", *arguments)

    def ctr_command(self) -> list[str]:
        """Return the command by which a program outside runs that client on the node."""
        return [*self._enter(), str(self._binaries.ctr), "-a", SOCKET]

    def _answers(self, command: str) -> bool:
        with suppress(NodeError):
            self.ctr(command)
            return True
        return False

    def _enter(self) -> list[str]:
        return ["nsenter", "--target", self._first_process(), "--mount", "--pid", "--"]

    def _first_process(self) -> str:
        """`setpriv` and `unshare` stay outside; their child is the first process inside."""
        pid = self._namespace.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]

    def _wait(self, condition: Callable[[], bool], process: Process) -> None:
        def met() -> bool:
            assert process.running(), f"{process.name} has ended: {process.last_words()}"
            return condition()

        eventually(met, BRING_UP_SECONDS)

    def _make_cgroups(self) -> None:
        """On cgroup v1 the kubelet wants its root in every tree, with processors and memory nodes."""
        for tree in cgroups.trees():
            (tree / self.folder.name).mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            tree = cgroups.CGROUP_MOUNT / "cpuset"
            if (tree / name).exists():
                (tree / self.folder.name / name).write_text((tree / name).read_text())

    def _write_files(self) -> None:
        folder = self.folder
        (folder / "cni" / "bin").mkdir(parents=True)
        network = {"cniVersion": "0.4.0", "name": "n", "plugins": [{"type": "noop"}]}
        (folder / "cni" / "10-n.conflist").write_text(json.dumps(network))
        config = _CONTAINERD.format(socket=SOCKET, folder=folder, runc=self._binaries.runc)
        (folder / "containerd.toml").write_text(config)
        nothing = dict.fromkeys(
            (
                "memory.available",
                *(f"{fs}.{what}" for fs in ("nodefs", "imagefs") for what in ("available", "inodesFree")),
            ),
            "0%",
        )
        kubelet = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.cgroup,
            "enforceNodeAllocatable": [],
            "evictionHard": nothing,
            "oomScoreAdj": 0,
            "resolvConf": "",
            "port": free_ports(1)[0],
            "healthzPort": 0,
            "readOnlyPort": 0,
            "address": "127.0.0.1",
            "staticPodPath": str(folder / "static"),
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": str(self.plane.authority.cert)},
            },
            "authorization": {"mode": "AlwaysAllow"},
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "imageGCHighThresholdPercent": 100,
            **self._config,
        }
        (folder / "kubelet.json").write_text(json.dumps(kubelet))
        (folder / "kubelet.conf.d").mkdir()


def _namespace(folder: Path) -> list[str]:
    unshare = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "--pid",
        "--fork",
        "--kill-child=SIGKILL",
        "--mount-proc",
    ]
    return [*unshare, "--", "sh", "-c", _INIT, "sh", str(folder)]


def _flags(program: Path, flags: dict[str, Any]) -> list[str]:
    return [str(program), *(f"--{name}={value}" for name, value in flags.items())]
