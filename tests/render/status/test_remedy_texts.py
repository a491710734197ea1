"""What helps by the reason for which no pod is evicted, and by what is short."""

import pytest

from evictd.core.model.finding import NoActionReason, SignalUnobserved
from evictd.core.model.signal import Resource
from evictd.render.status.remedy_texts import OUTSIDE_PODS, REMEDIES, host_path_remedy, of_culprit, remedy_of


def test_every_reason_has_a_remedy_and_every_resource_a_place_outside_pods() -> None:
    assert set(REMEDIES) == {*(reason.value for reason in NoActionReason), SignalUnobserved.__name__}
    assert set(OUTSIDE_PODS) == set(Resource)


def test_a_reason_of_a_newer_version_has_no_remedy() -> None:
    assert remedy_of("OfTomorrow", Resource.MEMORY) == ""


def test_without_a_pod_or_resource_the_remedy_is_general() -> None:
    assert remedy_of("ProtectedCulprit", None).startswith("limit the protected pod or move it")
    assert remedy_of("ProtectedCulprit", Resource.INODES, "a/b\x1b").startswith(
        "let a/b\\x1b keep fewer files or move it"
    )
    assert remedy_of("NothingHelps", Resource.SWAP) == OUTSIDE_PODS[Resource.SWAP]


@pytest.mark.parametrize(
    ("guard", "manifest"),
    [("static pod", " (change its manifest)"), ("critical pod", ""), (None, " (if it is static: change its manifest)")],
)
def test_a_manifest_is_named_of_a_static_pod_alone(guard: str | None, manifest: str) -> None:
    text = of_culprit(remedy_of("ProtectedCulprit", Resource.MEMORY), "ns/etcd", guard)
    assert text == f"limit ns/etcd or move it to another node{manifest}"


def test_host_path_volumes_of_many_pods_are_measured_by_the_first() -> None:
    assert host_path_remedy(["a/b", "a/c", "a/d", "a/e"], Resource.EPHEMERAL_STORAGE).startswith(
        "measure the hostPath volumes of a/b, a/c, a/d and 1 more"
    )


def test_host_path_volumes_are_measured_in_what_is_short() -> None:
    """The bytes of the volumes were to be measured where inodes were short."""
    measure = "measure the hostPath volumes of a/b with"
    then = "end the pod and delete the files in them"
    assert host_path_remedy(["a/b"], Resource.EPHEMERAL_STORAGE) == (
        f"{measure} `du -xsh`: if they fill the disk, {then}"
    )
    assert host_path_remedy(["a/b"], Resource.INODES) == (
        f"{measure} `du -x --inodes -s`: if they use up the inodes, {then}"
    )


def test_the_owner_that_creates_a_pod_with_a_host_path_again_comes_first() -> None:
    """It advised to end a pod of a DaemonSet, which created the next one at once."""
    of_one = host_path_remedy(["a/b"], Resource.INODES, ["DaemonSet/b"])
    assert "inodes, first mend DaemonSet/b, which creates the pod again, then end the pod and" in of_one
    of_two = host_path_remedy(["a/b", "a/c"], Resource.INODES, ["ReplicaSet/b", "Job/c"])
    assert "first mend what ReplicaSet/b runs, stop Job/c, which create such pods again, then end" in of_two
