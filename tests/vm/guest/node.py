"""Starts pods on the machine as a kubelet with the systemd cgroup driver does.

The folders are the kubelet's own (/var/lib/kubelet, /var/log/pods), the runtime is the system's containerd. Pods carry the
labels, annotations and cgroups of a kubelet; requests and priority stand in manifests.
"""

import json
import os
import shutil
import subprocess
import uuid
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from evictd.clients.cri.client import CriClient
from evictd.core.model.resources import QOSClass
from evictd.errors import RuntimeRefusedError, RuntimeUnavailableError
from evictd_testnode import pods
from evictd_testnode.create import PodStarter
from evictd_testnode.images import ImageRecipe, write_archive
from tests.vm.guest.waiting import wait_for

ENDPOINT = "unix:///run/containerd/containerd.sock"
CGROUPS = Path("/sys/fs/cgroup")
PODS_CGROUP = CGROUPS / "kubepods.slice"
KUBELET_ROOT = Path("/var/lib/kubelet")
POD_LOGS = Path("/var/log/pods")
MANIFESTS = Path("/etc/kubernetes/manifests")

_CLASS_SLICES = {
    QOSClass.GUARANTEED: "kubepods",
    QOSClass.BURSTABLE: "kubepods-burstable",
    QOSClass.BEST_EFFORT: "kubepods-besteffort",
}


def pod_slice(qos: QOSClass, uid: str) -> str:
    """Return the name of the pod's slice as systemd's driver: dashes separate levels, so those of the uid become underscores."""
    return f"{_CLASS_SLICES[qos]}-pod{uid.replace('-', '_')}.slice"


def pod_cgroup(pod: pods.RunningPod) -> Path:
    """Return the folder of the pod's slice."""
    qos = pods.qos_class(pod.recipe)
    between = () if qos is QOSClass.GUARANTEED else (f"{_CLASS_SLICES[qos]}.slice",)
    return PODS_CGROUP.joinpath(*between, pod.cgroup_parent)


def processes(cgroup: Path) -> list[str]:
    """List the processes in a cgroup and below it, by number."""
    found: list[str] = []
    for folder, _, _ in os.walk(cgroup):
        with suppress(OSError):  # removed meanwhile
            found += Path(folder, "cgroup.procs").read_text().split()
    return found


class Node:
    """Starts and ends pods on this machine."""

    def __init__(self) -> None:
        self.client = CriClient(ENDPOINT)
        self._starter = PodStarter(ENDPOINT, timeout_seconds=120)
        # Under emulation the first handshake may exceed the timeout of one attempt; both clients share the connection.
        wait_for(self._answers, 120, "the runtime to answer")
        for folder in (KUBELET_ROOT / "pods", POD_LOGS, MANIFESTS):
            folder.mkdir(parents=True, exist_ok=True)
        # A kubelet makes them when it starts, so that they are there before, and after, any pod.
        subprocess.run(["systemctl", "start", *(f"{name}.slice" for name in _CLASS_SLICES.values())], check=True)

    def close(self) -> None:
        """Close the connections."""
        self.client.close()
        self._starter.close()

    def _answers(self) -> bool:
        try:
            self.client.version()
        except RuntimeUnavailableError:
            return False
        return True

    def import_images(self, *recipes: ImageRecipe) -> None:
        """Make pause, busybox and these images known to containerd; returns when CRI lists them, which is a moment later."""
        archive = Path("/var/tmp/images.tar")
        wanted = set(write_archive(archive, recipes, busybox=Path("/bin/busybox")))
        argv = ["ctr", "--namespace", "k8s.io", "images", "import", str(archive)]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        archive.unlink()
        wait_for(lambda: wanted <= self._references(), 120, "the images to be listed")

    def _references(self) -> set[str]:
        return {tag for image in self.client.list_images() for tag in image.repo_tags}

    def run_pod(self, recipe: pods.PodRecipe) -> pods.RunningPod:
        """Start a pod with all its containers."""
        uid = recipe.uid or str(uuid.uuid4())
        logs = POD_LOGS / f"{recipe.namespace}_{recipe.name}_{uid}"
        logs.mkdir()
        pod = pods.RunningPod(
            name=recipe.name,
            namespace=recipe.namespace,
            uid=uid,
            sandbox_id="",
            containers={},
            volumes={volume.name: _make_volume(uid, volume) for volume in recipe.volumes},
            log_directory=logs,
            cgroup_parent=pod_slice(pods.qos_class(recipe), uid),
            recipe=recipe,
        )
        if recipe.manifest:
            _manifest(pod).write_text(json.dumps(pods.manifest(recipe, uid)), encoding="utf-8")
        pod = replace(pod, sandbox_id=self._starter.run_sandbox(pod))
        started = {each.name: self._starter.run_container(pod, each, 0) for each in recipe.containers}
        return replace(pod, containers=started)

    def _stops(self, sandbox: str) -> bool:
        """Stop a sandbox; false while the shim of one that was killed ends, when the runtime refuses every call about it."""
        try:
            self.client.stop_sandbox(sandbox)
        except RuntimeRefusedError:
            return False
        return True

    def remove_all_pods(self) -> None:
        """Remove every pod with its volumes, logs and manifest."""
        for sandbox in self.client.list_sandboxes():
            wait_for(partial(self._stops, sandbox.id), 120, f"sandbox {sandbox.id} to stop")
            self.client.remove_sandbox(sandbox.id)
        for mount in sorted(KUBELET_ROOT.glob("pods/*/volumes/*/*")):
            if mount.is_mount():
                subprocess.run(["umount", mount], check=True)
        for folder in (MANIFESTS, POD_LOGS, KUBELET_ROOT / "pods"):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def running(self, pod: pods.RunningPod) -> bool:
        """Whether any container of the pod runs."""
        return any(
            container.state.may_run and container.sandbox_id == pod.sandbox_id
            for container in self.client.list_containers()
        )


def _make_volume(uid: str, volume: pods.VolumeRecipe) -> Path:
    at = KUBELET_ROOT / "pods" / uid / "volumes" / pods.EMPTY_DIR_FOLDER / volume.name
    at.mkdir(parents=True)
    if volume.medium == "Memory":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", at], check=True)
    return at


def _manifest(pod: pods.RunningPod) -> Path:
    return MANIFESTS / f"{pod.namespace}_{pod.name}.json"
