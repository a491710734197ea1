"""The rules of ValidateKubeletConfiguration, with the kubelet's texts."""

from typing import Any

import msgspec
import pytest

from evictd.codec.config.kubelet_fields import KubeletConfiguration, MemorySwap
from evictd.codec.config.kubelet_validation import validate
from evictd.codec.strict import Duration
from evictd.core.units.duration import MINUTE


def wrongs(**fields: Any) -> list[str]:
    config = msgspec.structs.replace(KubeletConfiguration(), **fields)
    return [problem.wrong.removeprefix("invalid configuration: ") for problem in validate(config)]


def test_the_defaults_are_valid() -> None:
    assert wrongs() == []


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"image_minimum_gc_age": Duration(-1)}, "imageMinimumGCAge -1ns must not be negative"),
        ({"image_maximum_gc_age": Duration(-1)}, "imageMaximumGCAge -1ns must not be negative"),
        (
            {"image_maximum_gc_age": Duration(MINUTE)},
            "imageMaximumGCAge 1m0s must be greater than imageMinimumGCAge 2m0s",
        ),
        (
            {"image_gc_high_threshold_percent": 101},
            "imageGCHighThresholdPercent (--image-gc-high-threshold) 101 must be between 0 and 100, inclusive",
        ),
        (
            {"image_gc_low_threshold_percent": -1},
            "imageGCLowThresholdPercent (--image-gc-low-threshold) -1 must be between 0 and 100, inclusive",
        ),
        (
            {"image_gc_low_threshold_percent": 85},
            (
                "imageGCLowThresholdPercent (--image-gc-low-threshold) 85 must be less than imageGCHighThresholdPercent "
                "(--image-gc-high-threshold) 85"
            ),
        ),
        ({"max_pods": -1}, "maxPods (--max-pods) -1 must not be a negative number"),
        ({"pods_per_core": -1}, "podsPerCore (--pods-per-core) -1 must not be a negative number"),
        ({"event_burst": -1}, "eventBurst (--event-burst) -1 must not be a negative number"),
        ({"event_record_qps": -1}, "eventRecordQPS (--event-qps) -1 must not be a negative number"),
        ({"node_lease_duration_seconds": -1}, "nodeLeaseDurationSeconds must be greater than 0"),
        (
            {"node_status_max_images": -2},
            "nodeStatusMaxImages (--node-status-max-images) -2 must be -1 or greater",
        ),
        ({"oom_score_adj": 1001}, "oomScoreAdj (--oom-score-adj) 1001 must be between -1000 and 1000, inclusive"),
        (
            {"memory_throttling_factor": 0.0},
            "memoryThrottlingFactor 0 must be greater than 0 and less than or equal to 1.0",
        ),
        (
            {"memory_throttling_factor": float("nan")},
            "memoryThrottlingFactor nan must be greater than 0 and less than or equal to 1.0",
        ),
        (
            {"memory_reservation_policy": "TieredReservation", "feature_gates": {"MemoryQoS": False}},
            'memoryReservationPolicy "TieredReservation" requires MemoryQoS feature gate to be enabled',
        ),
        (
            {"memory_swap": MemorySwap(swap_behavior="Much")},
            'invalid memorySwap.swapBehavior "Much", acceptable values are: "", "NoSwap", "LimitedSwap"',
        ),
        (
            {"enforce_node_allocatable": ("pods", "pods")},
            'duplicated enforcements "pods" in enforceNodeAllocatable (--enforce-node-allocatable)',
        ),
        (
            {"enforce_node_allocatable": ("some",)},
            'option "some" specified for enforceNodeAllocatable (--enforce-node-allocatable) is unknown',
        ),
        (
            {"enforce_node_allocatable": ("none", "pods")},
            (
                'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is '
                "specified"
            ),
        ),
        (
            {"enforce_node_allocatable": ("kube-reserved",)},
            (
                'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" is contained in '
                "enforceNodeAllocatable"
            ),
        ),
        (
            {
                "enforce_node_allocatable": ("system-reserved", "system-reserved-compressible"),
                "system_reserved_cgroup": "/s",
            },
            'enforceNodeAllocatable may not contain both "system-reserved" and its compressible form',
        ),
        (
            {"cgroups_per_qos": False},
            (
                'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in enforceNodeAllocatable '
                "(--enforce-node-allocatable)"
            ),
        ),
        (
            {"reserved_system_cpus": "0-1", "kube_reserved_cgroup": "/k"},
            (
                "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or "
                "kubeReservedCgroup (--kube-reserved-cgroup)"
            ),
        ),
        (
            {"kube_reserved": {"gpu": "1"}},
            '--kube-reserved value failed to parse: cannot reserve "gpu" resource',
        ),
        (
            {"system_reserved": {"memory": "-1Gi"}},
            '--system-reserved value failed to parse: resource quantity for "memory" cannot be negative: -1Gi',
        ),
        (
            {"system_reserved": {"pid": "1K"}},
            (
                '--system-reserved value failed to parse: failed to parse quantity "1K" for "pid" resource: unable to parse '
                "quantity's suffix"
            ),
        ),
        ({"pod_logs_dir": "logs"}, 'podLogsDir "logs" must be an absolute, clean ASCII path'),
        ({"pod_logs_dir": "/var/../logs"}, 'podLogsDir "/var/../logs" must be an absolute, clean ASCII path'),
        ({"container_runtime_endpoint": ""}, "the containerRuntimeEndpoint was not specified or empty"),
        ({"container_runtime_endpoint": "tcp://1.2.3.4:5"}, "only unix sockets are supported"),
        ({"cgroup_driver": "v2"}, "must be cgroupfs or systemd"),
        (
            {"system_cgroups": "/s"},
            "systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified",
        ),
        ({"static_pod_path": "manifests"}, "must be an absolute path"),
        ({"static_pod_path": "/a\0b"}, "must be an absolute path"),
        ({"image_service_endpoint": "unix:///a\0b"}, "only unix sockets are supported"),
        ({"pod_logs_dir": "/a\0b"}, 'podLogsDir "/a\\x00b" must be an absolute, clean ASCII path'),
    ],
)
def test_each_fault_has_the_kubelets_text(fields: dict[str, Any], wrong: str) -> None:
    assert wrongs(**fields) == [wrong]


def test_the_gate_allows_the_reservation_policy() -> None:
    assert wrongs(memory_reservation_policy="TieredReservation", feature_gates={"MemoryQoS": True}) == []


def test_without_qos_cgroups_nothing_may_be_enforced() -> None:
    assert wrongs(cgroups_per_qos=False, enforce_node_allocatable=()) == []
    assert wrongs(cgroups_per_qos=False, enforce_node_allocatable=("none",)) == []


def test_all_faults_are_found_at_once() -> None:
    assert len(wrongs(max_pods=-1, cgroup_driver="x", image_gc_high_threshold_percent=-1)) == 4
