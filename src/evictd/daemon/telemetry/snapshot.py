"""Holds what the last cycle observed and decided, for readers on other threads.

The loop replaces the snapshot once a cycle; pages and metrics read the latest one without a lock, since it is frozen.
"""

from dataclasses import replace

from evictd.core.frozen import frozen
from evictd.core.model.config import EvictionConfig
from evictd.core.model.finding import Finding, ThresholdFinding
from evictd.core.model.observation import Observation
from evictd.core.model.state import State
from evictd.daemon.telemetry.kills import Killed
from evictd.daemon.telemetry.trends import NO_TRENDS, Trend, Trends
from evictd.errors import CREDENTIALS_SOURCE
from evictd.observe.reading.observer import RUNTIME


@frozen
class Refusals:
    """The answers of the API server that refused to evict a pod."""

    pod: str
    """`namespace/name` of the pod, which stays."""
    count: int
    since: int
    """The time of the first one, on the wall clock."""
    by: str
    """`budget NAME` or `the API server`."""
    why: str
    """The API server's message, where it names no budget."""


@frozen
class Decided:
    """A past decision as text."""

    wall: int
    """The time of the decision, on the wall clock in nanoseconds."""
    kind: str
    text: str
    why: str = ""
    """An eviction for pressure: why this pod and not another."""
    filled: str = ""
    """An eviction for pressure: who took what was short, and whether most of what the pods took was this pod's."""
    took_most: bool = False
    pod: str = ""
    """An eviction: `namespace/name`, and its uid."""
    uid: str = ""
    signal: str = ""
    """The signal that an eviction or a reclaim was for, or the limit that the pod exceeded."""
    for_pages: bool = False
    """An eviction: whether file pages that the kernel can drop were most of what the pod held, or all that was missing."""
    dry_run: bool = False
    ended: int | None = None
    """An eviction: the time at which the pod was seen to have ended, on the wall clock; `None` before."""
    left: int | None = None
    """An eviction: what was left of its signal within a minute after that, and how many nanoseconds after it."""
    left_after: int = 0
    freed: int | None = None
    """A reclaim: the bytes that its collectors say they freed, and how much they removed; `None` before they have ended."""
    removed: int = 0
    owner: str = ""
    """An eviction: `namespace/Kind/name` of the pod's controlling owner; empty for a bare pod."""
    of_owner: int = 0
    """How many pods of this owner were evicted by then, each within ten minutes after the one before; 0 for a bare pod."""
    of_owner_since: int = 0
    """The time of the first of them, on the wall clock."""
    refusals: Refusals | None = None
    """Set in place of an eviction that was refused."""


@frozen
class Snapshot:
    """One cycle. Times in nanoseconds: `at` on the boot-time clock, `wall` on the wall clock."""

    at: int
    wall: int
    config: EvictionConfig
    state: State
    observation: Observation
    findings: tuple[Finding, ...]
    recent: tuple[Decided, ...] = ()
    """The last decisions, newest last."""
    killed: tuple[Killed, ...] = ()
    """What the kernel killed within the last hour for want of memory of the node, the last at the end."""
    trends: Trends = NO_TRENDS
    version: str = ""
    pods_before: int = 0
    """Age of the pods' reading at `at`: a calm cycle reads the node's own signals only."""
    node_name: str = ""
    """The node's name as it was read last."""
    blind_since: int | None = None
    """`wall` of the first snapshot in a row in which the node or its pods could not be observed; `None` while they are."""
    rejected_since: int | None = None
    """`wall` of the first snapshot in a row in which the API server rejected the credentials."""

    def following(self, before: "Snapshot | None") -> "Snapshot":
        """Return this snapshot with what it has in common with the one before: the node's name, and since when faults last."""
        node = self.observation.node
        return replace(
            self,
            node_name=node.name if node is not None else "" if before is None else before.node_name,
            blind_since=self._since(self.blind, None if before is None else before.blind_since),
            rejected_since=self._since(self.rejected, None if before is None else before.rejected_since),
        )

    def _since(self, fault: str, before: int | None) -> int | None:
        return None if not fault else self.wall if before is None else before

    @property
    def blind(self) -> str:
        """Why the node or its pods could not be observed; empty if they were."""
        problem = next((p.detail for p in self.observation.problems if p.source == RUNTIME), "")
        return problem or ("" if self.observation.node is not None else "the node's numbers could not be read")

    @property
    def rejected(self) -> str:
        """The API server's rejection of the credentials; empty if it accepts them, or without an API server."""
        return next((p.detail for p in self.observation.problems if p.source == CREDENTIALS_SOURCE), "")

    def seconds_to(self, finding: ThresholdFinding) -> float | None:
        """Return the seconds until a threshold is met at the rate of the last minute; `None` where it is met, or will not be."""
        return self.trends.signals.get(finding.threshold.signal, Trend()).seconds_to(finding.limit.value())


class LatestSnapshot:
    """The latest snapshot, and what changes between two of them."""

    def __init__(self) -> None:
        self.latest: Snapshot | None = None
        """`None` before the end of the first cycle."""
        self.reload_fault = ""
        """Why the last reload of the configuration changed nothing; empty after a good one."""
        self.configured_at = 0
        """Wall-clock time at which the present configuration was read."""
        self.alive_at = 0
        """The last time the loop was known to run, on the boot-time clock: between two steps of a cycle, or in a wait."""

    @property
    def blind(self) -> str:
        """Why the node or its pods could not be observed in the last cycle; empty if they were, or before the first one."""
        return "" if self.latest is None else self.latest.blind

    @property
    def unready(self) -> str:
        """Why evictd cannot do its work, though the loop runs: it is blind, or the API server rejects its credentials."""
        return "" if self.latest is None else self.latest.blind or self.latest.rejected
