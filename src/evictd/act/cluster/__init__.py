"""Acts through an API server: conditions, taints, events, evictions, and the deletion of pods that evictions left as Failed.

`build` is the only entry. A node without an API server does not import this package.
"""

from evictd.act.cluster.wiring import Cluster, build

__all__ = ["Cluster", "build"]
