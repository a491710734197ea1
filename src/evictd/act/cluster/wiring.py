"""One call that gives the daemon everything it needs to live in a cluster, and one object to hold it.

cluster = build(settings.cluster, stopper=RuntimeStopper(terminator, ids), clock=..., wall=..., ...)
cluster.start()                                        # before any pressure: threads, first list
...each cycle...
pods = cluster.active_pods()                           # None until the first list: fall back on the runtime's view
events = cluster.reporter.report(conditions, now)      # for ReportConditions; tell the events
cluster.evictor.begin(decision, now)                   # for EvictPod; the Evicted event is recorded once that is sure
cluster.reporter.heartbeat(now)
outcomes.cleaned_up = cluster.evictor.cleaned_up(now)
state = core.termination.without(state, cluster.evictor.withdrawn())
config.protected_pods |= cluster.evictor.withheld(now, hard=..., never=...) | cluster.own_pod
cluster.close()                                        # clean stop: conditions and taints taken back first
"""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from evictd.act.cluster.conditions import Types
from evictd.act.cluster.events import EventRecorder
from evictd.act.cluster.evict import ClusterEvictor, Stopper
from evictd.act.cluster.leftovers import Leftovers
from evictd.act.cluster.outbox import Outbox
from evictd.act.cluster.report import KUBELET_RHYTHM, ClusterReporter, Rhythm
from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.events import EventClient
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import Transport
from evictd.codec.slim_pods import SlimPod
from evictd.config.settings import ClusterSettings, ConditionTypes, PodTermination
from evictd.core.decision import EvictPod, RecordEvent
from evictd.core.evict import EVICTED
from evictd.core.observation import Problem
from evictd.core.pod import Pod
from evictd.core.synchronize import WARNING
from evictd.core.termination import Way
from evictd.guard import Complain, to_stderr

POD_UID = "POD_UID"
"""The environment variable through which a DaemonSet tells evictd which pod it is itself."""

