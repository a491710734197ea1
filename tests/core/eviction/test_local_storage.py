"""Limits of pods on local storage: emptyDir, pod, container."""

from dataclasses import replace

import pytest

from evictd.core.eviction.local_storage import local_storage_evictions, nearly_over
from evictd.core.eviction.synchronize import synchronize
from evictd.core.model.config import Policy
from evictd.core.model.decision import EvictionReason, EvictPod
from evictd.core.model.observation import Observation
from evictd.core.model.pod import Pod, PodSource
from evictd.core.model.signal import Signal
from evictd.core.model.state import State
from evictd.core.model.stats import DiskUsage, PodStats
from tests.playbook import config, empty_dir, node, pod, usage


def evictions(
    one: Pod, used: PodStats | None, *, policy: Policy = Policy.STANDARD, dedicated: bool = False
) -> list[EvictPod]:
    """What comes of one pod."""
    observation = Observation(node=None, pods=(one,), pod_stats={} if used is None else {used.uid: used})
    return list(local_storage_evictions(observation, config(policy=policy), dedicated_image_fs=dedicated))


@pytest.mark.parametrize("medium", ["", "Memory"])
def test_an_empty_dir_over_its_size_limit(medium: str) -> None:
    """Any medium; exactly the limit is fine."""
    one = pod("p", volumes=[empty_dir("v", size_limit="100Mi", medium=medium)])
    assert evictions(one, usage(one, volumes={"v": "100Mi"})) == []
    [eviction] = evictions(one, usage(one, volumes={"v": "101Mi"}))
    assert eviction.message == 'Usage of EmptyDir volume "v" exceeds the limit "100Mi". '
    assert eviction.because.reason is EvictionReason.EMPTY_DIR_LIMIT
    assert eviction.because.subject == "v"


def test_the_first_offending_volume_of_the_spec_is_the_reason() -> None:
    """Whatever the order of the stats."""
    one = pod("p", volumes=[empty_dir("a", size_limit="1Mi"), empty_dir("b", size_limit="1Mi")])
    [eviction] = evictions(one, usage(one, volumes={"b": "2Mi", "a": "2Mi"}))
    assert eviction.because.subject == "a"


def test_a_size_limit_of_zero_is_none() -> None:
    """As in the kubelet."""
    one = pod("p", volumes=[empty_dir("v", size_limit="0")])
    assert evictions(one, usage(one, volumes={"v": "1Gi"})) == []


def test_a_pod_over_the_sum_of_its_limits() -> None:
    """By its ephemeral-storage as measured."""
    one = pod("p", storage_limit="100Mi", volumes=[empty_dir("v")])
    [eviction] = evictions(one, usage(one, volumes={"v": "101Mi"}))
    assert eviction.message == "Pod ephemeral local storage usage exceeds the total limit of containers 100Mi. "
    assert eviction.because.reason is EvictionReason.POD_LIMIT
    assert eviction.because.signal_label == "ephemeralpodfs.limit"


def test_an_eviction_for_a_limit_has_no_condition_and_spares_the_protected() -> None:
    """docs/parity.md, row 34."""
    one = pod("p", storage_limit="1Mi")
    [eviction] = evictions(one, usage(one, logs="2Mi"))
    assert (eviction.condition, eviction.grace_period_seconds, dict(eviction.annotations)) == (None, 1, {})
    assert evictions(replace(one, source=PodSource.STATIC), usage(one, logs="2Mi")) == []


def test_a_container_over_its_own_limit() -> None:
    """Writable layer and logs; the pod's sum is missing here."""
    one = pod("p", storage_limit="100Mi")
    used = usage(one, rootfs="60Mi", logs="60Mi")
    used = PodStats(name=used.name, namespace=used.namespace, uid=used.uid, containers=used.containers)
    [eviction] = evictions(one, used)
    assert eviction.message == 'Container c exceeded its local ephemeral storage limit "100Mi". '
    assert eviction.because.reason is EvictionReason.CONTAINER_LIMIT


