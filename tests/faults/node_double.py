"""A node made of files and a runtime server: what the daemon reads and calls, with nothing of evictd replaced.

The cgroup tree (version 2, cgroupfs driver) and /proc are files in a temporary directory; the runtime is a real gRPC server. The
node has two pods: `hog` uses 6 GB and requests nothing, `web` uses 1 GB. `hog` is the right victim.
"""

import json
import os
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from cri_api.v1 import api_pb2 as pb

from evictd.core.model.oom import oom_score_adj
from evictd.core.model.pod import Pod
from evictd.core.model.resources import MEMORY as MEMORY_RESOURCE
from evictd.core.model.resources import Container
from evictd.core.units.quantity import of_bytes
from tests.faults.cri_server import Answer
from tests.kube import objects
from tests.kube.store import Json
from tests.trees import PROC, Tree, plant, v2

MEMORY = "cgroup/memory.stat"
UID_LABEL = "io.kubernetes.pod.uid"
MACHINE = 16_000_000 << 10
"""MemTotal of `PROC`, in bytes."""
CALM, PRESSURE = 5_000_000_000, 16_000_000_000
"""Bytes of the node's anonymous memory; its capacity is 16.4 GB and the threshold 1 Gi."""


OF_API = {"kubernetes.io/config.source": "api"}
"""What a kubelet writes on the sandboxes of the API server's pods."""


@dataclass
class FakePod:
    """A pod with one container."""

    name: str
    used: int
    running: bool = True
    ready: bool = True
    annotations: dict[str, str] = field(default_factory=dict)
    uid_suffix: str = ""
    obstinate: bool = False
    """Whether it goes on running when it is stopped."""
    request: int = 0
    """Bytes of memory; the pod is Burstable with any, and BestEffort without."""
    limit: int = 0
    """Bytes of memory; 0 for none."""

    @property
    def key(self) -> str:
        """Its name, with a suffix for a later pod of the same name."""
        return f"{self.name}{self.uid_suffix}"

    @property
    def uid(self) -> str:
        return f"uid-{self.key}"

    def api_object(self) -> Json:
        """Return its object, as the API server has it."""
        made = objects.pod(self.name, namespace="ns", uid=self.uid)
        requests = {"memory": str(self.request)} if self.request else {}
        made["spec"]["containers"][0]["resources"] = {"requests": requests}
        return made

    @property
    def cgroup(self) -> str:
        """Its path below the root of the hierarchy, as the kubelet chooses it."""
        return f"kubepods/{'burstable' if self.request else 'besteffort'}/pod{self.uid}"

    @property
    def oom_score_adj(self) -> int:
        """That of its container, as the kubelet computes it."""
        amounts = {MEMORY_RESOURCE: of_bytes(self.request)} if self.request else {}
        container = Container(name="main", requests=amounts)
        pod = Pod(name=self.name, namespace="ns", uid=self.uid, containers=(container,))
        return oom_score_adj(pod, container, MACHINE)


