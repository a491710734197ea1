"""One pod on its way out of a cluster: where it stands, and which request is next.

    ASKING --201--> LEAVING          ASKING --429, soft--> WITHDRAWN     ASKING --429 long enough, hard--> MARKING
    MARKING ------> DELETING ------> LEAVING ----gone----> DONE
    STOPPING -----> WRITING -------> VERIFYING --10 s----> DONE          VERIFYING --came back, 3rd time--> MARKING

`EvictionAPI` begins with ASKING, `Delete` with MARKING (skipped where there is no condition to set), `Status` with STOPPING.
"""

from dataclasses import dataclass
from enum import Enum

from evictd.core.decision import EvictPod
from evictd.core.duration import SECOND
from evictd.core.termination import Way

VERIFY = 10 * SECOND
"""How long a status that evictd wrote is watched: the kubelet's status manager repairs its own within that time."""
REPAIRS = 2
"""How often a pod that came back is stopped and written again before it is deleted."""


class Stage(Enum):
    """Where a departure stands."""

    ASKING = "Asking"
    MARKING = "Marking"
    DELETING = "Deleting"
    LEAVING = "Leaving"
    STOPPING = "Stopping"
    WRITING = "Writing"
    VERIFYING = "Verifying"
    WITHDRAWN = "Withdrawn"
    """A budget protects it and nothing is urgent: it stays."""
    DONE = "Done"


SENDING = {Stage.ASKING, Stage.MARKING, Stage.DELETING, Stage.WRITING}
"""Stages that have a request to send."""
SETTLED = {Stage.WITHDRAWN, Stage.DONE}
UNSURE = {Stage.ASKING, Stage.WITHDRAWN}
"""Stages in which nobody has agreed yet that the pod goes."""


@dataclass(slots=True, kw_only=True)
class Departure:
    """One pod on its way. Changed only by the evictor that owns it."""

    decision: EvictPod
    hard: bool
    stage: Stage
    begun_at: int
    stop_due: bool
    """Its containers are to be stopped by us, beside whatever the API server is told."""
    stopping: bool = False
    """Its containers are being stopped by us."""
    stopped: bool = False
    """And nothing of it ran any more when that was last looked at."""
    announced: bool = False
    """Whether its eviction was told: that is done once it is sure, before anything is killed."""
    not_before: int = 0
    repairs: int = 0
    written_version: int = 0
    verify_until: int = 0
    settled_at: int | None = None
    counted: bool = False
    """Whether this eviction was counted against its owner: it is once it is really under way."""

    @property
    def uid(self) -> str:
        """The pod's uid: nothing is ever done to another one."""
        return self.decision.pod.uid

    def skip_to_delete(self) -> None:
        """Go on to delete it; marked first where there is a condition to set."""
        self.stage = Stage.DELETING if self.decision.condition is None else Stage.MARKING
        self.not_before = 0


def first_stage(way: Way, decision: EvictPod) -> Stage:
    """Give where a departure begins."""
    if way is Way.STATUS:
        return Stage.STOPPING
    if way is Way.EVICTION_API:
        return Stage.ASKING
    return Stage.DELETING if decision.condition is None else Stage.MARKING