def test_the_writable_layer_counts_with_a_dedicated_imagefs_in_standard_only() -> None:
    """docs/parity.md, row 21; kubernetes/kubernetes#140250."""
    one = pod("p", storage_limit="100Mi")
    used = PodStats(
        name="p", namespace="default", uid="p", containers=usage(one, rootfs="101Mi", logs="1Mi").containers
    )
    assert evictions(one, used, policy=Policy.KUBELET, dedicated=True) == []
    assert len(evictions(one, used, policy=Policy.STANDARD, dedicated=True)) == 1
    assert len(evictions(one, used, policy=Policy.KUBELET)) == 1


def test_a_pod_without_stats_breaks_nothing() -> None:
    """Missing is not zero, and not infinite either."""
    assert evictions(pod("p", storage_limit="1"), None) == []


@pytest.mark.parametrize("part", ["rootfs", "logs"])
def test_what_was_not_measured_of_a_container_counts_nothing(part: str) -> None:
    """Exactly the limit is fine."""
    one = pod("p", storage_limit="100Mi")
    for amount, over in (("100Mi", False), ("101Mi", True)):
        found = usage(one, rootfs=amount) if part == "rootfs" else usage(one, logs=amount)
        used = replace(found, ephemeral_storage=None)
        assert bool(evictions(one, used)) is over
        container = used.containers[0]._replace(logs=DiskUsage()) if part == "rootfs" else used.containers[0]
        assert bool(evictions(one, replace(used, containers=(container,)))) is over


@pytest.mark.parametrize("measured", [None, DiskUsage()])
def test_a_pod_without_a_sum_breaks_only_a_limit_below_zero(measured: DiskUsage | None) -> None:
    for limit, reasons in (("0", []), ("-1", [EvictionReason.POD_LIMIT])):
        one = pod("p", storage_limit=limit)
        found = evictions(one, replace(usage(one), ephemeral_storage=measured))
        assert [each.because.reason for each in found] == reasons


@pytest.mark.parametrize(("medium", "used"), [("Memory", "150Mi"), ("", "150Mi"), ("Memory", "50Mi"), ("", "50Mi")])
def test_a_limit_is_enforced_while_the_disk_is_short_as_well(medium: str, used: str) -> None:
    """What a pod uses of the disk is added up then; a volume in memory is not in that sum."""
    one = pod("p", volumes=[empty_dir("v", size_limit="100Mi", medium=medium), empty_dir("other")])
    settings = config(hard={"nodefs.available": "1Gi"})
    seen = Observation(
        node=node(nodefs="512Mi of 9Gi"),
        pods=(one,),
        pod_stats={one.uid: replace(usage(one, volumes={"v": used, "other": "10Mi"}), ephemeral_storage=None)},
    )
    step = synchronize(State(), seen, settings, 0)
    assert Signal.NODEFS_AVAILABLE in step.state.holdings
    evicted = [each for each in step.decisions if isinstance(each, EvictPod)]
    assert [each.because.reason for each in evicted] == [EvictionReason.EMPTY_DIR_LIMIT] * (used == "150Mi")


@pytest.mark.parametrize(("used", "listed"), [(89, False), (90, True), (100, True)])
def test_a_pod_from_nine_tenths_of_its_limit_on_nearly_exceeds_it(used: int, listed: bool) -> None:
    one = pod("p", volumes=[empty_dir("v", size_limit="100")])
    stats = usage(one, volumes={"v": str(used)})
    observation = Observation(node=None, pods=(one,), pod_stats={one.uid: stats})
    found = list(nearly_over(observation, config(), dedicated_image_fs=False, tenths=9))
    assert [(each.uid, near.reason) for each, near in found] == (
        [(one.uid, EvictionReason.EMPTY_DIR_LIMIT)] if listed else []
    )
    off = replace(config(), local_storage_capacity_isolation=False)
    assert not list(nearly_over(observation, off, dedicated_image_fs=False, tenths=9))
