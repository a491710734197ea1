"""Names the settings of a configuration that a daemon obeys and a world does not play (docs/worlds.md lists them)."""

from collections.abc import Iterator, Sequence

from evictd.codec.config.evictd_config import EvictdConfiguration
from evictd.codec.config.fields import settings_of
from evictd.codec.config.kubelet_fields import KubeletConfiguration

NOT_PLAYED: dict[type[KubeletConfiguration | EvictdConfiguration], frozenset[str]] = {
    KubeletConfiguration: frozenset(
        {
            "imageGCHighThresholdPercent",
            "imageGCLowThresholdPercent",
            "imageMinimumGCAge",
            "imageMaximumGCAge",
            "systemReserved",
            "kubeReserved",
        }
    ),
    EvictdConfiguration: frozenset(
        {
            "reclaim.keepImages",
            "reclaim.rotatedLogs",
            "reclaim.pageCache",
            "disk.freeze",
            "memory.watch",
            "cluster.taintEffect",
            "cluster.evictedPodTTL",
            "hooks.before",
            "hooks.after",
            "oomScoreAdj",
            "memoryQoS",
        }
    ),
}
"""What changes the course of a real node; `dryRun` has a warning of its own. The rest only says where files and servers are."""


def unplayed_texts(documents: Sequence[KubeletConfiguration | EvictdConfiguration]) -> Iterator[str]:
    """Write which settings differ from their defaults and are not played."""
    names = [
        f"`{each.name}`"
        for document in documents
        for each in settings_of(type(document))
        if each.name in NOT_PLAYED[type(document)] and each.of(document) != each.of(type(document)())
    ]
    if names:
        verb = "is" if len(names) == 1 else "are"
        yield f"Warning: {', '.join(names)} {verb} not played: the outcome is that without (docs/worlds.md)."
