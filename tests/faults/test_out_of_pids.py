"""The daemon's gRPC client in a cgroup whose `pids.max` is reached: pods are listed and stopped by threads that exist."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cri_api.v1 import api_pb2 as pb

from evictd_testnode.cgroups import group
from tests.faults.cri_server import Answer, fake_runtime
from tests.faults.test_cri_terminate import Model
from tests.real_cgroups import branch, reason_against

pytestmark = [pytest.mark.root, pytest.mark.skipif(bool(reason_against()), reason=reason_against())]


def sandbox_status(request: bytes, _: object) -> bytes:
    identity = pb.PodSandboxStatusRequest.FromString(request).pod_sandbox_id
    metadata = pb.PodSandboxMetadata(name="n", namespace="ns", uid="u1")
    status = pb.PodSandboxStatus(id=identity, metadata=metadata, created_at=1)
    info = {"info": json.dumps({"runtimeSpec": {"linux": {"cgroupsPath": "/kubepods/podu1/s1"}}})}
    return pb.PodSandboxStatusResponse(status=status, info=info).SerializeToString()


def container_status(request: bytes, _: object) -> bytes:
    identity = pb.ContainerStatusRequest.FromString(request).container_id
    image = pb.ImageSpec(image="i")
    status = pb.ContainerStatus(
        id=identity, metadata=pb.ContainerMetadata(name="c"), created_at=1, image=image, image_ref="i"
    )
    return pb.ContainerStatusResponse(status=status).SerializeToString()


def version(*_: object) -> bytes:
    return pb.VersionResponse(runtime_name="fake", runtime_version="1", runtime_api_version="v1").SerializeToString()


def run_starved(endpoint: str, cgroup: Path) -> dict[str, Any]:
    """Run `starved` in a cgroup that is closed as soon as the process is connected; gives what it found."""
    argv = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", "tests.faults.starved", endpoint]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "made\n"
            (cgroup / "cgroup.procs").write_text(str(process.pid))
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "connected\n"
            (cgroup / "pids.max").write_text((cgroup / "pids.current").read_text())
            process.stdin.write("\n")
            process.stdin.flush()
            found: dict[str, Any] = json.loads(process.stdout.readline())
            assert process.wait(60) == 0
        finally:
            with suppress(ProcessLookupError):
                process.kill()
    return found


@pytest.mark.parametrize("containers", [1, 12])
def test_without_a_pid_left_a_pod_is_listed_and_stopped(tmp_path: Path, containers: int) -> None:
    model = Model(running={f"c{number}" for number in range(containers)})
    answers: dict[str, Answer] = {
        **model.answers(),
        "Version": version,
        "PodSandboxStatus": sandbox_status,
        "ContainerStatus": container_status,
    }
    with fake_runtime(tmp_path / "s", answers) as endpoint, branch() as name:
        found = run_starved(endpoint, group("pids", name))
    assert found == {
        "starved": True,
        "listed": sorted(f"c{number}" for number in range(containers)),
        "cgroups": {"u1": "/kubepods/podu1"},
        "stopped": True,
        "errors": [],
        "still starved": True,
    }
    assert {container for container, _ in model.stops} == {f"c{number}" for number in range(containers)}
    assert {grace for _, grace in model.stops} == {30}
