"""Determines which pods are never evicted."""

from evictd.core.model.config import EvictionConfig
from evictd.core.model.pod import Pod


def is_protected(pod: Pod, config: EvictionConfig) -> bool:
    """Whether this pod is never evicted: static, mirror, critical by priority, or evictd's own."""
    return pod.critical or pod.uid in config.protected_pods
