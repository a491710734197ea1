"""The real control plane: it comes up, knows its identities and leaves nothing behind, also when its owner is killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evictd_testnode.tool import start_time
from tests.cluster import binaries, processes
from tests.cluster.control_plane import PROGRAMS, ControlPlane
from tests.kube.waiting import eventually

pytestmark = pytest.mark.cluster

_OWNER = """
import time
from tests.cluster import processes
from tests.cluster.binaries import find
from tests.cluster.control_plane import PROGRAMS, ControlPlane
with processes.folder() as folder, ControlPlane(folder, find(*PROGRAMS)):
    print(folder, flush=True)
    time.sleep(600)
"""


def test_the_server_is_kubernetes_and_knows_its_users(control_plane: ControlPlane) -> None:
    """A version of its own, and an identity for each token."""
    assert control_plane.admin.must("GET", "/version")["gitVersion"].startswith("v1.")
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    found = control_plane.client("node").must("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body)
    assert found["status"]["userInfo"]["username"] == "system:node:n1"


@pytest.mark.usefixtures("control_plane")
def test_nothing_is_left_when_the_owner_is_killed() -> None:
    """No process and no folder, though the owner had no chance to clean up."""
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        assert len(processes.processes(folder)) == len(PROGRAMS)
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not processes.processes(folder) and not folder.exists())


def test_a_sweep_leaves_the_living_alone(control_plane: ControlPlane) -> None:
    """The folder's name says whose it is."""
    processes.sweep()
    assert control_plane.apiserver.running()
    assert f"-{os.getpid()}-{start_time(os.getpid())}-" in control_plane.folder.name


def test_missing_programs_are_named_with_the_way_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The reason of the skip is enough to go on."""
    monkeypatch.setenv(binaries.VARIABLE, str(tmp_path))
    found = binaries.find("kube-apiserver", "kubelet")
    assert isinstance(found, binaries.Missing)
    assert "no kube-apiserver, kubelet: set KUBEBUILDER_ASSETS" in str(found)
    assert "setup-envtest" in str(found)
