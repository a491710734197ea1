"""Flags win over files, and every field reaches its place in the settings."""

import argparse
from pathlib import Path

import pytest

from evictd.config.build import settings
from evictd.config.flags import Flags, add_arguments, explicit_booleans, from_args
from evictd.config.layers import Layers
from evictd.config.settings import Settings
from evictd.core.config import ContainerGCPolicy, ImageReclaim, Policy
from evictd.core.duration import MINUTE, SECOND
from evictd.core.quantity import parse_quantity
from evictd.core.threshold import Origin
from evictd.errors import InputError


def flags(*arguments: str) -> Flags:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_arguments(parser)
    return from_args(parser.parse_args(explicit_booleans(arguments)))


def build(
    kubelet: dict[str, object] | None = None, evictd: dict[str, object] | None = None, *arguments: str
) -> Settings:
    return settings(Layers(kubelet=kubelet or {}, evictd=evictd or {}, name="f.yaml"), flags(*arguments))


def test_a_map_flag_replaces_the_map_of_the_file() -> None:
    layers = Layers(
        kubelet={"evictionHard": {"memory.available": "1Gi", "pid.available": "5"}},
        hard_origins={"pid.available": Origin.MERGED},
    )
    made = settings(layers, flags("--eviction-hard=pid.available<9"))
    (threshold,) = made.eviction.thresholds
    assert (threshold.value.quantity, threshold.origin) == (parse_quantity("9"), Origin.SET)


def test_an_empty_flag_leaves_no_threshold() -> None:
    assert build({"evictionHard": {"pid.available": "5"}}, None, "--eviction-hard=").eviction.thresholds == ()


def test_a_zero_of_a_file_is_a_default_and_a_zero_of_a_flag_is_a_zero() -> None:
    fields: dict[str, object] = {"evictionPressureTransitionPeriod": "0s"}
    assert build(fields).eviction.pressure_transition_period == 5 * MINUTE
    made = build(fields, None, "--eviction-pressure-transition-period=0s")
    assert made.eviction.pressure_transition_period == 0
    assert any("no node condition is ever reported" in warning for warning in made.warnings)


def test_ignoring_eviction_in_allocatable_makes_no_allocatable_threshold() -> None:
    fields: dict[str, object] = {"evictionHard": {"memory.available": "1Gi"}}
    assert len(build(fields).eviction.thresholds) == 2
    made = build(fields, None, "--experimental-allocatable-ignore-eviction")
    assert len(made.eviction.thresholds) == 1
    assert made.enforce_node_allocatable == ("pods",)


def test_the_deprecated_container_flags_are_heard() -> None:
    made = build(
        None,
        None,
        "--maximum-dead-containers=7",
        "--maximum-dead-containers-per-container=2",
        "--minimum-container-ttl-duration=1m",
    )
    assert made.eviction.container_gc == ContainerGCPolicy(max_containers=7, max_per_pod_container=2, min_age=MINUTE)


def test_evictds_own_options_reach_the_core() -> None:
    made = build(
        None,
        {
            "decisionPolicy": "Kubelet",
            "housekeepingInterval": "3s",
            "reclaim": {"containers": False, "images": "Enough", "keepImages": ["a", "b"]},
        },
    )
    assert made.eviction.policy is Policy.KUBELET
    assert made.eviction.monitoring_period == made.housekeeping_interval == 3 * SECOND
    assert made.eviction.reclaim_containers is False
    assert made.eviction.reclaim_images is ImageReclaim.ENOUGH
    assert made.eviction.image_gc.keep == ("a", "b")


def test_flags_win_over_evictds_document_and_keep_its_other_fields() -> None:
    made = build(None, {"cluster": {"kubeconfig": "/k", "taints": False}}, "--node-name=n", "--dry-run")
    assert (made.cluster.kubeconfig, made.cluster.node_name, made.cluster.taints) == ("/k", "n", False)
    assert not made.cluster.standalone
    assert made.dry_run


def test_the_shells_settings_come_from_the_kubelets_document() -> None:
    made = build(
        {
            "containerRuntimeEndpoint": "unix:///run/x.sock",
            "staticPodPath": "/m",
            "cgroupDriver": "systemd",
            "kubeReserved": {"memory": "1Gi"},
            "nodeStatusUpdateFrequency": "3s",
            "featureGates": {"MemoryQoS": True},
            "memoryReservationPolicy": "TieredReservation",
            "memorySwap": {"swapBehavior": "LimitedSwap"},
            "singleProcessOOMKill": True,
        }
    )
    assert made.image_service_endpoint == made.container_runtime_endpoint == "unix:///run/x.sock"
    assert made.static_pod_path == Path("/m")
    assert made.cgroup_driver == "systemd"
    assert made.cgroup_root == "/"
    assert made.kube_reserved == {"memory": parse_quantity("1Gi")}
    assert made.node_status_report_frequency == made.node_status_update_frequency == 3 * SECOND
    assert made.memory_qos
    assert made.memory_swap_behavior == "LimitedSwap"
    assert made.single_process_oom_kill is True


def test_the_report_frequency_is_five_minutes_where_nothing_was_set() -> None:
    assert build().node_status_report_frequency == 5 * MINUTE
    assert build(None, None, "--node-status-update-frequency=2s").node_status_report_frequency == 2 * SECOND


def test_containerfs_values_are_ignored_with_a_warning() -> None:
    made = build({"evictionHard": {"containerfs.available": "1Gi"}})
    assert made.warnings == ("found containerfs.available for hard eviction. ignoring: it follows nodefs or imagefs",)


def test_a_negative_max_grace_period_is_allowed_with_a_warning() -> None:
    made = build({"evictionMaxPodGracePeriod": -1, "evictionHard": {"pid.available": "5"}})
    assert len(made.warnings) == 1


def test_a_fault_names_the_file_or_the_flag() -> None:
    with pytest.raises(InputError) as caught:
        build({"podsPerCore": -1}, {"x": 1}, "--max-pods=-1", "--dry-run=x", "--listen-address=1.2.3.4:5")
    sources = [line.partition(":")[0] for line in caught.value.problems]
    assert sources == ["--max-pods", "f.yaml", "f.yaml", "--listen-address", "--dry-run"]
