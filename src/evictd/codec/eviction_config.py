"""The core's configuration as plain values: every journal says what its decisions obeyed."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.threshold import decode_threshold, encode_threshold
from evictd.core.config import ContainerGCPolicy, EvictionConfig, ImageGCPolicy, ImageReclaim, Policy
from evictd.errors import InputError

Plain = dict[str, Any]


def encode_eviction_config(config: EvictionConfig) -> Plain:
    """Write the configuration; durations in nanoseconds."""
    images, containers = config.image_gc, config.container_gc
    return {
        "thresholds": [encode_threshold(threshold) for threshold in config.thresholds],
        "maxPodGracePeriodSeconds": config.max_pod_grace_period_seconds,
        "pressureTransitionPeriod": config.pressure_transition_period,
        "localStorageCapacityIsolation": config.local_storage_capacity_isolation,
        "policy": config.policy.value,
        "monitoringPeriod": config.monitoring_period,
        "reclaimContainers": config.reclaim_containers,
        "reclaimImages": config.reclaim_images.value,
        "protectedPods": sorted(config.protected_pods),
        "imageGC": {
            "highThresholdPercent": images.high_threshold_percent,
            "lowThresholdPercent": images.low_threshold_percent,
            "minAge": images.min_age,
            "maxAge": images.max_age,
            "keep": list(images.keep),
        },
        "containerGC": {
            "minAge": containers.min_age,
            "maxPerPodContainer": containers.max_per_pod_container,
            "maxContainers": containers.max_containers,
        },
    }


def decode_eviction_config(plain: Mapping[str, Any]) -> EvictionConfig:
    """Read a configuration back; raises `InputError` if it is not one of ours."""
    try:
        return _decode(plain)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"config: {type(error).__name__}: {error}; it is damaged or not ours") from error


def _decode(plain: Mapping[str, Any]) -> EvictionConfig:
    images, containers = plain["imageGC"], plain["containerGC"]
    return EvictionConfig(
        thresholds=tuple(decode_threshold(threshold) for threshold in plain["thresholds"]),
        max_pod_grace_period_seconds=plain["maxPodGracePeriodSeconds"],
        pressure_transition_period=plain["pressureTransitionPeriod"],
        local_storage_capacity_isolation=plain["localStorageCapacityIsolation"],
        policy=Policy(plain["policy"]),
        monitoring_period=plain["monitoringPeriod"],
        reclaim_containers=plain["reclaimContainers"],
        reclaim_images=ImageReclaim(plain["reclaimImages"]),
        protected_pods=frozenset(plain["protectedPods"]),
        image_gc=ImageGCPolicy(
            high_threshold_percent=images["highThresholdPercent"],
            low_threshold_percent=images["lowThresholdPercent"],
            min_age=images["minAge"],
            max_age=images["maxAge"],
            keep=tuple(images["keep"]),
        ),
        container_gc=ContainerGCPolicy(
            min_age=containers["minAge"],
            max_per_pod_container=containers["maxPerPodContainer"],
            max_containers=containers["maxContainers"],
        ),
    )
