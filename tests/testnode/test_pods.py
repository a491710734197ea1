"""What a recipe becomes: a v1.Pod, a QoS class, a cgroup."""

import pytest

from evictd.core.model.resources import QOSClass
from evictd.errors import InvalidValueError
from evictd_testnode.pods import (
    ContainerRecipe,
    PodRecipe,
    VolumeRecipe,
    cgroup_parent,
    manifest,
    memory_bytes,
    qos_class,
    recipe_oom_score_adj,
)

BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        ({}, {}, QOSClass.BEST_EFFORT),
        ({"memory": "1Gi"}, {}, QOSClass.BURSTABLE),
        ({}, {"memory": "1Gi"}, QOSClass.BURSTABLE),
        ({}, BOTH, QOSClass.GUARANTEED),
        (BOTH, BOTH, QOSClass.GUARANTEED),
        ({"cpu": "1", "memory": "1Mi"}, BOTH, QOSClass.BURSTABLE),
    ],
)
def test_the_qos_class(requests: dict[str, str], limits: dict[str, str], expected: QOSClass) -> None:
    pod = PodRecipe(name="p", containers=(ContainerRecipe(requests=requests, limits=limits),))
    assert qos_class(pod) is expected


def test_the_cgroup_is_where_the_kubelets_cgroupfs_driver_puts_it() -> None:
    assert cgroup_parent("/node", "u1", QOSClass.GUARANTEED) == "/node/kubepods/podu1"
    assert cgroup_parent("/node", "u1", QOSClass.BURSTABLE) == "/node/kubepods/burstable/podu1"
    assert cgroup_parent("/node", "u1", QOSClass.BEST_EFFORT) == "/node/kubepods/besteffort/podu1"


def test_the_manifest_is_a_v1_pod() -> None:
    recipe = PodRecipe(
        name="web",
        containers=(ContainerRecipe(requests={"memory": "1Mi"}, limits=BOTH),),
        volumes=(VolumeRecipe(name="data", size_limit="10Mi"), VolumeRecipe(name="mem", medium="Memory")),
        priority=7,
        priority_class="high",
        annotations={"a": "b"},
    )
    written = manifest(recipe, "u1")
    assert (written["apiVersion"], written["kind"]) == ("v1", "Pod")
    assert written["metadata"] == {
        "name": "web",
        "namespace": "default",
        "uid": "u1",
        "labels": {},
        "annotations": {"kubernetes.io/config.source": "api", "a": "b"},
    }
    spec = written["spec"]
    assert isinstance(spec, dict)
    assert (spec["priority"], spec["priorityClassName"]) == (7, "high")
    assert spec["volumes"] == [
        {"name": "data", "emptyDir": {"sizeLimit": "10Mi"}},
        {"name": "mem", "emptyDir": {"medium": "Memory"}},
    ]
    (container,) = spec["containers"]
    assert container["resources"] == {"requests": {"memory": "1Mi"}, "limits": BOTH}
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/data", "/mem"]
    bare = manifest(PodRecipe(name="web"), "u1")["spec"]
    assert isinstance(bare, dict)
    assert not {"priority", "priorityClassName"} & bare.keys()


def test_limits_and_scores() -> None:
    assert memory_bytes(ContainerRecipe(limits={"memory": "1Ki"})) == 1024
    assert memory_bytes(ContainerRecipe()) == 0
    assert recipe_oom_score_adj(ContainerRecipe(), QOSClass.BEST_EFFORT, None) == 1000
    assert recipe_oom_score_adj(ContainerRecipe(), QOSClass.GUARANTEED, None) == -997
    assert recipe_oom_score_adj(ContainerRecipe(), QOSClass.BEST_EFFORT, 2_000_000_000) == -997
    assert recipe_oom_score_adj(ContainerRecipe(requests={"memory": "1"}), QOSClass.BURSTABLE, 0) == 900


@pytest.mark.parametrize("name", ["a/b", "..", "."])
def test_a_name_that_would_leave_its_folder_is_refused(name: str) -> None:
    with pytest.raises(InvalidValueError):
        PodRecipe(name=name)
    with pytest.raises(InvalidValueError):
        PodRecipe(name="p", volumes=(VolumeRecipe(name=name),))
