"""Builds what a daemon needs in a cluster: the pod watch, the reporter, the evictor, the events, the request queue.

`build` is the only entry, `Cluster` holds the result; `act.cluster.actuator` uses it.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from evictd.act.cluster.events import EventRate, EventRecorder
from evictd.act.cluster.eviction_events import ClusterNode, Stopper
from evictd.act.cluster.evictor import ClusterEvictor
from evictd.act.cluster.leftovers import Leftovers
from evictd.act.cluster.node_report import Rhythm
from evictd.act.cluster.report import KUBELET_RHYTHM, ClusterReporter
from evictd.act.cluster.request_queue import Clocks, RequestQueue, RequestQueues, RequestSource
from evictd.clients.kube.credentials import Credentials
from evictd.clients.kube.events import EventClient
from evictd.clients.kube.eviction import EvictionClient
from evictd.clients.kube.nodes import NodeClient
from evictd.clients.kube.pods import PodWatch
from evictd.clients.kube.transport import Transport
from evictd.config.settings import ClusterSettings
from evictd.core.frozen import frozen
from evictd.core.model.observation import Problem
from evictd.core.model.pod import Pod
from evictd.errors import CREDENTIALS_SOURCE
from evictd.observe.pods.cluster_pods import ClusterPods, RememberedPods
from evictd.observe.reading.roots import own_pods
from evictd.worker import STDERR, ErrorReporter

_REJECTED = (
    "the API server rejects evictd's credentials (401): no pod is listed and no condition, taint or eviction is sent; "
    "hard thresholds stop pods through the runtime"
)


@frozen
class Cluster:
    """The daemon's parts for a cluster. The loop may call them at any time; none of them blocks."""

    watch: PodWatch
    reporter: ClusterReporter
    evictor: ClusterEvictor
    events: EventRecorder
    leftovers: Leftovers
    queue: RequestQueues
    transport: Transport
    pods: ClusterPods
    """The observer's source of pods."""

    def start(self) -> None:
        """Start the watch of pods and the request queue."""
        self.watch.start()
        self.queue.start()

    def problems(self) -> tuple[Problem, ...]:
        """Return a problem for each part of the cluster connection that fails at the moment or is forbidden."""
        snapshot = self.watch.snapshot
        found = [
            *(
                ("apiserver/pods", text)
                for text in (snapshot.problem, *snapshot.unreadable, *snapshot.unread_parts)
                if text
            ),
            *((CREDENTIALS_SOURCE, text) for text in (_REJECTED,) if self.transport.rejected),
            *(("apiserver/send", text) for text in (self.queue.problem,) if text),
            *(("apiserver/node", text) for text in self.reporter.problems),
            *(("apiserver/evict", text) for text in self.evictor.problems),
        ]
        return tuple(Problem(source=source, detail=text) for source, text in found)

    def known_pods(self) -> tuple[Pod, ...] | None:
        """Return every pod object of this node, terminal ones too; `None` while the list is incomplete.

        For the collectors: a pod whose object cannot be read is not gone, and neither is a static pod that any mirror names.
        """
        snapshot = self.watch.snapshot
        if not snapshot.synced or snapshot.unreadable:
            return None
        mirrored = (replace(each.pod, uid=each.mirror_of) for each in snapshot.pods.values() if each.mirror_of)
        return (*mirrored, *(each.pod for each in snapshot.pods.values()))

    def close(self, *, report: bool = True, seconds: float = 3.0) -> None:
        """Stop the threads; with `report` write the node's final conditions and taints first, which takes at most `seconds`."""
        if report:
            self.reporter.stop()
            self.queue.drain(seconds, lambda: not self.reporter.pending or bool(self.reporter.problems))
        self.queue.close()
        self.watch.close()
        self.transport.close()


@frozen
class _Evictions:
    """The evictions as the source of pods sees them."""

    evictor: ClusterEvictor
    queue: RequestQueues

    def in_flight(self) -> Collection[str]:
        return self.evictor.in_flight()

    def cleaned_up(self) -> frozenset[str]:
        return self.evictor.cleaned_up()

    def unsent(self, uid: str) -> bool:
        return self.queue.away or uid in self.evictor.postponed()


class _Bell:
    """Wakes the request queue, which is built last, and the loop."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.queue: RequestQueues | None = None
        self._wake = wake

    def notify(self) -> None:
        if self.queue is not None:
            self.queue.notify()

    def changed(self) -> None:
        self.notify()
        self._wake()


def build(
    settings: ClusterSettings,
    *,
    node_name: str,
    stopper: Stopper,
    clocks: Clocks,
    wake: Callable[[], None] = lambda: None,
    rhythm: Rhythm = KUBELET_RHYTHM,
    rate: EventRate | None = None,
    environ: Mapping[str, str] | None = None,
    remembered: RememberedPods | None = None,
    errors: ErrorReporter = STDERR,
) -> Cluster:
    """Build all parts; nothing is sent and no thread runs before `start`.

    `settings` is the `cluster` part of the configuration, `node_name` its `nodeName` or the host's name. `stopper` stops pods
    through the runtime. `wake` is called, from another thread, when the pods of the node have changed. `rate` bounds the events,
    by default as a kubelet does. `remembered` keeps what is listed for a start without the server. `errors` gets unforeseen
    exceptions. Raises `InputError` for a credential that cannot be used; a server that does not answer is a problem in
    `problems`.
    """
    environ = os.environ if environ is None else environ
    transport = Transport(Credentials(settings.kubeconfig, environ=environ))
    bell = _Bell(wake)
    watch = PodWatch(transport, node_name, clock=clocks.now, random=clocks.random, changed=bell.changed, errors=errors)
    node = NodeClient(transport, node_name)
    reporter = ClusterReporter(node, clocks, bell, settings, node_name=node_name, rhythm=rhythm)
    client, rate = EvictionClient(transport), rate or EventRate(qps=50, burst=100)
    events = EventRecorder(EventClient(transport, node_name), node_name, clocks, bell, rate=rate)
    evictor = ClusterEvictor(
        client,
        stopper,
        ClusterNode(
            pods=lambda: watch.snapshot,
            kubelet=reporter.confirmed_kubelet,
            conditions_pending=lambda: reporter.pending,
        ),
        events,
        bell,
        clocks=clocks,
        method=settings.pod_termination,
        timeout=settings.eviction_timeout,
    )
    leftovers = Leftovers(client, lambda: watch.snapshot, bell, time_to_live=settings.evicted_pod_ttl)
    # In this order: pods before events.
    queue = _queues(reporter, evictor, (evictor, events, leftovers), clocks, errors)
    bell.queue = queue
    pods = ClusterPods(
        watch, own_pods(environ), evictions=_Evictions(evictor=evictor, queue=queue), remembered=remembered
    )
    return Cluster(
        watch=watch,
        reporter=reporter,
        evictor=evictor,
        events=events,
        leftovers=leftovers,
        queue=queue,
        transport=transport,
        pods=pods,
    )


def _queues(
    reporter: ClusterReporter,
    evictor: ClusterEvictor,
    sources: Sequence[RequestSource],
    clocks: Clocks,
    errors: ErrorReporter,
) -> RequestQueues:
    """Return three queues: for the conditions, for stops, and for all other requests, each of which may hang for ten seconds.

    The second sends nothing.
    """
    return RequestQueues(
        RequestQueue((reporter,), clocks, errors=errors),
        RequestQueue((), clocks, polled=evictor, errors=errors),
        RequestQueue(sources, clocks, errors=errors),
        clocks=clocks,
    )
