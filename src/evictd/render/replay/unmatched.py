"""Finds the groups of `ranking` that no pod of a journal is in."""

from collections.abc import Iterator, Sequence

from evictd.core.model.config import PodGroup, Preferences
from evictd.core.model.observation import Observation


def unmatched_groups(preferences: Preferences, observations: Sequence[Observation]) -> Iterator[str]:
    """Yield the path of each group without a pod in any of these observations: `ranking.avoid[0]`."""
    for name, groups in (("prefer", preferences.prefer), ("avoid", preferences.avoid)):
        for index, group in enumerate(groups):
            if not _has_any(group, observations):
                yield f"ranking.{name}[{index}]"


def _has_any(group: PodGroup, observations: Sequence[Observation]) -> bool:
    return any(group.has(pod) for each in observations for pod in each.pods)