class FakeNode:
    """The files and the runtime's answers; `stopped` are the pods that evictd asked to stop, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        """Held while the files change: the loop's thread and those of the runtime's server both write them."""
        self.pods: dict[str, FakePod] = {}
        self.stopped: list[str] = []
        self.removed: set[str] = set()
        """The ids of containers and sandboxes that the runtime has removed."""
        self.faults: dict[str, Answer] = {}
        self.delay = 0.0
        """Seconds by which the runtime answers late."""
        self.more_containers = b""
        """Appended to the listing of all containers, as it is on the wire."""
        self.pressed = False
        self.kept: set[str] = set()
        """Files whose content is a fault's."""
        plant(folder / "proc", PROC)
        plant(folder / "cgroup", self._root())
        self.refresh()
        for name in ("kubelet", "logs", "manifests"):
            (folder / name).mkdir()
        for pod in (FakePod("hog", 6_000_000_000), FakePod("web", 1_000_000_000)):
            self.add(pod)

    def _root(self) -> Tree:
        pods = v2(
            7_000_000_000, limit="16000000000", pids=9, below={"besteffort": v2(7_000_000_000), "burstable": v2(0)}
        )
        return v2(anon=CALM, below={"kubepods": pods, "cgroup.procs": ""})

    def cgroup(self, key: str) -> Path:
        return self.folder / "cgroup" / self.pods[key].cgroup

    def add(self, pod: FakePod) -> None:
        self.pods[pod.key] = pod
        container = v2(pod.used, anon=pod.used, pids=2)
        plant(self.cgroup(pod.key), v2(pod.used, anon=pod.used, pids=3, below={f"c-{pod.key}": container}))

    def write(self, path: str, content: str) -> None:
        """Overwrite a file in place, as the kernel changes what an open descriptor reads; a reader sees the old or the new."""
        fd = os.open(self.folder / path, os.O_WRONLY | os.O_CREAT)
        try:
            os.pwrite(fd, content.encode(), 0)
            os.ftruncate(fd, len(content))
        finally:
            os.close(fd)

    def press(self) -> None:
        """Put the node under pressure, until a pod ends."""
        self.pressed = True
        self.refresh()

    def refresh(self) -> None:
        """Write what the kernel would show now; a fault may have kept the node from writing it earlier."""
        with self.lock:
            self.refresh_cgroups()
            if MEMORY in self.kept:
                return
            anon = PRESSURE if self.pressed else CALM
            with suppress(OSError):
                self.write(MEMORY, f"anon {anon:020}\nfile 0\nkernel 5\ninactive_file 0\n")

    def refresh_cgroups(self) -> None:
        """Remove the cgroups of pods that have ended."""
        for key in [pod.key for pod in tuple(self.pods.values()) if not pod.running]:
            shutil.rmtree(self.cgroup(key), ignore_errors=True)

    def end(self, key: str) -> None:
        """Let a pod end: its memory goes, then its containers and its cgroup.

        The kernel frees the memory of a process before anything shows that it has ended.
        """
        with self.lock:
            self.pressed = False
            self.refresh()
            self.pods[key].running = self.pods[key].ready = False
            self.refresh_cgroups()

    # --- the runtime --------------------------------------------------------------------------------------------------

    def answers(self) -> dict[str, Answer]:
        """The runtime's methods; `faults` come first."""
        own: dict[str, Answer] = {
            "Version": lambda *_: pb.VersionResponse(runtime_name="fake", runtime_api_version="v1").SerializeToString(),
            "ListPodSandbox": self._sandboxes,
            "ListContainers": self._containers,
            "PodSandboxStatus": self._sandbox_status,
            "ContainerStatus": self._container_status,
            "ListContainerStats": lambda *_: b"",
            "ImageFsInfo": self._image_fs,
            "ListImages": lambda *_: b"",
            "StopContainer": self._stop_container,
            "StopPodSandbox": self._stop_sandbox,
            "RemoveContainer": self._remove_container,
            "RemovePodSandbox": self._remove_sandbox,
        }
        return {name: self._with_faults(name, answer) for name, answer in own.items()}

    def _with_faults(self, name: str, answer: Answer) -> Answer:
        def respond(request: bytes, context: grpc.ServicerContext) -> bytes:
            if self.delay:
                time.sleep(self.delay)
            return self.faults.get(name, self.faults.get("*", answer))(request, context)

        return respond

    def _sandbox(self, pod: FakePod) -> pb.PodSandbox:
        return pb.PodSandbox(
            id=f"s-{pod.key}",
            metadata=pb.PodSandboxMetadata(name=pod.name, uid=pod.uid, namespace="ns"),
            state=pb.SANDBOX_READY if pod.ready else pb.SANDBOX_NOTREADY,
            created_at=1,
            labels={UID_LABEL: pod.uid},
            annotations=pod.annotations,
        )

    def _container(self, pod: FakePod) -> pb.Container:
        return pb.Container(
            id=f"c-{pod.key}",
            pod_sandbox_id=f"s-{pod.key}",
            metadata=pb.ContainerMetadata(name="main"),
            image=pb.ImageSpec(image="app"),
            image_ref="app",
            state=pb.CONTAINER_RUNNING if pod.running else pb.CONTAINER_EXITED,
            created_at=1,
            labels={UID_LABEL: pod.uid, "io.kubernetes.container.name": "main"},
        )

    def _sandboxes(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        uid = pb.ListPodSandboxRequest.FromString(request).filter.label_selector.get(UID_LABEL)
        rows = [self._sandbox(pod) for pod in tuple(self.pods.values()) if uid in {None, pod.uid}]
        rows = [row for row in rows if row.id not in self.removed]
        return pb.ListPodSandboxResponse(items=rows).SerializeToString()

    def _containers(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        uid = pb.ListContainersRequest.FromString(request).filter.label_selector.get(UID_LABEL)
        rows = [self._container(pod) for pod in tuple(self.pods.values()) if uid in {None, pod.uid}]
        rows = [row for row in rows if row.id not in self.removed]
        more = b"" if uid else self.more_containers
        return pb.ListContainersResponse(containers=rows).SerializeToString() + more

    def _find(self, identity: str, context: grpc.ServicerContext) -> FakePod:
        if identity[2:] not in self.pods or identity in self.removed:
            context.abort(grpc.StatusCode.NOT_FOUND, f"{identity}: not found")
        return self.pods[identity[2:]]

    def _sandbox_status(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        pod = self._find(pb.PodSandboxStatusRequest.FromString(request).pod_sandbox_id, context)
        row = self._sandbox(pod)
        status = pb.PodSandboxStatus(id=row.id, metadata=row.metadata, state=row.state, created_at=1, labels=row.labels)
        path = f"/{pod.cgroup}/{row.id}"
        detail = json.dumps({"runtimeSpec": {"linux": {"cgroupsPath": path}}})
        return pb.PodSandboxStatusResponse(status=status, info={"info": detail}).SerializeToString()

    def _container_status(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        pod = self._find(pb.ContainerStatusRequest.FromString(request).container_id, context)
        row = self._container(pod)
        status = pb.ContainerStatus(
            id=row.id, metadata=row.metadata, state=row.state, created_at=1, image=row.image, image_ref="app",
            labels=row.labels,
            resources=pb.ContainerResources(
                linux=pb.LinuxContainerResources(oom_score_adj=pod.oom_score_adj, memory_limit_in_bytes=pod.limit)
            ),
        )  # fmt: skip
        return pb.ContainerStatusResponse(status=status).SerializeToString()

    def _image_fs(self, _: bytes, __: grpc.ServicerContext) -> bytes:
        row = pb.FilesystemUsage(
            timestamp=1,
            fs_id=pb.FilesystemIdentifier(mountpoint=str(self.folder)),
            used_bytes=pb.UInt64Value(value=7),
            inodes_used=pb.UInt64Value(value=7),
        )
        return pb.ImageFsInfoResponse(image_filesystems=[row]).SerializeToString()

    def _stop_container(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self._stop(self._find(pb.StopContainerRequest.FromString(request).container_id, context))
        return b""

    def _stop_sandbox(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        self._stop(self._find(pb.StopPodSandboxRequest.FromString(request).pod_sandbox_id, context))
        return b""

    def _remove_container(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        self.removed.add(pb.RemoveContainerRequest.FromString(request).container_id)
        return b""

    def _remove_sandbox(self, request: bytes, _: grpc.ServicerContext) -> bytes:
        self.removed.add(pb.RemovePodSandboxRequest.FromString(request).pod_sandbox_id)
        return b""

    def _stop(self, pod: FakePod) -> None:
        if pod.key not in self.stopped:
            self.stopped.append(pod.key)
        if not pod.obstinate:
            self.end(pod.key)
