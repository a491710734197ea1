"""Flags override files, and every field reaches the settings."""

import argparse
from pathlib import Path

import msgspec
import pytest

from evictd.codec.config.fields import changed_settings
from evictd.codec.config.kubelet_fields import WITHOUT_EFFECT, KubeletConfiguration
from evictd.codec.strict import Duration
from evictd.config.build import settings
from evictd.config.flags import Flags, add_arguments, explicit_booleans, from_args
from evictd.config.layers import Layers
from evictd.config.settings import Settings
from evictd.core.model.config import ContainerGCPolicy, FastFill, ImageReclaim, Policy
from evictd.core.model.threshold import Origin
from evictd.core.units.duration import MINUTE, SECOND
from evictd.core.units.quantity import parse_quantity
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
    assert "evictionPressureTransitionPeriod is 0s: no node condition is ever reported" in made.warnings
    [short] = build({"evictionPressureTransitionPeriod": "5s", "evictionHard": {"pid.available": "5%"}}).warnings
    assert short.startswith(
        "evictionPressureTransitionPeriod is 5s: evicted pods return, and can be evicted again, that soon; "
    )
    assert not any("TransitionPeriod" in each for each in build({"evictionPressureTransitionPeriod": "1m"}).warnings)
    negative = build({"evictionPressureTransitionPeriod": "-5m"})
    assert "evictionPressureTransitionPeriod is -5m0s: no node condition is ever reported" in negative.warnings


def test_ignoring_eviction_in_allocatable_makes_no_allocatable_threshold() -> None:
    fields: dict[str, object] = {"evictionHard": {"memory.available": "1Gi"}}
    assert len(build(fields).eviction.thresholds) == 2
    made = build(fields, None, "--experimental-allocatable-ignore-eviction")
    assert len(made.eviction.thresholds) == 1


def test_the_deprecated_container_flags_are_obeyed() -> None:
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
            "allowApiPodsStandalone": True,
            "reclaim": {"containers": False, "images": "Enough", "keepImages": ["a", "b"]},
        },
    )
    assert made.eviction.policy is Policy.KUBELET
    assert made.eviction.monitoring_period == made.evictd.housekeeping_interval == 3 * SECOND
    assert made.eviction.reclaim_containers is False
    assert made.eviction.allow_api_pods_standalone
    assert made.eviction.reclaim_images is ImageReclaim.ENOUGH
    assert made.eviction.image_gc.keep == ("a", "b")


def test_flags_override_evictds_document_and_keep_its_other_fields() -> None:
    made = build(None, {"cluster": {"kubeconfig": "/k", "taints": False}}, "--node-name=n", "--dry-run")
    assert (made.evictd.cluster.kubeconfig, made.evictd.cluster.node_name, made.evictd.cluster.taints) == (
        "/k",
        "n",
        False,
    )
    assert not made.evictd.cluster.standalone
    assert made.evictd.dry_run


def test_the_shells_settings_come_from_the_kubelets_document() -> None:
    made = build(
        {
            "containerRuntimeEndpoint": "unix:///run/x.sock",
            "staticPodPath": "/m",
            "cgroupDriver": "systemd",
            "kubeReserved": {"memory": "1Gi"},
            "nodeStatusUpdateFrequency": "3s",
            "eventRecordQPS": 1,
            "eventBurst": 2,
        }
    )
    assert made.kubelet.image_endpoint == made.kubelet.container_runtime_endpoint == "unix:///run/x.sock"
    assert made.kubelet.static_pods == Path("/m")
    assert made.kubelet.parent_cgroup == "/"
    assert made.kubelet.reserved_memory == (parse_quantity("1Gi"),)
    assert made.node_status_report_frequency == made.kubelet.node_status_update_frequency == 3 * SECOND
    assert (made.kubelet.event_record_qps, made.kubelet.event_burst) == (1, 2)


def test_fields_that_evictd_does_not_obey_are_listed_if_they_are_set() -> None:
    assert build({"maxPods": 110, "memorySwap": {}}).without_effect == ()
    assert build({"cgroupDriver": "systemd", "volumeStatsAggPeriod": "0s"}).without_effect == ("cgroupDriver",)
    assert build(None, None, "--max-pods=5").without_effect == ("maxPods",)


OTHER_VALUES: dict[str, object] = {
    "evictionHard": {"pid.available": "5"},
    "imageGCHighThresholdPercent": 90,
    "evictionSoft": {"memory.available": "1Gi"},
    "evictionSoftGracePeriod": {"memory.available": "1m"},
    "evictionMinimumReclaim": {"memory.available": "1Mi"},
    "enforceNodeAllocatable": ["pods"],
    "systemReserved": {"memory": "1Gi"},
    "kubeReserved": {"memory": "1Gi"},
    "cgroupDriver": "systemd",
    "memoryReservationPolicy": "TieredReservation",
    "memorySwap": {"swapBehavior": "NoSwap"},
    "memoryThrottlingFactor": 0.5,
    "singleProcessOOMKill": True,
    "featureGates": {"MemoryQoS": True},
    "podLogsDir": "/logs",
    "staticPodPath": "/static",
    "containerRuntimeEndpoint": "unix:///other.sock",
    "imageServiceEndpoint": "unix:///images.sock",
    "imageMaximumGCAge": "1h",
}


