"""Defaults that are the kubelet's."""

from evictd.core.config import ContainerGCPolicy, EvictionConfig, ImageGCPolicy, ImageReclaim, Policy
from evictd.core.duration import parse_duration


def test_the_defaults_are_the_documented_ones() -> None:
    """Spec 1.1 and 4.1."""
    config = EvictionConfig()
    assert config.policy is Policy.STANDARD
    assert config.monitoring_period == parse_duration("10s")
    assert config.pressure_transition_period == parse_duration("5m")
    assert config.max_pod_grace_period_seconds == 0
    assert config.local_storage_capacity_isolation
    assert config.reclaim_images is ImageReclaim.ALL
    assert ImageGCPolicy() == ImageGCPolicy(
        high_threshold_percent=85, low_threshold_percent=80, min_age=parse_duration("2m"), max_age=0
    )
    assert ContainerGCPolicy() == ContainerGCPolicy(min_age=0, max_per_pod_container=1, max_containers=-1)
