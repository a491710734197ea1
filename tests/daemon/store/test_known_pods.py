"""The pods that the API server listed last, over a restart."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from evictd.core.model.pod import Pod, PodSource, Toleration
from evictd.core.model.resources import MEMORY, Container, Volume, VolumeKind
from evictd.core.units.quantity import of_bytes
from evictd.daemon.store.known_pods import FILE_NAME, KnownPods, encode_known_pods
from evictd.daemon.store.state_file import StateFile
from evictd.worker import JobQueue
from tests.recorded_errors import NoErrors, RecordedErrors

CALICO = Pod(
    name="calico-node",
    namespace="kube-system",
    uid="u-calico",
    priority=2_000_001_000,
    priority_class_name="system-node-critical",
    phase="Running",
    status_qos_class="Burstable",
    containers=(Container(name="main", requests={MEMORY: of_bytes(1 << 20)}, limits={MEMORY: of_bytes(1 << 30)}),),
    volumes=(Volume(name="data", kind=VolumeKind.EMPTY_DIR, size_limit=of_bytes(5)),),
    tolerations=(Toleration(operator="Exists"),),
    owner="DaemonSet/calico-node",
)
MIRROR = Pod(name="etcd", namespace="kube-system", uid="u-etcd", source=PodSource.MIRROR)
WEB = Pod(name="web", namespace="shop", uid="u-web", priority=7, owner="ReplicaSet/web", phase="Running")


def seen_by_runtime(pod: Pod, phase: str = "Running") -> Pod:
    return Pod(name=pod.name, namespace=pod.namespace, uid=pod.uid, phase=phase, spec_known=False)


def remembered(folder: Path, *pods: Pod) -> None:
    jobs = JobQueue(NoErrors())
    KnownPods(folder, jobs, NoErrors()).remember(pods)
    assert jobs.close()


def after_restart(folder: Path) -> KnownPods:
    return KnownPods(folder, JobQueue(NoErrors()), NoErrors())


def test_priority_requests_owner_and_source_are_known_after_a_restart(tmp_path: Path) -> None:
    remembered(tmp_path, CALICO, MIRROR, WEB)
    pods = after_restart(tmp_path).completed(tuple(seen_by_runtime(pod) for pod in (CALICO, MIRROR, WEB)))
    assert pods == (replace(CALICO, tolerations=()), replace(MIRROR, phase="Running"), WEB)
    assert [pod.critical for pod in pods] == [True, True, False]
    assert all(pod.spec_known for pod in pods)


def test_what_the_runtime_sees_now_wins(tmp_path: Path) -> None:
    """The phase of last time, or that the pod was being deleted then, says nothing of today."""
    remembered(tmp_path, replace(WEB, phase="Failed", deletion_grace_period_seconds=3))
    now = replace(seen_by_runtime(WEB, phase="Pending"), deletion_grace_period_seconds=9)
    (pod,) = after_restart(tmp_path).completed((now,))
    assert (pod.phase, pod.deletion_grace_period_seconds, pod.priority) == ("Pending", 9, 7)


def test_other_pods_stay_as_they_are(tmp_path: Path) -> None:
    """No pod is added, a manifest is believed, and a uid under another name is another pod."""
    remembered(tmp_path, WEB)
    new = seen_by_runtime(replace(WEB, uid="u-new"))
    described = replace(WEB, priority=1)
    renamed = seen_by_runtime(replace(WEB, name="other"))
    assert after_restart(tmp_path).completed((new, described, renamed)) == (new, described, renamed)


def test_nothing_is_written_unless_something_that_counts_changes(tmp_path: Path) -> None:
    file = tmp_path / FILE_NAME
    remembered(tmp_path, WEB)
    inode = file.stat().st_ino  # each write exchanges the file
    remembered(tmp_path, replace(WEB, phase="Pending", generation=3))
    assert file.stat().st_ino == inode
    remembered(tmp_path, replace(WEB, priority=8))
    assert file.stat().st_ino != inode


def test_a_write_that_failed_is_tried_again(tmp_path: Path) -> None:
    folder, done, errors = tmp_path / "late", Event(), RecordedErrors()
    jobs = JobQueue(errors)
    known = KnownPods(folder, jobs, errors)
    folder.touch()  # a file where the directory was
    known.remember((WEB,))
    jobs.submit("test", done.set)
    assert done.wait(60)
    assert len(errors) == 1
    folder.unlink()
    known.remember((WEB,))
    assert jobs.close()
    assert after_restart(folder).completed((seen_by_runtime(WEB),)) == (WEB,)


def test_it_is_bounded_and_the_most_important_pods_stay() -> None:
    """A pod of a megabyte leaves the others in."""
    containers = tuple(Container(name=f"c{n}") for n in range(50_000))
    huge = Pod(name="huge", namespace="shop", uid="u-huge", priority=9, containers=containers)
    kept = encode_known_pods({pod.uid: pod for pod in (WEB, huge, CALICO, MIRROR)})
    assert [plain["metadata"]["uid"] for plain in kept] == ["u-calico", "u-etcd", "u-web"]
    many = {f"u{n}": replace(WEB, uid=f"u{n}", priority=n) for n in range(10_000)}
    kept = encode_known_pods(many)
    assert len(json.dumps(kept)) < 2 << 20
    assert kept[0]["spec"]["priority"] == 9999


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"pods": 5},
        {"pods": ["x"]},
        {"pods": [{"metadata": {"name": 5}}]},
        {"pods": [{"metadata": {"name": "a", "namespace": "b", "uid": "\ud800"}}]},
        {"pods": [{"metadata": {"name": "a", "namespace": "b", "uid": "c"}, "spec": {"priority": 1 << 70}}]},
    ],
)
def test_a_damaged_file_is_set_aside_with_one_error(tmp_path: Path, plain: dict[str, Any]) -> None:
    StateFile(tmp_path / FILE_NAME, "").write(plain)
    errors = RecordedErrors()
    known = KnownPods(tmp_path, JobQueue(NoErrors()), errors)
    assert known.completed((seen_by_runtime(WEB),)) == (seen_by_runtime(WEB),)
    assert len(errors) == 1
    assert not (tmp_path / FILE_NAME).exists()