@pytest.mark.parametrize("field", msgspec.structs.fields(KubeletConfiguration), ids=lambda one: one.encode_name)
def test_every_field_is_obeyed_or_listed_as_without_effect(field: msgspec.structs.FieldInfo) -> None:
    """A value other than the default of a field in `WITHOUT_EFFECT` is listed, and changes nothing that is obeyed."""
    needed: dict[str, object] = {
        "evictionHard": {"memory.available": "1Gi"},
        "enforceNodeAllocatable": [],
        "evictionSoft": {"memory.available": "2Gi"},
        "evictionSoftGracePeriod": {"memory.available": "2m"},
        "featureGates": {"MemoryQoS": True, "Other": True},
        "cgroupRoot": "/root",
    }
    before, after = build(needed), build({**needed, field.encode_name: _other_value(field)})
    changed = {each.name for each, _, _ in changed_settings(before.kubelet, after.kubelet)}
    without_effect = set(after.without_effect) - set(before.without_effect)
    if field.name in WITHOUT_EFFECT:
        assert (changed, without_effect or {field.encode_name}) == (set(), {field.encode_name})
        assert after.eviction == before.eviction
    else:
        assert (changed, without_effect) == ({field.encode_name}, set())


def _other_value(field: msgspec.structs.FieldInfo) -> object:
    if field.encode_name in OTHER_VALUES:
        return OTHER_VALUES[field.encode_name]
    if isinstance(field.default, bool):
        return not field.default
    if isinstance(field.default, Duration):
        return "77s"
    return 77 if isinstance(field.default, int) else "other"


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


PRESSURE = {"resource": "memory", "above": "20%"}


def test_pressure_makes_thresholds_behind_all_others() -> None:
    fields = [PRESSURE, {**PRESSURE, "type": "some", "average": "1m", "for": "0s", "scope": "node", "above": "12.5%"}]
    made = build({"evictionHard": {"memory.available": "1Gi"}, "enforceNodeAllocatable": []}, {"pressure": fields})
    assert [str(each) for each in made.eviction.thresholds] == [
        "memory.available<1Gi",
        "pods.memory.full.avg10>20%",
        "node.memory.some.avg60>12.5%",
    ]
    assert [(each.grace_period, each.hard) for each in made.eviction.thresholds[1:]] == [
        (30 * SECOND, False),
        (0, True),
    ]
    assert [warning for warning in made.warnings if "pressure" in warning] == [
        "evictionMaxPodGracePeriod is 0: soft thresholds of pressure leave pods 2 s to end; set it, such as 60, or hard: true"
    ]
    hard = build(None, {"pressure": [{**PRESSURE, "hard": True}]})
    assert not [warning for warning in hard.warnings if "pressure" in warning]


def test_pressure_has_no_effect_under_policy_kubelet() -> None:
    made = build(None, {"decisionPolicy": "Kubelet", "pressure": [PRESSURE]})
    assert "pressure has no effect: policy Kubelet has no thresholds on stalls" in made.warnings


