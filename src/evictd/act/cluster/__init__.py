"""Acting through an API server: conditions, taints, events, evictions, and what they leave behind.

`build` is the one way in; it says how the daemon uses what it gives. Importing this package loads the `kubernetes` package, some
30 MiB: a node without an API server does not import it.
"""

from evictd.act.cluster.stopper import RuntimeStopper
from evictd.act.cluster.wiring import Cluster, build

__all__ = ["Cluster", "RuntimeStopper", "build"]
