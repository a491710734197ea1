"""Who carries decisions out on a node without an API server?

Conditions go to `conditions.json`, events to journal and log, reclaim to the collectors, pods to the terminator. All of it
returns at once; `outcomes` tells the next cycle what became of it. A pod that was evicted stays evicted: its uid is remembered
for as long as the runtime knows anything of it.
"""

from collections.abc import Callable, Iterable, Mapping

from evictd.act.collect import Collector, NodeMoment
from evictd.act.report import ConditionsFile
from evictd.act.terminate import Terminator
from evictd.core.decision import EvictPod, ReclaimNode, RecordEvent
from evictd.core.duration import SECOND
from evictd.core.observation import Outcomes
from evictd.core.pod import Pod
from evictd.core.release import victim_until
from evictd.core.signal import NodeCondition
from evictd.core.state import Reclaiming, Release, State
from evictd.daemon.record import Recorder
from evictd.observe.node import Sight

TellEvent = Callable[[RecordEvent, Pod | None], None]
"""Notes an event; `None` stands for the node."""


class NodeHands:
    """Hands of this node. `look` is called with each cycle's sight before anything is decided on it."""

    def __init__(
        self,
        *,
        terminator: Terminator,
        collector: Collector,
        conditions: ConditionsFile,
        recorder: Recorder,
        tell_event: TellEvent,
        evicted: Iterable[str] = (),
    ) -> None:
        self.evicted: set[str] = set(evicted)
        """Uids of pods that were sent away and of which the runtime still knows something."""
        self._terminator = terminator
        self._collector = collector
        self._conditions = conditions
        self._recorder = recorder
        self._tell_event = tell_event
        self._sight: Sight | None = None
        self._wall = 0
