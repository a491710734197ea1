"""Mirrors of static pods and forged ones: an object takes part under a uid that no other object has."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from evictd.codec.pods.mirrors import NO_SANDBOXES, KnownSandboxes, bound_pod
from evictd.codec.pods.slim_pods import SlimPod, decode_page
from evictd.core.model.pod import PodSource
from tests.kube.objects import pod, pod_list

NODE = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "node", "controller": True}
RUNS = KnownSandboxes(uids={"hash", "web", "forged"}, static={"hash": "kube-system/etcd-n1"})


def claimed(name: str, mirror_of: str, *, uid: str = "own", namespace: str = "kube-system") -> SlimPod:
    """An object that has every mark of a mirror."""
    made = pod(name, uid=uid, namespace=namespace, annotations={"kubernetes.io/config.mirror": mirror_of})
    made["metadata"]["ownerReferences"] = [NODE]
    (entry,) = decode_page(pod_list(made)).pods
    return entry


def test_a_mirror_has_its_static_pods_uid() -> None:
    """Sandboxes and cgroups know only that one."""
    found = bound_pod(claimed("etcd-n1", "hash"), RUNS)
    assert (found.uid, found.source, found.critical) == ("hash", PodSource.MIRROR, True)


def test_a_forged_mirror_of_another_pod_keeps_its_own_uid() -> None:
    """Of a pod of the API server, of a static pod of another name, of one that is not here."""
    for name, target in (("web", "web"), ("mine", "hash"), ("etcd-n1", "unknown")):
        assert bound_pod(claimed(name, target), RUNS).uid == "own"
    assert bound_pod(claimed("etcd-n1", "hash", namespace="default"), RUNS).uid == "own"


def test_a_mirror_that_runs_itself_is_an_ordinary_pod() -> None:
    """What has a sandbox of its own can be evicted, whatever it claims to be."""
    found = bound_pod(claimed("etcd-n1", "hash", uid="forged"), RUNS)
    assert (found.uid, found.source, found.critical) == ("forged", PodSource.API, False)


def test_before_the_runtime_has_answered_a_mirror_keeps_its_own_uid() -> None:
    """Nothing is measured then, and nothing that is a mirror may be evicted."""
    found = bound_pod(claimed("etcd-n1", "hash"), NO_SANDBOXES)
    assert (found.uid, found.source) == ("own", PodSource.MIRROR)


UIDS = ["a", "b", "c", "s1", "s2"]
NAMES = [f"kube-system/{name}" for name in "pqr"]


@given(
    st.lists(st.tuples(st.sampled_from("pqr"), st.sampled_from(["", *UIDS])), max_size=3, unique_by=lambda row: row[0]),
    st.sets(st.sampled_from(UIDS)),
    st.dictionaries(st.sampled_from(["s1", "s2"]), st.sampled_from(NAMES)),
)
def test_no_two_objects_come_to_one_uid(rows: list[tuple[str, str]], uids: set[str], static: dict[str, str]) -> None:
    """Whatever they claim: the API server gives names and uids once."""
    entries = [claimed(name, target, uid=uid) for (name, target), uid in zip(rows, "abc", strict=False)]
    found = [bound_pod(entry, KnownSandboxes(uids=uids | static.keys(), static=static)) for entry in entries]
    assert len({each.uid for each in found}) == len(found)
    for entry, each in product(entries, found):
        assert each.uid != entry.pod.uid or each.name == entry.pod.name
