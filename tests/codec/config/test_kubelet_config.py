"""KubeletConfiguration fields become the core's configuration, with the kubelet's defaults."""

import json
from pathlib import Path

import pytest

from evictd.codec.config.kubelet_config import (
    containerfs_warnings,
    decode_kubelet,
    default_eviction_hard,
    eviction_config,
    report_frequency,
    with_file_defaults,
)
from evictd.codec.config.kubelet_fields import KubeletConfiguration
from evictd.codec.strict import Duration
from evictd.core.model.config import EvictionConfig, Policy
from evictd.core.model.signal import Signal
from evictd.core.model.threshold import Origin
from evictd.core.model.threshold_config import DEFAULT_EVICTION_HARD
from evictd.core.units.duration import MINUTE, SECOND
from evictd.errors import InputError

CONFIGZ = Path(__file__).parents[1].parent / "data" / "samples" / "configz.json"


def read(fields: dict[str, object]) -> EvictionConfig:
    """Read fields; no hard threshold where none is given."""
    return with_defaults({"evictionHard": {}, **fields})


def with_defaults(fields: dict[str, object]) -> EvictionConfig:
    return eviction_config(fields, policy=Policy.KUBELET)


def signals(config: EvictionConfig) -> list[str]:
    return [threshold.signal.value for threshold in config.thresholds]


def test_no_fields_mean_no_thresholds_and_the_defaults_of_the_rest() -> None:
    assert read({}) == EvictionConfig(policy=Policy.KUBELET)


def test_the_defaults_apply_where_the_map_is_absent() -> None:
    config = with_defaults({})
    assert signals(config) == [*DEFAULT_EVICTION_HARD, "allocatableMemory.available"]
    assert {threshold.origin for threshold in config.thresholds[:-1]} == {Origin.DEFAULT}


def test_an_empty_map_means_no_thresholds() -> None:
    assert read({"evictionHard": {}}).thresholds == ()


def test_one_entry_leaves_the_others_without_threshold() -> None:
    assert signals(read({"evictionHard": {"pid.available": "5"}})) == ["pid.available"]


def test_merging_adds_the_defaults_of_signals_that_are_not_listed() -> None:
    fields: dict[str, object] = {"evictionHard": {"nodefs.available": "1Gi"}, "mergeDefaultEvictionSettings": True}
    config = read(fields)
    origins = {threshold.signal: threshold.origin for threshold in config.thresholds}
    assert origins.pop(Signal.NODEFS_AVAILABLE) is Origin.SET
    assert origins.pop(Signal.ALLOCATABLE_MEMORY_AVAILABLE) is Origin.DERIVED
    assert set(origins.values()) == {Origin.MERGED}


def test_enforce_node_allocatable_decides_over_the_allocatable_threshold() -> None:
    hard: dict[str, object] = {"evictionHard": {"memory.available": "1Gi"}}
    assert len(read(hard).thresholds) == 2
    assert len(read({**hard, "enforceNodeAllocatable": ["none"]}).thresholds) == 1
    assert len(read({**hard, "enforceNodeAllocatable": []}).thresholds) == 1


def test_a_zero_is_a_zero_in_effective_fields() -> None:
    config = read({"evictionPressureTransitionPeriod": "0s", "imageMinimumGCAge": "0s"})
    assert (config.pressure_transition_period, config.image_gc.min_age) == (0, 0)


def test_every_scalar_reaches_the_core() -> None:
    config = read(
        {
            "evictionMaxPodGracePeriod": -5,
            "evictionPressureTransitionPeriod": "1m30s",
            "localStorageCapacityIsolation": False,
            "imageGCHighThresholdPercent": 90,
            "imageGCLowThresholdPercent": 70,
            "imageMinimumGCAge": "1m",
            "imageMaximumGCAge": "2h",
        }
    )
    assert config.max_pod_grace_period_seconds == -5
    assert config.pressure_transition_period == 90 * SECOND
    assert config.local_storage_capacity_isolation is False
    assert (config.image_gc.high_threshold_percent, config.image_gc.low_threshold_percent) == (90, 70)
    assert (config.image_gc.min_age, config.image_gc.max_age) == (MINUTE, 120 * MINUTE)


def test_what_a_running_kubelet_reports_is_read_unchanged() -> None:
    config = read(json.loads(CONFIGZ.read_text())["kubeletconfig"])
    assert config.thresholds == ()
    assert config.image_gc.high_threshold_percent == 100


def test_every_fault_is_raised_at_once() -> None:
    with pytest.raises(InputError) as caught:
        read({"evictionHarf": {}, "maxPods": "x", "evictionHard": {"x": "1", "pid.available": 5}})
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize("hard", [5, "x", ["memory.available"]])
def test_a_map_of_the_wrong_type_is_a_fault_and_not_a_default(hard: object) -> None:
    with pytest.raises(InputError, match="evictionHard"):
        read({"evictionHard": hard})


def test_only_true_merges() -> None:
    assert default_eviction_hard({"evictionHard": {}, "mergeDefaultEvictionSettings": "yes"}) == ({}, {})


def test_zero_in_a_file_means_not_set() -> None:
    config, problems = decode_kubelet({"evictionPressureTransitionPeriod": "0s", "maxPods": 0, "podPidsLimit": -7})
    assert problems == []
    defaulted = with_file_defaults(config)
    assert defaulted == KubeletConfiguration()


def test_the_report_frequency_follows_an_explicit_update_frequency() -> None:
    explicit = KubeletConfiguration(node_status_update_frequency=Duration(3 * SECOND))
    assert report_frequency(explicit, update_was_set=True) == 3 * SECOND
    assert report_frequency(KubeletConfiguration(), update_was_set=False) == 5 * MINUTE
    both = KubeletConfiguration(node_status_report_frequency=Duration(SECOND))
    assert report_frequency(both, update_was_set=True) == SECOND


def test_ignored_containerfs_values_are_warned_of() -> None:
    config = KubeletConfiguration(
        eviction_hard={"containerfs.available": "1Gi"}, eviction_soft={"containerfs.inodesFree": "5%"}
    )
    assert [warning.split(":")[0] for warning in containerfs_warnings(config)] == [
        "found containerfs.available for hard eviction. ignoring",
        "found containerfs.inodesFree for soft eviction. ignoring",
    ]