_TYPES = {ConditionTypes.AUTO: None, ConditionTypes.BUILT_IN: Types.BUILT_IN, ConditionTypes.OWN: Types.OWN}
_WAYS = {
    PodTermination.AUTO: None,
    PodTermination.EVICTION_API: Way.EVICTION_API,
    PodTermination.DELETE: Way.DELETE,
    PodTermination.STATUS: Way.STATUS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The cluster's face of the daemon. Its parts may be used from the loop at any time; none of them blocks."""

    watch: PodWatch
    reporter: ClusterReporter
    evictor: ClusterEvictor
    events: EventRecorder
    outbox: Outbox
    transport: Transport
    clock: Callable[[], int]
    runs: Callable[[str], bool]
    """Whether any container of a pod, by uid, ran when the runtime was last asked."""
    own_pod: frozenset[str]
    """The uid of evictd's own pod, which is never evicted; empty where it runs as a service."""

    def start(self) -> None:
        """Begin to watch pods and to send what there is to send."""
        self.watch.start()
        self.outbox.start()

    def active_pods(self) -> tuple[Pod, ...] | None:
        """Give the pods that could be evicted or count against the node (spec 5.9), by namespace, name and uid.

        Terminal ones are left out, unless evictd is still ending them, and so are those that evictd has stopped, once they are
        being deleted or are about to be: a kubelet takes its time to remove what is dead. `None`: the API server has not told
        yet, or not since the start; what the runtime knows is then all there is.
        """
        snapshot = self.watch.snapshot
        if not snapshot.synced:
            return None
        gone, leaving = self.evictor.cleaned_up(self.clock()), set(self.evictor.in_flight())
        active = [each.pod for each in snapshot.pods.values() if self._is_active(each, gone, leaving)]
        return tuple(sorted(active, key=lambda pod: (pod.namespace, pod.name, pod.uid)))

    def _is_active(self, entry: SlimPod, gone: Collection[str], leaving: Collection[str]) -> bool:
        uid, deleted = entry.pod.uid, entry.pod.deletion_grace_period_seconds is not None
        if uid in gone:
            # While the server cannot be told, a kubelet may start it again. As long as none does, nothing is gained by its going.
            untold = not entry.terminal and not deleted and (uid not in leaving or bool(self.outbox.problem))
            return untold and self.runs(uid)
        return uid in leaving or not entry.terminal

    def problems(self) -> tuple[Problem, ...]:
        """Tell what does not work at the moment, or is forbidden."""
        snapshot = self.watch.snapshot
        found = [
            *(("apiserver/pods", text) for text in (snapshot.problem, *snapshot.unreadable) if text),
            *(("apiserver/send", text) for text in (self.outbox.problem,) if text),
            *(("apiserver/node", text) for text in self.reporter.problems),
            *(("apiserver/evict", text) for text in self.evictor.problems),
        ]
        return tuple(Problem(source=source, detail=text) for source, text in found)

    def known_pods(self) -> tuple[Pod, ...] | None:
        """Give every pod that is an object on this node, terminal ones too; `None` while that is not fully known.

        For whoever removes what is left of pods that are gone: one whose object cannot be read is not gone.
        """
        snapshot = self.watch.snapshot
        if not snapshot.synced or snapshot.unreadable:
            return None
        return tuple(each.pod for each in snapshot.pods.values())

    def close(self, *, clear: bool = True, seconds: float = 3.0) -> None:
        """End everything; `clear` first takes back conditions and taints, waiting for that at most so long."""
        if clear:
            self.reporter.clear()
            self.outbox.drain(seconds)
        self.outbox.close()
        self.watch.close()
        self.transport.close()


class _Bell:
    """Wakes the outbox, which is built last, and the loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.outbox: Outbox | None = None
        self._wake = wake

    def stir(self) -> None:
        if self.outbox is not None:
            self.outbox.stir()

    def changed(self) -> None:
        self.stir()
        self._wake()


def build(
    settings: ClusterSettings,
    *,
    node_name: str,
    stopper: Stopper,
    clock: Callable[[], int],
    wall: Callable[[], int],
    random: Callable[[], float],
    wake: Callable[[], None] = lambda: None,
    rhythm: Rhythm = KUBELET_RHYTHM,
    environ: Mapping[str, str] | None = None,
    complain: Complain = to_stderr,
) -> Cluster:
    """Make the cluster's face of the daemon; nothing is sent and no thread runs before `start`.

    `settings` is the `cluster` part of the configuration, `node_name` its `nodeName` or the host's name. `stopper` stops pods
    through the runtime. `clock` gives boot-time nanoseconds, `wall` nanoseconds since the epoch, `random` numbers in [0, 1).
    `wake` is called, from another thread, when the pods of the node have changed, `complain` when something failed that nobody
    foresaw. Raises `InputError` for a credential that
    cannot be used; a server that does not answer is no error, but a problem that `problems` tells.
    """
    environ = os.environ if environ is None else environ
    transport = Transport(Credentials(settings.kubeconfig, environ=environ))
    bell = _Bell(wake)
    watch = PodWatch(transport, node_name, clock=clock, random=random, changed=bell.changed, complain=complain)
    reporter = ClusterReporter(
        NodeClient(transport, node_name),
        node_name,
        types=_TYPES[settings.condition_types],
        taints=settings.taints,
        wall=wall,
        stir=bell.stir,
        rhythm=rhythm,
        jitter=random,
    )
    client = EvictionClient(transport)
    events = EventRecorder(EventClient(transport, node_name), node_name, wall=wall, stir=bell.stir)
    evictor = _evictor(settings, client, stopper, watch, reporter, events=events, wall=wall, bell=bell)
    leftovers = Leftovers(client, lambda: watch.snapshot, time_to_live=settings.evicted_pod_ttl)
    lanes = (reporter, evictor, events, leftovers)
    outbox = Outbox(lanes, clock=clock, random=random, each_step=evictor.advance, complain=complain)
    bell.outbox = outbox
    return Cluster(
        watch=watch,
        reporter=reporter,
        evictor=evictor,
        events=events,
        outbox=outbox,
        transport=transport,
        clock=clock,
        runs=stopper.runs,
        own_pod=frozenset({environ[POD_UID]}) if environ.get(POD_UID) else frozenset(),
    )


def _evictor(
    settings: ClusterSettings,
    client: EvictionClient,
    stopper: Stopper,
    watch: PodWatch,
    reporter: ClusterReporter,
    *,
    events: EventRecorder,
    wall: Callable[[], int],
    bell: _Bell,
) -> ClusterEvictor:
    def announce(decision: EvictPod, now: int) -> None:
        event = RecordEvent(type=WARNING, reason=EVICTED, message=decision.message)
        events.record(event, now, pod=decision.pod, annotations=decision.annotations)

    return ClusterEvictor(
        client,
        stopper,
        lambda: watch.snapshot,
        asked=_WAYS[settings.pod_termination],
        eviction_timeout=settings.eviction_timeout,
        kubelet=lambda: reporter.kubelet,
        conditions_pending=lambda: reporter.pending,
        announce=announce,
        wall=wall,
        stir=bell.stir,
    )
