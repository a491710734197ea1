"""Encodes the core's configuration as plain values; every journal holds the configuration of its decisions."""

from collections.abc import Mapping
from typing import Any

from evictd.codec.threshold import decode_threshold, encode_threshold
from evictd.core.model.config import (
    ContainerGCPolicy,
    EvictionConfig,
    ImageGCPolicy,
    ImageReclaim,
    MemoryLead,
    PodGroup,
    Policy,
    Preferences,
)
from evictd.errors import InputError

Plain = dict[str, Any]


def encode_eviction_config(config: EvictionConfig) -> Plain:
    """Encode the configuration; durations are nanoseconds."""
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
        "evictionTimeout": config.eviction_timeout,
        "memoryLead": config.memory_lead.value,
        "protectedPods": sorted(config.protected_pods),
        "allowApiPodsStandalone": config.allow_api_pods_standalone,
        "ranking": encode_preferences(config.preferences),
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


def encode_preferences(preferences: Preferences) -> Plain:
    """Encode `ranking` as it stands in a configuration file."""
    return {
        name: [{"namespaces": sorted(group.namespaces), "labels": dict(group.labels)} for group in groups]
        for name, groups in (("prefer", preferences.prefer), ("avoid", preferences.avoid))
    }


def _decode_groups(plain: list[Plain]) -> tuple[PodGroup, ...]:
    return tuple(PodGroup(namespaces=frozenset(one["namespaces"]), labels=one["labels"]) for one in plain)


def decode_eviction_config(plain: Mapping[str, Any]) -> EvictionConfig:
    """Decode a configuration; raises `InputError` unless `encode_eviction_config` wrote it."""
    try:
        return _decode(plain)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"config: {type(error).__name__}: {error}; it is damaged or was not written by evictd"
        ) from error


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
        eviction_timeout=plain["evictionTimeout"],
        memory_lead=MemoryLead(plain.get("memoryLead", MemoryLead.OFF.value)),
        protected_pods=frozenset(plain["protectedPods"]),
        allow_api_pods_standalone=plain.get("allowApiPodsStandalone", False),
        preferences=Preferences(**{name: _decode_groups(groups) for name, groups in plain.get("ranking", {}).items()}),
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