def test_a_disk_is_frozen_for_under_policy_standard_alone() -> None:
    made = build(None, {"disk": {"freeze": "Auto"}})
    assert made.eviction.disk_freeze is FastFill.AUTO
    assert not [warning for warning in made.warnings if "freeze" in warning]
    made = build(None, {"decisionPolicy": "Kubelet", "disk": {"freeze": "Auto"}})
    assert "disk.freeze has no effect under decisionPolicy Kubelet" in made.warnings


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("above", "20", 'pressure[0].above: "20": is not a percentage between 0.01% and 100%'),
        ("above", "100%", "pressure[0].above"),
        ("above", "x%", "pressure[0].above"),
        ("above", "nan%", "pressure[0].above"),
        ("above", "0.001%", "pressure[0].above"),
        ("average", "300s", "pressure[0].average: 5m0s: is no window of the kernel's averages"),
        ("for", "-1s", "pressure[0].for: -1s: is negative"),
        ("resource", "cpu", "pressure[0].resource"),
    ],
)
def test_each_fault_of_a_pressure_threshold_is_named(field: str, value: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        build(None, {"pressure": [{**PRESSURE, field: value}]})
    [line] = caught.value.problems
    assert told in line


def test_swap_makes_thresholds_behind_all_others() -> None:
    fields = [{"available": "10%"}, {"available": "64Mi", "for": "5s", "hard": True}, {"available": "0%"}]
    made = build({"evictionHard": {"memory.available": "1Gi"}, "enforceNodeAllocatable": []}, {"swap": fields})
    assert [str(each) for each in made.eviction.thresholds] == [
        "memory.available<1Gi",
        "swap.available<10%",
        "swap.available<64Mi",
    ]
    assert [(each.grace_period, each.hard) for each in made.eviction.thresholds[1:]] == [
        (30 * SECOND, False),
        (5 * SECOND, True),
    ]
    assert [warning for warning in made.warnings if "swap" in warning] == [
        "evictionMaxPodGracePeriod is 0: soft thresholds of swap leave pods 2 s to end; set it, such as 60, or hard: true"
    ]
    kubelet = build(None, {"decisionPolicy": "Kubelet", "swap": fields})
    assert "swap has no effect: policy Kubelet has no thresholds on swap" in kubelet.warnings


def test_a_stall_signal_is_no_signal_of_the_kubelets_maps() -> None:
    with pytest.raises(InputError, match="unsupported eviction signal"):
        build({"evictionHard": {"pods.memory.full.avg10": "20%"}}, None)
    with pytest.raises(InputError, match="unsupported eviction signal"):
        build({"evictionHard": {"swap.available": "20%"}}, None)


def test_an_unknown_field_says_whether_it_is_misspelt() -> None:
    """The kind of the finding was read from the text of a warning."""
    made = build({"evictionHrad": {}, "eviction": {}, "quiteNew": 1})
    assert [(each.misspelt, each.remedy) for each in made.unknown_fields] == [
        (True, "did you mean evictionHard?"),
        (False, "did you mean evictionSoft?"),
        (False, "a newer kubelet may know it"),
    ]
    assert made.warnings[:3] == tuple(f"{each.message}; {each.remedy}" for each in made.unknown_fields)


def test_a_misspelt_map_of_thresholds_says_that_the_defaults_apply_only_where_they_do() -> None:
    """`run` started on the default thresholds, and named only the field that it did not know."""
    default: dict[str, object] = {
        "evictonHard": {},
        "evictionHard": {"memory.available": "100Mi", "pid.available": "5"},
    }
    layers = Layers(kubelet=default, hard_origins={"memory.available": Origin.DEFAULT, "pid.available": Origin.DEFAULT})
    instead = "has no effect, so the default thresholds apply; did you mean evictionHard?"
    assert instead in settings(layers, flags()).warnings[0]
    assert instead not in settings(layers, flags("--eviction-hard=pid.available<9")).warnings[0]
    assert instead not in build(default).warnings[0], "set as well"
    assert instead not in build({"evictonHard": {}}).warnings[0], "of /configz, where no map means no thresholds"


def test_faults_of_a_file_are_in_the_order_of_its_lines() -> None:
    """Those of the kubelet's document came first, whichever stood first in the file."""
    text = "dryRun: maybe\n---\nevictionHard: {memory.available: x}\nmaxPods: x\n"
    kubelet = {"evictionHard": {"memory.available": "x"}, "maxPods": "x"}
    layers = Layers(kubelet=kubelet, evictd={"dryRun": "maybe"}, name="f.yaml", texts={"f.yaml": text})
    with pytest.raises(InputError) as caught:
        settings(layers, flags())
    assert [each.split(": ")[1] for each in caught.value.problems] == ["line 1", "line 3", "line 4"]


@pytest.mark.parametrize(("period", "warned"), [("900h", True), ("24h", False), ("1m30s", False)])
def test_a_grace_period_of_more_than_a_day_is_said(period: str, warned: bool) -> None:
    """`900h` in place of `900s` passed without a word."""
    soft: dict[str, object] = {
        "evictionSoft": {"memory.available": "1Gi"},
        "evictionSoftGracePeriod": {"memory.available": period},
    }
    told = [warning for warning in build(soft, None).warnings if "met for that long" in warning]
    said = (
        "evictionSoftGracePeriod.memory.available is 900h0m0s: the threshold must be met for that long before a pod is "
        "evicted; set minutes, such as 1m30s"
    )
    assert told == [said] * warned


def test_a_percentage_that_is_no_number_is_said() -> None:
    """The kubelet accepts it and never acts on it; `evictd check` noted -8Ei."""
    text: dict[str, object] = {
        "evictionHard": {"nodefs.available": "NaN%", "pid.available": "5%", "imagefs.available": "5%"},
        "evictionMinimumReclaim": {"pid.available": "nan%", "imagefs.available": "Inf%"},
    }
    told = [warning for warning in build(text, None).warnings if "write a number" in warning]
    assert told == [
        "nodefs.available: nan% is never met; write a number, such as 5%",
        "the minimum reclaim of pid.available: nan% frees nothing more; write a number, such as 5%",
        "the minimum reclaim of imagefs.available: inf% frees nothing more; write a number, such as 5%",
    ]
