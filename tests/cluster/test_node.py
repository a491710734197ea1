"""The real node: it is Ready, runs a pod, has a lease, and a deleted pod goes."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evictd_testnode import cgroups
from evictd_testnode.disks import loops_of, mounts_below
from tests.cluster import objects, processes
from tests.cluster.node import NAME, PROGRAMS, RealNode
from tests.kube.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.root]


def test_a_pod_runs_and_goes(real_node: RealNode) -> None:
    """Scheduled, started by the kubelet, deleted in its grace."""
    admin = real_node.plane.admin
    eventually(lambda: admin.request("GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200, 120)
    pod = objects.pod("sleeper", NAME)
    del pod["spec"]["nodeName"]
    pod["spec"] |= {"hostNetwork": True, "terminationGracePeriodSeconds": 1}
    pod["spec"]["containers"] = [
        {"name": "c", "image": "localhost/busybox:1", "imagePullPolicy": "Never", "command": ["sleep", "600"]}
    ]
    with objects.created(admin, pod) as path:
        eventually(lambda: admin.must("GET", path)["status"].get("phase") == "Running", 120)
        assert admin.must("GET", path)["spec"]["nodeName"] == NAME
        admin.must("DELETE", path)
        eventually(lambda: admin.request("GET", path).status == 404, 120)


def test_the_lease_says_how_long_it_holds(real_node: RealNode) -> None:
    """The kubelet's own duration, 40 s by default."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}"
    eventually(lambda: real_node.plane.admin.request("GET", path).status == 200, 120)
    assert real_node.plane.admin.must("GET", path)["spec"]["leaseDurationSeconds"] == 40


def test_the_kubelet_can_be_stopped_and_started_again(real_node: RealNode) -> None:
    """Its pods stay; it is Ready again afterwards."""
    assert real_node.kubelet is not None
    path = f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{NAME}"
    eventually(lambda: real_node.plane.admin.request("GET", path).status == 200, 120)  # a young node has none
    real_node.kubelet.stop()
    assert not real_node.kubelet.running()
    real_node.kubelet.start()
    before = real_node.plane.admin.must("GET", path)["spec"]["renewTime"]
    eventually(lambda: real_node.plane.admin.must("GET", path)["spec"]["renewTime"] != before, 120)
    eventually(real_node.ready, 120)


_OWNER = """
import time
from evictd_testnode.binaries import default_cache, find_binaries
from tests.cluster import processes
from tests.cluster.binaries import find
from tests.cluster.control_plane import ControlPlane
from tests.cluster.node import PROGRAMS, RealNode
programs = find(*PROGRAMS)
with (
    processes.folder() as folder,
    ControlPlane(folder, programs) as plane,
    RealNode(plane, programs, find_binaries(default_cache())),
):
    print(folder, flush=True)
    time.sleep(600)
"""


def leftovers(folder: Path) -> list[str]:
    found = [str(pid) for pid in processes.processes(folder)]
    found += [str(point) for point in mounts_below(folder)] + loops_of(folder)
    found += [str(tree / folder.name) for tree in cgroups.trees() if (tree / folder.name).exists()]
    return found + ([str(folder)] if folder.exists() else [])


@pytest.mark.usefixtures("real_node")
def test_nothing_is_left_of_a_node_when_its_owner_is_killed() -> None:
    """No process, mount, loop device, cgroup or folder."""
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert len(processes.processes(folder)) >= len(PROGRAMS)
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not leftovers(folder), 120)
